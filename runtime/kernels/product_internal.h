// The ways through a product that product.c chooses from. Each computes a part
// of the result, and what is added to it.

#ifndef ETX_RUNTIME_KERNELS_PRODUCT_INTERNAL_H
#define ETX_RUNTIME_KERNELS_PRODUCT_INTERNAL_H

#include "runtime/kernels/panel.h"
#include "runtime/kernels/panel_loops.h"
#include "runtime/kernels/product.h"

// Some rows and columns of the result.
typedef struct etx_product_area {
  size_t row, rows, column, columns;
} etx_product_area;

// Dot products (etx_dot_block): float32, both operands with inner elements side
// by side, at least one of them.
void etx_product_dots(const etx_product* product, const etx_panel_loops* loops,
                      const etx_product_area* area);

// Sums tap by tap, float32 and narrower floats: blocks of right are copied to
// the stack in groups of columns, or are the panels that right has. What the
// chain adds (etx_chain_added) is added here, too.
void etx_product_blocks(const etx_product* product,
                        const etx_panel_loops* loops,
                        const etx_product_area* area);

// The same of float32 where rows are lanes: left is turned, and right is read
// where it lies. For areas that it suits: few rows, and few lanes more.
bool etx_product_suits_lanes(const etx_product* product,
                             const etx_product_area* area);
void etx_product_lanes(const etx_product* product, const etx_panel_loops* loops,
                       const etx_product_area* area);

// Sums tap by tap, integers and float64.
void etx_product_panels(const etx_product* product,
                        const etx_panel_loops* loops,
                        const etx_product_area* area);

// out = beta * added + alpha * out for some columns of a row whose sums are in
// the wide type; nothing if nothing is added.
void etx_product_add(const etx_product* product, etx_wide wide, size_t row,
                     size_t column, size_t columns, void* sums);

// The same of float32, and then what the chain adds (etx_chain_added).
void etx_product_add_all(const etx_product* product, size_t row, size_t column,
                         size_t columns, float* sums);

#endif
