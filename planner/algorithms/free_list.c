#include "planner/algorithms/free_list.h"

#include "format/base/reachability.h"
#include "planner/problem/plan_workspace.h"

// The largest number of holes of a class that are compared to find the smallest
// one that a block fits into. It bounds the time.
enum { COMPARED_HOLES = 64, WORD_BITS = 64 };

bool etx_free_list_take(etx_free_list* holes, const etx_plan_partition* part,
                        etx_arena* work) {
  // One more for the floor.
  const size_t count = (size_t)part->block_count + 1;
  holes->part = part;
  return etx_plan_take_u32(work, count, &holes->above) &&
         etx_plan_take_u32(work, count, &holes->below) &&
         etx_plan_take_u32(work, count, &holes->later) &&
         etx_plan_take_u32(work, count, &holes->earlier);
}

static uint32_t class_of(uint32_t units) {
  if (units < ETX_FREE_LIST_SUBCLASSES) return units;
  const uint32_t log = 31 - (uint32_t)__builtin_clz(units);
  const uint32_t part = (units >> (log - 4)) & (ETX_FREE_LIST_SUBCLASSES - 1);
  return (log - 3) * ETX_FREE_LIST_SUBCLASSES + part;
}

static uint32_t floor_of(const etx_free_list* holes) {
  return holes->part->block_count;
}

static uint32_t end_of(const etx_free_list* holes, uint32_t b) {
  if (b == floor_of(holes)) return 0;
  return holes->offsets[b] + holes->part->size[b];
}

// Units of the hole above `b`, which is not the topmost block.
static uint32_t units_above(const etx_free_list* holes, uint32_t b) {
  return holes->offsets[holes->above[b]] - end_of(holes, b);
}

static void list_hole(etx_free_list* holes, uint32_t b) {
  if (b == holes->top) return;
  const uint32_t units = units_above(holes, b);
  if (units == 0) return;
  const uint32_t class = class_of(units);
  const uint32_t head = holes->heads[class];
  holes->later[b] = head;
  holes->earlier[b] = ETX_PLAN_NONE;
  if (head != ETX_PLAN_NONE) holes->earlier[head] = b;
  holes->heads[class] = b;
  holes->used[class / WORD_BITS] |= UINT64_C(1) << (class % WORD_BITS);
}

static void unlist_hole(etx_free_list* holes, uint32_t b) {
  if (b == holes->top) return;
  const uint32_t units = units_above(holes, b);
  if (units == 0) return;
  const uint32_t class = class_of(units);
  const uint32_t later = holes->later[b];
  const uint32_t earlier = holes->earlier[b];
  if (later != ETX_PLAN_NONE) holes->earlier[later] = earlier;
  if (earlier != ETX_PLAN_NONE) {
    holes->later[earlier] = later;
    return;
  }
  holes->heads[class] = later;
  if (later == ETX_PLAN_NONE) {
    holes->used[class / WORD_BITS] &= ~(UINT64_C(1) << (class % WORD_BITS));
  }
}

void etx_free_list_start(etx_free_list* holes, uint32_t* offsets) {
  const uint32_t floor = floor_of(holes);
  holes->offsets = offsets;
  holes->top = floor;
  holes->above[floor] = ETX_PLAN_NONE;
  holes->below[floor] = ETX_PLAN_NONE;
  for (size_t i = 0; i < ETX_FREE_LIST_CLASSES; ++i) {
    holes->heads[i] = ETX_PLAN_NONE;
  }
  for (size_t i = 0; i < ETX_FREE_LIST_CLASSES / WORD_BITS; ++i) {
    holes->used[i] = 0;
  }
}

// The first class at or above `class` that has holes, or the number of classes.
static uint32_t next_class(const etx_free_list* holes, uint32_t class) {
  uint32_t word = class / WORD_BITS;
  // Blocks and holes have fewer than 2^31 units, whose classes come before.
  if (ETX_NEVER(class >= ETX_FREE_LIST_CLASSES)) return ETX_FREE_LIST_CLASSES;
  uint64_t bits = holes->used[word] & (UINT64_MAX << (class % WORD_BITS));
  while (bits == 0) {
    if (++word == ETX_FREE_LIST_CLASSES / WORD_BITS) {
      return ETX_FREE_LIST_CLASSES;
    }
    bits = holes->used[word];
  }
  return word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
}

// The smallest hole of a class that `b` fits into, or none.
static uint32_t smallest_of(const etx_free_list* holes, uint32_t class,
                            uint32_t b) {
  uint32_t smallest = ETX_PLAN_NONE;
  uint32_t least = UINT32_MAX;
  uint32_t hole = holes->heads[class];
  for (size_t i = 0; i < COMPARED_HOLES && hole != ETX_PLAN_NONE; ++i) {
    const uint32_t units = units_above(holes, hole);
    const uint32_t start = end_of(holes, hole);
    const uint32_t padding =
        etx_plan_partition_align(holes->part, b, start) - start;
    if (units < least && holes->part->size[b] + padding <= units) {
      smallest = hole;
      least = units;
    }
    hole = holes->later[hole];
  }
  return smallest;
}

static uint32_t smallest_for(const etx_free_list* holes, uint32_t b) {
  uint32_t class = next_class(holes, class_of(holes->part->size[b]));
  while (class < ETX_FREE_LIST_CLASSES) {
    const uint32_t hole = smallest_of(holes, class, b);
    if (hole != ETX_PLAN_NONE) return hole;
    class = next_class(holes, class + 1);
  }
  return holes->top;
}

void etx_free_list_place(etx_free_list* holes, uint32_t b) {
  const uint32_t under = smallest_for(holes, b);
  const uint32_t over = holes->above[under];
  unlist_hole(holes, under);
  holes->offsets[b] =
      etx_plan_partition_align(holes->part, b, end_of(holes, under));
  holes->above[b] = over;
  holes->below[b] = under;
  holes->above[under] = b;
  if (over != ETX_PLAN_NONE) holes->below[over] = b;
  if (holes->top == under) holes->top = b;
  list_hole(holes, under);
  list_hole(holes, b);
}

void etx_free_list_release(etx_free_list* holes, uint32_t b) {
  const uint32_t under = holes->below[b];
  const uint32_t over = holes->above[b];
  unlist_hole(holes, under);
  unlist_hole(holes, b);
  holes->above[under] = over;
  if (over != ETX_PLAN_NONE) holes->below[over] = under;
  if (holes->top == b) holes->top = under;
  list_hole(holes, under);
}
