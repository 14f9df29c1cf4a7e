// Ranges of bytes for blocks that leave as few blocks in an order as possible.
//
// A layout is an order: a block that ends where another one starts, or lower,
// lies below it at all sizes (format/base/block_layout.h). Only blocks that are
// in use together need an order. So each block's range is stretched, up to the
// lowest start of the blocks above it that are in use together with it, then
// down to the highest end of such blocks below it:
//
//   a plan                      stretched
//
//   |  +---+     |              |  +---+     |
//   |  | b |     |              |  |   |     |    b has nothing below it at its
//   |  +---+     |              |  | b | +---+    time, and is no longer above
//   |        +---+              |  |   | |   |    a or under c
//   +---+    | c |              +---+  | | c |
//   | a |    +---+              |   |  | |   |
//   +---+--------+-> time       +-a-+--+-+---+-> time
//
// Pairs that are in use together keep their order; all others overlap where
// they can, and then neither moves the other at smaller sizes.

#ifndef ETX_EXPORTER_ARENAS_WIDER_LAYOUT_H
#define ETX_EXPORTER_ARENAS_WIDER_LAYOUT_H

#include "exporter/host/host_memory.h"
#include "planner/plan.h"

// Replaces the ranges of a layout of the problem's blocks: offsets, and bytes
// from there to the end, at least one for each block. Sizes of blocks in the
// problem are not used. Every new start is 0 or one of the old ones. The layout
// stays as it is if more than a million pairs of blocks are in use together.
ETX_MUST_USE etx_status etx_layout_widen(etx_pool* pool,
                                         const etx_plan_problem* problem,
                                         uint64_t* offsets, size_t* bytes);

#endif
