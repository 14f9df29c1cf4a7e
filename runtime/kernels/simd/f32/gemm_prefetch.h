// What the GEMM microkernel prefetches, for all element types: sizes are in
// bytes, and a lane group of 64 bytes is one cache line.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_GEMM_PREFETCH_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_GEMM_PREFETCH_H

#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/simd/vector/loop_step.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/vector/prefetch.h"

// The lines that a block prefetches for the caller (etx_gemm_block.ahead) in
// each step of ETX_GEMM_PREFETCH_TAPS taps. Each row has a share of them, and
// its first lane group prefetches all of it.
typedef struct etx_gemm_share {
  const char* piece;
  size_t line, lines;  // the first line of the share, and lines of a piece
  size_t count;        // lines in each step
} etx_gemm_share;

static inline etx_gemm_share etx_gemm_share_of(const etx_gemm_block* b,
                                               size_t row, size_t rows) {
  const size_t lines =
      (b->ahead_step + ETX_CACHE_LINE_BYTES - 1) / ETX_CACHE_LINE_BYTES;
  const size_t all = b->ahead_pieces * lines;
  const size_t first = all * row / b->rows;
  return (etx_gemm_share){
      .piece = b->ahead + (ptrdiff_t)(first / lines) * b->ahead_row,
      .line = first % lines,
      .lines = lines,
      .count = all * (row + rows) / b->rows - first};
}

// Builds for size share one copy of the loop.
#ifdef __OPTIMIZE_SIZE__
#define ETX_GEMM_SHARE_LOOP static __attribute__((noinline, unused)) void
#else
#define ETX_GEMM_SHARE_LOOP static inline __attribute__((always_inline)) void
#endif

// Prefetches the share, `step` bytes further on.
ETX_GEMM_SHARE_LOOP etx_gemm_prefetch_share(const etx_gemm_block* b,
                                            const etx_gemm_share* share,
                                            size_t step) {
  const char* piece = share->piece + step;
  size_t line = share->line;
  for (size_t i = 0; i < share->count; ++i) {
    ETX_PREFETCH(piece + line * ETX_CACHE_LINE_BYTES, b->prefetches_to_l1);
    if (++line < share->lines) continue;
    line = 0;
    piece += b->ahead_row;
  }
}

// Prefetches `lines` lines of each of `rows` rows of sums, `row_bytes` apart,
// to write them: the sums of the next rows, which a large result keeps outside
// the caches.
static inline __attribute__((always_inline)) void etx_gemm_prefetch_sums(
    const void* sums, ptrdiff_t row_bytes, size_t rows, size_t lines) {
  const char* at = (const char*)sums;
#ifdef __OPTIMIZE_SIZE__  // nothing: this is part of many blocks
  rows = 0;
#endif
  ETX_UNROLLED
  for (size_t r = 0; r < rows; ++r) {
    ETX_UNROLLED
    for (size_t i = 0; i < lines; ++i) {
      __builtin_prefetch(at + i * ETX_CACHE_LINE_BYTES, 1);
    }
    ETX_STEP(at, row_bytes);
  }
}

// Prefetches as many lines of rows that will be added to the sums: they were
// written long ago.
static inline void etx_gemm_prefetch_added(const void* added,
                                           ptrdiff_t row_bytes, size_t rows,
                                           size_t lines) {
  const char* at = (const char*)added;
  for (size_t r = 0; r < rows; ++r, at += row_bytes) {
    for (size_t i = 0; i < lines; ++i) {
      __builtin_prefetch(at + i * ETX_CACHE_LINE_BYTES);
    }
  }
}

// A part of the lane groups: `some` of `all`, from `first` on.
typedef struct etx_gemm_part {
  size_t first, some, all;
} etx_gemm_part;

// Prefetches a part of the weights of the next rows, from `row` on: the same
// part as the current rows' lane groups that are computed meanwhile. Does
// nothing if fewer than `rows` rows remain.
static inline void etx_gemm_prefetch_weights(const etx_gemm_block* b,
                                             size_t element_bytes, size_t row,
                                             size_t rows, etx_gemm_part part) {
  const size_t lines = b->taps * element_bytes / ETX_CACHE_LINE_BYTES + 1;
  const size_t first = lines * part.first / part.all;
  const size_t end = lines * (part.first + part.some) / part.all;
  if (row + rows > b->rows) return;
  const ptrdiff_t row_bytes = b->weight_row * (ptrdiff_t)element_bytes;
  const char* at = (const char*)b->weights + (ptrdiff_t)row * row_bytes;
  for (size_t r = 0; r < rows; ++r, at += row_bytes) {
    for (size_t i = first; i < end; ++i) {
      __builtin_prefetch(at + i * ETX_CACHE_LINE_BYTES);
    }
  }
}

#endif
