// Shape functions of rearrangements: as_strided, diagonal, unfold, pixel
// shuffle, roll, reflection and replication padding.

#include "format/shapes/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

// Adds (size - 1) * stride to the position of the last element read.
static etx_status add_reach(const etx_shape_call* call, etx_dim size,
                            etx_dim stride, etx_dim* last) {
  etx_dim reach;
  ETX_TRY(etx_dim_subtract(call, size, 1, &reach));
  ETX_TRY(etx_dim_multiply(call, reach, stride, &reach));
  return etx_dim_add(call, *last, reach, last);
}

static etx_status check_not_negative(const etx_shape_call* call,
                                     const char* what, etx_dim dim) {
  if (!etx_dim_is_below(call, dim, 0)) return ETX_OK;
  return etx_shape_refuse(call, "%s is %i, expected at least 0", what,
                          etx_dim_for_message(call, dim));
}

// (self, size, stride, storage_offset): self's elements in the order of
// memory, read at any strides.
etx_status etx_shape_as_strided(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  etx_shape out = {.dtype = self.dtype};
  const size_t rank = call->list_count(call->context, 1);
  const size_t strides = call->list_count(call->context, 2);
  if (strides != rank) {
    return etx_shape_refuse(call, "%i strides are given, expected %i",
                            (int64_t)strides, (int64_t)rank);
  }
  etx_dim last =
      etx_shape_is_none(call, 3) ? 0 : call->integer(call->context, 3, 0);
  bool is_empty = false;
  ETX_TRY(check_not_negative(call, "the offset", last));
  for (size_t i = 0; i < rank; ++i) {
    const etx_dim size = call->integer(call->context, 1, i);
    const etx_dim stride = call->integer(call->context, 2, i);
    ETX_TRY(check_not_negative(call, "a size", size));
    ETX_TRY(check_not_negative(call, "a stride", stride));
    ETX_TRY(etx_shape_insert(call, &out, i, size));
    if (etx_dim_is(call, size, 0)) is_empty = true;
  }
  // With a size of 0 no element is read.
  if (is_empty) return put(call, &out);
  etx_dim numel;
  for (size_t i = 0; i < rank; ++i) {
    ETX_TRY(add_reach(call, out.dims[i], call->integer(call->context, 2, i),
                      &last));
  }
  ETX_TRY(etx_shape_numel(call, &self, &numel));
  if (!etx_dim_is_below(call, last, numel)) {
    return etx_shape_refuse(call, "element %i is read, 'self' has %i",
                            etx_dim_for_message(call, last),
                            etx_dim_for_message(call, numel));
  }
  return put(call, &out);
}

// (self, offset, dim1, dim2): the diagonal comes last.
etx_status etx_shape_diagonal(etx_shape_call* call) {
  etx_shape self;
  size_t a, b;
  int64_t offset;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_number(call, 1, 0, &offset));
  ETX_TRY(etx_shape_dimension(call, 2, 0, self.rank, &a));
  ETX_TRY(etx_shape_dimension(call, 3, 0, self.rank, &b));
  if (a == b) {
    return etx_shape_refuse(call, "dimension %i is given twice", (int64_t)a);
  }
  etx_dim rows = self.dims[a], columns = self.dims[b], size;
  if (offset < 0) {
    ETX_TRY(etx_dim_add(call, rows, offset, &rows));
  } else {
    ETX_TRY(etx_dim_subtract(call, columns, offset, &columns));
  }
  ETX_TRY(etx_dim_minimum(call, rows, columns, &size));
  ETX_TRY(etx_dim_maximum(call, size, 0, &size));
  etx_shape_remove(&self, a > b ? a : b);
  etx_shape_remove(&self, a > b ? b : a);
  ETX_TRY(etx_shape_insert(call, &self, self.rank, size));
  return put(call, &self);
}

// (self, dimension, size, step): windows along a dimension, which come last.
etx_status etx_shape_unfold(etx_shape_call* call) {
  etx_shape self;
  size_t at;
  int64_t size, step;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_dimension(call, 1, 0, self.rank, &at));
  ETX_TRY(etx_shape_number(call, 2, 0, &size));
  ETX_TRY(etx_shape_number(call, 3, 0, &step));
  const etx_dim whole = self.rank == 0 ? 1 : self.dims[at];
  if (size < 0 || etx_dim_is_below(call, whole, size)) {
    return etx_shape_refuse(call, "a window of %i in a size of %i", size,
                            etx_dim_for_message(call, whole));
  }
  if (step <= 0) {
    return etx_shape_refuse(call, "the step is %i, expected at least 1", step);
  }
  if (self.rank > 0) {
    etx_dim count;
    ETX_TRY(etx_dim_subtract(call, whole, size, &count));
    ETX_TRY(etx_dim_floor_divide(call, count, step, &count));
    ETX_TRY(etx_dim_add(call, count, 1, &self.dims[at]));
  }
  ETX_TRY(etx_shape_insert(call, &self, self.rank, size));
  return put(call, &self);
}

