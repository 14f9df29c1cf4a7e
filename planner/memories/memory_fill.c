#include "planner/memories/memory_fill.h"

#include "planner/problem/plan_check.h"
#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

enum { ROUNDS = 64 };

typedef struct filler {
  const etx_memory_fill* fill;
  uint32_t* order;  // candidates, those of most weight first
  uint32_t count;   // of them
  uint32_t* near;   // chosen blocks that live together with the one in hand
  uint32_t near_count;
} filler;

static const etx_plan_block* block_at(const filler* f, uint32_t b) {
  return etx_plan_partition_block(f->fill->part, b);
}

static uint32_t low_half(const void* weights, uint32_t b) {
  return ~(uint32_t)((const uint64_t*)weights)[b];
}
static uint32_t high_half(const void* weights, uint32_t b) {
  return ~(uint32_t)(((const uint64_t*)weights)[b] >> 32);
}

// False if memory ran out.
static bool prepare(filler* f, etx_arena* work) {
  const size_t n = f->fill->part->block_count;
  uint64_t* scratch = NULL;
  if (!etx_plan_take_u32(work, n, &f->order) ||
      !etx_plan_take_u32(work, n, &f->near) ||
      !etx_plan_take_u64(work, 2 * n, &scratch)) {
    return false;
  }
  if (work->counting) return true;
  for (uint32_t b = 0; b < n; ++b) {
    if (f->fill->is_candidate[b]) f->order[f->count++] = b;
  }
  etx_plan_sort(f->order, f->count, low_half, f->fill->weights, scratch);
  etx_plan_sort(f->order, f->count, high_half, f->fill->weights, scratch);
  return true;
}

static void find_near(filler* f, uint32_t number) {
  const etx_plan_block* const block = block_at(f, number);
  f->near_count = 0;
  for (uint32_t i = 0; i < f->count; ++i) {
    const uint32_t b = f->order[i];
    const etx_plan_block* const other = block_at(f, b);
    if (f->fill->is_chosen[b] && block->start < other->end &&
        other->start < block->end) {
      f->near[f->near_count++] = b;
    }
  }
}

static bool overlaps(const filler* f, uint32_t b, uint64_t offset,
                     uint64_t size) {
  return f->fill->offsets[b] < offset + size &&
         offset < f->fill->offsets[b] + block_at(f, b)->size;
}

// The weight of the blocks that would have to go if `number` lay at `offset`.
static uint64_t weight_in_the_way(const filler* f, uint32_t number,
                                  uint64_t offset) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < f->near_count; ++i) {
    if (overlaps(f, f->near[i], offset, block_at(f, number)->size)) {
      sum += f->fill->weights[f->near[i]];
    }
  }
  return sum;
}

// Remembers `offset` if the block fits there and less is in the way.
static void consider(const filler* f, uint32_t number, uint64_t offset,
                     uint64_t* best, uint64_t* least) {
  const uint64_t size = block_at(f, number)->size;
  if (size > f->fill->capacity || offset > f->fill->capacity - size) return;
  const uint64_t weight = weight_in_the_way(f, number, offset);
  if (weight > *least || (weight == *least && offset >= *best)) return;
  *least = weight;
  *best = offset;
}

// Puts the block where the least weight is in the way, if that is less than its
// own. The best offsets are at the ends of other blocks, or below their starts.
static bool put(filler* f, uint32_t number) {
  const etx_plan_block* const block = block_at(f, number);
  const uint64_t mask = ~(block->alignment - 1);
  uint64_t best = UINT64_MAX;
  uint64_t least = UINT64_MAX;
  find_near(f, number);
  consider(f, number, 0, &best, &least);
  for (uint32_t i = 0; i < f->near_count && least > 0; ++i) {
    const uint32_t b = f->near[i];
    const uint64_t start = f->fill->offsets[b];
    consider(f, number,
             etx_plan_align(start + block_at(f, b)->size, block->alignment),
             &best, &least);
    if (start >= block->size) {
      consider(f, number, (start - block->size) & mask, &best, &least);
    }
  }
  if (best == UINT64_MAX || least >= f->fill->weights[number]) return false;
  for (uint32_t i = 0; i < f->near_count; ++i) {
    const uint32_t b = f->near[i];
    if (overlaps(f, b, best, block->size)) f->fill->is_chosen[b] = 0;
  }
  f->fill->offsets[number] = best;
  f->fill->is_chosen[number] = 1;
  return true;
}

bool etx_memory_fill_improve(const etx_memory_fill* fill, etx_arena* work) {
  filler f = {.fill = fill};
  const size_t mark = etx_arena_mark(work);
  const bool taken = prepare(&f, work);
  bool improved =
      taken && fill->part->block_count <= ETX_MEMORY_FILL_MOST_BLOCKS;
  for (int round = 0; improved && round < ROUNDS; ++round) {
    improved = false;
    for (uint32_t i = 0; i < f.count; ++i) {
      if (!fill->is_chosen[f.order[i]] && put(&f, f.order[i])) improved = true;
    }
  }
  etx_arena_rewind(work, mark);
  return taken;
}
