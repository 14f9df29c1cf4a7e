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
