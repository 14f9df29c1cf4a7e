// Panels of int16 pairs. A register of 32 bytes holds one pair of each of eight
// columns, so one PMADDWD gives eight products of pairs.

#include "runtime/kernels/arch/x86/int8/int16_pair_loops_avx2.h"

#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"

enum {
  SIDE = 8,    // of a square that is transposed in registers
  WORDS = 16,  // words of a register
  PARTS = 2,   // registers of a pair of all columns
  PAIR = 2 * ETX_INT16_PAIR_COLUMNS  // elements of a panel from pair to pair
};

// gcc and clang name this builtin differently.
static inline etx_i16x16 widen(etx_i8x16 x) {
#ifdef __clang__
  return __builtin_convertvector(x, etx_i16x16);
#else
  return __builtin_ia32_pmovsxbw256((etx_charx16)x);
#endif
}

static inline etx_i32x8 multiply_pairs(etx_i32x8 a, etx_i32x8 b) {
  return __builtin_ia32_pmaddwd256((etx_i16x16)a, (etx_i16x16)b);
}

// ------------------------------------------------ panels

// Transposes eight pairs of eight columns: from one register for each column to
// one for each pair.
static inline __attribute__((always_inline)) void transpose_square(
    etx_i32x8 a[SIDE], int16_t* out) {
  etx_i32x8 b[SIDE];
  ETX_UNROLLED
  for (int i = 0; i < SIDE; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] =
        __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  ETX_UNROLLED
  for (int i = 0; i < SIDE; i += 4) {
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
    const etx_i32x8 low =
        __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    const etx_i32x8 high =
        __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    memcpy(out + i * PAIR, &low, sizeof(low));
    memcpy(out + (i + 4) * PAIR, &high, sizeof(high));
  }
}

// Sixteen elements of sixteen columns.
static inline __attribute__((always_inline)) void transpose_bytes(
    const uint8_t* in, ptrdiff_t row, int16_t* out) {
  ETX_UNROLLED
  for (int part = 0; part < PARTS; ++part) {
    etx_i32x8 a[SIDE];
    ETX_UNROLLED
    for (int i = 0; i < SIDE; ++i) {
      etx_i8x16 x;
      memcpy(&x, in + (part * SIDE + i) * row, sizeof(x));
      a[i] = (etx_i32x8)widen(x);
    }
    transpose_square(a, out + part * WORDS);
  }
}

// Sixteen columns: the high halves of sixteen bytes, then the low halves.
static inline __attribute__((always_inline)) void transpose_halves(
    const uint8_t* in, ptrdiff_t row, int16_t* out) {
  ETX_UNROLLED
  for (int is_low = 0; is_low < 2; ++is_low) {
    ETX_UNROLLED
    for (int part = 0; part < PARTS; ++part) {
      etx_i32x8 a[SIDE];
      ETX_UNROLLED
      for (int i = 0; i < SIDE; ++i) {
        etx_u8x16 x;
        memcpy(&x, in + (part * SIDE + i) * row, sizeof(x));
        x = is_low ? x & 15 : x >> 4;
        a[i] = (etx_i32x8)widen((etx_i8x16)x - 8);
      }
      transpose_square(a, out + is_low * SIDE * PAIR + part * WORDS);
    }
  }
}

// Copies the last bytes or columns and fills up with zeros.
static void copy_rest(const uint8_t* in, ptrdiff_t row, size_t columns,
                      size_t count, uint8_t fill,
                      uint8_t out[ETX_INT16_PAIR_COLUMNS][WORDS]) {
  memset(out, fill, ETX_INT16_PAIR_COLUMNS * WORDS);
  for (size_t c = 0; c < columns; ++c) {
    memcpy(out[c], in + (ptrdiff_t)c * row, count);
  }
}

