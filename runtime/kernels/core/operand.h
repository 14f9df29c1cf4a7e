// Operands of elementwise kernels: Scalar arguments, type promotion, and rows
// of elements converted to a compute type.

#ifndef ETX_RUNTIME_KERNELS_CORE_OPERAND_H
#define ETX_RUNTIME_KERNELS_CORE_OPERAND_H

#include "runtime/kernel.h"
#include "runtime/kernels/core/convert.h"

// The category by which a Scalar argument counts in type promotion.
etx_dtype_category etx_scalar_category(const etx_value* value);

// A Scalar in the compute type of `dtype`, converted to `dtype` first: 300 is
// 44 for uint8.
etx_scalar etx_scalar_read(const etx_value* value, etx_dtype dtype);

// Refuses a Scalar argument that `dtype` cannot hold, as PyTorch does where it
// makes an element of it: 300 for int8, 1e6 for float16. Infinity and NaN fit
// floats, any number fits bool, and -1 is 255 for uint8.
etx_status etx_call_check_scalar(const etx_call* call, size_t index,
                                 etx_dtype dtype);

// The number 1.
etx_scalar etx_scalar_one(etx_dtype dtype);

// A Scalar as one element of `dtype` in memory; `out` has room for 8 bytes.
void etx_scalar_store(const etx_value* value, etx_dtype dtype, void* out);

static inline bool etx_call_is_tensor(const etx_call* call, size_t index) {
  return etx_call_value(call, index)->kind == ETX_VALUE_TENSOR;
}

// The common type of arguments `first` to `first + count - 1` by PyTorch's type
// promotion: tensors of real types and numbers; None does not count.
etx_status etx_call_common_type(const etx_call* call, size_t first,
                                size_t count, etx_dtype* out_dtype);

// Refuses a tensor of a type that kernels do not compute with.
etx_status etx_call_check_real(const etx_call* call, size_t index);

// Refuses to store results of type `result` in argument `out` where PyTorch
// does: floats as integers, and numbers as bool.
etx_status etx_call_check_result(const etx_call* call, size_t out,
                                 etx_dtype result);

// At most ETX_BLOCK elements in the compute type of `common`, converted to
// `common` first. The result points to `data` if the elements have the compute
// type and `stride` is 0 or 1, else to `block`. For stride 0 it has one
// element.
const void* etx_operand_widen(etx_block* block, etx_dtype common,
                              etx_dtype dtype, const void* data,
                              ptrdiff_t stride, size_t count);

// The same with `count` elements for stride 0 too.
const void* etx_operand_row(etx_block* block, etx_dtype common, etx_dtype dtype,
                            const void* data, ptrdiff_t stride, size_t count);

// The same, always into `block`.
void etx_operand_fill(etx_block* block, etx_dtype common, etx_dtype dtype,
                      const void* data, ptrdiff_t stride, size_t count);

// Elements of a tensor that are converted to the type `cast` when they are
// read.
typedef struct etx_operand_source {
  const void* data;
  ptrdiff_t stride;  // in elements
  etx_dtype dtype;
  etx_dtype cast;
} etx_operand_source;

// Loads at most ETX_BLOCK elements as if they had first been converted to
// `cast`, which makes a difference for floats that become integers.
void etx_operand_load_as(etx_block* block, etx_compute_type compute,
                         const etx_operand_source* source, size_t count);

// Stores a block that was computed for the common type `common`: it is first
// rounded to that type.
void etx_operand_store(etx_block* block, etx_dtype common, etx_dtype to,
                       void* out, ptrdiff_t stride, size_t count);

#endif
