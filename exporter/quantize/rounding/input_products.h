// How the inputs of a linear layer vary together: the sums of the products of
// their elements over the rows of recorded calls, H = sum of x xT, and what
// follows from them for rounding (feedback_rounding.h).
//
// Elements are taken in blocks of ETX_INPUT_BLOCK, and products of elements of
// two blocks are left out: memory and time grow with the length of the row
// instead of its square.
//
// The code uses only operations whose results IEEE 754 defines exactly, in a
// fixed order: every compiler and any number of threads produces the same bits.

#ifndef ETX_EXPORTER_QUANTIZE_ROUNDING_INPUT_PRODUCTS_H
#define ETX_EXPORTER_QUANTIZE_ROUNDING_INPUT_PRODUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/host/workers.h"

enum {
  ETX_INPUT_BLOCK = 2048,  // a multiple of every group of a weight
  ETX_INPUT_VECTOR = 16,   // widths are multiples of it
};

typedef struct etx_input_products {
  size_t inner;    // elements of a row
  uint64_t rows;   // that were added
  float* sums;     // of each block [width, width], where row <= column
  float* pending;  // [ETX_INPUT_VECTOR, inner rounded up]: rows, added next
  size_t pending_count;  // of them
} etx_input_products;

// Elements in front of a block of a row, and elements of it. The last block may
// have fewer than its width in the layout.
static inline size_t etx_input_block_first(size_t block) {
  return block * ETX_INPUT_BLOCK;
}
static inline size_t etx_input_block_size(size_t inner, size_t block) {
  const size_t rest = inner - etx_input_block_first(block);
  return rest < ETX_INPUT_BLOCK ? rest : ETX_INPUT_BLOCK;
}
static inline size_t etx_input_block_width(size_t inner, size_t block) {
  const size_t size = etx_input_block_size(inner, block);
  return (size + ETX_INPUT_VECTOR - 1) / ETX_INPUT_VECTOR * ETX_INPUT_VECTOR;
}

// Bytes of memory for rows of `inner` elements; false if there are too many.
bool etx_input_products_bytes(size_t inner, size_t* out_bytes);

// Starts with sums of zero. `memory`, zeroed, belongs to the caller.
void etx_input_products_init(etx_input_products* products, size_t inner,
                             float* memory);

// Adds `count` rows, one after the other. `workers` may be NULL.
void etx_input_products_add(etx_input_products* products, const float* rows,
                            size_t count, const etx_workers* workers);

// What rounding needs of the products: for each block, with H = R RT and R
// upper triangular, the factors R[i][c] / R[c][c] for i < c.
typedef struct etx_input_factors {
  size_t inner;
  const float* factors;  // in the layout of the sums
} etx_input_factors;

// Bytes of scratch memory for etx_input_factors_make.
size_t etx_input_factors_scratch(size_t inner);

// Makes factors in the place of the sums, which end to exist. A fifth of the
// mean of the diagonal is added to the diagonal, because few rows say little
// about rare directions. False if nothing can be said: all inputs were zero,
// or some were not finite.
bool etx_input_factors_make(etx_input_products* products, double* scratch,
                            const etx_workers* workers, etx_input_factors* out);

#endif
