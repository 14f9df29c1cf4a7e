// Transposes eight registers of eight lanes of four bytes.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_TRANSPOSE_SQUARE_AVX2_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_TRANSPOSE_SQUARE_AVX2_H

#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/vector/vector_types.h"

// From one register for each row to one for each column, in place.
static inline __attribute__((always_inline)) void transpose_square(
    etx_i32x8 a[8]) {
  etx_i32x8 b[8];
  ETX_UNROLLED
  for (int i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] =
        __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  ETX_UNROLLED
  for (int i = 0; i < 8; i += 4) {
    ETX_UNROLLED
    for (int j = 0; j < 2; ++j) {
      const etx_i32x8 x = b[i + j], y = b[i + j + 2];
      a[i + 2 * j] = __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
      a[i + 2 * j + 1] =
          __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) {
    const etx_i32x8 low = a[i], high = a[i + 4];
    a[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11);
    a[i + 4] = __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

#endif
