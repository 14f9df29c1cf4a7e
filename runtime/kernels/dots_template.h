// Dot products of rows with rows (panel_loops.h says in which order). Read once
// for each instruction set: VECTOR_BYTES is the size of a vector register, and
// the sums of DOT_ROWS times DOT_COLUMNS dots fit in registers. All give the
// same bits.

#include <string.h>

#include "runtime/kernels/fused_template.h"
#include "runtime/kernels/loop_unrolled.h"
#include "runtime/kernels/panel_loops.h"
#include "runtime/kernels/turn_template.h"

enum {
  DOT_LANES = ETX_FUSED_SUMS,
  DOT_PARTS = ETX_FUSED_PARTS,
  // Rows of right that stay in the first cache while rows of left pass.
  DOT_TILE = 12,
  DOT_AHEAD = 1024,  // the most elements that are worth asking for
};

// Some of a block's columns, `apart` from each other. What is read at a time
// lies in different pages: processors ask for the lines ahead of them in each
// page that is read, but not behind its end, so that one page after the other
// comes at half the speed of memory.
typedef struct dot_tile {
  const etx_dot_block* b;
  const float* right;   // the first column's
  ptrdiff_t right_row;  // from column to column
  float* out;
  size_t apart, columns;
} dot_tile;

static inline dot_tile dot_tile_at(const etx_dot_block* b, size_t column,
                                   size_t apart, size_t columns) {
  return (dot_tile){.b = b,
                    .right = b->right + (ptrdiff_t)column * b->right_row,
                    .right_row = (ptrdiff_t)apart * b->right_row,
                    .out = b->out + column,
                    .apart = apart,
                    .columns = columns};
}

// One more step of each of `rows` times `columns` dots.
static inline __attribute__((always_inline)) void dot_step(
    const float* left, ptrdiff_t left_row, const float* right,
    ptrdiff_t right_row, size_t rows, size_t columns,
    etx_fused sums[4][6][DOT_PARTS]) {
  ETX_UNROLLED
  for (size_t part = 0; part < DOT_PARTS; ++part) {
    const size_t at = part * ETX_FUSED_LANES;
    etx_fused y[6];
    ETX_UNROLLED
    for (size_t j = 0; j < columns; ++j) {
      memcpy(&y[j], right + (ptrdiff_t)j * right_row + at, VECTOR_BYTES);
    }
    etx_fused x[4];
    ETX_UNROLLED
    for (size_t i = 0; i < rows; ++i) {
      memcpy(&x[i], left + (ptrdiff_t)i * left_row + at, VECTOR_BYTES);
    }
    ETX_UNROLLED
    for (size_t j = 0; j < columns; ++j) {
      ETX_UNROLLED
      for (size_t i = 0; i < rows; ++i) {
        sums[i][j][part] = ETX_FUSED_ADD(x[i], y[j], sums[i][j][part]);
      }
    }
  }
}

// The last elements of some rows, followed by zeros.
static inline void dot_rest(const float* from, ptrdiff_t row, size_t rows,
                            size_t count, float out[][DOT_LANES]) {
  memset(out, 0, rows * DOT_LANES * sizeof(float));
  for (size_t i = 0; i < rows; ++i) {
    for (size_t k = 0; k < count; ++k) {
      out[i][k] = from[(ptrdiff_t)i * row + (ptrdiff_t)k];
    }
  }
}

// `rows` times `columns` dots. Inlined with constants, so that the partial sums
// stay in registers.
static inline __attribute__((always_inline)) void dot_block(
    const dot_tile* t, size_t row, size_t column, size_t rows, size_t columns,
    bool asks) {
  const etx_dot_block* b = t->b;
  const float* left = b->left + (ptrdiff_t)row * b->left_row;
  const float* right = t->right + (ptrdiff_t)column * t->right_row;
  etx_fused sums[4][6][DOT_PARTS] = {{{{0}}}};
  size_t k = 0;
  for (; k + DOT_LANES <= b->count; k += DOT_LANES) {
    if (asks) {
      ETX_UNROLLED
      for (size_t j = 0; j < columns; ++j) {
        __builtin_prefetch(right + (ptrdiff_t)(columns + j) * t->right_row + k);
      }
    }
    dot_step(left + k, b->left_row, right + k, t->right_row, rows, columns,
             sums);
  }
  if (k < b->count) {
    float x[4][DOT_LANES], y[6][DOT_LANES];
    dot_rest(left + k, b->left_row, rows, b->count - k, x);
    dot_rest(right + k, t->right_row, columns, b->count - k, y);
    dot_step(x[0], DOT_LANES, y[0], DOT_LANES, rows, columns, sums);
  }
  // Rows innermost: around a single turn of theirs clang (14) keeps sums in
  // memory.
  ETX_UNROLLED
  for (size_t j = 0; j < columns; ++j) {
    ETX_UNROLLED
    for (size_t i = 0; i < rows; ++i) {
      t->out[(ptrdiff_t)(row + i) * b->out_row +
             (ptrdiff_t)((column + j) * t->apart)] =
          etx_fused_total(sums[i][j]);
    }
  }
}

