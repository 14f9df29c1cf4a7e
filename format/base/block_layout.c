#include "format/base/block_layout.h"

#include <stdbool.h>

// More would only align blocks to more than a line of the cache.
enum { MAX_ALIGNMENT = 64 };

// ---- order ----

// The key of the entry at `position` of an order: by starts or by ends.
static size_t key_at(const etx_layout_block* blocks, size_t position,
                     bool by_end) {
  return by_end ? blocks[blocks[position].by_end].end
                : blocks[blocks[position].by_start].start;
}

static void swap_entries(etx_layout_block* blocks, size_t a, size_t b,
                         bool by_end) {
  uint32_t* const first = by_end ? &blocks[a].by_end : &blocks[a].by_start;
  uint32_t* const second = by_end ? &blocks[b].by_end : &blocks[b].by_start;
  const uint32_t entry = *first;
  *first = *second;
  *second = entry;
}

static void sift_down(etx_layout_block* blocks, size_t at, size_t count,
                      bool by_end) {
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count &&
        key_at(blocks, child, by_end) < key_at(blocks, child + 1, by_end)) {
      ++child;
    }
    if (key_at(blocks, child, by_end) <= key_at(blocks, at, by_end)) return;
    swap_entries(blocks, at, child, by_end);
    at = child;
  }
}

// Heap sort: needs no memory and no recursion, and has no slow case.
static void sort(etx_layout_block* blocks, size_t count, bool by_end) {
  for (size_t i = count / 2; i-- > 0;) sift_down(blocks, i, count, by_end);
  for (size_t end = count; end-- > 1;) {
    swap_entries(blocks, 0, end, by_end);
    sift_down(blocks, 0, end, by_end);
  }
}

void etx_blocks_sort(etx_layout_block* blocks, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    blocks[i].by_start = blocks[i].by_end = (uint32_t)i;
  }
  sort(blocks, count, false);
  sort(blocks, count, true);
}

size_t etx_blocks_alignment(const etx_layout_block* blocks, size_t count) {
  size_t bits = MAX_ALIGNMENT;
  for (size_t i = 0; i < count; ++i) bits |= blocks[i].start;
  return bits & (~bits + 1);
}

// ---- layout ----

size_t etx_blocks_place(etx_layout_block* blocks, size_t count,
                        size_t alignment) {
  if (count == 0) return 0;
  // The largest end of the blocks below the present one. Nothing goes below the
  // plan, where other methods may have their bytes.
  size_t below = blocks[blocks[0].by_start].start;
  size_t ended = 0;
  size_t used = 0;
  const etx_layout_block* next = &blocks[blocks[0].by_end];  // to end
  size_t next_end = next->end;
  for (size_t i = 0; i < count; ++i) {
    etx_layout_block* const block = &blocks[blocks[i].by_start];
    while (next_end <= block->start && ended < count) {
      const size_t end = next->placed + next->bytes;
      // An empty one is perhaps not placed yet.
      if (next->start != next_end && end > below) below = end;
      if (++ended == count) break;
      next = &blocks[blocks[ended].by_end];
      next_end = next->end;
    }
    block->placed = (below + alignment - 1) & ~(alignment - 1);
    const size_t end = block->placed + block->bytes;
    if (end > used) used = end;
  }
  return used;
}
