// Each block is checked alone first. Overlaps are found by a sweep through
// time: the live blocks are kept in order of offset, and a block that starts is
// compared with its two neighbours only. That is enough: as long as no overlap
// was found, the live blocks are disjoint, so a block can only overlap a third
// one if it overlaps a neighbour too.

#include "planner/validation/plan_validate.h"

#include "planner/problem/plan_check.h"
#include "planner/validation/plan_events.h"
#include "planner/validation/hierarchical_bitset.h"
#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

typedef struct validator {
  const etx_plan_problem* problem;
  const uint64_t* offsets;  // none above arena_bytes
  uint64_t arena_bytes;
  etx_plan_events events;
  etx_hierarchical_bitset live;  // ranks of live blocks
  uint32_t* by_offset;           // blocks by ascending offset
  uint32_t* ranks;               // position of each block in by_offset
  uint64_t* scratch;             // for sorting
} validator;

static const char* const verdict_texts[ETX_PLAN_VERDICT_COUNT] = {
#define VERDICT(name, text) text,
#include "planner/validation/plan_verdicts.def"
#undef VERDICT
};

const char* etx_plan_verdict_text(etx_plan_verdict verdict) {
  return (unsigned)verdict < ETX_PLAN_VERDICT_COUNT ? verdict_texts[verdict]
                                                    : "unknown verdict";
}

static etx_plan_validation make_validation(etx_plan_verdict verdict,
                                           size_t block, size_t other) {
  const etx_plan_validation validation = {verdict, block, other};
  return validation;
}

static etx_plan_verdict check_block(const etx_plan_block* block,
                                    uint64_t offset, uint64_t arena_bytes) {
  if (block->fixed != ETX_PLAN_FREE && offset != block->fixed) {
    return ETX_PLAN_MOVED;
  }
  if ((offset & (block->alignment - 1)) != 0) return ETX_PLAN_MISALIGNED;
  if (offset > arena_bytes || block->size > arena_bytes - offset) {
    return ETX_PLAN_OUTSIDE;
  }
  return ETX_PLAN_VALID;
}

static etx_plan_validation check_blocks(const etx_plan_problem* problem,
                                        const etx_plan_solution* solution) {
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_verdict verdict = check_block(
        &problem->blocks[i], solution->offsets[i], solution->arena_bytes);
    if (verdict != ETX_PLAN_VALID) return make_validation(verdict, i, i);
  }
  return make_validation(ETX_PLAN_VALID, 0, 0);
}

static etx_plan_validation check_arena(const etx_plan_problem* problem,
                                       const etx_plan_solution* solution) {
  uint64_t highest = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const uint64_t end = solution->offsets[i] + problem->blocks[i].size;
    if (end > highest) highest = end;
  }
  if (highest < solution->arena_bytes)
    return make_validation(ETX_PLAN_LOOSE, 0, 0);
  if (problem->capacity != 0 && highest > problem->capacity) {
    return make_validation(ETX_PLAN_TOO_LARGE, 0, 0);
  }
  if (solution->lower_bound > highest) {
    return make_validation(ETX_PLAN_BELOW_BOUND, 0, 0);
  }
  return make_validation(ETX_PLAN_VALID, 0, 0);
}

static uint32_t low_offset(const void* offsets, uint32_t i) {
  return (uint32_t)((const uint64_t*)offsets)[i];
}

static uint32_t high_offset(const void* offsets, uint32_t i) {
  return (uint32_t)(((const uint64_t*)offsets)[i] >> 32);
}

static void rank_offsets(validator* v) {
  const size_t count = v->problem->block_count;
  for (size_t i = 0; i < count; ++i) v->by_offset[i] = (uint32_t)i;
  etx_plan_sort(v->by_offset, count, low_offset, v->offsets, v->scratch);
  if (v->arena_bytes > UINT32_MAX) {
    etx_plan_sort(v->by_offset, count, high_offset, v->offsets, v->scratch);
  }
  for (size_t i = 0; i < count; ++i) {
    v->ranks[v->by_offset[i]] = (uint32_t)i;
  }
}

// True if the live block of rank `low` overlaps the one of rank `high` above
// it.
static bool overlaps(const validator* v, size_t low, size_t high) {
  if (low == ETX_PLAN_SET_NONE || high == ETX_PLAN_SET_NONE) return false;
  const uint32_t a = v->by_offset[low];
  const uint32_t b = v->by_offset[high];
  return v->offsets[a] + v->problem->blocks[a].size > v->offsets[b];
}

static etx_plan_validation check_start(validator* v, uint32_t block) {
  const size_t rank = v->ranks[block];
  const size_t above = etx_hierarchical_bitset_next(&v->live, rank);
  const size_t below = etx_hierarchical_bitset_previous(&v->live, rank);
  if (overlaps(v, below, rank)) {
    return make_validation(ETX_PLAN_OVERLAP, block, v->by_offset[below]);
  }
  if (overlaps(v, rank, above)) {
    return make_validation(ETX_PLAN_OVERLAP, block, v->by_offset[above]);
  }
  etx_hierarchical_bitset_insert(&v->live, rank);
  return make_validation(ETX_PLAN_VALID, 0, 0);
}

static etx_plan_validation check_overlaps(validator* v) {
  etx_plan_event event;
  rank_offsets(v);
  while (etx_plan_events_next(&v->events, &event)) {
    if (!event.is_start) {
      etx_hierarchical_bitset_remove(&v->live, v->ranks[event.block]);
      continue;
    }
    const etx_plan_validation validation = check_start(v, event.block);
    if (validation.verdict != ETX_PLAN_VALID) return validation;
  }
  return make_validation(ETX_PLAN_VALID, 0, 0);
}

static bool take(validator* v, etx_arena* work) {
  const size_t count = v->problem->block_count;
  return etx_hierarchical_bitset_take(&v->live, work, count) &&
         etx_plan_take_u32(work, count, &v->by_offset) &&
         etx_plan_take_u32(work, count, &v->ranks) &&
         etx_plan_take_u64(work, 2 * count, &v->scratch) &&
         etx_plan_events_take(&v->events, v->problem, work);
}

static etx_plan_validation check_all(validator* v,
                                     const etx_plan_solution* solution) {
  etx_plan_validation validation = check_blocks(v->problem, solution);
  if (validation.verdict != ETX_PLAN_VALID) return validation;
  validation = check_overlaps(v);
  if (validation.verdict != ETX_PLAN_VALID) return validation;
  return check_arena(v->problem, solution);
}

etx_status etx_plan_validate(const etx_plan_problem* problem,
                             const etx_plan_solution* solution, etx_arena* work,
                             etx_plan_validation* out_validation) {
  const size_t mark = etx_arena_mark(work);
  validator v = {0};
  v.problem = problem;
  v.offsets = solution->offsets;
  v.arena_bytes = solution->arena_bytes;
  if (!work->counting) ETX_TRY(etx_plan_check(problem, NULL));
  const bool taken = take(&v, work);
  if (taken && !work->counting) *out_validation = check_all(&v, solution);
  etx_arena_rewind(work, mark);
  return taken ? ETX_OK : ETX_OUT_OF_MEMORY;
}
