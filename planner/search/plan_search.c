#include "planner/search/plan_search.h"

#include <string.h>

#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

static const uint32_t none = UINT32_MAX;

// Sections [low, high) that no open block crosses at either end.
struct etx_plan_range {
  uint32_t low;
  uint32_t high;
  uint32_t begin;  // its blocks are slices[begin, end)
  uint32_t end;
};

// One level of the search: the choice of the next block of a range.
struct etx_plan_frame {
  uint32_t range;
  uint32_t opener;      // the frame whose placement created this range, or none
  uint32_t candidates;  // start of its candidates
  uint32_t candidate_count;  // candidates left; the next one is last
  uint32_t rank;             // position of the present block in the slices
  uint32_t offset;           // its offset
  uint32_t trail;            // lengths of trail, ranges and slices before the
  uint32_t ranges;           // choice
  uint32_t slices;
  uint32_t next_range;  // the next range to solve that the placement created
  uint32_t end_range;   // one past the last; 0 if it created none
  bool is_placed;
  bool has_open_neighbour;
};

typedef enum order_key { KEY_LIFE, KEY_AREA, KEY_LOAD, KEY_SECTIONS } order_key;

enum {
  ORDER_KEYS = 3,
  BLOCKS_PER_STEP = 256,
  PLACEMENTS_PER_QUESTION = 4096,  // some milliseconds
};

static const order_key orders[ETX_PLAN_SEARCH_ORDERS][ORDER_KEYS] = {
    {KEY_LOAD, KEY_LIFE, KEY_AREA},
    {KEY_LOAD, KEY_AREA, KEY_LIFE},
    {KEY_LIFE, KEY_AREA, KEY_LOAD},
    {KEY_SECTIONS, KEY_AREA, KEY_LOAD},
};

bool etx_plan_search_take(etx_plan_search* search,
                          const etx_plan_partition* part, etx_arena* work) {
  const size_t count = part->block_count < ETX_CANONICAL_PLAN_MAX_BLOCKS
                           ? part->block_count
                           : ETX_CANONICAL_PLAN_MAX_BLOCKS;
  // Each level of the search has one block less to choose from or to split.
  const size_t levels = count * (count + 1) / 2;
  void* frames = NULL;
  void* ranges = NULL;
  if (!etx_canonical_plan_take(&search->plan, part, work)) return false;
  // Ranges are nested or disjoint, and none is empty.
  if (!etx_arena_take_ok(work, (count + 1) * sizeof *search->frames,
                         sizeof(uint32_t), &frames) ||
      !etx_arena_take_ok(work, 2 * (count + 1) * sizeof *search->ranges,
                         sizeof(uint32_t), &ranges)) {
    return false;
  }
  search->frames = frames;
  search->ranges = ranges;
  return etx_plan_take_u32(work, levels, &search->candidates) &&
         etx_plan_take_u32(work, levels + count, &search->slices) &&
         etx_plan_take_u64(work, 2 * count, &search->scratch);
}

static const etx_plan_partition* part_of(const void* context) {
  return ((const etx_canonical_plan*)context)->part;
}

static uint32_t by_number(const void* plan, uint32_t b) {
  (void)plan;
  return b;
}
static uint32_t by_life(const void* plan, uint32_t b) {
  return ~etx_plan_partition_life(part_of(plan), b);
}
static uint32_t by_area_low(const void* plan, uint32_t b) {
  return ~(uint32_t)etx_plan_partition_area(part_of(plan), b);
}
static uint32_t by_area_high(const void* plan, uint32_t b) {
  return ~(uint32_t)(etx_plan_partition_area(part_of(plan), b) >> 32);
}
static uint32_t by_sections(const void* plan, uint32_t b) {
  const etx_plan_partition* const part = part_of(plan);
  return ~(part->limit[b] - part->first[b]);
}

// Blocks of the section with the least slack come first.
static uint32_t by_load(const void* context, uint32_t b) {
  const etx_canonical_plan* const plan = context;
  uint32_t slack = plan->capacity;
  for (uint32_t s = plan->first[b]; s < plan->limit[b]; ++s) {
    if (plan->slack[s] < slack) slack = plan->slack[s];
  }
  return slack;
}