//   @pack8  int8 to int16 | pack rows as panels of pairs | {2 * SIDE} x
//     {WORDS}
static void pack8(const uint8_t* in, ptrdiff_t row, size_t columns,
                  size_t count, int16_t* out) {
  const bool is_full = columns == ETX_INT16_PAIR_COLUMNS;
  for (size_t k = 0; k < count; k += WORDS, out += SIDE * PAIR) {
    if (is_full && k + WORDS <= count) {
      transpose_bytes(in + k, row, out);
      continue;
    }
    uint8_t rest[ETX_INT16_PAIR_COLUMNS][WORDS];
    const size_t left = count - k;
    copy_rest(in + k, row, columns, left < WORDS ? left : WORDS, 0, rest);
    transpose_bytes(rest[0], WORDS, out);
  }
}

//   @pack4  int4 to int16 | pack rows as panels of pairs | {2 * SIDE} x {2 *
//     WORDS}
static void pack4(const uint8_t* in, ptrdiff_t row, size_t columns,
                  size_t count, int16_t* out) {
  const uint8_t zero = 8 << 4 | 8;
  for (size_t k = 0; k < count; k += WORDS, out += 2 * SIDE * PAIR) {
    if (columns == ETX_INT16_PAIR_COLUMNS) {
      transpose_halves(in + k, row, out);
      continue;
    }
    uint8_t rest[ETX_INT16_PAIR_COLUMNS][WORDS];
    copy_rest(in + k, row, columns, WORDS, zero, rest);
    transpose_halves(rest[0], WORDS, out);
  }
}

// Widens groups of four bytes of sixteen columns to two pairs each.
//
//   @widen  int8 to int16 | widen a packed panel to pairs | 4 x
//     {ETX_INT16_PAIR_COLUMNS}
static void widen8(const int8_t* in, size_t count, int16_t* out) {
  enum { SIDE_BYTES = 32, SIDES = 2, FOUR = SIDES * SIDE_BYTES };
  for (size_t k = 0; k < count; k += 4, in += FOUR, out += 2 * PAIR) {
    ETX_UNROLLED
    for (int side = 0; side < SIDES; ++side) {
      etx_i16x16 x;
      memcpy(&x, in + side * SIDE_BYTES, sizeof(x));
      // First elements of four columns, then their last; then of all eight.
      x = __builtin_shufflevector(x, x, 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14,
                                  9, 11, 13, 15);
      const etx_longx4 y =
          __builtin_shufflevector((etx_longx4)x, (etx_longx4)x, 0, 2, 1, 3);
      const etx_i16x16 first =
          widen((etx_i8x16)__builtin_shufflevector(y, y, 0, 1));
      const etx_i16x16 last =
          widen((etx_i8x16)__builtin_shufflevector(y, y, 2, 3));
      memcpy(out + side * WORDS, &first, sizeof(first));
      memcpy(out + PAIR + side * WORDS, &last, sizeof(last));
    }
  }
}

// ------------------------------------------------ sums

enum {
  ROWS = 6,          // rows whose sums are in registers
  FEW_AHEAD = 1024,  // bytes that are prefetched
};

// Adds the products of `pairs` pairs. Inlined with constants, so that the sums
// stay in registers.
static inline __attribute__((always_inline)) void add_pairs(
    const int16_t* left, ptrdiff_t left_row, const int16_t* panel, size_t rows,
    size_t pairs, etx_i32x8 sums[ROWS][PARTS]) {
  for (size_t k = 0; k < pairs; ++k, panel += PAIR, left += 2) {
    etx_i32x8 w[PARTS];
    ETX_UNROLLED
    for (int part = 0; part < PARTS; ++part) {
      memcpy(&w[part], panel + part * WORDS, sizeof(w[part]));
      // Read once, not again for each row.
      __asm__("" : "+x"(w[part]));
    }
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      int x;
      memcpy(&x, left + (ptrdiff_t)r * left_row, sizeof(x));
      const etx_i32x8 all = {x, x, x, x, x, x, x, x};
      ETX_UNROLLED
      for (int part = 0; part < PARTS; ++part) {
        sums[r][part] += multiply_pairs(all, w[part]);
      }
    }
  }
}

