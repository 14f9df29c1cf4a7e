// argmax of each row of a product while it is computed, without storing the
// product. The columns are split into a fixed number of pieces with a candidate
// each, so the result does not depend on threads. NaN counts as the largest,
// and of equal results the first wins, as in PyTorch.

#ifndef ETX_RUNTIME_KERNELS_SIMD_INT8_ROW_ARGMAX_H
#define ETX_RUNTIME_KERNELS_SIMD_INT8_ROW_ARGMAX_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ETX_ARGMAX_PIECES = 64 };

typedef struct etx_row_argmax {
  float value;
  uint32_t column;  // sizes of tensors have 31 bits
} etx_row_argmax;

// The initial candidate: smaller than any result; its column is the result if
// all results are -infinity.
static inline etx_row_argmax etx_row_argmax_none(size_t column) {
  return (etx_row_argmax){-INFINITY, (uint32_t)column};
}

static inline void etx_row_argmax_update(etx_row_argmax* best, float value,
                                         size_t column) {
  if (value <= best->value || best->value != best->value) return;
  *best = (etx_row_argmax){value, (uint32_t)column};
}

// The candidates of `rows` rows with which a piece of the columns starts. A
// piece that directly follows another one continues with that one's candidates,
// because a later result that is not larger does not replace them.
static inline etx_row_argmax* etx_row_argmax_piece(etx_row_argmax* all,
                                                   size_t piece, bool follows,
                                                   size_t rows, size_t column) {
  etx_row_argmax* best = all + piece * rows;
  for (size_t row = 0; row < rows; ++row) {
    best[row] = follows ? (best - rows)[row] : etx_row_argmax_none(column);
  }
  return best;
}

// Takes `count` results from a column on.
static inline void etx_row_argmax_update_row(etx_row_argmax* best,
                                             const float* results,
                                             size_t column, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    etx_row_argmax_update(best, results[i], column + i);
  }
}

// The column of a row's largest result in all pieces.
static inline size_t etx_row_argmax_column(const etx_row_argmax* pieces,
                                           size_t rows, size_t row) {
  etx_row_argmax best = pieces[row];
  for (size_t piece = 1; piece < ETX_ARGMAX_PIECES; ++piece) {
    const etx_row_argmax* other = &pieces[piece * rows + row];
    etx_row_argmax_update(&best, other->value, other->column);
  }
  return best.column;
}

#endif
