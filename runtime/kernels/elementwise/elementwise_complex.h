// Elementwise operators over complex numbers. The kernels of operators that
// have real types, too, call these functions. Operands and result have one
// type, but magnitudes are real and comparisons give bool.

#ifndef ETX_RUNTIME_KERNELS_ELEMENTWISE_ELEMENTWISE_COMPLEX_H
#define ETX_RUNTIME_KERNELS_ELEMENTWISE_ELEMENTWISE_COMPLEX_H

#include "runtime/kernel.h"

// Prepares conj(self) for self of complex64 or complex128.
etx_status etx_complex_conjugate_prepare(etx_call* call);

// Prepares |self|, which is real, for self of complex64 or complex128.
etx_status etx_complex_magnitude_prepare(etx_call* call);

// True if argument 0 or 1 is a complex tensor.
bool etx_complex_is_wanted(const etx_call* call);

// Prepares add, subtract, multiply, divide, eq or ne of binary_ops.def for two
// complex tensors of one type; other functions and types are refused.
// `function` is an etx_binary_function.
etx_status etx_complex_binary_prepare(etx_call* call, size_t function);

#endif