// Reads the factor of pixel_shuffle and pixel_unshuffle.
static etx_status read_factor(const etx_shape_call* call, etx_shape* self,
                              int64_t* factor) {
  ETX_TRY(etx_shape_tensor(call, 0, self));
  ETX_TRY(etx_shape_number(call, 1, 0, factor));
  if (self->rank < 3) {
    return etx_shape_refuse(call, "rank of 'self' is %i, expected at least 3",
                            (int64_t)self->rank);
  }
  if (*factor > 0 && *factor <= INT32_MAX) return ETX_OK;
  return etx_shape_refuse(call, "the factor is %i, expected at least 1",
                          *factor);
}

// Divides a size by a number, without remainder.
static etx_status divide_exactly(const etx_shape_call* call, const char* what,
                                 int64_t divisor, etx_dim* dim) {
  etx_dim whole;
  const etx_dim size = *dim;
  ETX_TRY(etx_dim_floor_divide(call, size, divisor, dim));
  ETX_TRY(etx_dim_multiply(call, *dim, divisor, &whole));
  if (!etx_dim_differ(call, size, whole)) return ETX_OK;
  return etx_shape_refuse(call, "%s is %i, expected a multiple of %i", what,
                          etx_dim_for_message(call, size), divisor);
}

// [.., C * f * f, H, W] to [.., C, H * f, W * f]
etx_status etx_shape_pixel_shuffle(etx_shape_call* call) {
  etx_shape self;
  int64_t factor;
  ETX_TRY(read_factor(call, &self, &factor));
  etx_dim* channels = &self.dims[self.rank - 3];
  ETX_TRY(divide_exactly(call, "the channel count", factor * factor, channels));
  for (size_t i = 1; i < 3; ++i) {
    ETX_TRY(etx_dim_multiply(call, channels[i], factor, &channels[i]));
  }
  return put(call, &self);
}

// [.., C, H * f, W * f] to [.., C * f * f, H, W]; PyTorch leaves a tensor
// without elements as it is.
etx_status etx_shape_pixel_unshuffle(etx_shape_call* call) {
  etx_shape self, out;
  int64_t factor;
  etx_dim numel;
  ETX_TRY(read_factor(call, &self, &factor));
  ETX_TRY(etx_shape_numel(call, &self, &numel));
  out = self;
  etx_dim* channels = &out.dims[out.rank - 3];
  ETX_TRY(etx_dim_multiply(call, channels[0], factor * factor, channels));
  for (size_t i = 1; i < 3; ++i) {
    ETX_TRY(divide_exactly(call, i == 1 ? "the height" : "the width", factor,
                           &channels[i]));
  }
  return put(call, etx_dim_is(call, numel, 0) ? &self : &out);
}

// (input [C, H, W], tile_size) to [tiles, C, tile_size, tile_size]
etx_status etx_shape_tile_crop(etx_shape_call* call) {
  etx_shape input;
  int64_t tile;
  ETX_TRY(etx_shape_tensor(call, 0, &input));
  ETX_TRY(etx_shape_number(call, 1, 0, &tile));
  ETX_TRY(etx_shape_check_rank(call, "input", &input, 3));
  if (tile <= 0) {
    return etx_shape_refuse(call, "the tile size is %i, expected at least 1",
                            tile);
  }
  ETX_TRY(divide_exactly(call, "the height", tile, &input.dims[1]));
  ETX_TRY(divide_exactly(call, "the width", tile, &input.dims[2]));
  etx_shape out = {input.dtype, 4, {0, input.dims[0], tile, tile}};
  ETX_TRY(etx_dim_multiply(call, input.dims[1], input.dims[2], &out.dims[0]));
  return put(call, &out);
}

// (self, shifts, dims): one shift without a dimension rolls all elements.
etx_status etx_shape_roll(etx_shape_call* call) {
  etx_shape self;
  etx_dim numel;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  const size_t shifts = call->list_count(call->context, 1);
  const size_t dims = call->list_count(call->context, 2);
  if (shifts == 0 || (dims != shifts && (dims != 0 || shifts != 1))) {
    return etx_shape_refuse(call, "%i shifts are given for %i dimensions",
                            (int64_t)shifts, (int64_t)dims);
  }
  ETX_TRY(etx_shape_numel(call, &self, &numel));
  if (dims > 0 && self.rank == 0) {
    return etx_shape_refuse(call, "'self' has no dimension to roll");
  }
  // PyTorch does not check dimensions if there are no elements.
  for (size_t i = 0; i < dims && !etx_dim_is(call, numel, 0); ++i) {
    size_t at;
    ETX_TRY(etx_shape_dimension(call, 2, i, self.rank, &at));
  }
  return put(call, &self);
}