static inline __attribute__((always_inline)) void whole_rows(
    const etx_int16_pair_block* b, size_t row, size_t rows) {
  int32_t* at = b->whole + row * ETX_INT16_PAIR_COLUMNS;
  etx_i32x8 sums[ROWS][PARTS] = {{{0}}};
  if (!b->starts) {
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (int part = 0; part < PARTS; ++part) {
        memcpy(&sums[r][part], at + r * ETX_INT16_PAIR_COLUMNS + part * SIDE,
               sizeof(etx_i32x8));
      }
    }
  }
  add_pairs(b->left + (ptrdiff_t)row * b->left_row, b->left_row, b->panel, rows,
            (b->count + 1) / 2, sums);
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (int part = 0; part < PARTS; ++part) {
      memcpy(at + r * ETX_INT16_PAIR_COLUMNS + part * SIDE, &sums[r][part],
             sizeof(etx_i32x8));
    }
  }
}

// Rows of bytes: a register holds sums of four columns, those of a column's
// first elements beside those of its last.
static inline __attribute__((always_inline)) void few_rows(
    const etx_int16_pair_block* b, size_t rows) {
  enum { COLUMNS = 4, QUARTERS = ETX_INT16_PAIR_COLUMNS / COLUMNS };
  const int16_t* left = b->left;
  const int8_t* from = b->bytes;
  etx_i32x8 sums[ETX_INT16_PAIR_FEW_ROWS][QUARTERS] = {{{0}}};
  for (size_t k = 0; k < b->count; k += 4, left += 4) {
    etx_longx4 input[ETX_INT16_PAIR_FEW_ROWS];
    __builtin_prefetch(from + FEW_AHEAD);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      long long x;
      memcpy(&x, left + (ptrdiff_t)r * b->left_row, sizeof(x));
      input[r] = (etx_longx4){x, x, x, x};
    }
    ETX_UNROLLED
    for (int i = 0; i < QUARTERS; ++i, from += 4 * COLUMNS) {
      etx_i8x16 x;
      memcpy(&x, from, sizeof(x));
      const etx_i16x16 w = widen(x);
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        sums[r][i] += multiply_pairs((etx_i32x8)input[r], (etx_i32x8)w);
      }
    }
  }
  int32_t* out = b->whole;
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (int i = 0; i < QUARTERS; i += 2, out += SIDE) {
      const etx_longx4 both =
          (etx_longx4)__builtin_ia32_phaddd256(sums[r][i], sums[r][i + 1]);
      const etx_longx4 all = __builtin_shufflevector(both, both, 0, 2, 1, 3);
      memcpy(out, &all, sizeof(all));
    }
  }
}

//   @few  int16 x int8 | GEMM of packed panels, few rows, PMADDWD |
//     {ETX_INT16_PAIR_FEW_ROWS} x {ETX_INT16_PAIR_COLUMNS}
static void few(const etx_int16_pair_block* b) {
  if (b->rows == 3) {
    few_rows(b, 3);
  } else if (b->rows == 2) {
    few_rows(b, 2);
  } else {
    few_rows(b, 1);
  }
}

static inline __attribute__((always_inline)) void group_rows(
    const etx_int16_pair_block* b, size_t row, size_t rows) {
  const int16_t* left = b->left + (ptrdiff_t)row * b->left_row;
  const int16_t* panel = b->panel;
  const size_t pairs = b->group / 4;  // even ones, or odd ones
  size_t sum = b->first;
  for (size_t k = 0; k < b->count; k += b->group, left += b->group / 2) {
    etx_i32x8 whole[ROWS][PARTS] = {{{0}}};
    for (size_t done = 0; done < pairs;
         done += SIDE, panel += 2 * SIDE * PAIR) {
      add_pairs(left + 2 * done, b->left_row, panel, rows, SIDE, whole);
      add_pairs(left + b->count / 2 + 2 * done, b->left_row,
                panel + SIDE * PAIR, rows, SIDE, whole);
    }
    const float* scales = b->scales + k / b->group * ETX_INT16_PAIR_COLUMNS;
    float* sums =
        b->sums + (row * ETX_INT16_PAIR_SUMS + sum) * ETX_INT16_PAIR_COLUMNS;
    sum = (sum + 1) % ETX_INT16_PAIR_SUMS;
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (int part = 0; part < PARTS; ++part) {
        etx_f32x8 acc, scale;
        memcpy(&acc, sums + part * SIDE, sizeof(acc));
        memcpy(&scale, scales + part * SIDE, sizeof(scale));
        acc += scale * __builtin_convertvector(whole[r][part], etx_f32x8);
        memcpy(sums + part * SIDE, &acc, sizeof(acc));
      }
      sums += ETX_INT16_PAIR_SUMS * ETX_INT16_PAIR_COLUMNS;
    }
  }
}

