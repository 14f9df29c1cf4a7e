// One row of bytes times 4-bit weights. A weight is unsigned and at most 15,
// so PMADDUBSW multiplies 32 of them with signed bytes, and sums of sixteen
// products fit in 16 bits.
//
// The integers of a row, bytes minus their base, are -255 to 255. Each is split
// into a signed byte and a remainder. A row whose base is 0 is negated first,
// because 255 has a remainder of 128. Remainders are rare: only the largest
// integers of a row have one. Blocks of 64 without remainders are skipped by a
// branch that goes the same way for each column.

#include "runtime/kernels/arch/x86/int8/int4_gemv_avx2.h"

#include <string.h>

#include "runtime/kernels/simd/int8/group_params.h"
#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/vector/prefetch.h"

enum {
  GROUPS = 8,                          // groups that are summed together
  SIDE = 32,                           // bytes of a register
  PART = ETX_INT4_GEMV_AVX2_MULTIPLE,  // elements of a register of weights
  MOST = ETX_INT4_GEMV_AVX2_MOST,
  LEAST_GROUP = 32,    // elements
  COLUMNS = 4,         // columns that are read at a time, far from each other
  AHEAD = 2048,        // bytes from what is read to what is prefetched
  SCALES_AHEAD = 128,  // the same of scales, not in bytes
};

// For each register of weights: the integers of its even elements, then those
// of its odd elements, as far as they fit in a byte; and the remainders.
typedef struct split_row {
  const uint8_t* from;
  uint8_t (*bytes)[2][SIDE];
  uint8_t (*rests)[2][SIDE];
  int32_t* sums;              // sums of the integers of each group
  uint8_t base, most, least;  // bytes beyond the last two have a remainder
  bool has_rest[MOST / PART];
  bool is_negated;
} split_row;

_Static_assert(MOST / LEAST_GROUP + 2 * MOST / 4 <= ETX_INT4_DOT_SUMS,
               "a row, twice, and the sums of its groups fit");

// a - b where a is larger, otherwise 0.
static inline etx_u8x32 excess(etx_u8x32 a, etx_u8x32 b) {
  return (a - b) & (etx_u8x32)(a > b);
}

static inline etx_u8x32 with_sign(const split_row* row, etx_u8x32 x) {
  return row->is_negated ? -x : x;
}

// Splits 32 bytes and returns the sums of those of each quarter.
static etx_longx4 split_bytes(split_row* row, size_t at, size_t odd) {
  etx_u8x32 x;
  memcpy(&x, row->from + at * PART + odd * SIDE, sizeof(x));
  const etx_u8x32 rests =
      with_sign(row, excess(x, (etx_u8x32){0} + row->most) -
                         excess((etx_u8x32){0} + row->least, x));
  const etx_u8x32 bytes = with_sign(row, x - row->base) - rests;
  memcpy(row->bytes[at][odd], &bytes, sizeof(bytes));
  memcpy(row->rests[at][odd], &rests, sizeof(rests));
  if (!__builtin_ia32_ptestz256((etx_longx4)rests, (etx_longx4)rests)) {
    row->has_rest[at] = true;
  }
  return (etx_longx4)__builtin_ia32_psadbw256((etx_charx32)x, (etx_charx32){0});
}

static void split(split_row* row, int32_t base, size_t group, size_t count) {
  row->is_negated = base == 0;
  row->base = (uint8_t)base;
  row->most = (uint8_t)(base == 0 ? 128 : base > 128 ? 255 : base + 127);
  row->least = (uint8_t)(base > 128 ? base - 128 : 0);
  memset(row->has_rest, 0, sizeof(row->has_rest));
  memset(row->sums, 0, count / group * sizeof(int32_t));
  for (size_t at = 0; at < count / PART; ++at) {
    const etx_longx4 sum = split_bytes(row, at, 0) + split_bytes(row, at, 1);
    for (size_t i = 0; i < 2; ++i) {
      row->sums[(at * PART + i * LEAST_GROUP) / group] +=
          (int32_t)(sum[2 * i] + sum[2 * i + 1]) - LEAST_GROUP * base;
    }
  }
}