// Sorts blocks into the order of the search.
static void sort_slice(etx_plan_search* search, uint32_t* blocks,
                       size_t count) {
  static const etx_plan_key keys[][2] = {
      [KEY_LIFE] = {by_life, NULL},
      [KEY_AREA] = {by_area_low, by_area_high},
      [KEY_LOAD] = {by_load, NULL},
      [KEY_SECTIONS] = {by_sections, NULL},
  };
  etx_plan_sort(blocks, count, by_number, &search->plan, search->scratch);
  for (size_t k = ORDER_KEYS; k > 0; --k) {
    const etx_plan_key* const key = keys[orders[search->order][k - 1]];
    etx_plan_sort(blocks, count, key[0], &search->plan, search->scratch);
    if (key[1] == NULL) continue;
    etx_plan_sort(blocks, count, key[1], &search->plan, search->scratch);
  }
}

// Adds a range with a slice of its open blocks.
static void slice_range(etx_plan_search* search, const uint32_t* blocks,
                        size_t count, uint32_t low, uint32_t high) {
  const etx_canonical_plan* const plan = &search->plan;
  etx_plan_range* const range = &search->ranges[search->range_count++];
  const size_t begin = search->slice_count;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t b = blocks[i];
    if (plan->lowest[b] == ETX_PLAN_PLACED) continue;
    if (plan->first[b] < low || plan->first[b] >= high) continue;
    search->slices[search->slice_count++] = b;
  }
  range->low = low;
  range->high = high;
  range->begin = (uint32_t)begin;
  range->end = (uint32_t)search->slice_count;
  sort_slice(search, &search->slices[begin], search->slice_count - begin);
}

// The highest offset of the next block of a range: above it, the blocks of some
// section would not fit.
static uint32_t least_slack(const etx_canonical_plan* plan,
                            const etx_plan_range* range) {
  uint32_t least = plan->capacity;
  for (uint32_t s = range->low; s < range->high; ++s) {
    if (plan->slack[s] < least) least = plan->slack[s];
  }
  return least;
}

// Lists the candidates of a frame: open blocks that come after the last placed
// block in order of (offset, rank), and below which no other open block fits.
// In descending order, so that the next one is at the end.
static void list_candidates(etx_plan_search* search, etx_plan_frame* frame,
                            uint32_t offset, uint32_t rank) {
  const etx_canonical_plan* const plan = &search->plan;
  const etx_plan_range* const range = &search->ranges[frame->range];
  uint32_t* const list = &search->candidates[frame->candidates];
  uint32_t limit = least_slack(plan, range);
  uint32_t count = 0;
  for (uint32_t i = range->end; i > range->begin; --i) {
    const uint32_t b = search->slices[i - 1];
    const uint32_t lowest = plan->lowest[b];
    if (lowest > limit) continue;
    if (lowest + plan->size[b] <= limit) limit = lowest + plan->size[b] - 1;
    if (lowest < offset || (lowest == offset && i <= rank + 1)) continue;
    list[count++] = i - 1;
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t lowest = plan->lowest[search->slices[list[i]]];
    if (lowest > limit) continue;
    uint32_t at = kept++;
    const uint32_t candidate = list[i];
    while (at > 0 && plan->lowest[search->slices[list[at - 1]]] < lowest) {
      list[at] = list[at - 1];
      --at;
    }
    list[at] = candidate;
  }
  frame->candidate_count = kept;
}

static void open_frame(etx_plan_search* search, uint32_t range, uint32_t opener,
                       uint32_t offset, uint32_t rank) {
  etx_plan_frame* const frame = &search->frames[search->frame_count];
  frame->range = range;
  frame->opener = opener;
  frame->candidates = 0;
  if (search->frame_count > 0) {
    const etx_plan_frame* const above = frame - 1;
    frame->candidates = above->candidates + above->candidate_count;
  }
  list_candidates(search, frame, offset, rank);
  search->frame_count += 1;
  frame->trail = search->plan.trail_count;
  frame->ranges = (uint32_t)search->range_count;
  frame->slices = (uint32_t)search->slice_count;
  frame->end_range = 0;
  frame->is_placed = false;
}

static void undo_placement(etx_plan_search* search, etx_plan_frame* frame) {
  etx_canonical_plan_undo(&search->plan, frame->trail);
  search->range_count = frame->ranges;
  search->slice_count = frame->slices;
  frame->end_range = 0;
  frame->is_placed = false;
}

// True if the range can be split after the placement of a block, or has no open
// blocks.
static bool can_split(const etx_canonical_plan* plan,
                      const etx_plan_range* range, uint32_t block) {
  for (uint32_t s = plan->first[block]; s < plan->limit[block]; ++s) {
    if (plan->left[s] == 0 || (s + 1 < range->high && plan->cross[s] == 0)) {
      return true;
    }
  }
  return false;
}

