#include "runtime/kernels/indexing/accumulate.h"

#include "format/base/checked_math.h"
#include "format/tensor/layout.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/math/wrapping_math.h"

static void add_floats(float* to, const float* from, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] += from[i];
}

// Adds a block in the compute type of both.
static void add_block(etx_compute_type compute, etx_block* to,
                      const etx_block* from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (compute == ETX_COMPUTE_I64) {
      to->i64[i] = etx_wrap_add(to->i64[i], from->i64[i]);
    } else if (compute == ETX_COMPUTE_F32) {
      to->f32[i] += from->f32[i];
    } else {
      to->f64[i] += from->f64[i];
    }
  }
}

void etx_accumulate(etx_dtype to_dtype, char* to, etx_dtype from_dtype,
                    const char* from, size_t count) {
  const etx_compute_type compute = etx_compute_type_of(to_dtype);
  const size_t to_bytes = etx_dtype_bytes(to_dtype);
  const size_t from_bytes = etx_dtype_bytes(from_dtype);
  if (to_dtype == ETX_DTYPE_FLOAT32 && from_dtype == ETX_DTYPE_FLOAT32) {
    add_floats((float*)(void*)to, (const float*)(const void*)from, count);
    return;
  }
  while (count > 0) {
    const size_t piece = count < ETX_BLOCK ? count : ETX_BLOCK;
    etx_block sum, more;
    etx_block_load(&sum, compute, to_dtype, to, 1, piece);
    etx_block_load(&more, compute, from_dtype, from, 1, piece);
    add_block(compute, &sum, &more, piece);
    etx_block_store(&sum, compute, to_dtype, to, 1, piece);
    to += piece * to_bytes;
    from += piece * from_bytes;
    count -= piece;
  }
}

etx_status etx_sum_copy_bytes(const etx_call* call, const etx_tensor* target,
                              size_t* out_bytes) {
  *out_bytes = 0;
  if (!etx_adds_in_copy(target->dtype)) return ETX_OK;
  if (etx_multiply_size(etx_tensor_numel(target), sizeof(float), out_bytes)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the sums need too much memory");
}

etx_tensor etx_sum_copy(const etx_call* call, const etx_tensor* target,
                        int32_t* strides) {
  (void)etx_layout_strides(target->sizes, NULL, target->rank, strides);
  return (etx_tensor){call->temporary, target->sizes, strides, target->rank,
                      ETX_DTYPE_FLOAT32};
}
