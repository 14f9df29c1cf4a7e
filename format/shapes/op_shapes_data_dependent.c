// Shape functions of operators whose sizes depend on the elements of inputs.
// The function computes upper bounds; the kernel sets the sizes when it runs.

#include "format/shapes/op_shapes_internal.h"

// (self): one row of indices for each element that is not zero.
etx_status etx_shape_nonzero(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  etx_shape out = {ETX_DTYPE_INT64, 2, {0, self.rank}};
  ETX_TRY(etx_shape_numel(call, &self, &out.dims[0]));
  return etx_shape_put_bounded(call, 0, &out);
}

// (self, size, fill_value): the size is an argument.
etx_status etx_shape_nonzero_static(etx_shape_call* call) {
  etx_shape self;
  int64_t low, high;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  const etx_dim size = call->integer(call->context, 1, 0);
  etx_dim_bounds(call, size, &low, &high);
  if (low < 0) {
    return etx_shape_refuse(call, "'size' is %i, expected at least 0", low);
  }
  const etx_shape out = {ETX_DTYPE_INT64, 2, {size, self.rank}};
  return call->output(call->context, 0, &out);
}

// (self, weights, minlength): the largest element decides the size, so only the
// out tensor bounds it.
etx_status etx_shape_bincount(etx_shape_call* call) {
  etx_shape self, weights;
  int64_t low, high;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_check_rank(call, "self", &self, 1));
  etx_shape out = {ETX_DTYPE_INT64, 1, {INT32_MAX}};
  if (!etx_shape_is_none(call, 1)) {
    ETX_TRY(etx_shape_tensor(call, 1, &weights));
    ETX_TRY(etx_shape_check_rank(call, "weights", &weights, 1));
    ETX_TRY(etx_shape_check_equal(call, "size of 'weights'", self.dims[0],
                                  weights.dims[0]));
    out.dtype = weights.dtype == ETX_DTYPE_FLOAT32 ? ETX_DTYPE_FLOAT32
                                                   : ETX_DTYPE_FLOAT64;
  }
  const etx_dim least = call->integer(call->context, 2, 0);
  etx_dim_bounds(call, least, &low, &high);
  if (low < 0 || low > INT32_MAX) {
    return etx_shape_refuse(call, "'minlength' is %i, expected 0 to %i", low,
                            (int64_t)INT32_MAX);
  }
  if (!etx_dim_is(call, self.dims[0], 0)) {
    return etx_shape_put_bounded(call, 0, &out);
  }
  out.dims[0] = least;
  return call->output(call->context, 0, &out);
}

// The inverse and the counts of unique elements: int64, `inverse` has the shape
// of the result if it is wanted, counts are at most `most`. What is not wanted
// has no elements.
typedef struct unique_results {
  etx_shape values;  // bounds
  etx_shape inverse;
  etx_dim most;
  bool wants_inverse;
  bool wants_counts;
} unique_results;

static etx_status put_unique(const etx_shape_call* call, unique_results* r) {
  static const etx_shape none = {ETX_DTYPE_INT64, 1, {0}};
  const etx_shape counts = {ETX_DTYPE_INT64, 1, {r->most}};
  r->inverse.dtype = ETX_DTYPE_INT64;
  ETX_TRY(etx_shape_put_bounded(call, 0, &r->values));
  ETX_TRY(
      call->output(call->context, 1, r->wants_inverse ? &r->inverse : &none));
  return r->wants_counts ? etx_shape_put_bounded(call, 2, &counts)
                         : call->output(call->context, 2, &none);
}

// Unique elements of self in any order of dimensions. Argument `first` is
// return_inverse, the next one return_counts.
static etx_status unique_elements(const etx_shape_call* call, size_t first) {
  unique_results r = {.wants_inverse = etx_shape_boolean(call, first),
                      .wants_counts = etx_shape_boolean(call, first + 1)};
  ETX_TRY(etx_shape_tensor(call, 0, &r.inverse));
  ETX_TRY(etx_shape_numel(call, &r.inverse, &r.most));
  r.values = (etx_shape){r.inverse.dtype, 1, {r.most}};
  return put_unique(call, &r);
}

