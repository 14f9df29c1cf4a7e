// Reads and checks the arguments that all uint8 operators (op_schema.def) have.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_U8_U8_ARGS_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_U8_U8_ARGS_H

#include "runtime/kernel.h"
#include "runtime/kernels/simd/int8/u8_loops.h"

// For prepare. Checks types and contiguity of the input (argument 0), of the
// weight (argument `weight`), of offsets, scales and bias (arguments from
// `channels` on), and of the result, whose type is the argument before it.
ETX_MUST_USE etx_status etx_u8_check(const etx_call* call, size_t weight,
                                     size_t channels);

// For run. Reads offsets, scales and bias from argument `channels` on, and
// out_zero_point, out_min, out_max and dtype from argument `results` on.
void etx_u8_requantize_read(const etx_call* call, size_t channels,
                            size_t results, etx_u8_requantize* out);

// Reads only out_zero_point, out_min, out_max and dtype.
void etx_u8_requantize_bounds_read(const etx_call* call, size_t results,
                                   etx_u8_requantize* out);

#endif
