// One row of integers times 4-bit weights. A weight is unsigned and at most 15,
// so PMADDUBSW multiplies 32 of them with signed bytes, and sums of sixteen
// products fit in 16 bits.
//
// The integers of a row are -255 to 255. Each is split into a signed byte and a
// remainder. A row that contains 255 is negated first, because it cannot
// contain -255 as well. Remainders are rare: only the largest integers of a row
// have one. Blocks of 64 without remainders are skipped by a branch that goes
// the same way for each column.

#include "runtime/kernels/arch/x86/int8/int4_gemv_avx2.h"

#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"

enum {
  GROUPS = 8,       // groups that are summed together
  CHUNK = 256,      // elements whose even ones stand first
  SIDE = 32,        // bytes of a register
  PART = 2 * SIDE,  // elements of a register of weights
  MOST = 8192,      // elements of a row
  COLUMNS = 4,      // columns that are read at a time, far from each other
};

bool etx_int4_gemv_avx2_supports(const etx_quantized_block* b) {
  return b->rows == 1 && b->count % PART == 0 && b->count <= MOST &&
         b->columns >= COLUMNS && b->group <= 2 * PART &&
         b->groups % (GROUPS / 2) == 0;
}

// For each register of weights: the integers of its even elements, then those
// of its odd elements, as far as they fit in a byte; and the remainders.
typedef struct split_row {
  int8_t (*bytes)[2][SIDE];
  int8_t (*rests)[2][SIDE];
  bool has_rest[MOST / PART];
  etx_i32x8 sign;  // 1, or -1 where all integers are taken with the other sign
} split_row;

_Static_assert(2 * MOST <= ETX_QUANTIZED_TILE, "a tile has a row twice");

static int clamp(int x) { return x < -128 ? -128 : x > 127 ? 127 : x; }

static void split(const int16_t* x, size_t count, split_row* out) {
  int16_t most = 0;
  for (size_t i = 0; i < count; ++i) most = x[i] > most ? x[i] : most;
  const int sign = most > 254 ? -1 : 1;
  out->sign = (etx_i32x8){sign, sign, sign, sign, sign, sign, sign, sign};
  for (size_t k = 0; k < count; k += PART) {
    const size_t at = k / PART, chunk = k - k % CHUNK;
    const size_t in_chunk = count - chunk < CHUNK ? count - chunk : CHUNK;
    const int16_t* from = x + chunk + (k - chunk) / 2;
    int all = 0;
    for (size_t odd = 0; odd < 2; ++odd, from += in_chunk / 2) {
      for (size_t i = 0; i < SIDE; ++i) {
        const int value = sign * from[i], rest = value - clamp(value);
        out->bytes[at][odd][i] = (int8_t)(value - rest);
        out->rests[at][odd][i] = (int8_t)rest;
        all |= rest;
      }
    }
    out->has_rest[at] = all != 0;
  }
}

static inline etx_i16x16 multiply(etx_charx32 halves, const int8_t* x) {
  etx_charx32 input;
  memcpy(&input, x, sizeof(input));
  return __builtin_ia32_pmaddubsw256(halves, input);
}

// Sums of four products each, with weights taken as 0 to 15.
static inline etx_i16x16 part_sums(const uint8_t* weights, const split_row* row,
                                   size_t at) {
  etx_u8x32 stored;
  memcpy(&stored, weights, sizeof(stored));
  const etx_charx32 high = (etx_charx32)(stored >> 4),
                    low = (etx_charx32)(stored & 15);
  etx_i16x16 sum =
      multiply(high, row->bytes[at][0]) + multiply(low, row->bytes[at][1]);
  if (row->has_rest[at]) {
    sum += multiply(high, row->rests[at][0]) + multiply(low, row->rests[at][1]);
  }
  return sum;
}

static inline etx_i32x8 add_pairs(etx_i16x16 x) {
  const etx_i16x16 ones = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  return __builtin_ia32_pmaddwd256(x, ones);
}

// Sums of neighbouring pairs, of the first four vectors and of the last.
static inline etx_i32x8 add_four(const etx_i32x8* v) {
  return __builtin_ia32_phaddd256(__builtin_ia32_phaddd256(v[0], v[1]),
                                  __builtin_ia32_phaddd256(v[2], v[3]));
}

// The sums of eight groups of 32, two of which share a register, or of four
// groups followed by zeros.
static inline __attribute__((always_inline)) etx_i32x8 small_groups(
    const uint8_t* weights, const split_row* row, size_t at, size_t groups) {
  etx_i32x8 v[GROUPS / 2];
  ETX_UNROLLED
  for (size_t i = 0; i < GROUPS / 2; ++i) {
    v[i] = i < groups / 2
               ? add_pairs(part_sums(weights + i * SIDE, row, at + i))
               : (etx_i32x8){0};
  }
  const etx_i32x8 all = add_four(v);
  return __builtin_shufflevector(all, all, 0, 4, 1, 5, 2, 6, 3, 7);
}

