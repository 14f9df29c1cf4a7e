// One matrix product, out = left * right, over strided operands: what mm, bmm,
// addmm and linear are made of.

#ifndef ETX_RUNTIME_KERNELS_PRODUCT_H
#define ETX_RUNTIME_KERNELS_PRODUCT_H

#include "runtime/kernel.h"
#include "runtime/kernels/convert.h"

typedef struct etx_product {
  size_t rows, columns, inner;  // [rows, inner] * [inner, columns]
  etx_dtype dtype;              // of all three
  const char* left;
  ptrdiff_t left_row, left_inner;  // strides in elements
  const char* right;
  ptrdiff_t right_inner, right_column;
  char* out;          // rows of `columns` elements without gaps
  ptrdiff_t out_row;  // in elements
} etx_product;

// Computes columns `first` up to `last` of every row. With no inner element
// the result is zero.
void etx_product_columns(const etx_product* product, size_t first, size_t last);

// Computes all of it, over the call's threads if it is large enough.
void etx_product_run(const etx_product* product, const etx_parallel* parallel);

#endif
