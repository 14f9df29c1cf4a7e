// The implementations of a product that gemm.c chooses from. Each computes a
// part of the result, including what is added to it.

#ifndef ETX_RUNTIME_KERNELS_MATMUL_GEMM_VARIANTS_H
#define ETX_RUNTIME_KERNELS_MATMUL_GEMM_VARIANTS_H

#include "runtime/kernels/matmul/implicit_gemm.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/simd/f32/gemm_args.h"

// Some rows and columns of the result.
typedef struct etx_gemm_area {
  size_t row, rows, column, columns;
} etx_gemm_area;

// Sums tap by tap, float32 and narrower floats: blocks of right are copied to
// the stack in groups of columns, or are the panels that right has. What the
// chain adds (etx_chain_added) is added here, too.
void etx_gemm_packed(const etx_gemm* product, const etx_f32_microkernels* loops,
                     const etx_gemm_area* area);

// The same of float32 where rows are lanes: left is turned, and right is read
// where it lies. For areas that it suits: few rows, and few lanes more.
bool etx_gemm_suits_transposed(const etx_gemm* product,
                               const etx_gemm_area* area);
void etx_gemm_transposed(const etx_gemm* product,
                         const etx_f32_microkernels* loops,
                         const etx_gemm_area* area);

// Sums tap by tap, integers and float64.
void etx_gemm_f64_i64(const etx_gemm* product,
                      const etx_f32_microkernels* loops,
                      const etx_gemm_area* area);

#endif
