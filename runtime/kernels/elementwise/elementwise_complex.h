// Elementwise operators over complex numbers, for the kernels that serve real
// types too. Operands and result have one type; magnitudes are real.

#ifndef ETX_RUNTIME_KERNELS_ELEMENTWISE_ELEMENTWISE_COMPLEX_H
#define ETX_RUNTIME_KERNELS_ELEMENTWISE_ELEMENTWISE_COMPLEX_H

#include "runtime/kernel.h"

// conj(self) for self of complex64 or complex128.
etx_status etx_complex_conjugate_prepare(etx_call* call);

// |self|, real, for the same.
etx_status etx_complex_magnitude_prepare(etx_call* call);

// True if argument 0 or 1 is a complex tensor.
bool etx_complex_is_wanted(const etx_call* call);

// The functions add, subtract, multiply, divide, eq and ne of binary_ops.def
// over two complex tensors; others, and other types, are refused. `function` is
// an etx_binary_function.
etx_status etx_complex_binary_prepare(etx_call* call, size_t function);

#endif
