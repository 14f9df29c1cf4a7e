// Products with weights as they are stored. Bytes are widened to 16 bits in
// registers and multiplied in pairs (PMADDWD). PMADDUBSW would multiply twice
// as many bytes at a time, but sums of two of its products do not fit in 16
// bits.

#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/arch/x86/int8/int4_gemv_avx2.h"
#include "runtime/kernels/arch/x86/int8/int16_pair_loops_avx2.h"
#include "runtime/kernels/arch/x86/int8/quantized_loops_avx2.h"

#define VECTOR_BYTES 32

// gcc and clang name these builtins differently.
#ifdef __clang__

static inline etx_i16x16 widen_signed(etx_charx16 x) {
  return __builtin_convertvector((etx_i8x16)x, etx_i16x16);
}
static inline etx_i16x16 widen_unsigned(etx_charx16 x) {
  return __builtin_convertvector((etx_u8x16)x, etx_i16x16);
}
static inline etx_i32x8 load_signed(const int8_t* w) {
  etx_i8x8 x;
  memcpy(&x, w, sizeof(x));
  return __builtin_convertvector(x, etx_i32x8);
}
static inline etx_i32x8 load_unsigned(const uint8_t* w) {
  etx_u8x8 x;
  memcpy(&x, w, sizeof(x));
  return __builtin_convertvector(x, etx_i32x8);
}
#else
static inline etx_i16x16 widen_signed(etx_charx16 x) {
  return __builtin_ia32_pmovsxbw256(x);
}
static inline etx_i16x16 widen_unsigned(etx_charx16 x) {
  return __builtin_ia32_pmovzxbw256(x);
}
static inline etx_i32x8 load_signed(const int8_t* w) {
  etx_longx2 x = {0, 0};
  memcpy(&x, w, 8);
  return __builtin_ia32_pmovsxbd256((etx_charx16)x);
}
static inline etx_i32x8 load_unsigned(const uint8_t* w) {
  etx_longx2 x = {0, 0};
  memcpy(&x, w, 8);
  return __builtin_ia32_pmovzxbd256((etx_charx16)x);
}
#endif

static inline etx_f32x8 widen(const int8_t* w) {
  return __builtin_convertvector(load_signed(w), etx_f32x8);
}

static inline void halves(const uint8_t* w, int32_t zero, etx_f32x8* even,
                          etx_f32x8* odd) {
  const etx_i32x8 x = load_unsigned(w);
  *even = __builtin_convertvector((x >> 4) - zero, etx_f32x8);
  *odd = __builtin_convertvector((x & 15) - zero, etx_f32x8);
}

#define WIDEN(bytes) widen(bytes)
#define HALVES(bytes, zero, even, odd) halves(bytes, zero, even, odd)
#include "runtime/kernels/simd/int8/quantized_floats_template.h"

static inline etx_i32x8 multiply_pairs(etx_i16x16 a, etx_i16x16 b) {
  return __builtin_ia32_pmaddwd256(a, b);
}

// The horizontal sums of four vectors.
static inline etx_i32x4 totals(etx_i32x8 a, etx_i32x8 b, etx_i32x8 c,
                               etx_i32x8 d) {
  const etx_i32x8 x = __builtin_ia32_phaddd256(__builtin_ia32_phaddd256(a, b),
                                               __builtin_ia32_phaddd256(c, d));
  return __builtin_shufflevector(x, x, 0, 1, 2, 3) +
         __builtin_shufflevector(x, x, 4, 5, 6, 7);
}

// ------------------------------------------------ 8 bits

enum { WORDS = 16, COLUMNS = 4 };