// Splits a range where no open block crosses.
static void split_range(etx_plan_search* search, etx_plan_frame* frame) {
  const etx_canonical_plan* const plan = &search->plan;
  const etx_plan_range range = search->ranges[frame->range];
  uint32_t low = range.low;
  frame->next_range = (uint32_t)search->range_count;
  for (uint32_t s = range.low; s < range.high; ++s) {
    if (s + 1 < range.high && plan->cross[s] != 0) continue;
    // An open block lives in every section of its part.
    if (plan->left[s] != 0) {
      slice_range(search, &search->slices[range.begin], range.end - range.begin,
                  low, s + 1);
    }
    low = s + 1;
  }
  frame->end_range = (uint32_t)search->range_count;
}

// Opens the next unsolved range. The frames of solved ranges are discarded,
// because their choices do not affect other ranges. False if no range is left:
// all blocks are placed.
static bool open_next_range(etx_plan_search* search, uint32_t opener) {
  while (opener != none) {
    etx_plan_frame* const frame = &search->frames[opener];
    if (frame->next_range < frame->end_range) {
      search->frame_count = opener + 1;
      open_frame(search, frame->next_range++, opener, frame->offset, none);
      return true;
    }
    opener = frame->opener;
  }
  return false;
}

// Opens the frame after a valid placement. False if all blocks are placed.
static bool descend(etx_plan_search* search) {
  const uint32_t top = (uint32_t)search->frame_count - 1;
  etx_plan_frame* const frame = &search->frames[top];
  const etx_plan_range* const range = &search->ranges[frame->range];
  const uint32_t block = search->slices[frame->rank];
  if (can_split(&search->plan, range, block)) {
    split_range(search, frame);
    return open_next_range(search, top);
  }
  open_frame(search, frame->range, frame->opener, frame->offset, frame->rank);
  return true;
}

// The root frame places no block; it only splits the problem.
static bool open_root(etx_plan_search* search) {
  const uint32_t count = search->plan.block_count;
  const etx_plan_range all = {0, search->plan.section_count, 0, count};
  for (uint32_t b = 0; b < count; ++b) search->slices[b] = b;
  search->ranges[0] = all;
  search->range_count = 1;
  search->slice_count = count;
  search->frame_count = 0;
  open_frame(search, 0, none, 0, none);
  search->frames[0].candidate_count = 0;
  search->frames[0].offset = 0;
  search->frames[0].is_placed = true;
  search->frames[0].has_open_neighbour = false;
  split_range(search, &search->frames[0]);
  return open_next_range(search, 0);
}

// Subtracts the steps of a placement, more for a large range. False if none are
// left.
static bool pay_steps(etx_plan_search* search, const etx_plan_frame* frame,
                      uint64_t* steps) {
  const etx_plan_range* const range = &search->ranges[frame->range];
  const uint64_t cost = 1 + (range->end - range->begin) / BLOCKS_PER_STEP;
  if (*steps < cost) *steps = cost;
  *steps -= cost;
  if (++search->since_asked == PLACEMENTS_PER_QUESTION) {
    search->since_asked = 0;
    (void)etx_plan_may_continue(search->plan.part, steps);
  }
  return *steps > 0;
}

static etx_plan_answer search_depth_first(etx_plan_search* search,
                                          uint64_t* steps) {
  while (search->frame_count > 0) {
    etx_plan_frame* const frame = &search->frames[search->frame_count - 1];
    // If the block has no open neighbours, it does not constrain any other
    // block: what failed after it fails wherever it is placed.
    const bool is_lost = frame->is_placed && !frame->has_open_neighbour;
    if (frame->is_placed) undo_placement(search, frame);
    if (is_lost || frame->candidate_count == 0) {
      search->frame_count -= 1;
      continue;
    }
    frame->candidate_count -= 1;
    frame->rank =
        search->candidates[frame->candidates + frame->candidate_count];
    const uint32_t block = search->slices[frame->rank];
    frame->offset = search->plan.lowest[block];
    if (!pay_steps(search, frame, steps)) return ETX_PLAN_UNDECIDED;
    frame->is_placed = true;
    if (!etx_canonical_plan_place(&search->plan, block,
                                  &frame->has_open_neighbour)) {
      continue;
    }
    if (!descend(search)) return ETX_PLAN_POSSIBLE;
  }
  return ETX_PLAN_IMPOSSIBLE;
}

etx_plan_answer etx_plan_search_run(etx_plan_search* search, uint32_t capacity,
                                    size_t order, uint64_t* steps) {
  search->order = order;
  search->since_asked = 0;
  if (!etx_canonical_plan_start(&search->plan, capacity)) {
    return ETX_PLAN_IMPOSSIBLE;
  }
  if (!open_root(search)) return ETX_PLAN_POSSIBLE;
  return search_depth_first(search, steps);
}