// A complex number becomes a dimension of two.
etx_status etx_shape_view_as_real(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  const etx_dtype part = etx_dtype_real_type(self.dtype);
  if (part == self.dtype) {
    return etx_shape_refuse(call, "'self' has type '%s', expected complex",
                            etx_dtype_name(self.dtype));
  }
  self.dtype = part;
  ETX_TRY(etx_shape_insert(call, &self, self.rank, 2));
  return put(call, &self);
}

// The last dimension, of two, becomes a complex number.
etx_status etx_shape_view_as_complex(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  const etx_dtype whole = etx_dtype_to_complex(self.dtype);
  if (etx_dtype_category_of(self.dtype) != ETX_CATEGORY_FLOATING ||
      etx_dtype_real_type(whole) != self.dtype) {
    return etx_shape_refuse(call,
                            "'self' has type '%s', expected float16, float32 "
                            "or float64",
                            etx_dtype_name(self.dtype));
  }
  if (self.rank == 0 || !etx_dim_is(call, self.dims[self.rank - 1], 2)) {
    return etx_shape_refuse(call, "'self' has no last dimension of size 2");
  }
  self.dtype = whole;
  --self.rank;
  return put(call, &self);
}

// (self, padding): pairs for the last `dims` dimensions, last dimension first.
// Before them are a channel and optionally a batch dimension.
static etx_status reflect_or_replicate(const etx_shape_call* call, size_t dims,
                                       bool reflects) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  const size_t count = call->list_count(call->context, 1);
  if (count != 2 * dims) {
    return etx_shape_refuse(call, "%i pads are given, expected %i",
                            (int64_t)count, (int64_t)(2 * dims));
  }
  if (self.rank != dims + 1 && self.rank != dims + 2) {
    return etx_shape_refuse(call, "rank of 'self' is %i, expected %i or %i",
                            (int64_t)self.rank, (int64_t)(dims + 1),
                            (int64_t)(dims + 2));
  }
  // Only the batch may be empty.
  for (size_t i = self.rank - dims - 1; i < self.rank; ++i) {
    if (!etx_dim_is(call, self.dims[i], 0)) continue;
    return etx_shape_refuse(call, "size of dimension %i is 0", (int64_t)i);
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t at = self.rank - 1 - i / 2;
    const etx_dim pad = call->integer(call->context, 1, i);
    etx_dim room;
    ETX_TRY(etx_dim_subtract(call, self.dims[at], pad, &room));
    if (reflects && etx_dim_is_below(call, room, 1)) {
      return etx_shape_refuse(call, "a pad of %i in a size of %i",
                              etx_dim_for_message(call, pad),
                              etx_dim_for_message(call, self.dims[at]));
    }
  }
  // One dimension may become empty, as long as not all of them do.
  int64_t largest = 0;
  for (size_t i = 0; i < dims; ++i) {
    etx_dim* size = &self.dims[self.rank - 1 - i];
    const etx_dim before = call->integer(call->context, 1, 2 * i);
    const etx_dim after = call->integer(call->context, 1, 2 * i + 1);
    int64_t low, high;
    ETX_TRY(etx_dim_add(call, *size, before, size));
    ETX_TRY(etx_dim_add(call, *size, after, size));
    etx_dim_bounds(call, *size, &low, &high);
    if (high > largest) largest = high;
    if (high >= 0) continue;
    return etx_shape_refuse(call, "a padded size is %i", high);
  }
  if (largest < 1) return etx_shape_refuse(call, "all padded sizes are 0");
  return put(call, &self);
}

etx_status etx_shape_reflection_pad1d(etx_shape_call* call) {
  return reflect_or_replicate(call, 1, true);
}
etx_status etx_shape_reflection_pad2d(etx_shape_call* call) {
  return reflect_or_replicate(call, 2, true);
}
etx_status etx_shape_reflection_pad3d(etx_shape_call* call) {
  return reflect_or_replicate(call, 3, true);
}
etx_status etx_shape_replication_pad1d(etx_shape_call* call) {
  return reflect_or_replicate(call, 1, false);
}
etx_status etx_shape_replication_pad2d(etx_shape_call* call) {
  return reflect_or_replicate(call, 2, false);
}
etx_status etx_shape_replication_pad3d(etx_shape_call* call) {
  return reflect_or_replicate(call, 3, false);
}
