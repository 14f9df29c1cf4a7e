// One matrix product, out = left * right (+ added), over strided operands:
// what mm, bmm, addmm and linear are made of.

#ifndef ETX_RUNTIME_KERNELS_PRODUCT_H
#define ETX_RUNTIME_KERNELS_PRODUCT_H

#include "runtime/kernels/chain.h"
#include "runtime/kernels/operand.h"

// The order of a float32 sum depends on sizes and layout alone: not on the
// machine, the instruction set or the number of threads. Every step, product
// and addition, is rounded once.
//
//   dots    inner elements of both operands side by side, and at most so many
//           rows or so many columns: sixteen partial sums (panel_loops.h);
//           never with panels
//   else    from the first inner element to the last, from zero
//
// Then what is added comes, in steps of their own. Narrower floats are summed
// in float32 in the second order and rounded once at the end.
enum { ETX_PRODUCT_DOT_ROWS = 12, ETX_PRODUCT_DOT_COLUMNS = 8 };

// Columns of a panel, if right has panels.
enum { ETX_PRODUCT_PANEL = 16 };

typedef struct etx_product {
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
  etx_number alpha, beta;             // of the wide type
  bool is_scaled;                     // alpha or beta is not 1
  bool ignores_added;                 // beta is 0: not even NaN gets through
  bool ignores_product;               // alpha is 0: the same
  // Computed with float32 results before they leave the cache; NULL: nothing.
  // Rows of the chain are rows of the product.
  const etx_chain* chain;
} etx_product;

// True if rows of float32 are added as they are: small products do that
// themselves.
static inline bool etx_small_adds(const etx_product* product) {
  return product->added != NULL && !product->is_scaled &&
         product->added_column == 1;
}

// Computes all of it, over the call's threads if it is large enough. With no
// inner element the product is zero.
void etx_product_run(const etx_product* product, const etx_parallel* parallel);

#endif
