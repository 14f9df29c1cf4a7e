// Shape functions of select, slice, split, cat, stack and constant padding.

#include "format/shapes/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, const etx_shape* shape) {
  return call->output(call->context, 0, shape);
}

// Refuses an index that is beyond `size` for all values of the symbols. A
// negative one counts from the end.
static etx_status check_index(const etx_shape_call* call, etx_dim index,
                              etx_dim size) {
  etx_dim needed;  // the least size that has the index
  if (etx_dim_is_below(call, index, 0)) {
    ETX_TRY(etx_dim_multiply(call, index, -1, &needed));
  } else {
    ETX_TRY(etx_dim_add(call, index, 1, &needed));
  }
  if (!etx_dim_is_below(call, size, needed)) return ETX_OK;
  const int64_t most = etx_dim_for_message(call, size);
  return etx_shape_refuse(call, "index %i is not in %i..%i",
                          etx_dim_for_message(call, index), -most, most - 1);
}

etx_status etx_shape_select(etx_shape_call* call) {
  etx_shape self;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  if (self.rank == 0) {
    return etx_shape_refuse(call, "'self' has no dimension to select from");
  }
  ETX_TRY(etx_shape_dimension(call, 1, 0, self.rank, &at));
  ETX_TRY(check_index(call, call->integer(call->context, 2, 0), self.dims[at]));
  etx_shape_remove(&self, at);
  return put(call, &self);
}

// A slice's start or end as in PyTorch: a negative one counts from the end, and
// the result is clamped to 0..size.
static etx_status clamp_bound(const etx_shape_call* call, etx_dim value,
                              etx_dim size, etx_dim* out) {
  const bool is_negative = etx_dim_is_below(call, value, 0);
  if (!is_negative && etx_dim_is_below(call, -1, value)) {
    return etx_dim_minimum(call, value, size, out);
  }
  if (!is_negative) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "a slice bound may be negative or not");
  }
  if (etx_shape_is_number(call, value) && value < -INT64_C(0x7fffffffffff)) {
    *out = 0;  // far below any size; the sum below could overflow
    return ETX_OK;
  }
  ETX_TRY(etx_dim_add(call, value, size, out));
  return etx_dim_maximum(call, *out, 0, out);
}

// Size of dimension `size` sliced by arguments `first`, +1 and +2: start, end,
// step.
static etx_status sliced_size(const etx_shape_call* call, etx_dim size,
                              size_t first, etx_dim* out) {
  int64_t step;
  ETX_TRY(etx_shape_number(call, first + 2, 0, &step));
  if (step <= 0) {
    return etx_shape_refuse(call, "the step is %i, expected at least 1", step);
  }
  etx_dim start = 0, end = size;
  if (!etx_shape_is_none(call, first)) {
    start = call->integer(call->context, first, 0);
    ETX_TRY(clamp_bound(call, start, size, &start));
  }
  if (!etx_shape_is_none(call, first + 1)) {
    end = call->integer(call->context, first + 1, 0);
    ETX_TRY(clamp_bound(call, end, size, &end));
  }
  // -floor((start - end) / step), at least 0
  etx_dim span;
  ETX_TRY(etx_dim_subtract(call, start, end, &span));
  ETX_TRY(etx_dim_floor_divide(call, span, step, &span));
  ETX_TRY(etx_dim_subtract(call, 0, span, &span));
  return etx_dim_maximum(call, span, 0, out);
}

etx_status etx_shape_slice(etx_shape_call* call) {
  etx_shape self;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  if (self.rank == 0) {
    return etx_shape_refuse(call, "'self' has no dimension to slice");
  }
  ETX_TRY(etx_shape_dimension(call, 1, 0, self.rank, &at));
  ETX_TRY(sliced_size(call, self.dims[at], 2, &self.dims[at]));
  return put(call, &self);
}

etx_status etx_shape_narrow(etx_shape_call* call) {
  etx_shape self;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  if (self.rank == 0) {
    return etx_shape_refuse(call, "'self' has no dimension to narrow");
  }
  ETX_TRY(etx_shape_dimension(call, 1, 0, self.rank, &at));
  const etx_dim start = call->integer(call->context, 2, 0);
  const etx_dim length = call->integer(call->context, 3, 0);
  const etx_dim size = self.dims[at];
  etx_dim from = start, end;
  if (etx_dim_is_below(call, start, 0)) {
    ETX_TRY(etx_dim_add(call, start, size, &from));
  }
  ETX_TRY(etx_dim_add(call, from, length, &end));
  if (etx_dim_is_below(call, from, 0) || etx_dim_is_below(call, length, 0) ||
      etx_dim_is_below(call, size, end)) {
    return etx_shape_refuse(call, "%i elements from %i are not in a size of %i",
                            etx_dim_for_message(call, length),
                            etx_dim_for_message(call, start),
                            etx_dim_for_message(call, size));
  }
  self.dims[at] = length;
  return put(call, &self);
}