// `rows` times four sums, of columns that are `apart` from each other. Inlined
// with constants, so that the sums stay in registers.
static inline __attribute__((always_inline)) void whole_block(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column,
    size_t columns, size_t apart) {
  const int16_t* x = (const int16_t*)b->left + (ptrdiff_t)row * b->left_row;
  const int8_t* w = (const int8_t*)b->right + (ptrdiff_t)column * b->right_row;
  const ptrdiff_t pitch = (ptrdiff_t)apart * b->right_row;
  etx_i32x8 sums[2][COLUMNS] = {{{0}}};
  size_t k = 0;
  for (; k + WORDS <= b->count; k += WORDS) {
    etx_i16x16 input[2];
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      memcpy(&input[r], x + (ptrdiff_t)r * b->left_row + k, sizeof(etx_i16x16));
    }
    ETX_UNROLLED
    for (size_t c = 0; c < columns; ++c) {
      etx_charx16 bytes;
      memcpy(&bytes, w + (ptrdiff_t)c * pitch + k, sizeof(bytes));
      const etx_i16x16 weight = widen_signed(bytes);
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        sums[r][c] += multiply_pairs(input[r], weight);
      }
    }
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    etx_i32x4 all = totals(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
    int32_t* out = (int32_t*)b->sums + (ptrdiff_t)(row + r) * b->sum_row +
                   (ptrdiff_t)column;
    for (size_t n = k; n < b->count; ++n) {
      const int32_t input = x[(ptrdiff_t)r * b->left_row + (ptrdiff_t)n];
      for (size_t c = 0; c < columns; ++c) {
        all[c] += input * w[(ptrdiff_t)c * pitch + (ptrdiff_t)n];
      }
    }
    ETX_UNROLLED
    for (size_t c = 0; c < columns; ++c) out[c * apart] = all[c];
  }
}

static inline __attribute__((always_inline)) void whole_columns(
    const etx_quantized_block* b, size_t column, size_t columns, size_t apart) {
  size_t row = 0;
  for (; row + 2 <= b->rows; row += 2) {
    whole_block(b, row, 2, column, columns, apart);
  }
  if (row < b->rows) whole_block(b, row, 1, column, columns, apart);
}

// Columns that are read at a time are far from each other (gemm_nt_template.h).
//
//   @whole8  int16 x int8 | GEMM NT, PMADDWD | 2 x {COLUMNS} dot products
static void whole8(const etx_quantized_block* b) {
  const size_t apart = b->columns / COLUMNS;
  for (size_t column = 0; column < apart; ++column) {
    whole_columns(b, column, COLUMNS, apart);
  }
  for (size_t column = apart * COLUMNS; column < b->columns; ++column) {
    whole_columns(b, column, 1, 1);
  }
}

// ------------------------------------------------ 4 bits

// The integers of the rows that one group of weights is multiplied with.
typedef struct avx2_group_rows {
  const int16_t* even;  // of the first row
  ptrdiff_t to_odd, left_row;
} avx2_group_rows;

static inline avx2_group_rows group_rows_at(const etx_quantized_block* b,
                                            size_t row, size_t k) {
  const size_t chunk = k - k % FLOAT_CHUNK, rest = b->count - chunk;
  const size_t in_chunk = rest < FLOAT_CHUNK ? rest : FLOAT_CHUNK;
  const int16_t* x = (const int16_t*)b->left + (ptrdiff_t)row * b->left_row;
  return (avx2_group_rows){.even = x + chunk + (k - chunk) / 2,
                           .to_odd = (ptrdiff_t)(in_chunk / 2),
                           .left_row = b->left_row};
}

// Exact sums with one group of weights, taken as 0 to 15.
static inline __attribute__((always_inline)) void group_sums(
    const avx2_group_rows* g, const uint8_t* right, size_t bytes, size_t rows,
    etx_i32x8* out) {
  etx_i32x8 sums[2] = {{0}};
  for (size_t k = 0; k < bytes; k += WORDS) {
    etx_charx16 stored;
    memcpy(&stored, right + k, sizeof(stored));
    const etx_i16x16 both = widen_unsigned(stored);
    const etx_i16x16 high = (etx_i16x16)((etx_u16x16)both >> 4),
                     low = both & 15;
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      const int16_t* from = g->even + (ptrdiff_t)r * g->left_row + k;
      etx_i16x16 even, odd;
      memcpy(&even, from, sizeof(etx_i16x16));
      memcpy(&odd, from + g->to_odd, sizeof(etx_i16x16));
      sums[r] += multiply_pairs(even, high) + multiply_pairs(odd, low);
    }
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) out[r * GROUPS] = sums[r];
}

