// Transposed pack: up to sixteen rows of float32 become columns, so that the
// elements of one tap are neighbours. Include after
// transpose_registers_template.h.
//
//   VECTOR_BYTES  required  bytes of a vector register: 16, 32 or 64

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"

#if VECTOR_BYTES == 64

typedef float transpose_four __attribute__((vector_size(16)));
typedef float transpose_eight __attribute__((vector_size(32)));

// Four taps of every fourth row.
static inline __attribute__((always_inline)) void transpose_load(
    const float* in, ptrdiff_t row, etx_f32_vec* to) {
  transpose_four a[4];
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) memcpy(&a[i], in + 4 * i * row, sizeof a[i]);
  const transpose_eight low =
      __builtin_shufflevector(a[0], a[1], 0, 1, 2, 3, 4, 5, 6, 7);
  const transpose_eight high =
      __builtin_shufflevector(a[2], a[3], 0, 1, 2, 3, 4, 5, 6, 7);
  *to = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                12, 13, 14, 15);
}

// Four taps of all rows.
static inline __attribute__((always_inline)) void transpose_fours(
    const float* in, ptrdiff_t row, float* out) {
  etx_f32_vec a[4], b[4];
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) transpose_load(in + i * row, row, &a[i]);
  b[0] = TRANSPOSE_PAIRS(a[0], a[1], 0);
  b[1] = TRANSPOSE_PAIRS(a[0], a[1], 2);
  b[2] = TRANSPOSE_PAIRS(a[2], a[3], 0);
  b[3] = TRANSPOSE_PAIRS(a[2], a[3], 2);
  a[0] = TRANSPOSE_FOURS(b[0], b[2], 0);
  a[1] = TRANSPOSE_FOURS(b[0], b[2], 2);
  a[2] = TRANSPOSE_FOURS(b[1], b[3], 0);
  a[3] = TRANSPOSE_FOURS(b[1], b[3], 2);
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) {
    memcpy(out + i * ETX_TRANSPOSE_ROWS, &a[i], sizeof a[i]);
  }
}

#endif

static inline __attribute__((always_inline)) void transpose_square(
    const float* in, ptrdiff_t row, float* out) {
  etx_f32_vec b[TRANSPOSE_SIDE];
  transpose_in_registers(in, row, b);
  ETX_UNROLLED_16
  for (int i = 0; i < TRANSPOSE_SIDE; ++i) {
    memcpy(out + i * ETX_TRANSPOSE_ROWS, &b[i], sizeof(b[i]));
  }
}

// Copies rows or taps that do not fill a square, element by element.
static void transpose_rest(const float* in, ptrdiff_t row, size_t first_row,
                           size_t rows, size_t count, float* out) {
  for (size_t k = 0; k < count; ++k) {
    for (size_t i = first_row; i < rows; ++i) {
      out[k * ETX_TRANSPOSE_ROWS + i] = in[(ptrdiff_t)i * row + (ptrdiff_t)k];
    }
  }
}

// The first tap of the square for taps from `k` on: the last square ends with
// the row and overlaps the one before it.
static inline size_t transpose_first(size_t k, size_t count) {
  return k + TRANSPOSE_SIDE <= count ? k : count - TRANSPOSE_SIDE;
}

#if VECTOR_BYTES == 64

//   @transpose_pack  float32 | transposed pack: rows become columns |
//     {TRANSPOSE_SIDE} x
//     {TRANSPOSE_SIDE}
static void transpose_pack(const float* in, ptrdiff_t row, size_t rows,
                           size_t count, float* out) {
  float some[TRANSPOSE_SIDE][TRANSPOSE_SIDE];
  if (rows < TRANSPOSE_SIDE) memset(some, 0, sizeof some);
  if (count < TRANSPOSE_SIDE) {
    size_t k = 0;
    if (rows < TRANSPOSE_SIDE)
      memset(out, 0, count * TRANSPOSE_SIDE * sizeof(float));
    for (; rows == TRANSPOSE_SIDE && k + 4 <= count; k += 4) {
      transpose_fours(in + k, row, out + k * ETX_TRANSPOSE_ROWS);
    }
    transpose_rest(in + k, row, 0, rows, count - k,
                   out + k * ETX_TRANSPOSE_ROWS);
    return;
  }
  for (size_t k = 0; k < count; k += TRANSPOSE_SIDE) {
    const size_t first = transpose_first(k, count);
    const float* from = in + first;
    ptrdiff_t apart = row;
    if (rows < TRANSPOSE_SIDE) {
      for (size_t i = 0; i < rows; ++i, from += row) {
        memcpy(some[i], from, sizeof some[i]);
      }
      from = some[0];
      apart = TRANSPOSE_SIDE;
    }
    transpose_square(from, apart, out + first * ETX_TRANSPOSE_ROWS);
  }
}

#else

// Squares of `rows` rows, a multiple of TRANSPOSE_SIDE.
static inline __attribute__((always_inline)) void transpose_squares(
    const float* in, ptrdiff_t row, size_t rows, size_t count, float* out) {
  enum { LINE = 2 * TRANSPOSE_SIDE };
  size_t k = 0;
  // Writes both halves of a cache line before the next rows, because L1 may not
  // hold the lines of all rows at once.
  for (; k + LINE <= count; k += LINE) {
    ETX_UNROLLED
    for (size_t i = 0; i < rows; i += TRANSPOSE_SIDE) {
      const float* from = in + (ptrdiff_t)i * row + k;
      float* to = out + k * ETX_TRANSPOSE_ROWS + i;
      transpose_square(from, row, to);
      transpose_square(from + TRANSPOSE_SIDE, row,
                       to + TRANSPOSE_SIDE * ETX_TRANSPOSE_ROWS);
    }
  }
  for (; k < count; k += TRANSPOSE_SIDE) {
    const size_t first = transpose_first(k, count);
    ETX_UNROLLED
    for (size_t i = 0; i < rows; i += TRANSPOSE_SIDE) {
      transpose_square(in + (ptrdiff_t)i * row + first, row,
                       out + first * ETX_TRANSPOSE_ROWS + i);
    }
  }
}

//   @transpose_pack  float32 | transposed pack: rows become columns |
//     {TRANSPOSE_SIDE} x
//     {TRANSPOSE_SIDE}
static void transpose_pack(const float* in, ptrdiff_t row, size_t rows,
                           size_t count, float* out) {
#ifdef ETX_LOOPS_ARE_SHORT
  const size_t squares = 0;
#else
  const size_t squares =
      count < TRANSPOSE_SIDE ? 0 : rows / TRANSPOSE_SIDE * TRANSPOSE_SIDE;
#endif
  if (squares == ETX_TRANSPOSE_ROWS) {
    transpose_squares(in, row, ETX_TRANSPOSE_ROWS, count, out);
    return;
  }
  memset(out, 0, count * ETX_TRANSPOSE_ROWS * sizeof(float));
  if (squares > 0) transpose_squares(in, row, squares, count, out);
  transpose_rest(in, row, squares, rows, count, out);
}

#endif
