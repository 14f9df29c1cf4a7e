#include "planner/plan_fitting.h"

#include "planner/plan_work.h"

// Two nodes wait at each level of a tree of at most 2^32 leaves.
enum { STACK_NODES = 2 * 33 };

static size_t leaves_for(size_t block_count) {
  size_t leaves = 1;
  while (leaves < block_count) leaves *= 2;
  return leaves;
}

bool etx_plan_fitting_take(etx_plan_fitting* fitting, size_t block_count,
                           etx_arena* work) {
  if (block_count > SIZE_MAX / 16) return false;
  fitting->leaves = leaves_for(block_count);
  return etx_plan_take_u32(work, block_count + 1, &fitting->starts) &&
         etx_plan_take_u32(work, block_count, &fitting->positions) &&
         etx_plan_take_u32(work, 2 * fitting->leaves, &fitting->limits) &&
         etx_plan_take_u32(work, 2 * fitting->leaves, &fitting->ranks);
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void update_node(etx_plan_fitting* fitting, size_t node) {
  fitting->limits[node] =
      smaller(fitting->limits[2 * node], fitting->limits[2 * node + 1]);
  fitting->ranks[node] =
      smaller(fitting->ranks[2 * node], fitting->ranks[2 * node + 1]);
}

static void fill_starts(etx_plan_fitting* fitting) {
  const etx_plan_sections* const sections = fitting->sections;
  size_t position = 0;
  for (uint32_t s = 0; s <= sections->count; ++s) {
    while (position < sections->block_count &&
           sections->first[sections->by_first[position]] < s) {
      position += 1;
    }
    fitting->starts[s] = (uint32_t)position;
  }
}

void etx_plan_fitting_fill(etx_plan_fitting* fitting,
                           const etx_plan_sections* sections,
                           const uint32_t* ranks) {
  fitting->sections = sections;
  fill_starts(fitting);
  for (size_t i = 0; i < fitting->leaves; ++i) {
    const bool used = i < sections->block_count;
    const uint32_t block = used ? sections->by_first[i] : 0;
    const size_t leaf = fitting->leaves + i;
    fitting->limits[leaf] = used ? sections->limit[block] : UINT32_MAX;
    fitting->ranks[leaf] = used ? ranks[block] : ETX_PLAN_FITS_NONE;
    if (used) fitting->positions[block] = (uint32_t)i;
  }
  for (size_t node = fitting->leaves - 1; node > 0; --node) {
    update_node(fitting, node);
  }
}

// The best rank below `node` that fits and beats `best`, else `best`.
static uint32_t best_below(const etx_plan_fitting* fitting, size_t node,
                           uint32_t high, uint32_t best) {
  size_t stack[STACK_NODES];
  size_t depth = 0;
  stack[depth++] = node;
  while (depth > 0) {
    node = stack[--depth];
    if (fitting->limits[node] > high || fitting->ranks[node] >= best) continue;
    if (node >= fitting->leaves) {
      best = fitting->ranks[node];
      continue;
    }
    // The side with the better rank goes on top, to be looked at first.
    const bool right_first =
        fitting->ranks[2 * node + 1] < fitting->ranks[2 * node];
    stack[depth++] = 2 * node + (right_first ? 0 : 1);
    stack[depth++] = 2 * node + (right_first ? 1 : 0);
  }
  return best;
}

uint32_t etx_plan_fitting_best(const etx_plan_fitting* fitting, uint32_t low,
                               uint32_t high) {
  size_t left = fitting->leaves + fitting->starts[low];
  size_t right = fitting->leaves + fitting->starts[high];
  uint32_t best = ETX_PLAN_FITS_NONE;
  while (left < right) {
    if (left & 1) best = best_below(fitting, left++, high, best);
    if (right & 1) best = best_below(fitting, --right, high, best);
    left /= 2;
    right /= 2;
  }
  return best;
}

void etx_plan_fitting_remove(etx_plan_fitting* fitting, uint32_t block) {
  size_t node = fitting->leaves + fitting->positions[block];
  fitting->limits[node] = UINT32_MAX;
  fitting->ranks[node] = ETX_PLAN_FITS_NONE;
  for (node /= 2; node > 0; node /= 2) update_node(fitting, node);
}
