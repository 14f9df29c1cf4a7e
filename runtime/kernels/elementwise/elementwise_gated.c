// glu and prelu: binary loops over operands that are parts or broadcast views
// of arguments.

#include "runtime/kernels/elementwise/binary_rows.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/slice_args.h"

static etx_status check_floats(const etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, ETX_ARG_glu_self)->dtype;
  if (etx_dtype_category_of(dtype) == ETX_CATEGORY_FLOATING) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "'self' has type '%s', expected floats",
                         etx_dtype_name(dtype));
}

// glu: the first half of `dim` times the sigmoid of the second.
static etx_status run_glu(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_glu_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_glu_out);
  const size_t dimension =
      etx_wrap_dimension(etx_call_integer(call, ETX_ARG_glu_dim), self->rank);
  const size_t bytes = etx_dtype_bytes(self->dtype);
  ptrdiff_t strides[ETX_MAX_RANK] = {0};
  for (size_t i = 0; i < self->rank; ++i) strides[i] = self->strides[i];
  const ptrdiff_t half = strides[dimension] * out->sizes[dimension];
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, out->sizes, out->rank);
  etx_strided_iterator_add(&it, out);
  etx_strided_iterator_add_strided(&it, self->data, bytes, strides);
  // Without elements, the data pointer may be NULL.
  const char* second = self->data;
  if (etx_tensor_numel(self) > 0) second += half * (ptrdiff_t)bytes;
  etx_strided_iterator_add_strided(&it, second, bytes, strides);
  etx_binary gate = etx_binary_of(ETX_BINARY_gate, self->dtype);
  gate.dtypes[0] = out->dtype;
  etx_binary_run(&gate, &it);
  return ETX_OK;
}

etx_status etx_kernel_glu_out_prepare(etx_call* call) {
  ETX_TRY(check_floats(call));
  ETX_TRY(etx_call_check_result(
      call, ETX_ARG_glu_out, etx_call_tensor(call, ETX_ARG_glu_self)->dtype));
  call->run = run_glu;
  return ETX_OK;
}

// prelu: x, or weight times x for x below 0. There is one weight, or one for
// each index of dimension 1.
static etx_status run_prelu(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_prelu_self);
  const etx_tensor* weight = etx_call_tensor(call, ETX_ARG_prelu_weight);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_prelu_out);
  ptrdiff_t strides[ETX_MAX_RANK] = {0};
  if (weight->rank == 1 && weight->sizes[0] > 1) {
    strides[1] = weight->strides[0];
  }
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, out->sizes, out->rank);
  etx_strided_iterator_add(&it, out);
  etx_strided_iterator_add(&it, self);
  etx_strided_iterator_add_strided(&it, weight->data,
                                   etx_dtype_bytes(weight->dtype), strides);
  etx_binary prelu = etx_binary_of(ETX_BINARY_prelu, self->dtype);
  prelu.dtypes[0] = out->dtype;
  etx_binary_run(&prelu, &it);
  return ETX_OK;
}

etx_status etx_kernel_prelu_out_prepare(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_prelu_self);
  const etx_tensor* weight = etx_call_tensor(call, ETX_ARG_prelu_weight);
  const size_t count = etx_tensor_numel(weight);
  ETX_TRY(check_floats(call));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_prelu_self,
                                    ETX_ARG_prelu_weight));
  ETX_TRY(etx_call_check_result(call, ETX_ARG_prelu_out, self->dtype));
  const bool fits = self->rank > 1 && (size_t)self->sizes[1] == count;
  if (weight->rank > 1 || (count != 1 && !fits)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'weight' has %z elements, expected 1 or as many "
                           "as dimension 1 of 'self'",
                           count);
  }
  call->run = run_prelu;
  return ETX_OK;
}
