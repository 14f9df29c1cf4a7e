// The epilogue of a matrix product: alpha and beta, the matrix that is added,
// and a fused elementwise chain if it only adds a tensor, such as a residual.

#ifndef ETX_RUNTIME_KERNELS_MATMUL_GEMM_EPILOGUE_H
#define ETX_RUNTIME_KERNELS_MATMUL_GEMM_EPILOGUE_H

#include "runtime/kernels/simd/f32/gemm_args.h"

// out = beta * added + alpha * out for some columns of a row, with sums in the
// compute type. Does nothing if there is nothing to add.
void etx_gemm_epilogue_add(const etx_gemm* product, etx_compute_type wide,
                           size_t row, size_t column, size_t columns,
                           void* sums);

// The same in float32, followed by the fused chain if it only adds a tensor
// (etx_chain_added).
void etx_gemm_epilogue_run(const etx_gemm* product, size_t row, size_t column,
                           size_t columns, float* sums);

#endif