// Unique slices of self; argument `argument` is the dimension. The inverse and
// the counts are results even if they are not asked for.
static etx_status unique_slices(const etx_shape_call* call, size_t argument) {
  unique_results r = {.wants_inverse = true, .wants_counts = true};
  size_t at;
  ETX_TRY(etx_shape_tensor(call, 0, &r.values));
  ETX_TRY(etx_shape_dimension(call, argument, 0, r.values.rank, &at));
  if (r.values.rank == 0) {
    return etx_shape_refuse(call, "'self' has no dimensions, 'dim' needs one");
  }
  for (size_t i = 0; i < r.values.rank; ++i) {
    if (i == at || !etx_dim_is(call, r.values.dims[i], 0)) continue;
    return etx_shape_refuse(call, "size %z of 'self' is 0, so slices are empty",
                            i);
  }
  r.most = r.values.dims[at];
  r.inverse = (etx_shape){ETX_DTYPE_INT64, 1, {r.most}};
  return put_unique(call, &r);
}

// (self, sorted, return_inverse, return_counts)
etx_status etx_shape_unique(etx_shape_call* call) {
  return unique_elements(call, 2);
}

// (self, dim, sorted, return_inverse, return_counts)
etx_status etx_shape_unique_dim(etx_shape_call* call) {
  return unique_slices(call, 1);
}

// (self, return_inverse, return_counts, dim). Dimension 0 of a vector is as
// none, as in PyTorch.
etx_status etx_shape_unique_consecutive(etx_shape_call* call) {
  etx_shape self;
  int64_t dim;
  if (etx_shape_is_none(call, 3)) return unique_elements(call, 1);
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(etx_shape_number(call, 3, 0, &dim));
  return self.rank == 1 && dim == 0 ? unique_elements(call, 1)
                                    : unique_slices(call, 3);
}

// (dets, scores): indices of some of the boxes.
etx_status etx_shape_nms(etx_shape_call* call) {
  etx_shape dets, scores;
  ETX_TRY(etx_shape_tensor(call, 0, &dets));
  ETX_TRY(etx_shape_tensor(call, 1, &scores));
  ETX_TRY(etx_shape_check_rank(call, "dets", &dets, 2));
  ETX_TRY(etx_shape_check_rank(call, "scores", &scores, 1));
  ETX_TRY(etx_shape_check_equal(call, "size 1 of 'dets'", 4, dets.dims[1]));
  ETX_TRY(etx_shape_check_equal(call, "size of 'scores'", dets.dims[0],
                                scores.dims[0]));
  const etx_shape out = {ETX_DTYPE_INT64, 1, {dets.dims[0]}};
  return etx_shape_put_bounded(call, 0, &out);
}

static etx_status read_mask(const etx_shape_call* call, etx_shape* mask) {
  ETX_TRY(etx_shape_tensor(call, 1, mask));
  if (mask->dtype == ETX_DTYPE_BOOL) return ETX_OK;
  return etx_shape_refuse(call, "'mask' has type '%s', expected 'bool'",
                          etx_dtype_name(mask->dtype));
}

// (self, mask): a vector of elements of self, which is broadcast with the mask.
etx_status etx_shape_masked_select(etx_shape_call* call) {
  etx_shape self, mask;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(read_mask(call, &mask));
  ETX_TRY(etx_shape_broadcast_into(call, &self, &mask));
  etx_shape out = {self.dtype, 1, {0}};
  ETX_TRY(etx_shape_numel(call, &self, &out.dims[0]));
  return etx_shape_put_bounded(call, 0, &out);
}

// (self, mask, source): the sizes do not depend on elements; only the number of
// elements read from source does.
etx_status etx_shape_masked_scatter(etx_shape_call* call) {
  etx_shape self, mask;
  ETX_TRY(etx_shape_tensor(call, 0, &self));
  ETX_TRY(read_mask(call, &mask));
  ETX_TRY(etx_shape_broadcast_into(call, &self, &mask));
  return call->output(call->context, 0, &self);
}

// (repeats, output_size): without output_size only the out tensor bounds the
// result.
etx_status etx_shape_repeat_interleave(etx_shape_call* call) {
  etx_shape repeats;
  ETX_TRY(etx_shape_tensor(call, 0, &repeats));
  ETX_TRY(etx_shape_check_rank(call, "repeats", &repeats, 1));
  if (etx_dim_is(call, repeats.dims[0], 0)) {
    return call->output(call->context, 0, &repeats);
  }
  if (etx_shape_is_none(call, 1)) {
    repeats.dims[0] = INT32_MAX;
    return etx_shape_put_bounded(call, 0, &repeats);
  }
  repeats.dims[0] = call->integer(call->context, 1, 0);
  if (etx_shape_is_number(call, repeats.dims[0]) && repeats.dims[0] < 0) {
    return etx_shape_refuse(call, "the output size is %i, expected at least 0",
                            repeats.dims[0]);
  }
  return call->output(call->context, 0, &repeats);
}
