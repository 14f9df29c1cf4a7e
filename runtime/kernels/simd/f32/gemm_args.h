// The operands of one matrix product, out = left * right (+ added). Which
// microkernels compute it is chosen above (gemm.h); the one for small
// products reads this struct itself.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_GEMM_ARGS_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_GEMM_ARGS_H

#include "format/tensor/dtype.h"
#include "runtime/kernels/simd/vector/compute_type.h"

// Columns of a panel, if right has panels.
enum { ETX_GEMM_PANEL = 16 };

struct etx_chain;

typedef struct etx_gemm {
  size_t rows, columns, inner;  // [rows, inner] * [inner, columns]
  etx_dtype dtype;              // of all three
  const char* left;
  ptrdiff_t left_row, left_inner;  // strides in elements
  const char* right;
  ptrdiff_t right_inner, right_column;
  // Right is float32 in panels of sixteen columns, [columns / 16][inner][16],
  // and the strides say nothing. Sums are those of [columns, inner].
  bool has_panels;
  char* out;          // rows of `columns` elements without gaps
  ptrdiff_t out_row;  // in elements
  // With panels and no chain, the columns may come in parts, of whole panels,
  // that lie `part_step` elements apart; 0: they are one.
  size_t part_columns;
  ptrdiff_t part_step;
  // What the product is added to: out = beta * added + alpha * product.
  const char* added;                  // NULL: nothing, and alpha is 1
  ptrdiff_t added_row, added_column;  // strides, 0 where it is broadcast
  etx_scalar alpha, beta;             // of the compute type
  bool is_scaled;                     // alpha or beta is not 1
  bool ignores_added;                 // beta is 0: not even NaN gets through
  bool ignores_product;               // alpha is 0: the same
  // Computed with float32 results before they leave the cache; NULL: nothing.
  // Rows of the chain are rows of the product.
  const struct etx_chain* chain;
} etx_gemm;

// True if rows of float32 are added as they are: small products do that
// themselves.
static inline bool etx_gemm_small_adds(const etx_gemm* product) {
  return product->added != NULL && !product->is_scaled &&
         product->added_column == 1;
}

#endif
