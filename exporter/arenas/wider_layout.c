#include "exporter/arenas/wider_layout.h"

#include <stdlib.h>

enum {
  TOP_ALIGNMENT = 64,   // a multiple of every alignment that the runtime knows
  MOST_PAIRS = 1 << 20  // examined; more would take too long
};

typedef struct timed_block {
  uint32_t start, end;  // when it is in use
  uint32_t index;       // in the problem
} timed_block;

static int compare_starts(const void* left, const void* right) {
  const timed_block* const a = left;
  const timed_block* const b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

typedef struct widener {
  const uint64_t* offsets;
  const size_t* bytes;
  uint64_t* low;   // new starts
  uint64_t* high;  // new ends
} widener;

static void limit_end(const widener* w, uint32_t below, uint32_t above) {
  if (w->offsets[above] < w->offsets[below] + w->bytes[below]) return;
  if (w->offsets[above] < w->high[below]) w->high[below] = w->offsets[above];
}

static void limit_start(const widener* w, uint32_t above, uint32_t below) {
  if (w->offsets[above] < w->offsets[below] + w->bytes[below]) return;
  if (w->high[below] > w->low[above]) w->low[above] = w->high[below];
}

// Calls `limit` for each pair of blocks that are in use together, in both
// orders.
static void each_pair(const widener* w, const timed_block* blocks, size_t count,
                      void (*limit)(const widener*, uint32_t, uint32_t)) {
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = i + 1; k < count && blocks[k].start < blocks[i].end; ++k) {
      limit(w, blocks[i].index, blocks[k].index);
      limit(w, blocks[k].index, blocks[i].index);
    }
  }
}

static bool has_too_many_pairs(const timed_block* blocks, size_t count) {
  size_t pairs = 0;
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = i + 1; k < count && blocks[k].start < blocks[i].end; ++k) {
      if (++pairs > MOST_PAIRS) return true;
    }
  }
  return false;
}

etx_status etx_layout_widen(etx_pool* pool, const etx_plan_problem* problem,
                            uint64_t* offsets, size_t* bytes) {
  const size_t count = problem->block_count;
  timed_block* const blocks = etx_pool_take(pool, count * sizeof *blocks);
  const widener w = {.offsets = offsets,
                     .bytes = bytes,
                     .low = etx_pool_take(pool, count * sizeof *w.low),
                     .high = etx_pool_take(pool, count * sizeof *w.high)};
  if (blocks == NULL || w.low == NULL || w.high == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  uint64_t top = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    blocks[i] = (timed_block){block->start, block->end, i};
    if (offsets[i] + bytes[i] > top) top = offsets[i] + bytes[i];
  }
  qsort(blocks, count, sizeof *blocks, compare_starts);
  if (has_too_many_pairs(blocks, count)) return ETX_OK;
  top += (TOP_ALIGNMENT - top % TOP_ALIGNMENT) % TOP_ALIGNMENT;
  for (size_t i = 0; i < count; ++i) {
    w.low[i] = 0;
    w.high[i] = top;
  }
  each_pair(&w, blocks, count, limit_end);
  each_pair(&w, blocks, count, limit_start);
  for (size_t i = 0; i < count; ++i) {
    offsets[i] = w.low[i];
    bytes[i] = (size_t)(w.high[i] - w.low[i]);
  }
  return ETX_OK;
}
