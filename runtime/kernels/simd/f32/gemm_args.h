// The operands of one matrix product, out = left * right (+ added). gemm.h
// chooses the microkernel; the one for small products reads this struct itself.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_GEMM_ARGS_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_GEMM_ARGS_H

#include "format/tensor/dtype.h"
#include "runtime/kernels/simd/vector/compute_type.h"

// Columns of a panel, if right has panels.
enum { ETX_GEMM_PANEL = 16 };

struct etx_chain;

typedef struct etx_gemm {
  size_t rows, columns, inner;  // [rows, inner] * [inner, columns]
  etx_dtype dtype;              // of left, what is added and the result
  etx_dtype right_dtype;        // the same, or a half type beside float32
  const char* left;
  ptrdiff_t left_row, left_inner;  // strides in elements
  const char* right;
  ptrdiff_t right_inner, right_column;
  // Right is float32 in panels of sixteen columns, [columns / 16][inner][16];
  // its strides are not used. Sums have the order of GEMM NT. The inner elements
  // of left are then contiguous.
  bool has_panels;
  char* out;          // rows of `columns` elements without gaps
  ptrdiff_t out_row;  // in elements
  // With panels and no chain, the result's columns may be stored in parts of
  // whole panels, which are `part_step` elements apart; 0: they are contiguous.
  size_t part_columns;
  ptrdiff_t part_step;
  // out = beta * added + alpha * product. These are the addend and its factors.
  const char* added;                  // NULL: nothing, and alpha is 1
  ptrdiff_t added_row, added_column;  // strides, 0 where it is broadcast
  etx_scalar alpha, beta;             // in the compute type
  bool is_scaled;                     // alpha or beta is not 1
  bool ignores_added;                 // beta is 0: even NaN does not count
  bool ignores_product;               // alpha is 0: the same
  // Elementwise steps on float32 results while they are in the cache; NULL:
  // none. Rows of the chain are rows of the product.
  const struct etx_chain* chain;
} etx_gemm;

// True if `added` has rows of float32 and no factor: then the small product
// adds it itself.
static inline bool etx_gemm_small_adds(const etx_gemm* product) {
  return product->added != NULL && !product->is_scaled &&
         product->added_column == 1;
}

#endif