static inline __attribute__((always_inline)) void dot_rows(const dot_tile* t,
                                                           size_t row,
                                                           size_t rows,
                                                           size_t columns) {
  size_t column = 0;
  // Rows that come first find columns in memory, and ask for the next ones if
  // they will still be in the first cache then.
  const bool asks = row == 0 && t->b->count <= DOT_AHEAD;
  for (; asks && column + 2 * columns <= t->columns; column += columns) {
    dot_block(t, row, column, rows, columns, true);
  }
  for (; column + columns <= t->columns; column += columns) {
    dot_block(t, row, column, rows, columns, false);
  }
  for (; column < t->columns; ++column) {
    dot_block(t, row, column, rows, 1, false);
  }
}

// Columns that were turned, with all rows; `parts` vectors hold them. Inlined
// with a constant, so that sums stay in registers.
static inline __attribute__((always_inline)) void short_rows(
    const etx_dot_block* b, size_t first, size_t columns,
    float turned[DOT_LANES][ETX_TURNED_ROWS], size_t parts) {
  for (size_t row = 0; row < b->rows; ++row) {
    const float* x = b->left + (ptrdiff_t)row * b->left_row;
    etx_fused sums[ETX_TURNED_ROWS / ETX_FUSED_LANES] = {{0}};
    for (size_t k = 0; k < b->count; ++k) {
      ETX_UNROLLED
      for (size_t part = 0; part < parts; ++part) {
        etx_fused y;
        memcpy(&y, turned[k] + part * ETX_FUSED_LANES, sizeof(y));
        sums[part] = ETX_FUSED_ADD(ETX_FUSED_ALL(x[k]), y, sums[part]);
      }
    }
    float* out = b->out + (ptrdiff_t)row * b->out_row + first;
    // Mostly the vectors are full, which needs no call.
    if (columns == parts * ETX_FUSED_LANES) {
      memcpy(out, sums, parts * sizeof(etx_fused));
    } else {
      memcpy(out, sums, columns * sizeof(float));
    }
  }
}

// Dots shorter than the partial sums are taken element by element, which
// columns can do side by side as soon as they are turned.
static void short_dots(const etx_dot_block* b) {
  enum { SIDE = ETX_TURNED_ROWS };
  for (size_t first = 0; first < b->columns; first += SIDE) {
    const size_t left = b->columns - first;
    const size_t columns = left < SIDE ? left : SIDE;
    float turned[DOT_LANES][SIDE];
    turn(b->right + (ptrdiff_t)first * b->right_row, b->right_row, columns,
         b->count, turned[0]);
    if (columns <= ETX_FUSED_LANES) {
      short_rows(b, first, columns, turned, 1);
    } else {
      short_rows(b, first, columns, turned, SIDE / ETX_FUSED_LANES);
    }
  }
}

// All rows with the columns of a tile.
static void dot_tile_run(const dot_tile* t) {
  const size_t all = t->b->rows;
  size_t row = 0;
  // One row left alone reads the tile for itself.
  while (row + DOT_ROWS <= all && row + DOT_ROWS + 1 != all) {
    dot_rows(t, row, DOT_ROWS, DOT_COLUMNS);
    row += DOT_ROWS;
  }
  for (; row + 2 <= all; row += 2) dot_rows(t, row, 2, DOT_COLUMNS_TWO);
  if (row < all) dot_rows(t, row, 1, DOT_COLUMNS_ONE);
}

static void dots(const etx_dot_block* b) {
  if (b->count < DOT_LANES) {
    short_dots(b);
    return;
  }
  const size_t most = b->rows == 1 ? DOT_COLUMNS_ONE : DOT_TILE;
  size_t apart = b->columns / most;
  // An even distance is more often one that the cache has no room for.
  if (b->rows > 1 && apart > 1) apart -= (apart & 1) ^ 1;
  // Columns that lie apart from each other, then the rest, which do not. One
  // call: the tile is large.
  for (size_t column = 0; column < b->columns;) {
    const bool is_apart = column < apart;
    const size_t left = b->columns - column;
    const dot_tile t = dot_tile_at(b, column, is_apart ? apart : 1,
                                   is_apart || left > most ? most : left);
    dot_tile_run(&t);
    column += is_apart ? 1 : most;
    if (is_apart && column == apart) column = apart * most;
  }
}
