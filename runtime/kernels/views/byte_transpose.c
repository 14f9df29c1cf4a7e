#include "runtime/kernels/views/byte_transpose.h"

#include <stdint.h>
#include <string.h>

#include "runtime/kernels/simd/vector/loop_unrolled.h"

enum { SIDE = 16 };

typedef uint8_t byte_row __attribute__((vector_size(SIDE)));

static inline byte_row load(const char* from) {
  byte_row x;
  memcpy(&x, from, sizeof x);
  return x;
}

// Interleaves the bytes of two rows: of their first and of their second halves.
static inline byte_row first_halves(byte_row a, byte_row b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                 6, 22, 7, 23);
}
static inline byte_row second_halves(byte_row a, byte_row b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                 29, 14, 30, 15, 31);
}

static inline __attribute__((always_inline)) void mix(const byte_row in[SIDE],
                                                      byte_row out[SIDE]) {
  ETX_UNROLLED
  for (int i = 0; i < SIDE / 2; ++i) {
    out[2 * i] = first_halves(in[i], in[i + SIDE / 2]);
    out[2 * i + 1] = second_halves(in[i], in[i + SIDE / 2]);
  }
}

// Transposes 16 x 16 bytes: four times, rows that are 8 apart are interleaved.
static void copy_square(ptrdiff_t to_row, ptrdiff_t from_row, char* to,
                        const char* from) {
  byte_row a[SIDE], b[SIDE];
  ETX_UNROLLED_16
  for (int i = 0; i < SIDE; ++i) a[i] = load(from + i * from_row);
  mix(a, b);
  mix(b, a);
  mix(a, b);
  mix(b, a);
  ETX_UNROLLED_16
  for (int i = 0; i < SIDE; ++i) memcpy(to + i * to_row, &a[i], sizeof a[i]);
}

// The start of the square with position `at`. The last square ends with the
// dimension, so it may copy some positions again.
static inline ptrdiff_t square_start(ptrdiff_t at, ptrdiff_t size) {
  return at + SIDE <= size ? at : size - SIDE;
}

// Two rows of the source: their bytes are interleaved.
static void interleave(ptrdiff_t size, ptrdiff_t from_row, char* to,
                       const char* from) {
  for (ptrdiff_t i = 0; i < size; i += SIDE) {
    const ptrdiff_t at = square_start(i, size);
    const byte_row a = load(from + at), b = load(from + from_row + at);
    const byte_row two[2] = {first_halves(a, b), second_halves(a, b)};
    memcpy(to + 2 * at, two, sizeof two);
  }
}

// Three rows: interleaved with a fourth byte in little-endian words, from which
// that byte is then removed. Each store but the last writes two bytes too many,
// which the next one overwrites.
static void interleave_three(ptrdiff_t size, ptrdiff_t from_row, char* to,
                             const char* from) {
  enum { PLACES = 2, WORDS = SIDE / PLACES, BYTES = 3 * PLACES };
  for (ptrdiff_t i = 0; i < size; i += SIDE) {
    const ptrdiff_t at = square_start(i, size);
    const byte_row a = load(from + at), b = load(from + from_row + at);
    const byte_row c = load(from + 2 * from_row + at), none = {0};
    const byte_row ac[2] = {first_halves(a, c), second_halves(a, c)};
    const byte_row b0[2] = {first_halves(b, none), second_halves(b, none)};
    uint64_t words[WORDS];
    for (size_t k = 0; k < 2; ++k) {
      const byte_row four[2] = {first_halves(ac[k], b0[k]),
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
    const ptrdiff_t at = square_start(i, a->size);
    for (ptrdiff_t j = 0; j < b->size; j += SIDE) {
      const ptrdiff_t column = square_start(j, b->size);
      copy_square(a->to, b->from, to + at * a->to + column,
                  from + at + column * b->from);
    }
  }
  return true;
}
