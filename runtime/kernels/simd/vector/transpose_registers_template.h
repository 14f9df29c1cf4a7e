// Transposes a square of float32 in vector registers: as many rows as a vector
// has lanes. Include after f32_vec_template.h.
//
//   VECTOR_BYTES  required  bytes of a vector register: 16, 32 or 64

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include <stddef.h>
#include <string.h>

#include "runtime/kernels/simd/vector/loop_unrolled.h"

enum { TRANSPOSE_SIDE = ETX_F32_LANES };  // rows and columns of a square

#if VECTOR_BYTES == 64

// Interleaves single elements of x and y within each 16 bytes, and then pairs
// of elements: the first two steps of a transpose.
#define TRANSPOSE_PAIRS(x, y, a)                                               \
  __builtin_shufflevector(x, y, 0 + a, 16 + a, 1 + a, 17 + a, 4 + a, 20 + a,   \
                          5 + a, 21 + a, 8 + a, 24 + a, 9 + a, 25 + a, 12 + a, \
                          28 + a, 13 + a, 29 + a)
#define TRANSPOSE_FOURS(x, y, a)                                            \
  __builtin_shufflevector(x, y, 0 + a, 1 + a, 16 + a, 17 + a, 4 + a, 5 + a, \
                          20 + a, 21 + a, 8 + a, 9 + a, 24 + a, 25 + a,     \
                          12 + a, 13 + a, 28 + a, 29 + a)
// Every second one of the 16-byte pieces of x and y.
#define TRANSPOSE_PIECES(x, y, a)                                         \
  __builtin_shufflevector(x, y, 0 + a, 1 + a, 2 + a, 3 + a, 8 + a, 9 + a, \
                          10 + a, 11 + a, 16 + a, 17 + a, 18 + a, 19 + a, \
                          24 + a, 25 + a, 26 + a, 27 + a)

// Transposes the rows `a` to columns `b`. Changes `a`.
static inline __attribute__((always_inline)) void transpose_registers(
    etx_f32_vec* a, etx_f32_vec* b) {
  // Pairs of rows, then fours, then eights, then all.
  ETX_UNROLLED_16
  for (int i = 0; i < TRANSPOSE_SIDE; i += 2) {
    b[i] = TRANSPOSE_PAIRS(a[i], a[i + 1], 0);
    b[i + 1] = TRANSPOSE_PAIRS(a[i], a[i + 1], 2);
  }
  ETX_UNROLLED_16
  for (int i = 0; i < TRANSPOSE_SIDE; i += 4) {
    a[i] = TRANSPOSE_FOURS(b[i], b[i + 2], 0);
    a[i + 1] = TRANSPOSE_FOURS(b[i], b[i + 2], 2);
    a[i + 2] = TRANSPOSE_FOURS(b[i + 1], b[i + 3], 0);
    a[i + 3] = TRANSPOSE_FOURS(b[i + 1], b[i + 3], 2);
  }
  // Now a[4 r + i] has columns i, 4 + i, 8 + i and 12 + i of rows 4 r and on.
  ETX_UNROLLED_16
  for (int i = 0; i < 4; ++i) {
    const etx_f32_vec even_low = TRANSPOSE_PIECES(a[i], a[4 + i], 0);
    const etx_f32_vec odd_low = TRANSPOSE_PIECES(a[i], a[4 + i], 4);
    const etx_f32_vec even_high = TRANSPOSE_PIECES(a[8 + i], a[12 + i], 0);
    const etx_f32_vec odd_high = TRANSPOSE_PIECES(a[8 + i], a[12 + i], 4);
    b[i] = TRANSPOSE_PIECES(even_low, even_high, 0);
    b[4 + i] = TRANSPOSE_PIECES(odd_low, odd_high, 0);
    b[8 + i] = TRANSPOSE_PIECES(even_low, even_high, 4);
    b[12 + i] = TRANSPOSE_PIECES(odd_low, odd_high, 4);
  }
}

#elif VECTOR_BYTES == 32

static inline __attribute__((always_inline)) void transpose_registers(
    etx_f32_vec* a, etx_f32_vec* b) {
  // Pairs of rows, then fours, then eights.
  ETX_UNROLLED
  for (int i = 0; i < TRANSPOSE_SIDE; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] =
        __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  ETX_UNROLLED
  for (int i = 0; i < TRANSPOSE_SIDE; i += 4) {
    ETX_UNROLLED
    for (int j = 0; j < 2; ++j) {
      const etx_f32_vec x = b[i + j], y = b[i + j + 2];
      a[i + 2 * j] = __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
      a[i + 2 * j + 1] =
          __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) {
    const etx_f32_vec x = a[i], y = a[i + 4];
    b[i] = __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11);
    b[i + 4] = __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

#else

static inline __attribute__((always_inline)) void transpose_registers(
    etx_f32_vec* a, etx_f32_vec* b) {
  // Pairs of rows, then fours.
  const etx_f32_vec first = __builtin_shufflevector(a[0], a[1], 0, 4, 1, 5);
  const etx_f32_vec second = __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5);
  const etx_f32_vec third = __builtin_shufflevector(a[0], a[1], 2, 6, 3, 7);
  const etx_f32_vec fourth = __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7);
  b[0] = __builtin_shufflevector(first, second, 0, 1, 4, 5);
  b[1] = __builtin_shufflevector(first, second, 2, 3, 6, 7);
  b[2] = __builtin_shufflevector(third, fourth, 0, 1, 4, 5);
  b[3] = __builtin_shufflevector(third, fourth, 2, 3, 6, 7);
}

#endif

// Reads each cache line once and whole: rows that lie a power of two apart
// evict each other from L1.
static inline __attribute__((unused, always_inline)) void
transpose_in_registers(const float* in, ptrdiff_t row, etx_f32_vec* b) {
  etx_f32_vec a[TRANSPOSE_SIDE];
  ETX_UNROLLED_16
  for (int i = 0; i < TRANSPOSE_SIDE; ++i)
    memcpy(&a[i], in + i * row, sizeof(a[i]));
  transpose_registers(a, b);
}
