// Kernels with temporary memory: one macro for each,
//
//   #define ETX_TEMPORARY_<symbol> , etx_temporary_<family>
//
// with the function that states the bytes (kernel.h: `temporary_bytes`).
// kernel_table.c detects the macro by its comma; a symbol without a macro has
// no function.

#ifndef ETX_RUNTIME_KERNELS_REGISTRY_TEMPORARY_KERNELS_H
#define ETX_RUNTIME_KERNELS_REGISTRY_TEMPORARY_KERNELS_H

#include "runtime/kernel.h"

// A line in the compute type.
#define ETX_TEMPORARY_fast_hadamard_transform_out , etx_temporary_hadamard
etx_status etx_temporary_hadamard(const etx_call* call, size_t* out_bytes);

// Factors of one matrix, in double.
#define ETX_TEMPORARY_linalg_qr_out , etx_temporary_qr
#define ETX_TEMPORARY_linalg_svd_out , etx_temporary_svd
#define ETX_TEMPORARY_linalg_eigh_out , etx_temporary_eigh
etx_status etx_temporary_qr(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_svd(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_eigh(const etx_call* call, size_t* out_bytes);

// Accumulators of elements that have the same index.
#define ETX_TEMPORARY_index_put_out , etx_temporary_index_put
#define ETX_TEMPORARY_index_put_in_place , etx_temporary_index_put
#define ETX_TEMPORARY_index_add_out , etx_temporary_index_add
#define ETX_TEMPORARY_scatter_add_out , etx_temporary_scatter_add
#define ETX_TEMPORARY_scatter_reduce_two_out , etx_temporary_scatter_reduce
etx_status etx_temporary_index_put(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_index_add(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_scatter_add(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_scatter_reduce(const etx_call* call,
                                        size_t* out_bytes);

// Linear layers over quantised weights: the input as floats or integers.
etx_status etx_temporary_quantized_linear(const etx_call* call,
                                          size_t* out_bytes);
#define ETX_TEMPORARY_linear_w8_out , etx_temporary_quantized_linear
#define ETX_TEMPORARY_linear_w4g_out , etx_temporary_quantized_linear
#define ETX_TEMPORARY_linear_a8w8_out , etx_temporary_quantized_linear
#define ETX_TEMPORARY_linear_a8w8_panels_out , etx_temporary_quantized_linear
#define ETX_TEMPORARY_linear_a8w8_panels_argmax_out \
  , etx_temporary_quantized_argmax
#define ETX_TEMPORARY_linear_a8w4g_out , etx_temporary_quantized_linear
#define ETX_TEMPORARY_mixed_linear_out , etx_temporary_quantized_linear

// The same, and the largest result of each row.
etx_status etx_temporary_quantized_argmax(const etx_call* call,
                                          size_t* out_bytes);

// Products of floats, integers and doubles: blocks of their operands, for each
// thread.
etx_status etx_temporary_product(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_bmm_nt(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_addmm(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_linear(const etx_call* call, size_t* out_bytes);
#define ETX_TEMPORARY_mm_out , etx_temporary_product
#define ETX_TEMPORARY_bmm_out , etx_temporary_product
#define ETX_TEMPORARY_matmul_out , etx_temporary_product
#define ETX_TEMPORARY_mv_out , etx_temporary_product
#define ETX_TEMPORARY_dot_out , etx_temporary_product
#define ETX_TEMPORARY_bmm_nt_out , etx_temporary_bmm_nt
#define ETX_TEMPORARY_grouped_mm_out , etx_temporary_product
#define ETX_TEMPORARY_addmm_out , etx_temporary_addmm
#define ETX_TEMPORARY_baddbmm_out , etx_temporary_addmm
#define ETX_TEMPORARY_linear_out , etx_temporary_linear
#define ETX_TEMPORARY_linear_chain_out , etx_temporary_linear

// Convolutions: patches, sums and weights, for each thread.
etx_status etx_temporary_convolution(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_convolution_backward(const etx_call* call,
                                              size_t* out_bytes);
etx_status etx_temporary_convolution_panels(const etx_call* call,
                                            size_t* out_bytes);
#define ETX_TEMPORARY_convolution_panels_out , etx_temporary_convolution_panels
#define ETX_TEMPORARY_convolution_out , etx_temporary_convolution
#define ETX_TEMPORARY_convolution_chain_out , etx_temporary_convolution
#define ETX_TEMPORARY_convolution_packed_out , etx_temporary_convolution
#define ETX_TEMPORARY_convolution_backward_out \
  , etx_temporary_convolution_backward

// Convolutions of uint8: a pixel of zero points. They and linear layers also
// have tiles for each thread.
etx_status etx_temporary_u8(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_convolution_u8(const etx_call* call,
                                        size_t* out_bytes);
etx_status etx_temporary_depthwise_u8(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_linear_u8(const etx_call* call, size_t* out_bytes);
#define ETX_TEMPORARY_convolution_u8_out , etx_temporary_convolution_u8
#define ETX_TEMPORARY_depthwise_u8_out , etx_temporary_depthwise_u8
#define ETX_TEMPORARY_linear_u8_out , etx_temporary_linear_u8

// Attention: blocks of keys and values as floats, for each thread.
etx_status etx_temporary_attention(const etx_call* call, size_t* out_bytes);
#define ETX_TEMPORARY_scaled_dot_product_attention_out , etx_temporary_attention
#define ETX_TEMPORARY_attention_out , etx_temporary_ordered_attention
#define ETX_TEMPORARY_attention_capped_out , etx_temporary_ordered_attention
#define ETX_TEMPORARY_attention_scaled_out , etx_temporary_ordered_attention
etx_status etx_temporary_ordered_attention(const etx_call* call,
                                           size_t* out_bytes);
#define ETX_TEMPORARY_custom_sdpa_out , etx_temporary_attention
#define ETX_TEMPORARY_custom_quantized_sdpa_out , etx_temporary_attention
#define ETX_TEMPORARY_sdpa_with_kv_cache_out , etx_temporary_attention

// Transformed tiles of the input of a Winograd convolution, and tiles of sums.
etx_status etx_temporary_winograd(const etx_call* call, size_t* out_bytes);
#define ETX_TEMPORARY_convolution_winograd_out , etx_temporary_winograd

// Sorting: entries of a line. Fourier transforms: tables and lines.
etx_status etx_temporary_topk(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_sort(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_fft_r2c(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_fft_c2r(const etx_call* call, size_t* out_bytes);

#define ETX_TEMPORARY_fft_r2c_out , etx_temporary_fft_r2c
#define ETX_TEMPORARY_fft_c2r_out , etx_temporary_fft_c2r
#define ETX_TEMPORARY_fft_c2c_out , etx_temporary_fft_r2c
#define ETX_TEMPORARY_topk_values , etx_temporary_topk
#define ETX_TEMPORARY_sort_values_stable , etx_temporary_sort
// Unique elements or slices: their order.
etx_status etx_temporary_unique2(const etx_call* call, size_t* out_bytes);
etx_status etx_temporary_unique_dim(const etx_call* call, size_t* out_bytes);
#define ETX_TEMPORARY_unique2_out , etx_temporary_unique2
#define ETX_TEMPORARY_unique_dim_out , etx_temporary_unique_dim
// Boxes in the order of their scores.
etx_status etx_temporary_nms(const etx_call* call, size_t* out_bytes);
#define ETX_TEMPORARY_nms_out , etx_temporary_nms
// Mixture of experts: the choices of the router, and a tile of tokens.
etx_status etx_temporary_quantized_moe(const etx_call* call, size_t* out_bytes);
#define ETX_TEMPORARY_quantized_moe_ffn_out , etx_temporary_quantized_moe
// Recurrent layers: the hidden part of the gates of a step.
etx_status etx_temporary_recurrent(const etx_call* call, size_t* out_bytes);
#define ETX_TEMPORARY_gru_sequence_out , etx_temporary_recurrent
#define ETX_TEMPORARY_lstm_sequence_out , etx_temporary_recurrent
#define ETX_TEMPORARY_rnn_tanh_sequence_out , etx_temporary_recurrent
#define ETX_TEMPORARY_rnn_relu_sequence_out , etx_temporary_recurrent

#endif
