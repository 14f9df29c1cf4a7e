// One row of integers times weights of 4 bits.

#ifndef ETX_RUNTIME_KERNELS_X86_HALF_ROWS_AVX2_H
#define ETX_RUNTIME_KERNELS_X86_HALF_ROWS_AVX2_H

#include <stdbool.h>

#include "runtime/kernels/quantized_loops.h"

// Whether etx_half_rows_avx2 computes the block.
bool etx_half_rows_avx2_know(const etx_quantized_block* block);

// The same sums as the loop groups4.
void etx_half_rows_avx2(const etx_quantized_block* block);

#endif
