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
    size_t groups, bool is_scattered) {
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
  for (size_t k = 0; k < b->taps; ++k) {
    const T* at =
        panel + (is_scattered ? b->offsets[k] : (ptrdiff_t)k * b->panel_row);
    NAME(vector) seen[8];
#pragma GCC unroll 8
    for (size_t v = 0; v < vectors; ++v) {
      memcpy(&seen[v],
             at + (ptrdiff_t)(v / NAME(PARTS)) * b->panel_group +
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

// All groups of a few rows, as many at a time as have sums enough to keep the
// processor busy: what the rows have in their taps stays in the first cache.
static inline __attribute__((always_inline)) void NAME(add_rows)(
    const etx_panel_block* b, size_t row, size_t rows, size_t groups,
    bool is_scattered) {
  enum { VECTORS = PANEL_FEW_SUMS < 8 ? PANEL_FEW_SUMS : 8 };
  const size_t few = PANEL_FEW_SUMS / (rows * NAME(PARTS));
  const size_t fit = few < VECTORS / NAME(PARTS) ? few : VECTORS / NAME(PARTS);
  const size_t most = fit > PANEL_GROUPS ? fit : PANEL_GROUPS;
  size_t group = 0;
  for (; group + most <= groups; group += most) {
    NAME(add_block)(b, row, group, rows, most, is_scattered);
  }
  for (; most > 2 && group + 2 <= groups; group += 2) {
    NAME(add_block)(b, row, group, rows, 2, is_scattered);
  }
  for (; most > 1 && group < groups; ++group) {
    NAME(add_block)(b, row, group, rows, 1, is_scattered);
  }
}

static inline __attribute__((always_inline)) void NAME(add_all)(
    const etx_panel_block* b, bool is_scattered) {
  const size_t groups = (b->lanes + NAME(GROUP) - 1) / NAME(GROUP);
  for (size_t row = 0; row < b->rows;) {
    const size_t left = b->rows - row;
    size_t rows = left;
    // No block of one or two rows at the end if it can be helped.
    if (left > PANEL_ROWS) {
      rows =
          left < PANEL_ROWS + 3 && PANEL_ROWS > 3 ? (left + 1) / 2 : PANEL_ROWS;
    }
    switch (rows) {
#if PANEL_ROWS > 3
      case 6:
        NAME(add_rows)(b, row, 6, groups, is_scattered);
        break;
      case 5:
        NAME(add_rows)(b, row, 5, groups, is_scattered);
        break;
      case 4:
        NAME(add_rows)(b, row, 4, groups, is_scattered);
        break;
#endif
      case 3:
        NAME(add_rows)(b, row, 3, groups, is_scattered);
        break;
      case 2:
        NAME(add_rows)(b, row, 2, groups, is_scattered);
        break;
      default:
        NAME(add_rows)(b, row, 1, groups, is_scattered);
        break;
    }
    row += rows;
  }
}

static void NAME(add_products)(const etx_panel_block* b) {
  if (sizeof(T) == sizeof(float) && b->offsets != NULL) {
    NAME(add_all)(b, true);
  } else {
    NAME(add_all)(b, false);
  }
}
