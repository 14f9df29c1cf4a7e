// Each block is judged alone first. Overlaps are found by a sweep through
// time: the living blocks are kept by offset, and a newborn is compared with
// its two neighbours only. That is enough, because as long as no overlap was
// found the living blocks are disjoint, so a third one can only be reached
// through a neighbour.

#include "planner/validation/plan_validate.h"

#include "planner/problem/plan_check.h"
#include "planner/validation/plan_events.h"
#include "planner/validation/hierarchical_bitset.h"
#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

typedef struct judge {
  const etx_plan_problem* problem;
  const uint64_t* offsets;  // none above arena_bytes
  uint64_t arena_bytes;
  etx_plan_events events;
  etx_hierarchical_bitset living;  // ranks of living blocks
  uint32_t* by_offset;             // blocks by ascending offset
  uint32_t* ranks;                 // position of each block in by_offset
  uint64_t* scratch;               // for sorting
} judge;

static const char* const verdict_texts[ETX_PLAN_VERDICT_COUNT] = {
#define VERDICT(name, text) text,
#include "planner/validation/plan_verdicts.def"
#undef VERDICT
};

const char* etx_plan_verdict_text(etx_plan_verdict verdict) {
  return (unsigned)verdict < ETX_PLAN_VERDICT_COUNT ? verdict_texts[verdict]
                                                    : "unknown verdict";
}

static etx_plan_validation judged(etx_plan_verdict verdict, size_t block,
                                  size_t other) {
  const etx_plan_validation judgement = {verdict, block, other};
  return judgement;
}

static etx_plan_verdict judge_block(const etx_plan_block* block,
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

static etx_plan_validation judge_blocks(const etx_plan_problem* problem,
                                        const etx_plan_solution* solution) {
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_verdict verdict = judge_block(
        &problem->blocks[i], solution->offsets[i], solution->arena_bytes);
    if (verdict != ETX_PLAN_VALID) return judged(verdict, i, i);
  }
  return judged(ETX_PLAN_VALID, 0, 0);
}

static etx_plan_validation judge_arena(const etx_plan_problem* problem,
                                       const etx_plan_solution* solution) {
  uint64_t highest = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const uint64_t end = solution->offsets[i] + problem->blocks[i].size;
    if (end > highest) highest = end;
  }
  if (highest < solution->arena_bytes) return judged(ETX_PLAN_LOOSE, 0, 0);
  if (problem->capacity != 0 && highest > problem->capacity) {
    return judged(ETX_PLAN_TOO_LARGE, 0, 0);
  }
  if (solution->lower_bound > highest) {
    return judged(ETX_PLAN_BELOW_BOUND, 0, 0);
  }
  return judged(ETX_PLAN_VALID, 0, 0);
}

static uint32_t low_offset(const void* offsets, uint32_t i) {
  return (uint32_t)((const uint64_t*)offsets)[i];
}

static uint32_t high_offset(const void* offsets, uint32_t i) {
  return (uint32_t)(((const uint64_t*)offsets)[i] >> 32);
}

static void rank_offsets(judge* court) {
  const size_t count = court->problem->block_count;
  for (size_t i = 0; i < count; ++i) court->by_offset[i] = (uint32_t)i;
  etx_plan_sort(court->by_offset, count, low_offset, court->offsets,
                court->scratch);
  if (court->arena_bytes > UINT32_MAX) {
    etx_plan_sort(court->by_offset, count, high_offset, court->offsets,
                  court->scratch);
  }
  for (size_t i = 0; i < count; ++i) {
    court->ranks[court->by_offset[i]] = (uint32_t)i;
  }
}

// True if the living block of rank `low` reaches into the one of rank `high`.
static bool reaches(const judge* court, size_t low, size_t high) {
  if (low == ETX_PLAN_SET_NONE || high == ETX_PLAN_SET_NONE) return false;
  const uint32_t a = court->by_offset[low];
  const uint32_t b = court->by_offset[high];
  return court->offsets[a] + court->problem->blocks[a].size > court->offsets[b];
}

static etx_plan_validation judge_birth(judge* court, uint32_t block) {
  const size_t rank = court->ranks[block];
  const size_t above = etx_hierarchical_bitset_next(&court->living, rank);
  const size_t below = etx_hierarchical_bitset_previous(&court->living, rank);
  if (reaches(court, below, rank)) {
    return judged(ETX_PLAN_OVERLAP, block, court->by_offset[below]);
  }
  if (reaches(court, rank, above)) {
    return judged(ETX_PLAN_OVERLAP, block, court->by_offset[above]);
  }
  etx_hierarchical_bitset_insert(&court->living, rank);
  return judged(ETX_PLAN_VALID, 0, 0);
}

static etx_plan_validation judge_overlaps(judge* court) {
  etx_plan_event event;
  rank_offsets(court);
  while (etx_plan_events_next(&court->events, &event)) {
    if (!event.is_birth) {
      etx_hierarchical_bitset_remove(&court->living, court->ranks[event.block]);
      continue;
    }
    const etx_plan_validation judgement = judge_birth(court, event.block);
    if (judgement.verdict != ETX_PLAN_VALID) return judgement;
  }
  return judged(ETX_PLAN_VALID, 0, 0);
}

static bool take(judge* court, etx_arena* work) {
  const size_t count = court->problem->block_count;
  return etx_plan_events_take(&court->events, court->problem, work) &&
         etx_hierarchical_bitset_take(&court->living, work, count) &&
         etx_plan_take_u32(work, count, &court->by_offset) &&
         etx_plan_take_u32(work, count, &court->ranks) &&
         etx_plan_take_u64(work, 2 * count, &court->scratch);
}

static etx_plan_validation judge_all(judge* court,
                                     const etx_plan_solution* solution) {
  etx_plan_validation judgement = judge_blocks(court->problem, solution);
  if (judgement.verdict != ETX_PLAN_VALID) return judgement;
  judgement = judge_overlaps(court);
  if (judgement.verdict != ETX_PLAN_VALID) return judgement;
  return judge_arena(court->problem, solution);
}

etx_status etx_plan_validate(const etx_plan_problem* problem,
                             const etx_plan_solution* solution, etx_arena* work,
                             etx_plan_validation* out_judgement) {
  const size_t mark = etx_arena_mark(work);
  judge court = {0};
  court.problem = problem;
  court.offsets = solution->offsets;
  court.arena_bytes = solution->arena_bytes;
  if (!work->counting) ETX_TRY(etx_plan_check(problem, NULL));
  const bool taken = take(&court, work);
  if (taken && !work->counting) *out_judgement = judge_all(&court, solution);
  etx_arena_rewind(work, mark);
  return taken ? ETX_OK : ETX_OUT_OF_MEMORY;
}