#define SOME_ROWS(name)                                                 \
  static void name(const etx_int16_pair_block* b) {                     \
    for (size_t row = 0; row < b->rows;) {                              \
      const size_t left = b->rows - row;                                \
      /* No block of one or two rows at the end if it can be helped. */ \
      const size_t rows = left <= ROWS      ? left                      \
                          : left < ROWS + 3 ? (left + 1) / 2            \
                                            : ROWS;                     \
      switch (rows) {                                                   \
        case 6:                                                         \
          name##_rows(b, row, 6);                                       \
          break;                                                        \
        case 5:                                                         \
          name##_rows(b, row, 5);                                       \
          break;                                                        \
        case 4:                                                         \
          name##_rows(b, row, 4);                                       \
          break;                                                        \
        case 3:                                                         \
          name##_rows(b, row, 3);                                       \
          break;                                                        \
        case 2:                                                         \
          name##_rows(b, row, 2);                                       \
          break;                                                        \
        default:                                                        \
          name##_rows(b, row, 1);                                       \
          break;                                                        \
      }                                                                 \
      row += rows;                                                      \
    }                                                                   \
  }
//   @whole  int16 x int16 | GEMM of packed panels, PMADDWD | {ROWS} x
//     {ETX_INT16_PAIR_COLUMNS}
SOME_ROWS(whole)
//   @groups  int16 x int16 | GEMM of packed panels per group, PMADDWD | {ROWS}
//     x {ETX_INT16_PAIR_COLUMNS}
SOME_ROWS(group)

// ------------------------------------------------ the last steps

// Partial sums of groups; their halves are added to each other.
static inline etx_f32x8 group_total(const float* sums) {
  etx_f32x8 v[ETX_INT16_PAIR_SUMS];
  ETX_UNROLLED
  for (int i = 0; i < ETX_INT16_PAIR_SUMS; ++i) {
    memcpy(&v[i], sums + i * ETX_INT16_PAIR_COLUMNS, sizeof(v[i]));
  }
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

//   @last  int32 to float32 | epilogue: scales and bias | 8 columns
static void last(const etx_int16_pair_epilogue* line) {
  for (size_t c = 0; c < ETX_INT16_PAIR_COLUMNS; c += SIDE) {
    etx_f32x8 scale, bias;
    memcpy(&scale, line->scales + c, sizeof(scale));
    memcpy(&bias, line->bias + c, sizeof(bias));
    for (size_t r = 0; r < line->rows; ++r) {
      const size_t at = r * ETX_INT16_PAIR_COLUMNS;
      etx_f32x8 sum;
      if (line->whole != NULL) {
        etx_i32x8 whole;
        memcpy(&whole, line->whole + at + c, sizeof(whole));
        sum = __builtin_convertvector(whole, etx_f32x8);
      } else {
        sum = group_total(line->sums + at * ETX_INT16_PAIR_SUMS + c);
      }
      sum = sum * scale * line->row_scales[r] + bias;
      memcpy(line->out + (ptrdiff_t)r * line->out_row + c, &sum, sizeof(sum));
    }
  }
}

const etx_int16_pair_loops etx_int16_pair_loops_avx2 = {
    pack8, pack4, widen8, whole, few, group, last};
