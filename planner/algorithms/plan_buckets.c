// Reuse of whole buffers, as in the greedy algorithm of ExecuTorch's exporter
// (exir/memory_planning.py); with it in the portfolio, plans are never worse
// than ExecuTorch's. Blocks are placed largest first into buckets. A bucket
// keeps the size of its first block. A block is put into the first bucket
// without a block that is live at the same time, or else on top of those in the
// first bucket with enough space.

#include "planner/algorithms/plan_algorithm.h"
#include "planner/algorithms/plan_ranks.h"
#include "planner/problem/plan_workspace.h"

static const etx_plan_order by_size = {
    {ETX_PLAN_KEY_SIZE, ETX_PLAN_KEY_NONE, ETX_PLAN_KEY_NONE}, 0};

typedef struct bucket_planner {
  const etx_plan_partition* part;
  uint32_t* order;     // all blocks, largest first
  uint32_t* offsets;   // of blocks within their buckets; owned by the caller
  uint32_t* buckets;   // first block of each block's bucket
  uint32_t* founders;  // first blocks of the buckets, in order
  uint32_t* latest;    // for a first block, the last block of its bucket
  uint32_t* before;    // the previous block of the same bucket, or none
  uint32_t bucket_count;
} bucket_planner;

static bool take(bucket_planner* s, const etx_plan_partition* part,
                 etx_arena* work) {
  uint32_t** const arrays[] = {&s->order, &s->buckets, &s->founders, &s->latest,
                               &s->before};
  s->part = part;
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
    if (!etx_plan_take_u32(work, part->block_count, arrays[i])) return false;
  }
  return etx_plan_rank(part, by_size, work, s->order);
}

// The end of the blocks of a bucket that are live together with `b`; 0 if there
// are none.
static uint32_t top_of(const bucket_planner* s, uint32_t founder, uint32_t b) {
  const etx_plan_partition* const part = s->part;
  uint32_t top = 0;
  for (uint32_t x = s->latest[founder]; x != ETX_PLAN_NONE; x = s->before[x]) {
    if (part->first[x] >= part->limit[b] || part->first[b] >= part->limit[x]) {
      continue;
    }
    const uint32_t end = s->offsets[x] + part->size[x];
    if (end > top) top = end;
  }
  return top;
}

static void add_to_bucket(bucket_planner* s, uint32_t founder, uint32_t b,
                          uint32_t offset) {
  s->offsets[b] = offset;
  s->buckets[b] = founder;
  s->before[b] = s->latest[founder];
  s->latest[founder] = b;
}

// Places `b` into a bucket, or into a new one.
static void place(bucket_planner* s, uint32_t b) {
  uint32_t fitting = ETX_PLAN_NONE;
  uint32_t fitting_top = 0;
  for (uint32_t i = 0; i < s->bucket_count; ++i) {
    const uint32_t founder = s->founders[i];
    const uint32_t top = top_of(s, founder, b);
    if (top == 0) {
      add_to_bucket(s, founder, b, 0);
      return;
    }
    const uint32_t offset = etx_plan_partition_align(s->part, b, top);
    if (fitting == ETX_PLAN_NONE &&
        offset + s->part->size[b] <= s->part->size[founder]) {
      fitting = founder;
      fitting_top = offset;
    }
  }
  if (fitting == ETX_PLAN_NONE) {
    s->founders[s->bucket_count++] = b;
    s->latest[b] = ETX_PLAN_NONE;
    fitting = b;
  }
  add_to_bucket(s, fitting, b, fitting_top);
}

// Stacks the buckets; false if the arena reaches `best` units.
static bool stack_buckets(bucket_planner* s, uint32_t best) {
  uint32_t top = 0;
  for (uint32_t i = 0; i < s->bucket_count; ++i) {
    const uint32_t founder = s->founders[i];
    uint32_t start = top;
    for (uint32_t x = s->latest[founder]; x != ETX_PLAN_NONE;
         x = s->before[x]) {
      const uint32_t aligned = etx_plan_partition_align(s->part, x, top);
      if (aligned > start) start = aligned;
    }
    if (start + s->part->size[founder] >= best) return false;
    s->latest[founder] = start;
    top = start + s->part->size[founder];
  }
  for (uint32_t b = 0; b < s->part->block_count; ++b) {
    s->offsets[b] += s->latest[s->buckets[b]];
  }
  return true;
}

etx_status etx_plan_buckets_run(const etx_plan_partition* part,
                                etx_plan_goal* goal, etx_arena* work,
                                uint32_t* offsets) {
  bucket_planner s = {0};
  s.offsets = offsets;
  if (!work->counting && part->has_fixed) return ETX_UNSUPPORTED;
  if (!work->counting && !etx_plan_spend_pair_steps(part, goal))
    return ETX_NOT_FOUND;
  if (!take(&s, part, work)) return ETX_OUT_OF_MEMORY;
  if (work->counting) return ETX_OK;
  for (uint32_t i = 0; i < part->block_count; ++i) place(&s, s.order[i]);
  return stack_buckets(&s, goal->best) ? ETX_OK : ETX_NOT_FOUND;
}
