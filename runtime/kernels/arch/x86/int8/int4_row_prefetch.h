// Cache lines of the next rows of weights, which are prefetched step by step.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_ROW_PREFETCH_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_ROW_PREFETCH_H

#include "runtime/kernels/simd/int8/int8_dot_loops.h"
#include "runtime/kernels/simd/vector/prefetch.h"

typedef struct int4_row_prefetch {
  const uint8_t* at;
  size_t line, lines;  // lines of a row
  size_t rows;         // rows that are left
  ptrdiff_t row;
  size_t step;  // lines of a step
} int4_row_prefetch;

// The rows that a panel asks for, in so many steps.
static inline int4_row_prefetch row_prefetch_of(const etx_int4_panel* b,
                                                size_t steps) {
  const size_t lines =
      (b->next_bytes + ETX_CACHE_LINE_BYTES - 1) / ETX_CACHE_LINE_BYTES;
  return (int4_row_prefetch){
      .at = b->next,
      .lines = lines,
      .rows = b->next_rows,
      .row = b->next_row,
      .step = (lines * b->next_rows + steps - 1) / steps};
}

// Prefetches the lines of a step.
static inline __attribute__((always_inline)) void prefetch_next(
    int4_row_prefetch* a) {
  size_t most = a->step;
  while (most > 0 && a->rows > 0) {
    const size_t left = a->lines - a->line, some = left < most ? left : most;
    const uint8_t* at = a->at + a->line * ETX_CACHE_LINE_BYTES;
    for (size_t i = 0; i < some; ++i, at += ETX_CACHE_LINE_BYTES) {
      ETX_PREFETCH_L2(at);
    }
    most -= some;
    a->line += some;
    if (a->line < a->lines) continue;
    a->line = 0;
    a->at += a->row;
    --a->rows;
  }
}

#endif
