// The inner loop of panel.h: T is the C type of the elements, VECTOR_BYTES the
// size of a vector register, NAME(x) a function's name, STEP(weight, x, sums)
// what is done with a scalar weight and a vector. Read once for each type and
// instruction set; all give the same bits.

#include <stdint.h>
#include <string.h>

#include "runtime/kernels/panel.h"
#include "runtime/kernels/panel_loops.h"

typedef T NAME(vector) __attribute__((vector_size(VECTOR_BYTES)));
enum {
  NAME(WIDTH) = VECTOR_BYTES / (int)sizeof(T),
  NAME(GROUP) = ETX_PANEL_GROUP_BYTES / (int)sizeof(T),
  NAME(PARTS) = ETX_PANEL_GROUP_BYTES / VECTOR_BYTES,  // vectors of a group
};

// `rows` rows of `groups` groups of lanes from `row` and `group` on. Inlined
// with constants, so that the sums stay in registers.
static inline __attribute__((always_inline)) void NAME(add_block)(
    const etx_panel_block* b, size_t row, size_t group, size_t rows,
    size_t groups) {
  const T* weights = (const T*)b->weights + (ptrdiff_t)row * b->weight_row;
  const T* panel = (const T*)b->panel + (ptrdiff_t)group * b->panel_group;
  T* sums = (T*)b->sums + (ptrdiff_t)row * b->sum_row + group * NAME(GROUP);
  const size_t vectors = groups * NAME(PARTS);
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
      memcpy(&seen[v],
             panel + (ptrdiff_t)(v / NAME(PARTS)) * b->panel_group +
                 v % NAME(PARTS) * NAME(WIDTH),
             VECTOR_BYTES);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; ++r) {
      const T weight = weights[(ptrdiff_t)r * b->weight_row + (ptrdiff_t)k];
#pragma GCC unroll 8
      for (size_t v = 0; v < vectors; ++v) {
        own[r][v] = STEP(weight, seen[v], own[r][v]);
      }
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

// All groups of a few rows: what these have in their taps stays in the first
// cache.
static inline __attribute__((always_inline)) void NAME(add_rows)(
    const etx_panel_block* b, size_t row, size_t rows, size_t groups) {
  size_t group = 0;
  for (; group + PANEL_GROUPS <= groups; group += PANEL_GROUPS) {
    NAME(add_block)(b, row, group, rows, PANEL_GROUPS);
  }
  for (; PANEL_GROUPS > 1 && group < groups; ++group) {
    NAME(add_block)(b, row, group, rows, 1);
  }
}

// One or two rows have few sums, and take more groups at a time.
static inline __attribute__((always_inline)) void NAME(add_few_rows)(
    const etx_panel_block* b, size_t row, size_t rows, size_t groups) {
  enum { MOST = 8 / NAME(PARTS) < 4 ? 8 / NAME(PARTS) : 4 };
  size_t group = 0;
  for (; group + MOST <= groups; group += MOST) {
    NAME(add_block)(b, row, group, rows, MOST);
  }
  for (; MOST > 1 && group < groups; ++group) {
    NAME(add_block)(b, row, group, rows, 1);
  }
}

static void NAME(add_products)(const etx_panel_block* b) {
  const size_t groups = (b->lanes + NAME(GROUP) - 1) / NAME(GROUP);
  size_t row = 0;
  for (; row + PANEL_ROWS <= b->rows; row += PANEL_ROWS) {
    NAME(add_rows)(b, row, PANEL_ROWS, groups);
  }
  for (; row + 2 <= b->rows; row += 2) NAME(add_few_rows)(b, row, 2, groups);
  if (row < b->rows) NAME(add_few_rows)(b, row, 1, groups);
}
