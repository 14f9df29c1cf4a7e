// Shape functions of views, and of copies that reorder or repeat elements.

#include "format/shapes/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

// Computes size `unknown`, which is -1, from the number of elements, and checks
// that number.
static etx_status infer_view_size(const etx_shape_call* call,
                                  const etx_shape* self, etx_shape* out,
                                  size_t unknown) {
  etx_dim numel, known = 1;
  ETX_TRY(etx_shape_numel(call, self, &numel));
  for (size_t i = 0; i < out->rank; ++i) {
    if (i == unknown) continue;
    ETX_TRY(etx_dim_multiply(call, known, out->dims[i], &known));
  }
  if (unknown < out->rank) {
    ETX_TRY(etx_dim_floor_divide(call, numel, known, &out->dims[unknown]));
    ETX_TRY(etx_dim_multiply(call, known, out->dims[unknown], &known));
  }
  if (etx_dim_differ(call, numel, known)) {
    return etx_shape_refuse(call, "the view has %i elements, expected %i",
                            etx_dim_for_message(call, known),
                            etx_dim_for_message(call, numel));
  }
  return ETX_OK;
}

etx_status etx_shape_view(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  etx_shape out = {.dtype = self.dtype};
  const size_t rank = call->list_count(call->context, 1);
  size_t unknown = SIZE_MAX;
  for (size_t i = 0; i < rank; ++i) {
    const etx_dim size = call->integer(call->context, 1, i);
    ETX_TRY(etx_shape_insert(call, &out, i, size));
    if (!etx_dim_is_below(call, size, 0)) continue;
    if (size != -1 || unknown != SIZE_MAX) {
      return etx_shape_refuse(call, "size %i is invalid in a view",
                              etx_dim_for_message(call, size));
    }
    unknown = i;
  }
  ETX_TRY(infer_view_size(call, &self, &out, unknown));
  return put(call, &out);
}

// Argument 2: the sizes of a part.
static etx_status read_part_sizes(etx_shape_call* call, etx_shape* out) {
  const size_t rank = call->list_count(call->context, 2);
  for (size_t i = 0; i < rank; ++i) {
    const etx_dim size = call->integer(call->context, 2, i);
    if (etx_dim_is_below(call, size, 0)) {
      return etx_shape_refuse(call, "size %i is invalid in a view",
                              etx_dim_for_message(call, size));
    }
    ETX_TRY(etx_shape_insert(call, out, i, size));
  }
  return ETX_OK;
}

// (self, previous, size): the elements of self behind a part of it. The runtime
// knows where that part ends, and checks that enough elements follow.
etx_status etx_shape_part_after(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  etx_shape out = {.dtype = self.dtype};
  ETX_TRY(read_part_sizes(call, &out));
  return put(call, &out);
}

// (self, start, size): a part of self's elements.
etx_status etx_shape_part_view(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  etx_shape out = {.dtype = self.dtype};
  const etx_dim start = call->integer(call->context, 1, 0);
  ETX_TRY(read_part_sizes(call, &out));
  etx_dim numel, end;
  ETX_TRY(etx_shape_numel(call, &self, &numel));
  ETX_TRY(etx_shape_numel(call, &out, &end));
  ETX_TRY(etx_dim_add(call, end, start, &end));
  if (etx_dim_is_below(call, start, 0) || etx_dim_is_below(call, numel, end)) {
    return etx_shape_refuse(call, "elements %i to %i are not within %i",
                            etx_dim_for_message(call, start),
                            etx_dim_for_message(call, end),
                            etx_dim_for_message(call, numel));
  }
  return put(call, &out);
}

etx_status etx_shape_permute(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  const size_t count = call->list_count(call->context, 1);
  if (count != self.rank) {
    return etx_shape_refuse(call, "%i dimensions are given, expected %i",
                            (int64_t)count, (int64_t)self.rank);
  }
  etx_shape out = self;
  uint32_t seen = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t from;
    ETX_TRY(etx_shape_dimension(call, 1, i, self.rank, &from));
    if ((seen >> from) & 1) {
      return etx_shape_refuse(call, "dimension %i is given twice",
                              (int64_t)from);
    }
    seen |= UINT32_C(1) << from;
    out.dims[i] = self.dims[from];
  }
  return put(call, &out);
}

static void swap_dims(etx_shape* shape, size_t a, size_t b) {
  const etx_dim dim = shape->dims[a];
  shape->dims[a] = shape->dims[b];
  shape->dims[b] = dim;
}

etx_status etx_shape_transpose(etx_shape_call* call) {
  etx_shape self;
  size_t a, b;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_dimension(call, 1, 0, self.rank, &a));
  ETX_TRY(etx_shape_dimension(call, 2, 0, self.rank, &b));
  if (self.rank > 0) swap_dims(&self, a, b);
  return put(call, &self);
}

etx_status etx_shape_t(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  if (self.rank > 2) return etx_shape_check_rank(call, "self", &self, 2);
  if (self.rank == 2) swap_dims(&self, 0, 1);
  return put(call, &self);
}

