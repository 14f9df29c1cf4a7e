#include "exporter/schedule/live_bytes_simulator.h"

#include <string.h>

// The lists the other way round: by entry, the items that have it.
static etx_status turn_round(etx_pool* pool, const etx_schedule_lists* lists,
                             size_t item_count, size_t entry_values,
                             etx_schedule_lists* out_lists) {
  const size_t total = lists->starts[item_count];
  uint32_t* const starts =
      etx_pool_take(pool, (entry_values + 1) * sizeof *starts);
  uint32_t* const entries = etx_pool_take(pool, total * sizeof *entries);
  uint32_t* const next = etx_pool_take(pool, entry_values * sizeof *next);
  if (starts == NULL || entries == NULL || next == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  for (size_t i = 0; i < total; ++i) ++starts[lists->entries[i] + 1];
  for (size_t v = 0; v < entry_values; ++v) {
    starts[v + 1] += starts[v];
    next[v] = starts[v];
  }
  for (uint32_t i = 0; i < item_count; ++i) {
    for (uint32_t k = lists->starts[i]; k < lists->starts[i + 1]; ++k) {
      entries[next[lists->entries[k]]++] = i;
    }
  }
  *out_lists = (etx_schedule_lists){starts, entries};
  return ETX_OK;
}

etx_status etx_live_bytes_open(etx_pool* pool,
                               const etx_schedule_problem* problem,
                               etx_live_bytes* out_walk) {
  const size_t items = problem->item_count;
  const size_t blocks = problem->block_count;
  etx_live_bytes walk = {.problem = problem};
  ETX_TRY(turn_round(pool, &problem->touches, items, blocks, &walk.touchers));
  ETX_TRY(turn_round(pool, &problem->after, items, items, &walk.before));
  walk.left = etx_pool_take(pool, blocks * sizeof *walk.left);
  walk.rest = etx_pool_take(pool, blocks * sizeof *walk.rest);
  walk.is_live = etx_pool_take(pool, blocks);
  walk.has_begun = etx_pool_take(pool, problem->touches.starts[items]);
  if (walk.left == NULL || walk.rest == NULL || walk.is_live == NULL ||
      walk.has_begun == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  etx_live_bytes_restart(&walk);
  *out_walk = walk;
  return ETX_OK;
}

void etx_live_bytes_restart(etx_live_bytes* walk) {
  const etx_schedule_problem* const p = walk->problem;
  walk->live = 0;
  for (size_t b = 0; b < p->block_count; ++b) {
    const uint32_t start = walk->touchers.starts[b];
    const uint32_t end = walk->touchers.starts[b + 1];
    walk->left[b] = end - start;
    walk->rest[b] = 0;
    for (uint32_t k = start; k < end; ++k) {
      walk->rest[b] ^= walk->touchers.entries[k];
    }
    walk->is_live[b] = p->blocks[b].is_live_before;
    if (walk->is_live[b]) walk->live += p->blocks[b].bytes;
  }
}

static bool dies_in_next(const etx_live_bytes* walk, uint32_t block) {
  return walk->left[block] == 1 && !walk->problem->blocks[block].is_live_after;
}

// Bytes of the result if it would lie in a block that dies.
static uint64_t taken_over(const etx_live_bytes* walk, uint32_t item) {
  const etx_schedule_problem* const p = walk->problem;
  const uint32_t result = p->results[item];
  if (result == ETX_SCHEDULE_NONE || walk->is_live[result]) return 0;
  for (uint32_t k = p->takes.starts[item]; k < p->takes.starts[item + 1]; ++k) {
    if (dies_in_next(walk, p->takes.entries[k])) return p->blocks[result].bytes;
  }
  return 0;
}

etx_live_bytes_cost etx_live_bytes_cost_of(const etx_live_bytes* walk,
                                           uint32_t item) {
  const etx_schedule_problem* const p = walk->problem;
  uint64_t begins = 0;
  uint64_t dies = 0;
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    const uint32_t block = p->touches.entries[k];
    if (!walk->is_live[block]) begins += p->blocks[block].bytes;
    if (dies_in_next(walk, block)) dies += p->blocks[block].bytes;
  }
  const uint64_t both = walk->live + begins;
  return (etx_live_bytes_cost){
      both - taken_over(walk, item) + p->transients[item], both - dies};
}

void etx_live_bytes_run(etx_live_bytes* walk, uint32_t item) {
  const etx_schedule_problem* const p = walk->problem;
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    const uint32_t block = p->touches.entries[k];
    walk->has_begun[k] = !walk->is_live[block];
    if (walk->has_begun[k]) walk->live += p->blocks[block].bytes;
    walk->is_live[block] = true;
    walk->rest[block] ^= item;
    if (--walk->left[block] == 0 && !p->blocks[block].is_live_after) {
      walk->live -= p->blocks[block].bytes;
    }
  }
}

void etx_live_bytes_undo(etx_live_bytes* walk, uint32_t item) {
  const etx_schedule_problem* const p = walk->problem;
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    const uint32_t block = p->touches.entries[k];
    if (walk->left[block]++ == 0 && !p->blocks[block].is_live_after) {
      walk->live += p->blocks[block].bytes;
    }
    walk->rest[block] ^= item;
    if (!walk->has_begun[k]) continue;
    walk->live -= p->blocks[block].bytes;
    walk->is_live[block] = false;
  }
}

uint64_t etx_live_bytes_peak(etx_live_bytes* walk, const uint32_t* items) {
  etx_live_bytes_restart(walk);
  uint64_t peak = walk->live;
  for (size_t i = 0; i < walk->problem->item_count; ++i) {
    const uint64_t step = etx_live_bytes_cost_of(walk, items[i]).step;
    if (step > peak) peak = step;
    etx_live_bytes_run(walk, items[i]);
  }
  return peak;
}

// Bytes that the item needs if everything it could save is saved.
static uint64_t least_of(const etx_schedule_problem* p, uint32_t item) {
  uint64_t bytes = p->transients[item];
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    bytes += p->blocks[p->touches.entries[k]].bytes;
  }
  const uint32_t result = p->results[item];
  if (result == ETX_SCHEDULE_NONE) return bytes;
  for (uint32_t k = p->takes.starts[item]; k < p->takes.starts[item + 1]; ++k) {
    if (p->blocks[p->takes.entries[k]].is_live_after) continue;
    return bytes - p->blocks[result].bytes;
  }
  return bytes;
}

uint64_t etx_live_bytes_bound(const etx_schedule_problem* problem) {
  uint64_t first = 0;
  uint64_t last = 0;
  for (size_t b = 0; b < problem->block_count; ++b) {
    const etx_schedule_block* const block = &problem->blocks[b];
    if (block->is_live_before) first += block->bytes;
    if (block->is_live_after) last += block->bytes;
  }
  uint64_t bound = first > last ? first : last;
  for (uint32_t i = 0; i < problem->item_count; ++i) {
    const uint64_t least = least_of(problem, i);
    if (least > bound) bound = least;
  }
  return bound;
}
