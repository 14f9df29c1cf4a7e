// Kernels whose every call has a tensor of certain types: one macro for each,
//
//   #define ETX_NEEDS_<symbol> , ETX_HAS_DTYPE(...)
//
// with a condition that is false if the build leaves out these types
// (built_types.h), and so the kernel. kernel_table.c detects the macro by its
// comma; a symbol without a macro is in every build.

#ifndef ETX_RUNTIME_KERNELS_REGISTRY_TYPE_BOUND_KERNELS_H
#define ETX_RUNTIME_KERNELS_REGISTRY_TYPE_BOUND_KERNELS_H

#include "runtime/built_types.h"

// Complex numbers on one side.
#define ETX_NEEDS_fft_r2c_out , ETX_HAS_COMPLEX
#define ETX_NEEDS_fft_c2r_out , ETX_HAS_COMPLEX
#define ETX_NEEDS_fft_c2c_out , ETX_HAS_COMPLEX
#define ETX_NEEDS_view_as_real_copy_out , ETX_HAS_COMPLEX
#define ETX_NEEDS_view_as_complex_copy_out , ETX_HAS_COMPLEX

// Scales as doubles.
#define ETX_NEEDS_choose_qparams_tensor_out , ETX_HAS_DTYPE(FLOAT64)
#define ETX_NEEDS_choose_qparams_per_token_asymmetric_out \
  , ETX_HAS_DTYPE(FLOAT64)

// Quantised elements of one byte, of either kind or of one.
#define ETX_HAS_BYTES (ETX_HAS_DTYPE(INT8) || ETX_HAS_DTYPE(UINT8))
#define ETX_NEEDS_quantized_add_out , ETX_HAS_BYTES
#define ETX_NEEDS_embedding_byte_out , ETX_HAS_BYTES
#define ETX_NEEDS_embedding_byte_dtype_out , ETX_HAS_BYTES
#define ETX_NEEDS_mixed_mm_out , ETX_HAS_DTYPE(INT8)
#define ETX_NEEDS_mixed_linear_out , ETX_HAS_DTYPE(INT8)
#define ETX_NEEDS_linear_w8_out , ETX_HAS_DTYPE(INT8)
#define ETX_NEEDS_linear_a8w8_out , ETX_HAS_DTYPE(INT8)
#define ETX_NEEDS_linear_a8w8_panels_out \
  , (ETX_HAS_DTYPE(INT8) && ETX_HAS_DTYPE(INT32))
#define ETX_NEEDS_linear_a8w8_panels_argmax_out ETX_NEEDS_linear_a8w8_panels_out
#define ETX_NEEDS_U8                              \
  , (ETX_HAS_DTYPE(UINT8) && ETX_HAS_DTYPE(INT8) && \
     ETX_HAS_DTYPE(INT32))
#define ETX_NEEDS_convolution_u8_out ETX_NEEDS_U8
#define ETX_NEEDS_depthwise_u8_out ETX_NEEDS_U8
#define ETX_NEEDS_linear_u8_out ETX_NEEDS_U8
#define ETX_NEEDS_max_pool2d_u8_out , ETX_HAS_DTYPE(UINT8)
#define ETX_NEEDS_mean_u8_out , ETX_HAS_DTYPE(UINT8)
#define ETX_NEEDS_chain_u8_out , ETX_HAS_DTYPE(UINT8)
#define ETX_NEEDS_embedding_2bit_out , ETX_HAS_DTYPE(UINT8)
#define ETX_NEEDS_embedding_2bit_dtype_out , ETX_HAS_DTYPE(UINT8)
#define ETX_NEEDS_embedding_4bit_out , ETX_HAS_DTYPE(UINT8)
#define ETX_NEEDS_embedding_4bit_dtype_out , ETX_HAS_DTYPE(UINT8)
#define ETX_NEEDS_linear_w4g_out , ETX_HAS_DTYPE(UINT8)
#define ETX_NEEDS_linear_a8w4g_out , ETX_HAS_DTYPE(UINT8)
#define ETX_NEEDS_quantized_moe_ffn_out , ETX_HAS_DTYPE(UINT8)

#endif