static inline etx_i16x16 multiply(etx_charx32 halves, const uint8_t* x) {
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

// The sums of at most eight groups of 32, two of which share a register.
static inline __attribute__((always_inline)) etx_i32x8 small_groups(
    const uint8_t* weights, const split_row* row, size_t at, size_t groups) {
  etx_i32x8 v[GROUPS / 2] = {{0}};
  ETX_UNROLLED
  for (size_t i = 0; i < GROUPS / 2; ++i) {
    if (i < groups / 2)
      v[i] = add_pairs(part_sums(weights + i * SIDE, row, at + i));
  }
  const etx_i32x8 all = add_four(v);
  return __builtin_shufflevector(all, all, 0, 4, 1, 5, 2, 6, 3, 7);
}

// The same of groups of one or two registers.
static inline __attribute__((always_inline)) etx_i32x8 large_groups(
    const uint8_t* weights, const split_row* row, size_t at, size_t groups,
    size_t parts) {
  etx_i32x8 v[GROUPS] = {{0}};
  ETX_UNROLLED
  for (size_t i = 0; i < GROUPS; ++i) {
    if (i < groups) {
      const uint8_t* from = weights + i * parts * SIDE;
      etx_i16x16 sum = part_sums(from, row, at + i * parts);
      if (parts == 2) sum += part_sums(from + SIDE, row, at + i * parts + 1);
      v[i] = add_pairs(sum);
    }
  }
  const etx_i32x8 low = add_four(v), high = add_four(v + GROUPS / 2);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15);
}

