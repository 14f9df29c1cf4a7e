// The algorithms that gemm.c chooses from. Each computes an area of the result,
// with the epilogue.

#ifndef ETX_RUNTIME_KERNELS_MATMUL_GEMM_VARIANTS_H
#define ETX_RUNTIME_KERNELS_MATMUL_GEMM_VARIANTS_H

#include "runtime/built_types.h"
#include "runtime/kernels/matmul/implicit_gemm.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/simd/f32/gemm_args.h"

// Some rows and columns of the result.
typedef struct etx_gemm_area {
  size_t row, rows, column, columns;
} etx_gemm_area;

// True if all operands are bfloat16 or float16. Never in a build without these
// types, which then has no code for them.
static inline bool etx_gemm_is_half(const etx_gemm* product) {
  return (ETX_HAS_DTYPE(FLOAT16) || ETX_HAS_DTYPE(BFLOAT16)) &&
         etx_dtype_is_half(product->dtype);
}

// True if left is float32 and right bfloat16 or float16.
static inline bool etx_gemm_is_mixed(const etx_gemm* product) {
  return (ETX_HAS_DTYPE(FLOAT16) || ETX_HAS_DTYPE(BFLOAT16)) &&
         product->right_dtype != product->dtype;
}

// `function`, or NULL in a build without these types.
#define ETX_IF_HALVES(function) \
  (ETX_HAS_DTYPE(FLOAT16) || ETX_HAS_DTYPE(BFLOAT16) ? (function) : NULL)

// The dot products of an area, without their results' place.
static inline etx_gemm_nt etx_gemm_dots_at(const etx_gemm* product,
                                           const etx_gemm_area* area) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(product->dtype);
  const ptrdiff_t right_bytes =
      (ptrdiff_t)etx_dtype_bytes(product->right_dtype);
  return (etx_gemm_nt){
      .left = product->left + (ptrdiff_t)area->row * product->left_row * bytes,
      .left_row = product->left_row,
      .right = product->right +
               (ptrdiff_t)area->column * product->right_column * right_bytes,
      .right_row = product->right_column,
      .rows = area->rows,
      .columns = area->columns,
      .count = product->inner};
}

// Each algorithm has a function that states the bytes of its tile
// (thread_tiles.h) for a product of these sizes, whatever its strides.

// float32, sums tap by tap: blocks of right are packed in
// the tile in groups of columns, or right is given as panels. A fused
// chain that only adds a tensor (etx_chain_added) is computed here, too.
size_t etx_gemm_packed_tile(const etx_gemm* product);
void etx_gemm_packed(const etx_gemm* product, const etx_f32_microkernels* loops,
                     const etx_gemm_area* area, void* tile);

// The same in float32 with rows as lanes: left is transposed, and right is read
// in place. Only for areas with few rows that fill their lanes well.
bool etx_gemm_suits_transposed(const etx_gemm* product,
                               const etx_gemm_area* area);
size_t etx_gemm_transposed_tile(const etx_gemm* product);
void etx_gemm_transposed(const etx_gemm* product,
                         const etx_f32_microkernels* loops,
                         const etx_gemm_area* area, void* tile);

// Half types: dots (etx_gemm_nt) without a tile, and sums tap by tap of blocks,
// which may have a left operand in float32.
void etx_gemm_half_dots(const etx_gemm* product,
                        const etx_f32_microkernels* loops,
                        const etx_gemm_area* area, void* tile);
size_t etx_gemm_half_blocks_tile(const etx_gemm* product);
void etx_gemm_half_blocks(const etx_gemm* product,
                          const etx_f32_microkernels* loops,
                          const etx_gemm_area* area, void* tile);

// Integers and float64, sums tap by tap.
size_t etx_gemm_f64_i64_tile(const etx_gemm* product);
void etx_gemm_f64_i64(const etx_gemm* product,
                      const etx_f32_microkernels* loops,
                      const etx_gemm_area* area, void* tile);

#endif
