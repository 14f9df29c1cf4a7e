// Panels of int16 pairs. A register of 32 bytes holds one pair of each of eight
// columns, so one PMADDWD gives eight products of pairs.

#include "runtime/kernels/arch/x86/int8/int16_pair_loops_avx2.h"

#include <string.h>

#include "runtime/kernels/arch/x86/int8/transpose_square_avx2.h"
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
    transpose_square(a);
    ETX_UNROLLED
    for (int i = 0; i < SIDE; ++i) {
      memcpy(out + i * PAIR + part * WORDS, &a[i], sizeof(a[i]));
    }
  }
}

// Copies the last bytes or columns and fills up with zeros.
static void copy_rest(const uint8_t* in, ptrdiff_t row, size_t columns,
                      size_t count,
                      uint8_t out[ETX_INT16_PAIR_COLUMNS][WORDS]) {
  memset(out, 0, ETX_INT16_PAIR_COLUMNS * WORDS);
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
    copy_rest(in + k, row, columns, left < WORDS ? left : WORDS, rest);
    transpose_bytes(rest[0], WORDS, out);
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

//   @whole  int16 x int16 | GEMM of packed panels, PMADDWD | {ROWS} x
//     {ETX_INT16_PAIR_COLUMNS}
static void whole(const etx_int16_pair_block* b) {
  for (size_t row = 0; row < b->rows;) {
    const size_t left = b->rows - row;
    // No block of one or two rows at the end if it can be helped.
    const size_t rows = left <= ROWS      ? left
                        : left < ROWS + 3 ? (left + 1) / 2
                                          : ROWS;
    switch (rows) {
      case 6:
        whole_rows(b, row, 6);
        break;
      case 5:
        whole_rows(b, row, 5);
        break;
      case 4:
        whole_rows(b, row, 4);
        break;
      case 3:
        whole_rows(b, row, 3);
        break;
      case 2:
        whole_rows(b, row, 2);
        break;
      default:
        whole_rows(b, row, 1);
        break;
    }
    row += rows;
  }
}

// ------------------------------------------------ the last steps

//   @last  int32 to float32 | epilogue: scales and bias | 8 columns
static void last(const etx_int16_pair_epilogue* line) {
  for (size_t c = 0; c < ETX_INT16_PAIR_COLUMNS; c += SIDE) {
    etx_f32x8 scale, bias;
    memcpy(&scale, line->scales + c, sizeof(scale));
    memcpy(&bias, line->bias + c, sizeof(bias));
    for (size_t r = 0; r < line->rows; ++r) {
      const size_t at = r * ETX_INT16_PAIR_COLUMNS;
      etx_i32x8 whole;
      memcpy(&whole, line->whole + at + c, sizeof(whole));
      const etx_f32x8 sum = __builtin_convertvector(whole, etx_f32x8) * scale *
                                line->row_scales[r] +
                            bias;
      memcpy(line->out + (ptrdiff_t)r * line->out_row + c, &sum, sizeof(sum));
    }
  }
}

const etx_int16_pair_loops etx_int16_pair_loops_avx2 = {pack8, widen8, whole,
                                                        few, last};
