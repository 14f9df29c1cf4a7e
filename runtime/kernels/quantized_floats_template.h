// Floats times quantised weights. Read once for each instruction set:
// VECTOR_BYTES is the size of a vector register, WIDEN(bytes) makes floats of
// ETX_FUSED_LANES signed bytes, and HALVES(bytes, zero, even, odd) of the high
// and of the low halves of as many bytes minus `zero`. All give the same bits.

#include <string.h>

#include "runtime/kernels/fused_template.h"
#include "runtime/kernels/quantized_loops.h"

enum {
  FLOAT_LANES = ETX_FUSED_SUMS,
  FLOAT_PARTS = ETX_FUSED_PARTS,
  FLOAT_ROWS = 2,    // that are computed together
  FLOAT_CHUNK = 256  // elements whose even ones stand first
};

static inline __attribute__((always_inline)) void store_totals(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column,
    etx_fused sums[FLOAT_ROWS][FLOAT_PARTS]) {
  for (size_t r = 0; r < rows; ++r) {
    ((float*)b->sums)[(ptrdiff_t)(row + r) * b->sum_row + (ptrdiff_t)column] =
        etx_fused_total(sums[r]);
  }
}

static inline __attribute__((always_inline)) void step8(
    const float* x, ptrdiff_t left_row, const int8_t* w, size_t rows,
    etx_fused sums[FLOAT_ROWS][FLOAT_PARTS]) {
#pragma GCC unroll 4
  for (size_t part = 0; part < FLOAT_PARTS; ++part) {
    const etx_fused y = WIDEN(w + part * ETX_FUSED_LANES);
#pragma GCC unroll 2
    for (size_t r = 0; r < rows; ++r) {
      etx_fused v;
      memcpy(&v, x + (ptrdiff_t)r * left_row + part * ETX_FUSED_LANES,
             sizeof(v));
      sums[r][part] = ETX_FUSED_ADD(v, y, sums[r][part]);
    }
  }
}

static inline __attribute__((always_inline)) void dot8(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column) {
  const float* x = (const float*)b->left + (ptrdiff_t)row * b->left_row;
  const int8_t* w = (const int8_t*)b->right + (ptrdiff_t)column * b->right_row;
  etx_fused sums[FLOAT_ROWS][FLOAT_PARTS] = {{{0}}};
  size_t k = 0;
  for (; k + FLOAT_LANES <= b->count; k += FLOAT_LANES) {
    step8(x + k, b->left_row, w + k, rows, sums);
  }
  if (k < b->count) {
    float last[FLOAT_ROWS][FLOAT_LANES] = {{0}};
    int8_t weights[FLOAT_LANES] = {0};
    memcpy(weights, w + k, b->count - k);
    for (size_t r = 0; r < rows; ++r) {
      memcpy(last[r], x + (ptrdiff_t)r * b->left_row + k,
             (b->count - k) * sizeof(float));
    }
    step8(last[0], FLOAT_LANES, weights, rows, sums);
  }
  store_totals(b, row, rows, column, sums);
}

static void floats8(const etx_quantized_block* b) {
  for (size_t column = 0; column < b->columns; ++column) {
    size_t row = 0;
    for (; row + 2 <= b->rows; row += 2) dot8(b, row, 2, column);
    if (row < b->rows) dot8(b, row, 1, column);
  }
}

// Thirty-two elements of a group.
static inline __attribute__((always_inline)) void step4(
    const float* even, ptrdiff_t to_odd, ptrdiff_t left_row, const uint8_t* w,
    int32_t zero, size_t rows, etx_fused sums[FLOAT_ROWS][FLOAT_PARTS]) {
#pragma GCC unroll 4
  for (size_t part = 0; part < FLOAT_PARTS; ++part) {
    etx_fused y[2];
    HALVES(w + part * ETX_FUSED_LANES, zero, &y[0], &y[1]);
#pragma GCC unroll 2
    for (size_t r = 0; r < rows; ++r) {
      const float* x = even + (ptrdiff_t)r * left_row + part * ETX_FUSED_LANES;
      etx_fused v[2];
      memcpy(&v[0], x, sizeof(v[0]));
      memcpy(&v[1], x + to_odd, sizeof(v[1]));
      sums[r][part] = ETX_FUSED_ADD(v[0], y[0], sums[r][part]);
      sums[r][part] = ETX_FUSED_ADD(v[1], y[1], sums[r][part]);
    }
  }
}

static inline __attribute__((always_inline)) void dot4(
    const etx_quantized_block* b, size_t row, size_t rows, size_t column) {
  const float* x = (const float*)b->left + (ptrdiff_t)row * b->left_row;
  const uint8_t* w = b->right + (ptrdiff_t)column * b->right_row;
  etx_fused sums[FLOAT_ROWS][FLOAT_PARTS] = {{{0}}};
  size_t k = 0;
  for (size_t g = 0; g < b->groups; ++g) {
    etx_fused own[FLOAT_ROWS][FLOAT_PARTS] = {{{0}}};
    const size_t at = column * b->groups + g;
    const int32_t zero = 8 + (b->zeros == NULL ? 0 : b->zeros[at]);
    for (const size_t end = k + b->group; k < end; k += 32) {
      const size_t chunk = k - k % FLOAT_CHUNK, rest = b->count - chunk;
      const size_t in_chunk = rest < FLOAT_CHUNK ? rest : FLOAT_CHUNK;
      step4(x + chunk + (k - chunk) / 2, (ptrdiff_t)(in_chunk / 2), b->left_row,
            w + k / 2, zero, rows, own);
    }
    const etx_fused scale = ETX_FUSED_ALL(b->scales[at]);
#pragma GCC unroll 2
    for (size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (size_t part = 0; part < FLOAT_PARTS; ++part) {
        sums[r][part] = ETX_FUSED_ADD(scale, own[r][part], sums[r][part]);
      }
    }
  }
  store_totals(b, row, rows, column, sums);
}

static void floats4(const etx_quantized_block* b) {
  for (size_t column = 0; column < b->columns; ++column) {
    size_t row = 0;
    for (; row + 2 <= b->rows; row += 2) dot4(b, row, 2, column);
    if (row < b->rows) dot4(b, row, 1, column);
  }
}

// The number that makes doubles whole, to the nearest and halves to even.
static void quantize(const float* x, size_t count, double inverse, double zero,
                     int16_t* out) {
  const double whole = 6755399441055744.0;
  for (size_t i = 0; i < count; ++i) {
    double y = (double)x[i] * inverse + zero;
    const int32_t is_number = y == y ? -1 : 0;
    y = y > -128.0 ? y : -128.0;
    y = y < 127.0 ? y : 127.0;
    y = (y + whole) - whole;
    out[i] = (int16_t)((int32_t)(y - zero) & is_number);
  }
}
