// Lines of the cache that a loop asks memory for, step by step, for whoever
// comes next: no more at a time than caches answer meanwhile (prefetch.h).
// What is asked for is all that the loop knows, so that it has registers for
// the rest: it does not ask whether something is left, since there always is,
// and be it the same line again.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_PREFETCH_STREAM_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_PREFETCH_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/kernels/simd/vector/prefetch.h"

// Bytes of the smallest step: a line is asked for several times, which costs
// nothing.
enum { ETX_PREFETCH_MIN_STEP = 8 };

typedef struct etx_prefetch_stream {
  const char* at;
  ptrdiff_t step;      // bytes to what follows
  size_t left, turns;  // steps of this row, and of each
  size_t rows;         // that are left, this one too
  ptrdiff_t next;      // bytes from the end of a row to the next one
  struct etx_prefetch_stream* after;  // what goes on where nothing is left
} etx_prefetch_stream;

// `rows` of `bytes`, at least 1 of each, that are `row` bytes apart, `step`
// bytes at a time.
// Where a row does not begin a line, the last it reaches into may be left out.
static inline etx_prefetch_stream etx_prefetch_stream_by_step(
    const char* at, size_t bytes, size_t step, size_t rows, ptrdiff_t row,
    etx_prefetch_stream* after) {
  const size_t turns = (bytes + step - 1) / step;
  return (etx_prefetch_stream){.at = at,
                               .step = (ptrdiff_t)step,
                               .left = turns,
                               .turns = turns,
                               .rows = rows,
                               .next = row - (ptrdiff_t)(turns * step),
                               .after = after};
}

// The same, as evenly as may be over so many turns, in each of which two lines
// can be asked for that lie side by side.
static inline etx_prefetch_stream etx_prefetch_stream_over(
    const char* at, size_t bytes, size_t turns, size_t rows, ptrdiff_t row,
    etx_prefetch_stream* after) {
  size_t step = 2 * ETX_CACHE_LINE_BYTES;
  while (step > ETX_PREFETCH_MIN_STEP) {
    const size_t less = step / 2;
    if (rows * ((bytes + less - 1) / less) > turns) break;
    step = less;
  }
  return etx_prefetch_stream_by_step(at, bytes, step, rows, row, after);
}

// Where a row ends, at `at`: the walker of the next row, or of what comes
// after.
static inline etx_prefetch_stream* etx_prefetch_stream_next_row(
    etx_prefetch_stream* w, const char* at) {
  w->at = at + w->next;
  w->left = w->turns;
  return --w->rows == 0 ? w->after : w;
}

// Asks for the same line all the time: one that is at hand.
static inline etx_prefetch_stream etx_prefetch_stream_none(const void* at) {
  return (etx_prefetch_stream){.at = at, .left = SIZE_MAX};
}

#endif
