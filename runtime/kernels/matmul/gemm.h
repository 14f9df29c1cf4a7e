// One matrix product, out = left * right (+ added), over strided operands. mm,
// bmm, addmm and linear are made of it.

#ifndef ETX_RUNTIME_KERNELS_MATMUL_GEMM_H
#define ETX_RUNTIME_KERNELS_MATMUL_GEMM_H

#include "runtime/kernel.h"
#include "runtime/kernels/simd/f32/gemm_args.h"

// The order of a float32 sum depends on sizes and layout alone: not on the
// machine, the instruction set or the number of threads. Every step, product
// and addition, is rounded once.
//
//   dots    inner elements of both operands contiguous, and few rows or few
//           columns: sixteen partial sums (f32_microkernels.h);
//           never with panels
//   else    from the first inner element to the last, from zero
//
// Then `added` is added, in steps of its own. Narrower floats are expanded,
// summed in float32 in the same orders and rounded once at the end.
enum {
  // Few rows or columns: sums are dots (GEMM NT) with at most so many rows, or
  // at most so many columns.
  ETX_GEMM_NT_ROWS = 12,
  ETX_GEMM_NT_COLUMNS = 8,
};

// States the bytes of temporary memory for a product of these sizes: a tile for
// each thread. The number depends on the type, the sizes and `has_panels` only,
// and does not fall when a size rises. Returns false if it is too large.
bool etx_gemm_temporary(const etx_gemm* product, const etx_parallel* parallel,
                        size_t* out_bytes);

// Computes the product, over the call's threads if it is large enough. With no
// inner element the product is zero. `temporary` has etx_gemm_temporary bytes.
void etx_gemm_run(const etx_gemm* product, const etx_parallel* parallel,
                  void* temporary);

#endif
