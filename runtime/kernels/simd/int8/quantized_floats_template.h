// Products of float32 rows with quantised weights (floats8 and floats4 of
// quantized_loops.h). All sets give the same bits.
//
//   VECTOR_BYTES                    required
//       bytes of a vector register: 16, 32 or 64
//   WIDEN(bytes)                    required
//       ETX_F32_LANES signed bytes as floats
//   HALVES(bytes, zero, even, odd)  required
//       as many bytes: the high and the low halves minus `zero`, as floats

#if !defined(VECTOR_BYTES) || !defined(WIDEN) || !defined(HALVES)
#error "this header needs the macros of its table"
#endif

#include <string.h>

#include "runtime/kernels/simd/vector/f32_vec_template.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/int8/quantized_loops.h"

enum {
  FLOAT_LANES = ETX_F32_DOT_SUMS,
  FLOAT_PARTS = ETX_F32_DOT_VECS,
  FLOAT_ROWS = 2,     // rows that are computed together
  FLOAT_COLUMNS = 2,  // columns that are computed together
  FLOAT_CHUNK = 256,  // elements whose even ones stand first
  GROUPS = 8,         // partial sums of groups
};

static inline __attribute__((always_inline)) void store_totals(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column,
    etx_f32_vec sums[FLOAT_ROWS][FLOAT_PARTS]) {
  for (size_t r = 0; r < rows; ++r) {
    ((float*)b->sums)[(ptrdiff_t)(row + r) * b->sum_row + (ptrdiff_t)column] =
        etx_f32_vec_sum(sums[r]);
  }
}

// Adds the next step to each of `rows` times `columns` dot products.
static inline __attribute__((always_inline)) void step8(
    const float* x, ptrdiff_t left_row, const int8_t* w, ptrdiff_t right_row,
    size_t rows, size_t columns,
    etx_f32_vec sums[FLOAT_COLUMNS][FLOAT_ROWS][FLOAT_PARTS]) {
  ETX_UNROLLED
  for (size_t part = 0; part < FLOAT_PARTS; ++part) {
    const size_t at = part * ETX_F32_LANES;
    etx_f32_vec v[FLOAT_ROWS];
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      memcpy(&v[r], x + (ptrdiff_t)r * left_row + at, sizeof(v[r]));
    }
    ETX_UNROLLED
    for (size_t c = 0; c < columns; ++c) {
      const etx_f32_vec y = WIDEN(w + (ptrdiff_t)c * right_row + at);
      ETX_UNROLLED
      for (size_t r = 0; r < rows; ++r) {
        sums[c][r][part] = ETX_F32_FMA(v[r], y, sums[c][r][part]);
      }
    }
  }
}

// The last elements, followed by zeros.
static inline void rest8(
    const etx_quantized_block* b, const float* x, size_t rows, const int8_t* w,
    ptrdiff_t right_row, size_t columns, size_t count,
    etx_f32_vec sums[FLOAT_COLUMNS][FLOAT_ROWS][FLOAT_PARTS]) {
  float last[FLOAT_ROWS][FLOAT_LANES] = {{0}};
  int8_t weights[FLOAT_COLUMNS][FLOAT_LANES] = {{0}};
  for (size_t c = 0; c < columns; ++c) {
    memcpy(weights[c], w + (ptrdiff_t)c * right_row, count);
  }
  for (size_t r = 0; r < rows; ++r) {
    memcpy(last[r], x + (ptrdiff_t)r * b->left_row, count * sizeof(float));
  }
  step8(last[0], FLOAT_LANES, weights[0], FLOAT_LANES, rows, columns, sums);
}

// Dots of a few rows with columns that are `apart` from each other.
static inline __attribute__((always_inline)) void dot8(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column,
    size_t columns, size_t apart) {
  const float* x = (const float*)b->left + (ptrdiff_t)row * b->left_row;
  const int8_t* w = (const int8_t*)b->right + (ptrdiff_t)column * b->right_row;
  const ptrdiff_t pitch = (ptrdiff_t)apart * b->right_row;
  etx_f32_vec sums[FLOAT_COLUMNS][FLOAT_ROWS][FLOAT_PARTS] = {{{{0}}}};
  size_t k = 0;
  for (; k + FLOAT_LANES <= b->count; k += FLOAT_LANES) {
    step8(x + k, b->left_row, w + k, pitch, rows, columns, sums);
  }
  if (k < b->count) {
    rest8(b, x + k, rows, w + k, pitch, columns, b->count - k, sums);
  }
  ETX_UNROLLED
  for (size_t c = 0; c < columns; ++c) {
    store_totals(b, row, rows, column + c * apart, sums[c]);
  }
}