// The horizontal sums of eight vectors.
static inline etx_i32x8 all_totals(const etx_i32x8* v) {
  const etx_i32x8 x =
      __builtin_ia32_phaddd256(__builtin_ia32_phaddd256(v[0], v[1]),
                               __builtin_ia32_phaddd256(v[2], v[3]));
  const etx_i32x8 y =
      __builtin_ia32_phaddd256(__builtin_ia32_phaddd256(v[4], v[5]),
                               __builtin_ia32_phaddd256(v[6], v[7]));
  return __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15);
}

// The dot products that are computed together: `rows` rows from `row` on, and
// `columns` columns that are `apart` from each other. `bytes` are the bytes of
// a group of weights.
typedef struct group_tile {
  size_t row, rows, columns, apart, bytes;
} group_tile;

// Adds the sums of `groups` groups of a column, at most eight, from `group` on.
static inline __attribute__((always_inline)) void add_groups(
    const etx_quantized_block* b, const group_tile* t, size_t column,
    size_t group, size_t groups, etx_f32x8* sums) {
  const size_t bytes = t->bytes, rows = t->rows;
  const uint8_t* right =
      b->right + (ptrdiff_t)column * b->right_row + group * bytes;
  const size_t at = column * b->groups + group;
  etx_i32x8 whole[2 * GROUPS];
  etx_f32x8 scale = {0};
  etx_i32x8 zero = {8, 8, 8, 8, 8, 8, 8, 8};
  avx2_group_rows from = group_rows_at(b, t->row, group * bytes * 2);
  ETX_UNROLLED
  for (size_t i = 0; i < groups; ++i) {
    group_sums(&from, right + i * bytes, bytes, rows, &whole[i]);
    // Eight groups of 32 fill one chunk exactly.
    if (bytes == WORDS) {
      from.even += bytes;
    } else if (i + 1 < groups) {
      from = group_rows_at(b, t->row, (group + i + 1) * bytes * 2);
    }
  }
  for (size_t i = groups; i < GROUPS; ++i) {
    whole[i] = whole[GROUPS + i] = (etx_i32x8){0};
  }
  memcpy(&scale, b->scales + at, groups * sizeof(float));
  if (b->zeros != NULL) {
    for (size_t i = 0; i < groups; ++i) zero[i] += b->zeros[at + i];
  }
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    etx_i32x8 weight_sums = {0};
    memcpy(&weight_sums, b->group_sums + (t->row + r) * b->groups + group,
           groups * sizeof(int32_t));
    const etx_i32x8 all = all_totals(&whole[r * GROUPS]) - zero * weight_sums;
    sums[r] += scale * __builtin_convertvector(all, etx_f32x8);
  }
}

// Stores the dot products of a tile whose first column is `column`.
static inline __attribute__((always_inline)) void groups_block(
    const etx_quantized_block* b, const group_tile* t, size_t column) {
  const size_t rows = t->rows, columns = t->columns, apart = t->apart;
  etx_f32x8 sums[COLUMNS][2];
  size_t group = 0;
  ETX_UNROLLED
  for (size_t c = 0; c < columns; ++c) sums[c][0] = sums[c][1] = (etx_f32x8){0};
  for (; group + GROUPS <= b->groups; group += GROUPS) {
    for (size_t c = 0; c < columns; ++c) {
      add_groups(b, t, column + c * apart, group, GROUPS, sums[c]);
    }
  }
  // Rows of 512 elements have four groups of 128.
  if (b->groups - group == GROUPS / 2) {
    for (size_t c = 0; c < columns; ++c) {
      add_groups(b, t, column + c * apart, group, GROUPS / 2, sums[c]);
    }
    group = b->groups;
  }
  for (size_t c = 0; c < columns && group < b->groups; ++c) {
    add_groups(b, t, column + c * apart, group, b->groups - group, sums[c]);
  }
  for (size_t c = 0; c < columns; ++c) {
    for (size_t r = 0; r < rows; ++r) {
      ((float*)b->sums)[(ptrdiff_t)(t->row + r) * b->sum_row +
                        (ptrdiff_t)(column + c * apart)] =
          group_total((const float*)&sums[c][r]);
    }
  }
}

