#include "exporter/arenas/board_memories.h"

#include "exporter/arenas/memory_traffic.h"
#include "planner/memories/plan_memories.h"
#include "planner/plan_gaps.h"
#include "planner/problem/plan_bound.h"

_Static_assert((int)ETX_PLAN_MOST_MEMORIES == (int)ETX_MEMORY_TABLE_MOST,
               "the planner takes as many memories as a file can have");

etx_status etx_board_memories_limits(const etx_ir_module* module,
                                     uint64_t state_bytes,
                                     uint64_t stable_bytes,
                                     uint64_t out_limits[ETX_MEMORY_TABLE_MOST],
                                     etx_diag* diag) {
  if (etx_board_memories_used(module) && module->concurrent_count > 0) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "methods that may run at the same time cannot be "
                         "planned for several memories; plan them for one");
  }
  for (size_t i = 0; i < module->memory_count; ++i) {
    const etx_memory_row* const memory = &module->memories[i];
    const bool is_last = i + 1 == module->memory_count;
    const uint64_t taken =
        (memory->holds_state ? state_bytes : 0) + (is_last ? stable_bytes : 0);
    out_limits[i] = UINT64_MAX;
    if (memory->capacity == 0) continue;
    if (taken > memory->capacity) {
      return etx_diag_fail(diag, ETX_BAD_PLAN,
                           "memory '%t' has %u bytes, but the state and the "
                           "stable outputs in it need %u",
                           memory->name, memory->capacity, taken);
    }
    out_limits[i] = memory->capacity - taken;
  }
  return ETX_OK;
}

etx_status etx_board_memories_traffic(etx_pool* pool,
                                      const etx_ir_method* method,
                                      const etx_placement* placement,
                                      etx_memory_plan* memory) {
  uint64_t* traffic = NULL;
  ETX_TRY(etx_memory_traffic_find(pool, method, placement, &traffic));
  memory->memory_traffic[0] = 0;
  for (size_t s = 0; s < placement->storage_count; ++s) {
    if (placement->storages[s].kind != ETX_STORAGE_SCRATCH) continue;
    memory->memory_traffic[0] += traffic[s];
  }
  return ETX_OK;
}

typedef struct board_planner {
  etx_pool* pool;
  const etx_ir_module* module;
  const etx_live_interval* lifetimes;
  etx_diag* diag;
  etx_plan_block* blocks;
  uint32_t* storages;  // of the blocks
  uint64_t* traffic;   // of the blocks
  size_t count;        // of the blocks
  etx_plan_memories_solution solution;
} board_planner;

