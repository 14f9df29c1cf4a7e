// The inner loop of panel.h: T is the C type of the elements, VECTOR_BYTES the
// size of a vector register, NAME(x) a function's name. Read once for each type
// and instruction set; all give the same bits.

#include <stdint.h>
#include <string.h>

#include "runtime/kernels/panel.h"
#include "runtime/kernels/panel_loops.h"

typedef T NAME(vector) __attribute__((vector_size(VECTOR_BYTES)));
enum { NAME(WIDTH) = VECTOR_BYTES / (int)sizeof(T) };

// `rows` rows of `vectors` vectors from `row` and `lane` on. Inlined with
// constants, so that the sums stay in registers.
static inline __attribute__((always_inline)) void NAME(add_block)(
    const etx_panel_block* b, size_t row, size_t lane, size_t rows,
    size_t vectors) {
  const T* weights = (const T*)b->weights + (ptrdiff_t)row * b->weight_row;
  const T* panel = (const T*)b->panel + lane;
  T* sums = (T*)b->sums + (ptrdiff_t)row * b->sum_row + lane;
  NAME(vector) own[6][8] = {{{0}}};
  if (!b->starts) {
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 8
      for (size_t v = 0; v < vectors; ++v) {
        memcpy(&own[r][v], sums + (ptrdiff_t)r * b->sum_row + v * NAME(WIDTH),
               VECTOR_BYTES);
      }
    }
  }
  for (size_t k = 0; k < b->taps; ++k, panel += b->panel_row) {
    NAME(vector) seen[8];
#pragma GCC unroll 8
    for (size_t v = 0; v < vectors; ++v) {
      memcpy(&seen[v], panel + v * NAME(WIDTH), VECTOR_BYTES);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; ++r) {
      const T weight = weights[(ptrdiff_t)r * b->weight_row + (ptrdiff_t)k];
#pragma GCC unroll 8
      for (size_t v = 0; v < vectors; ++v) own[r][v] += weight * seen[v];
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (size_t v = 0; v < vectors; ++v) {
      memcpy(sums + (ptrdiff_t)r * b->sum_row + v * NAME(WIDTH), &own[r][v],
             VECTOR_BYTES);
    }
  }
}

// All lanes of a few rows.
static inline __attribute__((always_inline)) void NAME(add_rows)(
    const etx_panel_block* b, size_t row, size_t rows, size_t vectors) {
  for (size_t lane = 0; lane < b->lanes; lane += vectors * NAME(WIDTH)) {
    NAME(add_block)(b, row, lane, rows, vectors);
  }
}

static void NAME(add_products)(const etx_panel_block* b) {
  enum { ALL = ETX_PANEL_LANE_BYTES / VECTOR_BYTES };
  // A few rows have few sums: they take more lanes at a time if all are there.
  const bool is_full = b->lanes * sizeof(T) == ETX_PANEL_LANE_BYTES;
  size_t row = 0;
  for (; row + 6 <= b->rows; row += 6) NAME(add_rows)(b, row, 6, 2);
  if (row + 4 <= b->rows) {
    NAME(add_rows)(b, row, 4, 2);
    row += 4;
  }
  if (row + 2 <= b->rows) {
    if (is_full) {
      NAME(add_rows)(b, row, 2, 4);
    } else {
      NAME(add_rows)(b, row, 2, 2);
    }
    row += 2;
  }
  if (row == b->rows) return;
  if (is_full) {
    NAME(add_rows)(b, row, 1, ALL);
  } else {
    NAME(add_rows)(b, row, 1, 2);
  }
}
