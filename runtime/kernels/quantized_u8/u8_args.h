// What the operators over bytes (op_schema.def) read of their calls alike.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_U8_U8_ARGS_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_U8_U8_ARGS_H

#include "runtime/kernel.h"
#include "runtime/kernels/simd/int8/u8_loops.h"

// For prepare: refuses an image that is not of dense bytes, (offsets, scales,
// bias) from `channels` on and weights `weight` that are not dense or of the
// types that op_schema.def says, and a result that is not as its dtype says,
// the argument before the last one.
ETX_MUST_USE etx_status etx_u8_check(const etx_call* call, size_t weight,
                                     size_t channels);

// For run: (offsets, scales, bias) from `channels` on and (out_zero_point,
// out_min, out_max, dtype) from `results` on.
void etx_u8_requantize_read(const etx_call* call, size_t channels,
                            size_t results, etx_u8_requantize* out);

// The bounds and the zero point alone.
void etx_u8_requantize_bounds_read(const etx_call* call, size_t results,
                                   etx_u8_requantize* out);

#endif
