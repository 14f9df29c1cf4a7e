// Up to sixteen rows of floats as columns, so that what belongs to one tap of
// each lies side by side. Read once for each instruction set.

#include <string.h>

#include "runtime/kernels/loop_unrolled.h"
#include "runtime/kernels/panel_loops.h"

#if VECTOR_BYTES == 64
enum { TURN = 16 };  // rows and taps that are turned in registers
#elif VECTOR_BYTES == 32
enum { TURN = 8 };
#else
enum { TURN = 4 };
#endif

typedef float turn_vector __attribute__((vector_size(TURN * sizeof(float))));

#if VECTOR_BYTES == 64

// Every second step of a square's first two: pieces of four rows.
#define TURN_PAIRS(x, y, a)                                                    \
  __builtin_shufflevector(x, y, 0 + a, 16 + a, 1 + a, 17 + a, 4 + a, 20 + a,   \
                          5 + a, 21 + a, 8 + a, 24 + a, 9 + a, 25 + a, 12 + a, \
                          28 + a, 13 + a, 29 + a)
#define TURN_FOURS(x, y, a)                                                   \
  __builtin_shufflevector(x, y, 0 + a, 1 + a, 16 + a, 17 + a, 4 + a, 5 + a,   \
                          20 + a, 21 + a, 8 + a, 9 + a, 24 + a, 25 + a,       \
                          12 + a, 13 + a, 28 + a, 29 + a)
// Of four pieces of four, every second one.
#define TURN_PIECES(x, y, a)                                                  \
  __builtin_shufflevector(x, y, 0 + a, 1 + a, 2 + a, 3 + a, 8 + a, 9 + a,     \
                          10 + a, 11 + a, 16 + a, 17 + a, 18 + a, 19 + a,     \
                          24 + a, 25 + a, 26 + a, 27 + a)

// Rows to taps. Changes `a`.
static inline __attribute__((always_inline)) void turn_registers(
    turn_vector* a, turn_vector* b) {
  // Pairs of rows, then fours, then eights, then all.
  ETX_UNROLLED_16
  for (int i = 0; i < TURN; i += 2) {
    b[i] = TURN_PAIRS(a[i], a[i + 1], 0);
    b[i + 1] = TURN_PAIRS(a[i], a[i + 1], 2);
  }
  ETX_UNROLLED_16
  for (int i = 0; i < TURN; i += 4) {
    a[i] = TURN_FOURS(b[i], b[i + 2], 0);
    a[i + 1] = TURN_FOURS(b[i], b[i + 2], 2);
    a[i + 2] = TURN_FOURS(b[i + 1], b[i + 3], 0);
    a[i + 3] = TURN_FOURS(b[i + 1], b[i + 3], 2);
  }
  // Now a[4 r + i] has columns i, 4 + i, 8 + i and 12 + i of rows 4 r and on.
  ETX_UNROLLED_16
  for (int i = 0; i < 4; ++i) {
    const turn_vector even_low = TURN_PIECES(a[i], a[4 + i], 0);
    const turn_vector odd_low = TURN_PIECES(a[i], a[4 + i], 4);
    const turn_vector even_high = TURN_PIECES(a[8 + i], a[12 + i], 0);
    const turn_vector odd_high = TURN_PIECES(a[8 + i], a[12 + i], 4);
    b[i] = TURN_PIECES(even_low, even_high, 0);
    b[4 + i] = TURN_PIECES(odd_low, odd_high, 0);
    b[8 + i] = TURN_PIECES(even_low, even_high, 4);
    b[12 + i] = TURN_PIECES(odd_low, odd_high, 4);
  }
}

typedef float turn_four __attribute__((vector_size(16)));
typedef float turn_eight __attribute__((vector_size(32)));

// Four taps of every fourth row.
static inline __attribute__((always_inline)) void turn_load(
    const float* in, ptrdiff_t row, turn_vector* to) {
  turn_four a[4];
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) memcpy(&a[i], in + 4 * i * row, sizeof a[i]);
  const turn_eight low =
      __builtin_shufflevector(a[0], a[1], 0, 1, 2, 3, 4, 5, 6, 7);
  const turn_eight high =
      __builtin_shufflevector(a[2], a[3], 0, 1, 2, 3, 4, 5, 6, 7);
  *to = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                12, 13, 14, 15);
}

// Four taps of all rows.
static inline __attribute__((always_inline)) void turn_fours(const float* in,
                                                             ptrdiff_t row,
                                                             float* out) {
  turn_vector a[4], b[4];
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) turn_load(in + i * row, row, &a[i]);
  b[0] = TURN_PAIRS(a[0], a[1], 0);
  b[1] = TURN_PAIRS(a[0], a[1], 2);
  b[2] = TURN_PAIRS(a[2], a[3], 0);
  b[3] = TURN_PAIRS(a[2], a[3], 2);
  a[0] = TURN_FOURS(b[0], b[2], 0);
  a[1] = TURN_FOURS(b[0], b[2], 2);
  a[2] = TURN_FOURS(b[1], b[3], 0);
  a[3] = TURN_FOURS(b[1], b[3], 2);
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) {
    memcpy(out + i * ETX_TURNED_ROWS, &a[i], sizeof a[i]);
  }
}

#elif VECTOR_BYTES == 32