static inline float total(etx_f32x8 v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// Loads eight numbers, or fewer followed by zeros: four as a vector, because a
// load of a whole vector stalls after stores of its parts.
static inline __attribute__((always_inline)) etx_i32x8 some_longs(
    const void* from, size_t count) {
  etx_i32x8 all = {0};
  etx_i32x4 half;
  if (count != GROUPS / 2) {
    memcpy(&all, from, count * sizeof(int32_t));
    return all;
  }
  memcpy(&half, from, sizeof(half));
  return __builtin_shufflevector(half, (etx_i32x4){0}, 0, 1, 2, 3, 4, 5, 6, 7);
}

// Eight parameters of groups, or fewer followed by zeros.
static inline __attribute__((always_inline)) etx_i32x8 some_params(
    const int16_t* from, size_t count) {
  etx_i16x8 all = {0};
  memcpy(&all, from, count * sizeof(*from));
  return __builtin_convertvector(all, etx_i32x8);
}

// At most eight groups of a column, of `parts` registers each; 0 is half a
// register.
static inline __attribute__((always_inline)) etx_f32x8 groups_of_column(
    const etx_int4_dot_block* b, const split_row* row, size_t column,
    size_t group, size_t groups, size_t parts) {
  const uint8_t* weights =
      b->right + (ptrdiff_t)column * b->right_row + group * (b->group / 2);
  const size_t first = group * b->group / PART, at = column * b->groups + group;
  etx_i32x8 sum = parts == 0 ? small_groups(weights, row, first, groups)
                             : large_groups(weights, row, first, groups, parts);
  const etx_i32x8 group_sums = some_longs(row->sums + group, groups);
  if (row->is_negated) sum = -sum;
  if (parts == 0 && b->params != NULL) {
    const etx_i32x8 params = some_params(b->params + at, groups);
    const etx_i32x8 whole = ((sum - (group_sums << 3)) << ETX_GROUP_SHIFT) +
                            group_sums * (params >> 8);
    return b->scales[column] *
           __builtin_convertvector(params & 255, etx_f32x8) *
           __builtin_convertvector(whole, etx_f32x8);
  }
  etx_i32x8 zeros = group_sums << 3;  // a half's group_sums zero is 8
  if (b->zeros != NULL) {
    etx_i32x8 zero = {0};
    for (size_t i = 0; i < groups; ++i) zero[i] = b->zeros[at + i];
    zeros += group_sums * zero;
  }
  return (etx_f32x8)some_longs(b->scales + at, groups) *
         __builtin_convertvector(sum - zeros, etx_f32x8);
}

// The last groups, fewer than eight and not four. Not inlined, because few
// columns have such groups.
static __attribute__((noinline)) void add_rest(const etx_int4_dot_block* b,
                                               const split_row* row,
                                               size_t column, size_t group,
                                               size_t parts, etx_f32x8* sum) {
  const size_t groups = b->groups - group;
  *sum += parts == 0 ? groups_of_column(b, row, column, group, groups, 0)
                     : groups_of_column(b, row, column, group, groups, parts);
}

// Prefetches what follows eight groups of a column.
static inline __attribute__((always_inline)) void prefetch_column(
    const etx_int4_dot_block* b, size_t column, size_t group, size_t parts) {
  const uint8_t* weights =
      b->right + (ptrdiff_t)column * b->right_row + group * (b->group / 2);
  const size_t bytes = parts == 0 ? GROUPS * SIDE / 2 : GROUPS * SIDE * parts;
  for (size_t i = 0; i < bytes; i += ETX_CACHE_LINE_BYTES) {
    __builtin_prefetch(weights + AHEAD + i);
  }
  const size_t at = column * b->groups + group + SCALES_AHEAD;
  if (parts == 0 && b->params != NULL) {
    __builtin_prefetch(b->params + at);
  } else {
    __builtin_prefetch(b->scales + at);
  }
}

// Four columns that are `apart` from each other.
static inline __attribute__((always_inline)) void some_columns(
    const etx_int4_dot_block* b, const split_row* row, float* out,
    size_t column, size_t apart, size_t parts) {
  etx_f32x8 sums[COLUMNS];
  size_t group = 0;
  ETX_UNROLLED
  for (size_t c = 0; c < COLUMNS; ++c) sums[c] = (etx_f32x8){0};
  for (; group + GROUPS <= b->groups; group += GROUPS) {
    for (size_t c = 0; c < COLUMNS; ++c) {
      if (b->is_far) prefetch_column(b, column + c * apart, group, parts);
      sums[c] +=
          groups_of_column(b, row, column + c * apart, group, GROUPS, parts);
    }
  }
  for (size_t c = 0; c < COLUMNS && group < b->groups; ++c) {
    if (b->groups - group == GROUPS / 2) {
      sums[c] += groups_of_column(b, row, column + c * apart, group, GROUPS / 2,
                                  parts);
    } else {
      etx_f32x8 sum = sums[c];
      add_rest(b, row, column + c * apart, group, parts, &sum);
      sums[c] = sum;
    }
  }
  for (size_t c = 0; c < COLUMNS; ++c) {
    out[column + c * apart] = total(sums[c]);
  }
}

static inline __attribute__((always_inline)) void all_columns(
    const etx_int4_dot_block* b, const split_row* row, float* out,
    size_t parts) {
  const size_t apart = b->columns / COLUMNS;
  for (size_t column = 0; column < b->columns;) {
    const bool is_apart = column < apart;
    some_columns(b, row, out, column, is_apart ? apart : 0, parts);
    ++column;
    if (is_apart && column == apart) column = apart * COLUMNS;
  }
}

void etx_int4_gemv_avx2(const etx_int4_dot_block* b) {
  const size_t count = b->groups * b->group;
  uint8_t(*const tile)[2][SIDE] = (void*)(b->group_sums + MOST / LEAST_GROUP);
  split_row row = {
      .sums = b->group_sums, .bytes = tile, .rests = tile + MOST / PART};
  for (size_t r = 0; r < b->rows; ++r) {
    float* out = b->sums + r * b->columns;
    row.from = b->left + (ptrdiff_t)r * b->left_row;
    split(&row, b->row_qparams[r].base, b->group, count);
    switch (b->group) {
      case PART / 2:
        all_columns(b, &row, out, 0);
        break;
      case PART:
        all_columns(b, &row, out, 1);
        break;
      default:
        all_columns(b, &row, out, 2);
        break;
    }
  }
}