// All rows with the columns of a block, whose groups have `bytes`.
static inline __attribute__((always_inline)) void groups_rows(
    const etx_quantized_block* b, size_t column, size_t columns, size_t apart,
    size_t bytes) {
  size_t row = 0;
  for (; row + 2 <= b->rows; row += 2) {
    groups_block(b, &(group_tile){row, 2, columns, apart, bytes}, column);
  }
  if (row < b->rows) {
    groups_block(b, &(group_tile){row, 1, columns, apart, bytes}, column);
  }
}

static inline __attribute__((always_inline)) void groups_all(
    const etx_quantized_block* b, size_t bytes) {
  // One call site for both kinds of columns, because the call is inlined and
  // large.
  const size_t apart = b->columns / COLUMNS;
  for (size_t column = 0; column < b->columns;) {
    const bool is_apart = column < apart;
    groups_rows(b, column, is_apart ? COLUMNS : 1, apart, bytes);
    ++column;
    if (is_apart && column == apart) column = apart * COLUMNS;
  }
}

//   @groups4  int16 x int4 | GEMM NT per group, PMADDWD; one row PMADDUBSW
//     (int4_gemv_avx2.c) | 2 x {COLUMNS} dot products
static void groups4(const etx_quantized_block* b) {
  if (etx_int4_gemv_avx2_supports(b)) {
    etx_int4_gemv_avx2(b);
  } else if (b->group == 2 * WORDS) {
    groups_all(b, WORDS);
  } else {
    groups_all(b, b->group / 2);
  }
}

// ------------------------------------------------ rows that are quantised

// Four elements. The conversion rounds halves to even, as the portable loop
// does.
static inline etx_i32x4 quantize_four(const float* x, etx_f64x4 inverse,
                                      etx_f64x4 zero) {
  const etx_f64x4 least = {-128, -128, -128, -128}, most = {127, 127, 127, 127};
  etx_f32x4 input;
  memcpy(&input, x, sizeof(input));
  etx_f64x4 y = __builtin_convertvector(input, etx_f64x4) * inverse + zero;
  const etx_longx4 is_number = y == y;
  y = (etx_f64x4)((is_number & (etx_longx4)y) |
                  (~is_number & (etx_longx4)zero));
  y = __builtin_ia32_maxpd256(y, least);
  y = __builtin_ia32_minpd256(y, most);
  return (etx_i32x4)__builtin_ia32_cvtpd2dq256(y);
}

static inline void quantize_eight(const float* x, etx_f64x4 inverse,
                                  etx_f64x4 zero, int32_t whole_zero,
                                  int16_t* out) {
  const etx_i32x4 low = quantize_four(x, inverse, zero) - whole_zero;
  const etx_i32x4 high = quantize_four(x + 4, inverse, zero) - whole_zero;
  const etx_i16x8 both = __builtin_ia32_packssdw128(low, high);
  memcpy(out, &both, sizeof(both));
}

//   @quantize  float32 to int16 | quantize rows | 8 elements
static void quantize(const float* x, size_t count, double inverse, double zero,
                     int16_t* out) {
  enum { SIDE = 8 };
  const etx_f64x4 factor = {inverse, inverse, inverse, inverse};
  const etx_f64x4 shift = {zero, zero, zero, zero};
  size_t i = 0;
  for (; i + SIDE <= count; i += SIDE) {
    quantize_eight(x + i, factor, shift, (int32_t)zero, out + i);
  }
  if (i < count) {
    float rest[SIDE] = {0};
    int16_t made[SIDE];
    memcpy(rest, x + i, (count - i) * sizeof(float));
    quantize_eight(rest, factor, shift, (int32_t)zero, made);
    memcpy(out + i, made, (count - i) * sizeof(int16_t));
  }
}

const etx_quantized_loops etx_quantized_loops_avx2 = {
    "avx2",
    whole8,
    groups4,
    floats8,
    floats4,
    quantize,
    &etx_int16_pair_loops_avx2};