static etx_status collect_blocks(board_planner* p, const etx_ir_method* method,
                                 const etx_placement* placement) {
  const size_t most = placement->storage_count;
  uint64_t* traffic = NULL;
  ETX_TRY(etx_memory_traffic_find(p->pool, method, placement, &traffic));
  p->blocks = etx_pool_take(p->pool, most * sizeof *p->blocks);
  p->storages = etx_pool_take(p->pool, most * sizeof *p->storages);
  p->traffic = etx_pool_take(p->pool, most * sizeof *p->traffic);
  p->solution.memories =
      etx_pool_take(p->pool, most * sizeof *p->solution.memories);
  p->solution.offsets =
      etx_pool_take(p->pool, most * sizeof *p->solution.offsets);
  if (p->blocks == NULL || p->storages == NULL || p->traffic == NULL ||
      p->solution.memories == NULL || p->solution.offsets == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  for (uint32_t s = 0; s < most; ++s) {
    const etx_live_interval* const lifetime = &p->lifetimes[s];
    if (lifetime->end == 0 || lifetime->is_stable) continue;
    p->storages[p->count] = s;
    p->traffic[p->count] = traffic[s];
    p->blocks[p->count++] =
        (etx_plan_block){.size = placement->storages[s].bytes,
                         .alignment = p->module->alignment,
                         .start = lifetime->start,
                         .end = lifetime->end,
                         .fixed = ETX_PLAN_FREE};
  }
  return ETX_OK;
}

static etx_status take_work(etx_pool* pool, size_t bytes, etx_arena* work) {
  void* const block = etx_pool_take(pool, bytes);
  if (block == NULL) return ETX_OUT_OF_MEMORY;
  etx_arena_init(work, block, bytes);
  return ETX_OK;
}

static etx_status solve(board_planner* p, const uint64_t* limits) {
  etx_plan_memory_limit memories[ETX_MEMORY_TABLE_MOST];
  for (size_t i = 0; i < p->module->memory_count; ++i) {
    memories[i] =
        (etx_plan_memory_limit){limits[i], p->module->memories[i].cost};
  }
  const etx_plan_problem problem = {.blocks = p->blocks,
                                    .block_count = p->count};
  const etx_plan_memories_problem given = {&problem, p->traffic, memories,
                                           p->module->memory_count};
  etx_arena work;
  ETX_TRY(take_work(p->pool, etx_plan_memories_needed(&given), &work));
  return etx_plan_memories_solve(&given, &work, &p->solution, p->diag);
}

// ---- the gaps of lifetimes, in one memory ----

typedef struct memory_part {
  etx_plan_block* blocks;
  uint32_t* numbers;  // of the blocks in the whole problem
  uint64_t* offsets;
  etx_plan_gap* gaps;
  size_t count;
  size_t gap_count;
} memory_part;

static size_t count_gaps(const board_planner* p) {
  size_t count = 0;
  for (size_t i = 0; i < p->count; ++i) {
    count += p->lifetimes[p->storages[i]].gap_count;
  }
  return count;
}

static void add_to_part(const board_planner* p, size_t number,
                        memory_part* part) {
  const etx_live_interval* const lifetime = &p->lifetimes[p->storages[number]];
  const size_t at = part->count++;
  part->blocks[at] = p->blocks[number];
  part->numbers[at] = (uint32_t)number;
  part->offsets[at] = p->solution.offsets[number];
  for (size_t g = 0; g < lifetime->gap_count; ++g) {
    part->gaps[part->gap_count++] = (etx_plan_gap){
        (uint32_t)at, lifetime->gaps[g].start, lifetime->gaps[g].end};
  }
}

// Improves the plan of one memory, if some of its blocks have gaps.
static etx_status use_gaps_in(board_planner* p, memory_part* part,
                              uint32_t memory) {
  part->count = 0;
  part->gap_count = 0;
  for (size_t i = 0; i < p->count; ++i) {
    if (p->solution.memories[i] == memory) add_to_part(p, i, part);
  }
  if (part->gap_count == 0) return ETX_OK;
  const etx_plan_problem problem = {.blocks = part->blocks,
                                    .block_count = part->count};
  etx_plan_solution solution = {.offsets = part->offsets,
                                .arena_bytes = p->solution.arena_bytes[memory]};
  etx_arena work;
  ETX_TRY(take_work(p->pool, etx_plan_gaps_needed(part->count), &work));
  ETX_TRY(etx_plan_gaps_apply(&problem, part->gaps, part->gap_count, &work,
                              &solution));
  p->solution.arena_bytes[memory] = solution.arena_bytes;
  for (size_t i = 0; i < part->count; ++i) {
    p->solution.offsets[part->numbers[i]] = part->offsets[i];
  }
  return ETX_OK;
}

static etx_status use_gaps(board_planner* p) {
  const size_t gaps = count_gaps(p);
  memory_part part = {0};
  if (gaps == 0) return ETX_OK;
  part.blocks = etx_pool_take(p->pool, p->count * sizeof *part.blocks);
  part.numbers = etx_pool_take(p->pool, p->count * sizeof *part.numbers);
  part.offsets = etx_pool_take(p->pool, p->count * sizeof *part.offsets);
  part.gaps = etx_pool_take(p->pool, gaps * sizeof *part.gaps);
  if (part.blocks == NULL || part.numbers == NULL || part.offsets == NULL ||
      part.gaps == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  for (uint32_t k = 0; k < p->module->memory_count; ++k) {
    ETX_TRY(use_gaps_in(p, &part, k));
  }
  return ETX_OK;
}

// ---- the result ----

static etx_status describe(board_planner* p, etx_memory_plan* memory) {
  const etx_plan_problem problem = {.blocks = p->blocks,
                                    .block_count = p->count};
  etx_arena counter;
  etx_arena work;
  etx_arena_init_counting(&counter);
  ETX_TRY(etx_plan_bound(&problem, &counter, &memory->lower_bound));
  ETX_TRY(take_work(p->pool, counter.peak_bytes, &work));
  ETX_TRY(etx_plan_bound(&problem, &work, &memory->lower_bound));
  memory->planned_bytes = 0;
  for (size_t k = 0; k < p->module->memory_count; ++k) {
    memory->memory_bytes[k] = p->solution.arena_bytes[k];
    memory->memory_traffic[k] = p->solution.traffic[k];
    memory->planned_bytes += p->solution.arena_bytes[k];
  }
  // The bound does not know gaps, with which a plan may need less.
  if (memory->lower_bound > memory->planned_bytes) {
    memory->lower_bound = memory->planned_bytes;
  }
  memory->block_count = p->count;
  memory->algorithm = "memories";
  return ETX_OK;
}

etx_status etx_board_memories_plan(etx_pool* pool,
                                   const etx_board_method* board,
                                   etx_placement* placement,
                                   etx_memory_plan* memory, etx_diag* diag) {
  board_planner p = {.pool = pool,
                     .module = board->module,
                     .lifetimes = board->lifetimes,
                     .diag = diag};
  ETX_TRY(collect_blocks(&p, board->method, placement));
  ETX_TRY(solve(&p, board->limits));
  ETX_TRY(use_gaps(&p));
  for (size_t i = 0; i < p.count; ++i) {
    etx_storage* const storage = &placement->storages[p.storages[i]];
    storage->memory = p.solution.memories[i];
    storage->offset = p.solution.offsets[i];
  }
  return describe(&p, memory);
}