static inline __attribute__((always_inline)) void turn_registers(
    turn_vector* a, turn_vector* b) {
  // Pairs of rows, then fours, then eights.
  ETX_UNROLLED
  for (int i = 0; i < TURN; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] =
        __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  ETX_UNROLLED
  for (int i = 0; i < TURN; i += 4) {
    ETX_UNROLLED
    for (int j = 0; j < 2; ++j) {
      const turn_vector x = b[i + j], y = b[i + j + 2];
      a[i + 2 * j] = __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
      a[i + 2 * j + 1] =
          __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) {
    const turn_vector x = a[i], y = a[i + 4];
    b[i] = __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11);
    b[i + 4] = __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

#else

static inline
    __attribute__((always_inline)) void turn_registers(turn_vector* a,
                                                       turn_vector* b) {
  // Pairs of rows, then fours.
  const turn_vector first = __builtin_shufflevector(a[0], a[1], 0, 4, 1, 5);
  const turn_vector second = __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5);
  const turn_vector third = __builtin_shufflevector(a[0], a[1], 2, 6, 3, 7);
  const turn_vector fourth = __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7);
  b[0] = __builtin_shufflevector(first, second, 0, 1, 4, 5);
  b[1] = __builtin_shufflevector(first, second, 2, 3, 6, 7);
  b[2] = __builtin_shufflevector(third, fourth, 0, 1, 4, 5);
  b[3] = __builtin_shufflevector(third, fourth, 2, 3, 6, 7);
}

#endif

// Whole lines are read, each once: where rows are a power of two apart they
// have no room beside each other in the first cache.
static inline __attribute__((always_inline)) void turn_in_registers(
    const float* in, ptrdiff_t row, turn_vector* b) {
  turn_vector a[TURN];
  ETX_UNROLLED_16
  for (int i = 0; i < TURN; ++i) memcpy(&a[i], in + i * row, sizeof(a[i]));
  turn_registers(a, b);
}

static inline __attribute__((always_inline)) void turn_square(const float* in,
                                                              ptrdiff_t row,
                                                              float* out) {
  turn_vector b[TURN];
  turn_in_registers(in, row, b);
  ETX_UNROLLED_16
  for (int i = 0; i < TURN; ++i) {
    memcpy(out + i * ETX_TURNED_ROWS, &b[i], sizeof(b[i]));
  }
}

// Rows or taps that fill no square, element by element.
static void turn_rest(const float* in, ptrdiff_t row, size_t first_row,
                      size_t rows, size_t first, size_t count, float* out) {
  for (size_t k = first; k < count; ++k) {
    for (size_t i = first_row; i < rows; ++i) {
      out[k * ETX_TURNED_ROWS + i] = in[(ptrdiff_t)i * row + (ptrdiff_t)k];
    }
  }
}

// The first tap of the square that taps from `k` on are turned in: the last one
// ends with the row, and turns some that have been turned before once more.
static inline size_t turn_first(size_t k, size_t count) {
  return k + TURN <= count ? k : count - TURN;
}

#if VECTOR_BYTES == 64

static void turn(const float* in, ptrdiff_t row, size_t rows, size_t count,
                 float* out) {
  float some[TURN][TURN];
  if (rows < TURN) memset(some, 0, sizeof some);
  if (count < TURN) {
    size_t k = 0;
    if (rows < TURN) memset(out, 0, count * TURN * sizeof(float));
    for (; rows == TURN && k + 4 <= count; k += 4) {
      turn_fours(in + k, row, out + k * ETX_TURNED_ROWS);
    }
    turn_rest(in, row, 0, rows, k, count, out);
    return;
  }
  for (size_t k = 0; k < count; k += TURN) {
    const size_t first = turn_first(k, count);
    const float* from = in + first;
    ptrdiff_t apart = row;
    if (rows < TURN) {
      for (size_t i = 0; i < rows; ++i, from += row) {
        memcpy(some[i], from, sizeof some[i]);
      }
      from = some[0];
      apart = TURN;
    }
    turn_square(from, apart, out + first * ETX_TURNED_ROWS);
  }
}

#else

// Squares of `rows` rows, a multiple of TURN.
static inline __attribute__((always_inline)) void turn_squares(
    const float* in, ptrdiff_t row, size_t rows, size_t count, float* out) {
  enum { LINE = 2 * TURN };
  size_t k = 0;
  // Both halves of what lies in a line before the next rows, which the first
  // cache may have no room for beside these.
  for (; k + LINE <= count; k += LINE) {
    ETX_UNROLLED
    for (size_t i = 0; i < rows; i += TURN) {
      const float* from = in + (ptrdiff_t)i * row + k;
      float* to = out + k * ETX_TURNED_ROWS + i;
      turn_square(from, row, to);
      turn_square(from + TURN, row, to + TURN * ETX_TURNED_ROWS);
    }
  }
  for (; k < count; k += TURN) {
    const size_t first = turn_first(k, count);
    ETX_UNROLLED
    for (size_t i = 0; i < rows; i += TURN) {
      turn_square(in + (ptrdiff_t)i * row + first, row,
                  out + first * ETX_TURNED_ROWS + i);
    }
  }
}

static void turn(const float* in, ptrdiff_t row, size_t rows, size_t count,
                 float* out) {
  const size_t squares = count < TURN ? 0 : rows / TURN * TURN;
  if (squares == ETX_TURNED_ROWS) {
    turn_squares(in, row, ETX_TURNED_ROWS, count, out);
    return;
  }
  memset(out, 0, count * ETX_TURNED_ROWS * sizeof(float));
  if (squares > 0) turn_squares(in, row, squares, count, out);
  turn_rest(in, row, squares, rows, 0, count, out);
}

#endif
