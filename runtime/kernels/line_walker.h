// Lines of the cache that a loop asks memory for, step by step, for whoever
// comes next: no more at a time than caches answer meanwhile (ask_later.h).
// What is asked for is all that the loop knows, so that it has registers for
// the rest: it does not ask whether something is left, since there always is,
// and be it the same line again.

#ifndef ETX_RUNTIME_KERNELS_LINE_WALKER_H
#define ETX_RUNTIME_KERNELS_LINE_WALKER_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/kernels/ask_later.h"

// Bytes of the smallest step: a line is asked for several times, which costs
// nothing.
enum { ETX_LINE_LEAST_STEP = 8 };

typedef struct etx_line_walker {
  const char* at;
  ptrdiff_t step;                 // bytes to what follows
  size_t left, turns;             // steps of this row, and of each
  size_t rows;                    // that are left, this one too
  ptrdiff_t next;                 // bytes from the end of a row to the next one
  struct etx_line_walker* after;  // what goes on where nothing is left
} etx_line_walker;

// `rows` of `bytes`, at least 1 of each, that are `row` bytes apart, `step`
// bytes at a time.
// Where a row does not begin a line, the last it reaches into may be left out.
static inline etx_line_walker etx_line_walker_by(const char* at, size_t bytes,
                                                 size_t step, size_t rows,
                                                 ptrdiff_t row,
                                                 etx_line_walker* after) {
  const size_t turns = (bytes + step - 1) / step;
  return (etx_line_walker){.at = at,
                           .step = (ptrdiff_t)step,
                           .left = turns,
                           .turns = turns,
                           .rows = rows,
                           .next = row - (ptrdiff_t)(turns * step),
                           .after = after};
}

// The same, as evenly as may be over so many turns, in each of which two lines
// can be asked for that lie side by side.
static inline etx_line_walker etx_line_walker_of(const char* at, size_t bytes,
                                                 size_t turns, size_t rows,
                                                 ptrdiff_t row,
                                                 etx_line_walker* after) {
  size_t step = 2 * ETX_LINE_BYTES;
  while (step > ETX_LINE_LEAST_STEP) {
    const size_t less = step / 2;
    if (rows * ((bytes + less - 1) / less) > turns) break;
    step = less;
  }
  return etx_line_walker_by(at, bytes, step, rows, row, after);
}

// Where a row ends, at `at`: the walker of the next row, or of what comes
// after.
static inline etx_line_walker* etx_line_walker_go_on(etx_line_walker* w,
                                                     const char* at) {
  w->at = at + w->next;
  w->left = w->turns;
  return --w->rows == 0 ? w->after : w;
}

// Asks for the same line all the time: one that is at hand.
static inline etx_line_walker etx_line_walker_none(const void* at) {
  return (etx_line_walker){.at = at, .left = SIZE_MAX};
}

#endif
