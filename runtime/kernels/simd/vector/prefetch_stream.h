// A sequence of cache lines that a loop prefetches for later work, one step in
// each round: at most as many lines as the memory system delivers in that time
// (prefetch.h). The loop keeps only the position in registers. The sequence
// never ends: after its last row comes another stream, in the end one that
// repeats a single line, so that the loop needs no bounds test.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_PREFETCH_STREAM_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_PREFETCH_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/kernels/simd/vector/prefetch.h"

// Bytes of the smallest step. A line is then prefetched several times, which
// costs nothing.
enum { ETX_PREFETCH_MIN_STEP = 8 };

typedef struct etx_prefetch_stream {
  const char* at;
  ptrdiff_t step;      // bytes from one line to the next
  size_t left, turns;  // steps left of this row, steps of each row
  size_t rows;         // rows left, with this one
  ptrdiff_t next;      // bytes from the end of a row to the next one
  struct etx_prefetch_stream* after;  // the stream that follows
} etx_prefetch_stream;

// `rows` rows of `bytes` bytes, at least 1 of each, that lie `row` bytes apart,
// in steps of `step` bytes. Where a row does not begin a line, the last line
// that it reaches into may be left out.
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

// The same, spread evenly over `turns` turns of a loop that prefetches two
// neighbouring lines in each.
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

// Called where a row ends, at `at`: the stream at the next row, or the one that
// follows.
static inline etx_prefetch_stream* etx_prefetch_stream_next_row(
    etx_prefetch_stream* stream, const char* at) {
  stream->at = at + stream->next;
  stream->left = stream->turns;
  return --stream->rows == 0 ? stream->after : stream;
}

// A stream that repeats one line, which is in the cache already.
static inline etx_prefetch_stream etx_prefetch_stream_none(const void* at) {
  return (etx_prefetch_stream){.at = at, .left = SIZE_MAX};
}

// The position in a stream, which a loop keeps in registers.
typedef struct etx_prefetch_cursor {
  etx_prefetch_stream* stream;
  const char* at;
  ptrdiff_t step;
  size_t left;
} etx_prefetch_cursor;

static inline etx_prefetch_cursor etx_prefetch_cursor_of(
    etx_prefetch_stream* stream) {
  return (etx_prefetch_cursor){stream, stream->at, stream->step, stream->left};
}

// Prefetches the line at the cursor to L1 or L2, of L2 also the last line of
// the step, and goes on to the next.
static inline __attribute__((always_inline)) void etx_prefetch_cursor_advance(
    etx_prefetch_cursor* c, bool to_l1) {
  __asm__("" : "+r"(c->step));
  ETX_PREFETCH(c->at, to_l1);
  c->at += c->step;
  if (!to_l1) ETX_PREFETCH_L2(c->at - ETX_CACHE_LINE_BYTES);
  if (--c->left == 0) {
    *c = etx_prefetch_cursor_of(etx_prefetch_stream_next_row(c->stream, c->at));
  }
}

// Puts the position back into the stream, which it returns.
static inline etx_prefetch_stream* etx_prefetch_cursor_store(
    const etx_prefetch_cursor* c) {
  c->stream->at = c->at;
  c->stream->left = c->left;
  return c->stream;
}

#endif
