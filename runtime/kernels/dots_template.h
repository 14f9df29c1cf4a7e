// Dot products of rows with rows, with the sixteen partial sums of lanes.h.
// Read once for each instruction set: VECTOR_BYTES is the size of a vector
// register. All give the same bits.

#include <string.h>

#include "runtime/kernels/panel_loops.h"

typedef float dot_vector __attribute__((vector_size(VECTOR_BYTES)));

enum {
  DOT_LANES = 16,
  DOT_WIDTH = VECTOR_BYTES / (int)sizeof(float),
  DOT_PARTS = DOT_LANES / DOT_WIDTH,  // vectors of one dot's partial sums
  // Rows of right that stay in the first cache while rows of left pass.
  DOT_TILE = 8,
};

// Rows and columns that are computed together: as many as registers hold.
#if VECTOR_BYTES > 16
enum { DOT_ROWS = 2, DOT_COLUMNS = 2 };
#else
enum { DOT_ROWS = 2, DOT_COLUMNS = 1 };
#endif

static inline float dot_total(const dot_vector* parts) {
  typedef float quarter __attribute__((vector_size(16)));
  quarter q[4];
  memcpy(q, parts, sizeof(q));
  const quarter v = (q[0] + q[1]) + (q[2] + q[3]);
  return (v[0] + v[2]) + (v[1] + v[3]);
}

// `rows` times `columns` dots. Inlined with constants, so that the partial sums
// stay in registers.
static inline __attribute__((always_inline)) void dot_block(
    const etx_dot_block* b, size_t row, size_t column, size_t rows,
    size_t columns) {
  const float* left = b->left + (ptrdiff_t)row * b->left_row;
  const float* right = b->right + (ptrdiff_t)column * b->right_row;
  dot_vector sums[2][2][DOT_PARTS] = {{{{0}}}};
  size_t k = 0;
  for (; k + DOT_LANES <= b->count; k += DOT_LANES) {
#pragma GCC unroll 8
    for (size_t part = 0; part < DOT_PARTS; ++part) {
      dot_vector x[2], y[2];
      const size_t at = k + part * DOT_WIDTH;
#pragma GCC unroll 8
      for (size_t i = 0; i < rows; ++i) {
        memcpy(&x[i], left + (ptrdiff_t)i * b->left_row + at, VECTOR_BYTES);
      }
#pragma GCC unroll 8
      for (size_t j = 0; j < columns; ++j) {
        memcpy(&y[j], right + (ptrdiff_t)j * b->right_row + at, VECTOR_BYTES);
      }
#pragma GCC unroll 8
      for (size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 8
        for (size_t j = 0; j < columns; ++j) sums[i][j][part] += x[i] * y[j];
      }
    }
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 8
    for (size_t j = 0; j < columns; ++j) {
      const float* x = left + (ptrdiff_t)i * b->left_row;
      const float* y = right + (ptrdiff_t)j * b->right_row;
      float rest = 0;
      for (size_t n = k; n < b->count; ++n) rest += x[n] * y[n];
      b->out[(ptrdiff_t)(row + i) * b->out_row + (ptrdiff_t)(column + j)] =
          dot_total(sums[i][j]) + rest;
    }
  }
}

static inline __attribute__((always_inline)) void dot_rows(
    const etx_dot_block* b, size_t row, size_t first, size_t end, size_t rows) {
  size_t column = first;
  for (; column + DOT_COLUMNS <= end; column += DOT_COLUMNS) {
    dot_block(b, row, column, rows, DOT_COLUMNS);
  }
  for (; column < end; ++column) dot_block(b, row, column, rows, 1);
}

// Dots shorter than the partial sums are taken element by element, which eight
// columns can do side by side as soon as they are turned.
static void short_dots(const etx_dot_block* b) {
  enum { SIDE = 8, PARTS = SIDE / DOT_WIDTH };
  for (size_t first = 0; first < b->columns; first += SIDE) {
    const size_t left = b->columns - first;
    const size_t columns = left < SIDE ? left : SIDE;
    float turned[DOT_LANES][SIDE] = {{0}};
    for (size_t j = 0; j < columns; ++j) {
      const float* y = b->right + (ptrdiff_t)(first + j) * b->right_row;
      for (size_t k = 0; k < b->count; ++k) turned[k][j] = y[k];
    }
    for (size_t row = 0; row < b->rows; ++row) {
      const float* x = b->left + (ptrdiff_t)row * b->left_row;
      dot_vector sums[PARTS] = {{0}};
      for (size_t k = 0; k < b->count; ++k) {
        dot_vector y[PARTS];
        memcpy(y, turned[k], sizeof(y));
        for (size_t part = 0; part < PARTS; ++part) {
          sums[part] += x[k] * y[part];
        }
      }
      float* out = b->out + (ptrdiff_t)row * b->out_row + first;
      if (columns == SIDE) {
        memcpy(out, sums, sizeof(sums));
      } else {
        memcpy(out, sums, columns * sizeof(float));
      }
    }
  }
}

static void dots(const etx_dot_block* b) {
  if (b->count < DOT_LANES) {
    short_dots(b);
    return;
  }
  for (size_t first = 0; first < b->columns; first += DOT_TILE) {
    const size_t left = b->columns - first;
    const size_t end = first + (left < DOT_TILE ? left : DOT_TILE);
    size_t row = 0;
    for (; row + DOT_ROWS <= b->rows; row += DOT_ROWS) {
      dot_rows(b, row, first, end, DOT_ROWS);
    }
    for (; row < b->rows; ++row) dot_rows(b, row, first, end, 1);
  }
}
