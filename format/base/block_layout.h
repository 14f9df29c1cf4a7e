// Compaction of blocks in one dimension: the layout keeps its order and loses
// its gaps.
//
// The plan gives every block a range of bytes for the largest sizes. In the
// compacted layout a block starts at the largest end, at the present sizes, of
// all blocks that lie entirely below it in the plan, or at the lowest start of
// the plan. Three facts follow for any sizes within the bounds:
//
//   disjoint   two blocks without a common byte in the plan have none in the
//              layout: the lower one ends at most where the upper one starts.
//              Blocks that overlap in the plan are never in use together
//   smaller    no block starts higher than in the plan: by induction, every
//              block below it ends at most where it ends in the plan
//   equal      blocks that start at the same byte in the plan start at the same
//              byte in the layout, since the same blocks lie below them
//
// So a proof of the plan at the upper bounds is a proof for all sizes. The
// method is the compaction of VLSI layouts with a constraint graph (T.
// Lengauer, Combinatorial Algorithms for Integrated Circuit Layout, 1990,
// chapter 10). The constraints are those of an interval order, so a sweep over
// starts and ends replaces the search for longest paths.

#ifndef ETX_FORMAT_BASE_BLOCK_LAYOUT_H
#define ETX_FORMAT_BASE_BLOCK_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

// Offsets are from the start of the arena.
typedef struct etx_layout_block {
  size_t start, end;  // in the plan, at the upper bounds
  size_t bytes;       // at the present sizes
  size_t placed;      // present start
  uint32_t by_start;  // these two are no properties of this block: entry i is
  uint32_t by_end;    // the i-th block in the order of starts and of ends
} etx_layout_block;

// Sorts `count` blocks for the sweep: sets by_start and by_end from start and
// end. O(count log count).
void etx_blocks_sort(etx_layout_block* blocks, size_t count);

// The largest power of two up to 64 that divides all starts.
size_t etx_blocks_alignment(const etx_layout_block* blocks, size_t count);

// Places sorted blocks for their present `bytes`, which are at most those of
// the plan: sets `placed`, which are multiples of `alignment`. Returns the
// largest end. O(count).
size_t etx_blocks_place(etx_layout_block* blocks, size_t count,
                        size_t alignment);

#endif
