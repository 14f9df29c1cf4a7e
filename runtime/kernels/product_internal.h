// The ways through a product that product.c chooses from. Each computes a part
// of the result, and what is added to it.

#ifndef ETX_RUNTIME_KERNELS_PRODUCT_INTERNAL_H
#define ETX_RUNTIME_KERNELS_PRODUCT_INTERNAL_H

#include "runtime/kernels/panel.h"
#include "runtime/kernels/panel_loops.h"
#include "runtime/kernels/simd/f32/gemm_args.h"

// Some rows and columns of the result.
typedef struct etx_product_area {
  size_t row, rows, column, columns;
} etx_product_area;

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

#endif