// The same as dot8 with a scale for each group of a column.
static inline __attribute__((always_inline)) void group_dot8(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column,
    size_t columns, size_t apart) {
  const float* x = (const float*)b->left + (ptrdiff_t)row * b->left_row;
  const int8_t* w = (const int8_t*)b->right + (ptrdiff_t)column * b->right_row;
  const ptrdiff_t pitch = (ptrdiff_t)apart * b->right_row;
  etx_f32_vec sums[FLOAT_COLUMNS][FLOAT_ROWS][FLOAT_PARTS] = {{{{0}}}};
  size_t k = 0;
  for (size_t g = 0; g < b->groups; ++g) {
    etx_f32_vec acc[FLOAT_COLUMNS][FLOAT_ROWS][FLOAT_PARTS] = {{{{0}}}};
    for (const size_t end = k + b->group; k < end; k += FLOAT_LANES) {
      step8(x + k, b->left_row, w + k, pitch, rows, columns, acc);
    }
    ETX_UNROLLED
    for (size_t c = 0; c < columns; ++c) {
      const size_t at = (column + c * apart) * b->groups + g;
      const etx_f32_vec scale = ETX_F32_BROADCAST(b->scales[at]);
      ETX_UNROLLED
      for (size_t i = 0; i < rows * FLOAT_PARTS; ++i) {
        etx_f32_vec* const sum = &sums[c][i / FLOAT_PARTS][i % FLOAT_PARTS];
        *sum =
            ETX_F32_FMA(scale, acc[c][i / FLOAT_PARTS][i % FLOAT_PARTS], *sum);
      }
    }
  }
  ETX_UNROLLED
  for (size_t c = 0; c < columns; ++c) {
    store_totals(b, row, rows, column + c * apart, sums[c]);
  }
}

static inline __attribute__((always_inline)) void rows8(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column,
    size_t columns, size_t apart) {
  if (b->groups > 1) {
    group_dot8(b, row, rows, column, columns, apart);
  } else {
    dot8(b, row, rows, column, columns, apart);
  }
}

static inline __attribute__((always_inline)) void columns8(
    const etx_quantized_block* b, size_t column, size_t columns, size_t apart) {
  size_t row = 0;
  for (; row + 2 <= b->rows; row += 2) {
    rows8(b, row, 2, column, columns, apart);
  }
  if (row < b->rows) rows8(b, row, 1, column, columns, apart);
}

// Columns that are read at a time are far from each other (gemm_nt_template.h).
//
//   @floats8  float32 x int8 | GEMM NT, weight-only quantisation |
//     {FLOAT_ROWS} x {FLOAT_COLUMNS} dot products
static void floats8(const etx_quantized_block* b) {
  const size_t apart = b->columns / FLOAT_COLUMNS;
  for (size_t column = 0; column < apart; ++column) {
    columns8(b, column, FLOAT_COLUMNS, apart);
  }
  for (size_t column = apart * FLOAT_COLUMNS; column < b->columns; ++column) {
    columns8(b, column, 1, 1);
  }
}

// Thirty-two elements of a group.
static inline __attribute__((always_inline)) void step4(
    const float* even, ptrdiff_t to_odd, ptrdiff_t left_row, const uint8_t* w,
    int32_t zero, size_t rows, etx_f32_vec sums[FLOAT_ROWS][FLOAT_PARTS]) {
  ETX_UNROLLED
  for (size_t part = 0; part < FLOAT_PARTS; ++part) {
    etx_f32_vec y[2];
    HALVES(w + part * ETX_F32_LANES, zero, &y[0], &y[1]);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      const float* x = even + (ptrdiff_t)r * left_row + part * ETX_F32_LANES;
      etx_f32_vec v[2];
      memcpy(&v[0], x, sizeof(v[0]));
      memcpy(&v[1], x + to_odd, sizeof(v[1]));
      sums[r][part] = ETX_F32_FMA(v[0], y[0], sums[r][part]);
      sums[r][part] = ETX_F32_FMA(v[1], y[1], sums[r][part]);
    }
  }
}

static inline __attribute__((always_inline)) void dot4(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column) {
  const float* x = (const float*)b->left + (ptrdiff_t)row * b->left_row;
  const uint8_t* w = b->right + (ptrdiff_t)column * b->right_row;
  etx_f32_vec sums[FLOAT_ROWS][FLOAT_PARTS] = {{{0}}};
  size_t k = 0;
  for (size_t g = 0; g < b->groups; ++g) {
    etx_f32_vec acc[FLOAT_ROWS][FLOAT_PARTS] = {{{0}}};
    const size_t at = column * b->groups + g;
    const int32_t zero = 8 + (b->zeros == NULL ? 0 : b->zeros[at]);
    for (const size_t end = k + b->group; k < end; k += 32) {
      const size_t chunk = k - k % FLOAT_CHUNK, rest = b->count - chunk;
      const size_t in_chunk = rest < FLOAT_CHUNK ? rest : FLOAT_CHUNK;
      step4(x + chunk + (k - chunk) / 2, (ptrdiff_t)(in_chunk / 2), b->left_row,
            w + k / 2, zero, rows, acc);
    }
    const etx_f32_vec scale = ETX_F32_BROADCAST(b->scales[at]);
    ETX_UNROLLED
    for (size_t r = 0; r < rows; ++r) {
      ETX_UNROLLED
      for (size_t part = 0; part < FLOAT_PARTS; ++part) {
        sums[r][part] = ETX_F32_FMA(scale, acc[r][part], sums[r][part]);
      }
    }
  }
  store_totals(b, row, rows, column, sums);
}

//   @floats4  float32 x int4 | GEMM NT, weight-only quantisation per group |
//     {FLOAT_ROWS} x 1 dot products
static void floats4(const etx_quantized_block* b) {
  for (size_t column = 0; column < b->columns; ++column) {
    size_t row = 0;
    for (; row + 2 <= b->rows; row += 2) dot4(b, row, 2, column);
    if (row < b->rows) dot4(b, row, 1, column);
  }
}