// Replaces `size`, the size in the list, by that of dimension `at` of the
// expanded tensor.
static etx_status expand_dim(const etx_shape_call* call, const etx_shape* self,
                             size_t at, size_t rank, etx_dim* size) {
  const bool is_new = at + self->rank < rank;
  const bool keeps = etx_dim_is(call, *size, -1);
  if (is_new || !keeps) {
    if (etx_dim_is_below(call, *size, 0)) {
      return etx_shape_refuse(call, "size %i is invalid",
                              etx_dim_for_message(call, *size));
    }
    if (is_new) return ETX_OK;
  }
  const etx_dim own = self->dims[at + self->rank - rank];
  if (keeps) {
    *size = own;
    return ETX_OK;
  }
  if (etx_dim_always_is(call, own, 1) ||
      etx_dim_always_equal(call, own, *size)) {
    return ETX_OK;
  }
  return etx_shape_refuse(call, "size %i does not expand to %i",
                          etx_dim_for_message(call, own),
                          etx_dim_for_message(call, *size));
}

etx_status etx_shape_expand(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  etx_shape out = {.dtype = self.dtype};
  const size_t rank = call->list_count(call->context, 1);
  if (rank < self.rank) {
    return etx_shape_refuse(call, "%i sizes are given, expected at least %i",
                            (int64_t)rank, (int64_t)self.rank);
  }
  for (size_t i = 0; i < rank; ++i) {
    etx_dim size = call->integer(call->context, 1, i);
    ETX_TRY(expand_dim(call, &self, i, rank, &size));
    ETX_TRY(etx_shape_insert(call, &out, i, size));
  }
  return put(call, &out);
}

etx_status etx_shape_repeat(etx_shape_call* call) {
  etx_shape out;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  const size_t count = call->list_count(call->context, 1);
  if (count < out.rank) {
    return etx_shape_refuse(call, "%i repeats are given, expected at least %i",
                            (int64_t)count, (int64_t)out.rank);
  }
  while (out.rank < count) {
    ETX_TRY(etx_shape_insert(call, &out, 0, 1));
  }
  for (size_t i = 0; i < count; ++i) {
    const etx_dim times = call->integer(call->context, 1, i);
    // PyTorch accepts a negative number for a size of 0.
    if (etx_dim_is_below(call, times, 0) && !etx_dim_is(call, out.dims[i], 0)) {
      return etx_shape_refuse(call, "%i repeats are invalid",
                              etx_dim_for_message(call, times));
    }
    ETX_TRY(etx_dim_multiply(call, out.dims[i], times, &out.dims[i]));
  }
  return put(call, &out);
}

etx_status etx_shape_unsqueeze(etx_shape_call* call) {
  etx_shape self;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_dimension(call, 1, 0, (size_t)self.rank + 1, &at));
  ETX_TRY(etx_shape_insert(call, &self, at, 1));
  return put(call, &self);
}

// One dimension or a list of them. A dimension is kept if its size is not 1.
etx_status etx_shape_squeeze(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  const bool is_list = call->kind(call->context, 1) == ETX_SHAPE_LIST;
  const size_t count = is_list ? call->list_count(call->context, 1) : 1;
  uint32_t chosen = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t at;
    ETX_TRY(etx_shape_dimension(call, 1, i, self.rank, &at));
    if ((chosen >> at) & 1) {
      return etx_shape_refuse(call, "dimension %i is given twice", (int64_t)at);
    }
    chosen |= UINT32_C(1) << at;
  }
  for (size_t i = self.rank; i-- > 0;) {
    if (((chosen >> i) & 1) && etx_dim_is(call, self.dims[i], 1)) {
      etx_shape_remove(&self, i);
    }
  }
  return put(call, &self);
}

etx_status etx_shape_flip(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  const size_t count = call->list_count(call->context, 1);
  uint32_t seen = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t at;
    ETX_TRY(etx_shape_dimension(call, 1, i, self.rank, &at));
    if ((seen >> at) & 1) {
      return etx_shape_refuse(call, "dimension %i is given twice", (int64_t)at);
    }
    seen |= UINT32_C(1) << at;
  }
  return put(call, &self);
}

// (self, dtype): the same bytes as elements of another type, along the last
// dimension.
etx_status etx_shape_view_dtype(etx_shape_call* call) {
  etx_shape out;
  int64_t code = 0;
  ETX_TRY(etx_shape_tensor(call, 0, &out));
  ETX_TRY(etx_shape_number(call, 1, 0, &code));
  if (!etx_dtype_is_valid(code)) {
    return etx_shape_refuse(call, "there is no type %i", code);
  }
  const int64_t from = (int64_t)etx_dtype_bytes(out.dtype);
  const int64_t to = (int64_t)etx_dtype_bytes((etx_dtype)code);
  out.dtype = (etx_dtype)code;
  if (from == to) return put(call, &out);
  if (out.rank == 0) {
    return etx_shape_refuse(call,
                            "elements of %i bytes become elements of %i bytes "
                            "along a dimension, but the rank is 0",
                            from, to);
  }
  etx_dim* const last = &out.dims[out.rank - 1];
  etx_dim whole;
  if (from > to) {
    ETX_TRY(etx_dim_multiply(call, *last, from / to, last));
    return put(call, &out);
  }
  const etx_dim size = *last;
  ETX_TRY(etx_dim_floor_divide(call, size, to / from, last));
  ETX_TRY(etx_dim_multiply(call, *last, to / from, &whole));
  if (etx_dim_differ(call, size, whole)) {
    return etx_shape_refuse(call,
                            "the last size is %i, expected a multiple of %i",
                            etx_dim_for_message(call, size), to / from);
  }
  return put(call, &out);
}