// (self, src, dim, index)
etx_status etx_shape_select_scatter(etx_shape_call* call) {
  etx_shape self, source;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_tensor(call, 1, &source));
  if (self.rank == 0) {
    return etx_shape_refuse(call, "'self' has no dimension to select from");
  }
  ETX_TRY(etx_shape_dimension(call, 2, 0, self.rank, &at));
  ETX_TRY(check_index(call, call->integer(call->context, 3, 0), self.dims[at]));
  etx_shape part = self;
  etx_shape_remove(&part, at);
  ETX_TRY(etx_shape_check_rank(call, "src", &source, part.rank));
  for (size_t i = 0; i < part.rank; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of 'src'", part.dims[i],
                                  source.dims[i]));
  }
  return put(call, &self);
}

// (self, src, dim, start, end, step)
etx_status etx_shape_slice_scatter(etx_shape_call* call) {
  etx_shape self, source;
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_tensor(call, 1, &source));
  if (self.rank == 0) {
    return etx_shape_refuse(call, "'self' has no dimension to slice");
  }
  ETX_TRY(etx_shape_dimension(call, 2, 0, self.rank, &at));
  etx_shape part = self;
  ETX_TRY(sliced_size(call, self.dims[at], 3, &part.dims[at]));
  ETX_TRY(etx_shape_check_broadcasts(call, &source, &part));
  return put(call, &self);
}

// Puts output `index`: `self` with `size` in dimension `at`.
static etx_status put_part(const etx_shape_call* call, etx_shape* self,
                           size_t at, size_t index, etx_dim size) {
  etx_shape piece = *self;
  piece.dims[at] = size;
  return call->output(call->context, index, &piece);
}

static etx_status read_split_dimension(const etx_shape_call* call,
                                       size_t argument, etx_shape* self,
                                       size_t* at) {
  ETX_TRY(etx_shape_tensor(call, 0, self));
  if (self->rank == 0) {
    return etx_shape_refuse(call, "'self' has no dimension to divide");
  }
  return etx_shape_dimension(call, argument, 0, self->rank, at);
}

// (self, split_size, dim)
etx_status etx_shape_split(etx_shape_call* call) {
  etx_shape self;
  size_t at;
  int64_t piece;
  ETX_TRY(read_split_dimension(call, 2, &self, &at));
  ETX_TRY(etx_shape_number(call, 1, 0, &piece));
  const etx_dim size = self.dims[at];
  if (!etx_shape_is_number(call, size)) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "a dynamic size is split");
  }
  if (piece < 0 || (piece == 0 && size != 0)) {
    return etx_shape_refuse(call, "the size of pieces is %i", piece);
  }
  if (size == 0) return put_part(call, &self, at, 0, 0);
  size_t index = 0;
  for (int64_t start = 0; start < size; start += piece, ++index) {
    const int64_t left = size - start;
    ETX_TRY(put_part(call, &self, at, index, left < piece ? left : piece));
    if (left <= piece) break;
  }
  return ETX_OK;
}

// (self, split_sizes, dim)
etx_status etx_shape_split_with_sizes(etx_shape_call* call) {
  etx_shape self;
  size_t at;
  ETX_TRY(read_split_dimension(call, 2, &self, &at));
  const size_t count = call->list_count(call->context, 1);
  etx_dim sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const etx_dim size = call->integer(call->context, 1, i);
    if (etx_dim_is_below(call, size, 0)) {
      return etx_shape_refuse(call, "the size of a piece is %i",
                              etx_dim_for_message(call, size));
    }
    ETX_TRY(etx_dim_add(call, sum, size, &sum));
  }
  ETX_TRY(
      etx_shape_check_equal(call, "the sum of the pieces", self.dims[at], sum));
  for (size_t i = 0; i < count; ++i) {
    const etx_dim size = call->integer(call->context, 1, i);
    ETX_TRY(put_part(call, &self, at, i, size));
  }
  return ETX_OK;
}

etx_status etx_shape_unbind(etx_shape_call* call) {
  etx_shape self;
  size_t at;
  ETX_TRY(read_split_dimension(call, 1, &self, &at));
  const etx_dim count = self.dims[at];
  if (!etx_shape_is_number(call, count)) {
    return etx_shape_refuse_as(call, ETX_UNSUPPORTED,
                               "a dynamic size is unbound");
  }
  etx_shape_remove(&self, at);
  for (etx_dim i = 0; i < count; ++i) {
    ETX_TRY(call->output(call->context, (size_t)i, &self));
  }
  return ETX_OK;
}

// In PyTorch cat ignores vectors without elements.
static bool is_skipped(const etx_shape_call* call, const etx_shape* shape) {
  return shape->rank == 1 && etx_dim_is(call, shape->dims[0], 0);
}

static etx_status join(const etx_shape_call* call, size_t at,
                       const etx_shape* part, etx_shape* out) {
  ETX_TRY(etx_shape_check_rank(call, "tensors", part, out->rank));
  for (size_t i = 0; i < out->rank; ++i) {
    if (i == at) {
      ETX_TRY(etx_dim_add(call, out->dims[i], part->dims[i], &out->dims[i]));
    } else {
      ETX_TRY(etx_shape_check_equal(call, "a size of 'tensors'", out->dims[i],
                                    part->dims[i]));
    }
  }
  return ETX_OK;
}

