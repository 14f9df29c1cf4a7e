// The number of items that will still touch a block tells when it dies. Their
// numbers are also kept combined by XOR: the XOR of one remaining item is the
// item itself, so the last user of a block is known without a search.

#include "exporter/schedule/live_bytes_simulator.h"

#include <string.h>

// The inverse lists: by entry, the items that have it.
static etx_status invert_lists(etx_pool* pool, const etx_schedule_lists* lists,
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
                               etx_live_bytes* out_simulator) {
  const size_t items = problem->item_count;
  const size_t blocks = problem->block_count;
  etx_live_bytes simulator = {.problem = problem};
  ETX_TRY(
      invert_lists(pool, &problem->touches, items, blocks, &simulator.users));
  ETX_TRY(invert_lists(pool, &problem->successors, items, items,
                       &simulator.predecessors));
  simulator.remaining =
      etx_pool_take(pool, blocks * sizeof *simulator.remaining);
  simulator.remaining_xor =
      etx_pool_take(pool, blocks * sizeof *simulator.remaining_xor);
  simulator.is_live = etx_pool_take(pool, blocks);
  simulator.began_at = etx_pool_take(pool, problem->touches.starts[items]);
  if (simulator.remaining == NULL || simulator.remaining_xor == NULL ||
      simulator.is_live == NULL || simulator.began_at == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  etx_live_bytes_restart(&simulator);
  *out_simulator = simulator;
  return ETX_OK;
}

void etx_live_bytes_restart(etx_live_bytes* simulator) {
  const etx_schedule_problem* const p = simulator->problem;
  simulator->live = 0;
  for (size_t b = 0; b < p->block_count; ++b) {
    const uint32_t start = simulator->users.starts[b];
    const uint32_t end = simulator->users.starts[b + 1];
    simulator->remaining[b] = end - start;
    simulator->remaining_xor[b] = 0;
    for (uint32_t k = start; k < end; ++k) {
      simulator->remaining_xor[b] ^= simulator->users.entries[k];
    }
    simulator->is_live[b] = p->blocks[b].is_live_before;
    if (simulator->is_live[b]) simulator->live += p->blocks[b].bytes;
  }
}

static bool dies_in_next(const etx_live_bytes* simulator, uint32_t block) {
  return simulator->remaining[block] == 1 &&
         !simulator->problem->blocks[block].is_live_after;
}

// Bytes of the result if it can take over a block that dies in the item.
static uint64_t reused_bytes(const etx_live_bytes* simulator, uint32_t item) {
  const etx_schedule_problem* const p = simulator->problem;
  const uint32_t result = p->results[item];
  if (result == ETX_SCHEDULE_NONE || simulator->is_live[result]) return 0;
  for (uint32_t k = p->reusable.starts[item]; k < p->reusable.starts[item + 1];
       ++k) {
    if (dies_in_next(simulator, p->reusable.entries[k]))
      return p->blocks[result].bytes;
  }
  return 0;
}

etx_live_bytes_cost etx_live_bytes_cost_of(const etx_live_bytes* simulator,
                                           uint32_t item) {
  const etx_schedule_problem* const p = simulator->problem;
  uint64_t begins = 0;
  uint64_t dies = 0;
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    const uint32_t block = p->touches.entries[k];
    if (!simulator->is_live[block]) begins += p->blocks[block].bytes;
    if (dies_in_next(simulator, block)) dies += p->blocks[block].bytes;
  }
  const uint64_t both = simulator->live + begins;
  return (etx_live_bytes_cost){
      both - reused_bytes(simulator, item) + p->transients[item], both - dies};
}

void etx_live_bytes_run(etx_live_bytes* simulator, uint32_t item) {
  const etx_schedule_problem* const p = simulator->problem;
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    const uint32_t block = p->touches.entries[k];
    simulator->began_at[k] = !simulator->is_live[block];
    if (simulator->began_at[k]) simulator->live += p->blocks[block].bytes;
    simulator->is_live[block] = true;
    simulator->remaining_xor[block] ^= item;
    if (--simulator->remaining[block] == 0 && !p->blocks[block].is_live_after) {
      simulator->live -= p->blocks[block].bytes;
    }
  }
}

void etx_live_bytes_undo(etx_live_bytes* simulator, uint32_t item) {
  const etx_schedule_problem* const p = simulator->problem;
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    const uint32_t block = p->touches.entries[k];
    if (simulator->remaining[block]++ == 0 && !p->blocks[block].is_live_after) {
      simulator->live += p->blocks[block].bytes;
    }
    simulator->remaining_xor[block] ^= item;
    if (!simulator->began_at[k]) continue;
    simulator->live -= p->blocks[block].bytes;
    simulator->is_live[block] = false;
  }
}

uint64_t etx_live_bytes_peak(etx_live_bytes* simulator, const uint32_t* items) {
  etx_live_bytes_restart(simulator);
  uint64_t peak = simulator->live;
  for (size_t i = 0; i < simulator->problem->item_count; ++i) {
    const uint64_t step = etx_live_bytes_cost_of(simulator, items[i]).step;
    if (step > peak) peak = step;
    etx_live_bytes_run(simulator, items[i]);
  }
  return peak;
}

// Bytes that are live while the item runs in the best case.
static uint64_t least_live_bytes(const etx_schedule_problem* p, uint32_t item) {
  uint64_t bytes = p->transients[item];
  for (uint32_t k = p->touches.starts[item]; k < p->touches.starts[item + 1];
       ++k) {
    bytes += p->blocks[p->touches.entries[k]].bytes;
  }
  const uint32_t result = p->results[item];
  if (result == ETX_SCHEDULE_NONE) return bytes;
  for (uint32_t k = p->reusable.starts[item]; k < p->reusable.starts[item + 1];
       ++k) {
    if (p->blocks[p->reusable.entries[k]].is_live_after) continue;
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
    const uint64_t least = least_live_bytes(problem, i);
    if (least > bound) bound = least;
  }
  return bound;
}
