// Kernels that refuse indices: one macro for each,
//
//   #define ETX_CHECK_<symbol> , &etx_check_<family>
//
// with what they refuse (kernel.h: etx_kernel_check). kernel_table.c detects
// the macro by its comma; a symbol without a macro has no check.

#ifndef ETX_RUNTIME_KERNELS_REGISTRY_CHECKED_KERNELS_H
#define ETX_RUNTIME_KERNELS_REGISTRY_CHECKED_KERNELS_H

#include "runtime/kernel.h"

// Index tensors of several dimensions.
#define ETX_CHECK_index_tensor_out , &etx_check_index
#define ETX_CHECK_index_put_out , &etx_check_index_put
#define ETX_CHECK_index_put_in_place , &etx_check_index_put
extern const etx_kernel_check etx_check_index;
extern const etx_kernel_check etx_check_index_put;

// One index along a dimension. Only index_fill takes negative ones.
#define ETX_CHECK_index_select_out , &etx_check_index_along
#define ETX_CHECK_index_copy_out , &etx_check_index_along
#define ETX_CHECK_index_add_out , &etx_check_index_along
#define ETX_CHECK_index_fill_int_scalar_out , &etx_check_index_fill
extern const etx_kernel_check etx_check_index_along;
extern const etx_kernel_check etx_check_index_fill;

// An index for each element.
#define ETX_CHECK_gather_out , &etx_check_gather
#define ETX_CHECK_scatter_src_out , &etx_check_scatter
#define ETX_CHECK_scatter_value_out , &etx_check_scatter
#define ETX_CHECK_scatter_add_out , &etx_check_scatter
#define ETX_CHECK_scatter_reduce_two_out , &etx_check_scatter
extern const etx_kernel_check etx_check_gather;
extern const etx_kernel_check etx_check_scatter;

// Rows of a table.
#define ETX_CHECK_embedding_out , &etx_check_embedding
#define ETX_CHECK_embedding_byte_out , &etx_check_quantized_embedding
#define ETX_CHECK_embedding_byte_dtype_out , &etx_check_quantized_embedding
#define ETX_CHECK_embedding_4bit_out , &etx_check_quantized_embedding
#define ETX_CHECK_embedding_4bit_dtype_out , &etx_check_quantized_embedding
#define ETX_CHECK_embedding_2bit_out , &etx_check_quantized_embedding
#define ETX_CHECK_embedding_2bit_dtype_out , &etx_check_quantized_embedding
extern const etx_kernel_check etx_check_embedding;
extern const etx_kernel_check etx_check_quantized_embedding;

// Rows of a cache.
#define ETX_CHECK_cache_rows_out , &etx_check_cache_rows
#define ETX_CHECK_kv_update_out , &etx_check_kv_update
#define ETX_CHECK_update_cache_out , &etx_check_update_cache
#define ETX_CHECK_update_cache_with_indices_out , &etx_check_update_with_indices
extern const etx_kernel_check etx_check_cache_rows;
extern const etx_kernel_check etx_check_kv_update;
extern const etx_kernel_check etx_check_update_cache;
extern const etx_kernel_check etx_check_update_with_indices;

#endif
