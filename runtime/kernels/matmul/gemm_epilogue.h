// What is done with the sums of a matrix product before they are results:
// alpha and beta, the matrix that the product is added to, and the additions
// of the fused chain.

#ifndef ETX_RUNTIME_KERNELS_MATMUL_GEMM_EPILOGUE_H
#define ETX_RUNTIME_KERNELS_MATMUL_GEMM_EPILOGUE_H

#include "runtime/kernels/simd/f32/gemm_args.h"

// out = beta * added + alpha * out for some columns of a row whose sums are in
// the compute type; nothing if nothing is added.
void etx_gemm_epilogue_add(const etx_gemm* product, etx_compute_type wide,
                           size_t row, size_t column, size_t columns,
                           void* sums);

// The same of float32, and then what the chain adds (etx_chain_added).
void etx_gemm_epilogue_run(const etx_gemm* product, size_t row, size_t column,
                           size_t columns, float* sums);

#endif
