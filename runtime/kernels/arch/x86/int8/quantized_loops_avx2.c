// Products with weights as they are stored. Bytes are widened to 16 bits in
// registers and multiplied in pairs (PMADDWD). PMADDUBSW would multiply twice
// as many bytes at a time, but sums of two of its products do not fit in 16
// bits.

#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/arch/x86/int8/int16_pair_loops_avx2.h"
#include "runtime/kernels/arch/x86/int8/quantized_loops_avx2.h"
#include "runtime/kernels/arch/x86/int8/quantize_four_template.h"

#define VECTOR_BYTES 32

// gcc and clang name these builtins differently.
#ifdef __clang__

static inline etx_i16x16 widen_signed(etx_charx16 x) {
  return __builtin_convertvector((etx_i8x16)x, etx_i16x16);
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

// ------------------------------------------------ rows that are quantised

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
    NULL,
    floats8,
    floats4,
    quantize,
    &etx_int16_pair_loops_avx2};