// The same for groups of one or two registers.
static inline __attribute__((always_inline)) etx_i32x8 large_groups(
    const uint8_t* weights, const split_row* row, size_t at, size_t groups,
    size_t parts) {
  etx_i32x8 v[GROUPS], low, high = {0};
  ETX_UNROLLED
  for (size_t i = 0; i < groups; ++i) {
    const uint8_t* from = weights + i * parts * SIDE;
    etx_i16x16 sum = part_sums(from, row, at + i * parts);
    if (parts == 2) sum += part_sums(from + SIDE, row, at + i * parts + 1);
    v[i] = add_pairs(sum);
  }
  low = add_four(v);
  if (groups == GROUPS) high = add_four(v + GROUPS / 2);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15);
}

static inline float total(etx_f32x8 v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// Loads eight numbers, or four followed by zeros, as vectors: a load of a whole
// vector stalls after stores of its parts.
static inline etx_i32x8 some_longs(const void* from, size_t count) {
  etx_i32x8 all;
  etx_i32x4 half;
  if (count == GROUPS) {
    memcpy(&all, from, sizeof(all));
  } else {
    memcpy(&half, from, sizeof(half));
    all = __builtin_shufflevector(half, (etx_i32x4){0}, 0, 1, 2, 3, 4, 5, 6, 7);
  }
  return all;
}

// Eight or four groups of a column, of `parts` registers each; 0 is half a
// register.
static inline __attribute__((always_inline)) etx_f32x8 groups_of_column(
    const etx_quantized_block* b, const split_row* row, size_t column,
    size_t group, size_t groups, size_t parts) {
  const uint8_t* weights =
      b->right + (ptrdiff_t)column * b->right_row + group * (b->group / 2);
  const size_t first = group * b->group / PART, at = column * b->groups + group;
  const etx_i32x8 sum = parts == 0
                            ? small_groups(weights, row, first, groups)
                            : large_groups(weights, row, first, groups, parts);
  const etx_i32x8 group_sums = some_longs(b->group_sums + group, groups);
  etx_i32x8 zeros = group_sums << 3;  // a half's group_sums zero is 8
  if (b->zeros != NULL) {
    etx_i32x8 zero = {0};
    for (size_t i = 0; i < groups; ++i) zero[i] = b->zeros[at + i];
    zeros += group_sums * zero;
  }
  const etx_i32x8 all = __builtin_ia32_psignd256(sum, row->sign) - zeros;
  return (etx_f32x8)some_longs(b->scales + at, groups) *
         __builtin_convertvector(all, etx_f32x8);
}

// Four columns that are `apart` from each other.
static inline __attribute__((always_inline)) void some_columns(
    const etx_quantized_block* b, const split_row* row, size_t column,
    size_t apart, size_t parts) {
  etx_f32x8 sums[COLUMNS];
  size_t group = 0;
  ETX_UNROLLED
  for (size_t c = 0; c < COLUMNS; ++c) sums[c] = (etx_f32x8){0};
  for (; group + GROUPS <= b->groups; group += GROUPS) {
    for (size_t c = 0; c < COLUMNS; ++c) {
      sums[c] +=
          groups_of_column(b, row, column + c * apart, group, GROUPS, parts);
    }
  }
  for (size_t c = 0; c < COLUMNS && group < b->groups; ++c) {
    sums[c] +=
        groups_of_column(b, row, column + c * apart, group, GROUPS / 2, parts);
  }
  for (size_t c = 0; c < COLUMNS; ++c) {
    ((float*)b->sums)[column + c * apart] = total(sums[c]);
  }
}

static inline __attribute__((always_inline)) void all_columns(
    const etx_quantized_block* b, const split_row* row, size_t parts) {
  const size_t apart = b->columns / COLUMNS, rest = b->columns % COLUMNS;
  for (size_t i = 0; i < apart + (rest != 0); ++i) {
    // The remaining columns, together with some that are done already: a second
    // call would be inlined and is large.
    const bool is_rest = i == apart;
    some_columns(b, row, is_rest ? b->columns - COLUMNS : i,
                 is_rest ? 1 : apart, parts);
  }
}

void etx_int4_gemv_avx2(const etx_quantized_block* b) {
  int8_t(*const tile)[2][SIDE] = b->tile;
  split_row row = {.bytes = tile, .rests = tile + MOST / PART};
  split(b->left, b->count, &row);
  switch (b->group) {
    case PART / 2:
      all_columns(b, &row, 0);
      break;
    case PART:
      all_columns(b, &row, 1);
      break;
    default:
      all_columns(b, &row, 2);
      break;
  }
}