etx_status etx_shape_cat(etx_shape_call* call) {
  const size_t count = call->list_count(call->context, 0);
  etx_shape out = {.rank = 0}, part;
  bool has_first = false;
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_shape_tensor_item(call, 0, i, &part));
    if (part.rank == 0) {
      return etx_shape_refuse(call, "a tensor of rank 0 is concatenated");
    }
    if (i == 0) {
      out = part;
      has_first = !is_skipped(call, &part);
      if (!has_first) continue;
      ETX_TRY(etx_shape_dimension(call, 1, 0, part.rank, &at));
      continue;
    }
    ETX_TRY(etx_shape_promote(call, &out.dtype, part.dtype));
    if (is_skipped(call, &part)) continue;
    if (has_first) {
      ETX_TRY(join(call, at, &part, &out));
      continue;
    }
    part.dtype = out.dtype;
    out = part;
    has_first = true;
    ETX_TRY(etx_shape_dimension(call, 1, 0, part.rank, &at));
  }
  if (count == 0) return etx_shape_refuse(call, "'tensors' is empty");
  // If cat ignores all tensors, PyTorch does not check the dimension.
  return put(call, &out);
}

etx_status etx_shape_stack(etx_shape_call* call) {
  const size_t count = call->list_count(call->context, 0);
  if (count == 0) return etx_shape_refuse(call, "'tensors' is empty");
  etx_shape out, part;
  size_t at;
  ETX_TRY(etx_shape_tensor_item(call, 0, 0, &out));
  ETX_TRY(etx_shape_dimension(call, 1, 0, (size_t)out.rank + 1, &at));
  for (size_t i = 1; i < count; ++i) {
    ETX_TRY(etx_shape_tensor_item(call, 0, i, &part));
    ETX_TRY(etx_shape_promote(call, &out.dtype, part.dtype));
    ETX_TRY(etx_shape_check_rank(call, "tensors", &part, out.rank));
    for (size_t d = 0; d < out.rank; ++d) {
      ETX_TRY(etx_shape_check_equal(call, "a size of 'tensors'", out.dims[d],
                                    part.dims[d]));
    }
  }
  ETX_TRY(etx_shape_insert(call, &out, at, (etx_dim)count));
  return put(call, &out);
}

// A padded size. Negative pads crop; both together must not crop more than the
// size, even if the other side is padded.
static etx_status padded_size(const etx_shape_call* call, etx_dim before,
                              etx_dim after, etx_dim* size) {
  const bool has_numbers =
      etx_shape_is_number(call, before) && etx_shape_is_number(call, after);
  if (has_numbers) {
    etx_dim left;
    ETX_TRY(etx_dim_add(call, *size, before < 0 ? before : 0, &left));
    ETX_TRY(etx_dim_add(call, left, after < 0 ? after : 0, &left));
    if (etx_dim_is_below(call, left, 0)) {
      return etx_shape_refuse(call, "pads of %i and %i crop a size of %i",
                              before, after, etx_dim_for_message(call, *size));
    }
  }
  ETX_TRY(etx_dim_add(call, *size, before, size));
  return etx_dim_add(call, *size, after, size);
}

// (self, pad): pairs of before and after, last dimension first.
etx_status etx_shape_constant_pad(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  const size_t count = call->list_count(call->context, 1);
  if (count % 2 != 0 || count / 2 > self.rank) {
    return etx_shape_refuse(call,
                            "%i pads are given, expected pairs for at "
                            "most %i dimensions",
                            (int64_t)count, (int64_t)self.rank);
  }
  for (size_t i = 0; i < count / 2; ++i) {
    etx_dim* size = &self.dims[self.rank - 1 - i];
    ETX_TRY(padded_size(call, call->integer(call->context, 1, 2 * i),
                        call->integer(call->context, 1, 2 * i + 1), size));
  }
  return put(call, &self);
}

// (copy_to, copy_from, index): copy_to grows to index + 1 rows.
etx_status etx_shape_copy_index(etx_shape_call* call) {
  etx_shape to, from;
  ETX_TRY(etx_shape_tensor(call, 0, &to));
  ETX_TRY(etx_shape_tensor(call, 1, &from));
  ETX_TRY(etx_shape_check_rank(call, "copy_to", &to, (size_t)from.rank + 1));
  for (size_t i = 0; i < from.rank; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of 'copy_from'", to.dims[i + 1],
                                  from.dims[i]));
  }
  const etx_dim index = call->integer(call->context, 2, 0);
  if (etx_dim_is_below(call, index, 0)) {
    return etx_shape_refuse(call, "the index is %i",
                            etx_dim_for_message(call, index));
  }
  ETX_TRY(etx_dim_add(call, index, 1, &to.dims[0]));
  return put(call, &to);
}
