#include "runtime/kernels/views/byte_transpose.h"

#include <stdint.h>
#include <string.h>

#include "runtime/kernels/simd/vector/loop_unrolled.h"

enum { SIDE = 16 };

typedef uint8_t row __attribute__((vector_size(SIDE)));

static inline row load(const char* from) {
  row x;
  memcpy(&x, from, sizeof x);
  return x;
}

// The bytes of two rows side by side: of their first halves, and the second.
static inline row first_halves(row a, row b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                 6, 22, 7, 23);
}
static inline row second_halves(row a, row b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                 29, 14, 30, 15, 31);
}

static inline __attribute__((always_inline)) void mix(const row in[SIDE],
                                                      row out[SIDE]) {
  ETX_UNROLLED
  for (int i = 0; i < SIDE / 2; ++i) {
    out[2 * i] = first_halves(in[i], in[i + SIDE / 2]);
    out[2 * i + 1] = second_halves(in[i], in[i + SIDE / 2]);
  }
}

// Sixteen rows as columns: rows that are half of all apart are mixed, four
// times.
static void copy_square(ptrdiff_t to_row, ptrdiff_t from_row, char* to,
                        const char* from) {
  row a[SIDE], b[SIDE];
  ETX_UNROLLED_16
  for (int i = 0; i < SIDE; ++i) a[i] = load(from + i * from_row);
  mix(a, b);
  mix(b, a);
  mix(a, b);
  mix(b, a);
  ETX_UNROLLED_16
  for (int i = 0; i < SIDE; ++i) memcpy(to + i * to_row, &a[i], sizeof a[i]);
}

// Where the square begins that positions from `at` on lie in: the last one ends
// with the dimension, and copies some once more.
static inline ptrdiff_t depthwise_square_at(ptrdiff_t at, ptrdiff_t size) {
  return at + SIDE <= size ? at : size - SIDE;
}

// Two rows of the source, byte by byte side by side.
static void interleave(ptrdiff_t size, ptrdiff_t from_row, char* to,
                       const char* from) {
  for (ptrdiff_t i = 0; i < size; i += SIDE) {
    const ptrdiff_t at = depthwise_square_at(i, size);
    const row a = load(from + at), b = load(from + from_row + at);
    const row two[2] = {first_halves(a, b), second_halves(a, b)};
    memcpy(to + 2 * at, two, sizeof two);
  }
}

// Three of them, in little-endian words of two places of four bytes: places
// lose the fourth. What is written too much the next word writes over, but for
// the last.
static void interleave_three(ptrdiff_t size, ptrdiff_t from_row, char* to,
                             const char* from) {
  enum { PLACES = 2, WORDS = SIDE / PLACES, BYTES = 3 * PLACES };
  for (ptrdiff_t i = 0; i < size; i += SIDE) {
    const ptrdiff_t at = depthwise_square_at(i, size);
    const row a = load(from + at), b = load(from + from_row + at);
    const row c = load(from + 2 * from_row + at), none = {0};
    const row ac[2] = {first_halves(a, c), second_halves(a, c)};
    const row b0[2] = {first_halves(b, none), second_halves(b, none)};
    uint64_t words[WORDS];
    for (size_t k = 0; k < 2; ++k) {
      const row four[2] = {first_halves(ac[k], b0[k]),
                           second_halves(ac[k], b0[k])};
      memcpy(words + k * WORDS / 2, four, sizeof four);
    }
    for (ptrdiff_t k = 0; k < WORDS; ++k) {
      const uint64_t x = words[k];
      const uint64_t y = (x & 0xffffff) | (x >> 8 & 0xffffff000000);
      char* out = to + 3 * at + k * BYTES;
      memcpy(out, &y, k + 1 < WORDS ? sizeof y : (size_t)BYTES);
    }
  }
}

bool etx_byte_transpose_copy(const etx_copy_dim* a, const etx_copy_dim* b,
                             char* to, const char* from) {
  if (a->size < SIDE) return false;
  if (b->size == 2 && a->to == 2) {
    interleave(a->size, b->from, to, from);
    return true;
  }
  if (b->size == 3 && a->to == 3) {
    interleave_three(a->size, b->from, to, from);
    return true;
  }
  if (b->size < SIDE) return false;
  for (ptrdiff_t i = 0; i < a->size; i += SIDE) {
    const ptrdiff_t at = depthwise_square_at(i, a->size);
    for (ptrdiff_t j = 0; j < b->size; j += SIDE) {
      const ptrdiff_t column = depthwise_square_at(j, b->size);
      copy_square(a->to, b->from, to + at * a->to + column,
                  from + at + column * b->from);
    }
  }
  return true;
}
