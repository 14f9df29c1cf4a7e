#include "runtime/kernels/quantized/affine.h"

#include "runtime/kernels/core/slice_args.h"

enum { SCALE = 1, ZERO = 2, AXIS = 3 };

static bool is_tensor(const etx_call* call, size_t index) {
  return etx_call_value(call, index)->kind == ETX_VALUE_TENSOR;
}

etx_status etx_affine_check(const etx_call* call) {
  if (is_tensor(call, SCALE)) {
    const etx_compute_type compute =
        etx_compute_type_of(etx_call_tensor(call, SCALE)->dtype);
    if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
      return etx_call_refuse_dtype(call, SCALE, "floats");
    }
  }
  return is_tensor(call, ZERO) ? etx_call_check_real(call, ZERO) : ETX_OK;
}

bool etx_affine_is_double(const etx_call* call) {
  return is_tensor(call, SCALE) &&
         etx_call_tensor(call, SCALE)->dtype == ETX_DTYPE_FLOAT64;
}

// Sets the strides of `operand` for the dimensions of the input.
static void set_strides(const etx_call* call, etx_affine_kind kind,
                        const etx_tensor* tensor, etx_affine_operand* operand) {
  const etx_tensor* input = etx_call_tensor(call, 0);
  operand->data = tensor->data;
  operand->dtype = tensor->dtype;
  if (kind == ETX_AFFINE_PER_CHANNEL && tensor->sizes[0] != 1) {
    const size_t axis =
        etx_wrap_dimension(etx_call_integer(call, AXIS), input->rank);
    operand->strides[axis] = tensor->strides[0];
  }
  if (kind != ETX_AFFINE_PER_TOKEN) return;
  for (size_t i = 0; i < tensor->rank && i < input->rank; ++i) {
    const size_t from = (size_t)tensor->rank - 1 - i;
    const size_t to = (size_t)input->rank - 1 - i;
    if (tensor->sizes[from] != 1) operand->strides[to] = tensor->strides[from];
  }
}

void etx_affine_read(const etx_call* call, etx_affine_kind kind,
                     etx_affine* affine) {
  *affine = (etx_affine){.zero_point_value = 0};
  if (is_tensor(call, SCALE)) {
    set_strides(call, kind, etx_call_tensor(call, SCALE), &affine->scale);
  } else {
    affine->scale_value = etx_call_real(call, SCALE);
    affine->scale.data = &affine->scale_value;
    affine->scale.dtype = ETX_DTYPE_FLOAT64;
  }
  if (is_tensor(call, ZERO)) {
    set_strides(call, kind, etx_call_tensor(call, ZERO), &affine->zero);
    return;
  }
  if (!etx_call_is_none(call, ZERO)) {
    affine->zero_point_value = etx_call_integer(call, ZERO);
  }
  affine->zero.data = &affine->zero_point_value;
  affine->zero.dtype = ETX_DTYPE_INT64;
}

bool etx_affine_start_iterator(etx_strided_iterator* iterator,
                               const etx_tensor* out, const etx_tensor* input,
                               const etx_affine* affine) {
  etx_strided_iterator_init(iterator, out->sizes, out->rank);
  etx_strided_iterator_add(iterator, out);
  etx_strided_iterator_add(iterator, input);
  etx_strided_iterator_add_strided(iterator, affine->scale.data,
                                   etx_dtype_bytes(affine->scale.dtype),
                                   affine->scale.strides);
  etx_strided_iterator_add_strided(iterator, affine->zero.data,
                                   etx_dtype_bytes(affine->zero.dtype),
                                   affine->zero.strides);
  return etx_strided_iterator_start(iterator);
}
