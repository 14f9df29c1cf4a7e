#include "exporter/arenas/plan_memory.h"

#include "exporter/arenas/board_memories.h"
#include "exporter/arenas/concurrent_methods.h"
#include "exporter/placement/liveness.h"
#include "exporter/arenas/plan_sizes.h"
#include "exporter/arenas/region_memory.h"
#include "format/base/checked_math.h"
#include "planner/plan_gaps.h"
#include "planner/plan_spread.h"

typedef struct memory_planner {
  const etx_ir_module* module;
  const char* algorithm;
  bool keeps_regions_apart;
  bool takes_layouts;
  uint64_t limits[ETX_MEMORY_TABLE_MOST];  // of the memories
  etx_diag* diag;
  etx_pool pool;  // freed at the end of the call
} memory_planner;

typedef struct collected_blocks {
  etx_plan_block* blocks;
  uint32_t* storages;    // the storage of each block that is not a region's;
                         // these blocks come first
  size_t storage_count;  // of storages
  size_t count;          // of blocks
} collected_blocks;

static bool is_in_region(const etx_region_memory* regions, uint32_t storage) {
  return regions->block_of_storage != NULL &&
         regions->block_of_storage[storage] != ETX_IR_NONE;
}

// Lists the blocks of the range that methods share. Those of regions come last
// and hold several storages each (block_of_storage); every other block holds
// one.
static etx_status collect(memory_planner* p, const etx_placement* placement,
                          const etx_live_interval* lifetimes,
                          const etx_region_memory* regions,
                          collected_blocks* out) {
  const size_t capacity = placement->storage_count + regions->block_count;
  etx_plan_block* const blocks =
      etx_pool_take(&p->pool, capacity * sizeof *blocks);
  uint32_t* const storages =
      etx_pool_take(&p->pool, capacity * sizeof *storages);
  if (blocks == NULL || storages == NULL) return ETX_OUT_OF_MEMORY;
  size_t count = 0;
  for (uint32_t s = 0; s < placement->storage_count; ++s) {
    if (lifetimes[s].end == 0 || lifetimes[s].is_stable) continue;
    if (is_in_region(regions, s)) continue;
    storages[count] = s;
    blocks[count++] = (etx_plan_block){
        .size = placement->storages[s].bytes,
        .alignment = p->module->alignment,
        .start = lifetimes[s].start,
        .end = lifetimes[s].end,
        .fixed = ETX_PLAN_FREE,
    };
  }
  *out = (collected_blocks){blocks, storages, count, count};
  for (size_t r = 0; r < regions->block_count; ++r) {
    const etx_region_block* const region = &regions->blocks[r];
    blocks[out->count++] = (etx_plan_block){.size = region->bytes,
                                            .alignment = p->module->alignment,
                                            .start = region->start,
                                            .end = region->end,
                                            .fixed = ETX_PLAN_FREE};
  }
  return ETX_OK;
}

// The gaps of all blocks. Most methods have none.
static etx_status collect_gaps(memory_planner* p,
                               const etx_live_interval* lifetimes,
                               const uint32_t* storages, size_t count,
                               etx_plan_gap** out_gaps, size_t* out_count) {
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) total += lifetimes[storages[i]].gap_count;
  etx_plan_gap* const gaps = etx_pool_take(&p->pool, total * sizeof *gaps);
  if (gaps == NULL) return ETX_OUT_OF_MEMORY;
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    const etx_live_interval* const lifetime = &lifetimes[storages[i]];
    for (size_t g = 0; g < lifetime->gap_count; ++g) {
      gaps[next++] = (etx_plan_gap){(uint32_t)i, lifetime->gaps[g].start,
                                    lifetime->gaps[g].end};
    }
  }
  *out_gaps = gaps;
  *out_count = total;
  return ETX_OK;
}

static etx_status use_gaps(memory_planner* p, const etx_plan_problem* problem,
                           const etx_plan_gap* gaps, size_t gap_count,
                           etx_plan_solution* solution) {
  // An algorithm that was chosen by name is not improved, so that its own plan
  // can be seen.
  if (gap_count == 0 || p->algorithm != NULL) return ETX_OK;
  const size_t bytes = etx_plan_gaps_needed(problem->block_count);
  void* const block = etx_pool_take(&p->pool, bytes);
  if (block == NULL) return ETX_OUT_OF_MEMORY;
  etx_arena work;
  etx_arena_init(&work, block, bytes);
  return etx_plan_gaps_apply(problem, gaps, gap_count, &work, solution);
}

static etx_status solve(memory_planner* p, const etx_plan_problem* problem,
                        etx_plan_solution* solution) {
  const size_t bytes = etx_plan_needed(problem);
  void* const block = etx_pool_take(&p->pool, bytes);
  solution->offsets =
      etx_pool_take(&p->pool, problem->block_count * sizeof *solution->offsets);
  if (block == NULL || solution->offsets == NULL) return ETX_OUT_OF_MEMORY;
  etx_arena work;
  etx_arena_init(&work, block, bytes);
  return etx_plan_solve(problem, p->algorithm, &work, solution, p->diag);
}

// The first node at which most bytes are live.
static etx_status find_peak(memory_planner* p, const etx_plan_problem* problem,
                            const etx_plan_gap* gaps, size_t gap_count,
                            size_t node_count, size_t* out_node) {
  // Times are the nodes and, after them, the end of the method, at which
  // outputs are read. A block that is live at the end ends one later.
  int64_t* const change =
      etx_pool_take(&p->pool, (node_count + 2) * sizeof *change);
  if (change == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < problem->block_count; ++i) {
    change[problem->blocks[i].start] += (int64_t)problem->blocks[i].size;
    change[problem->blocks[i].end] -= (int64_t)problem->blocks[i].size;
  }
  for (size_t i = 0; i < gap_count; ++i) {
    const int64_t size = (int64_t)problem->blocks[gaps[i].block].size;
    change[gaps[i].start] -= size;
    change[gaps[i].end] += size;
  }
  int64_t live = 0;
  int64_t most = -1;
  for (size_t n = 0; n <= node_count; ++n) {
    live += change[n];
    if (live <= most) continue;
    most = live;
    *out_node = n;
  }
  return ETX_OK;
}

// Gives each storage its offset.
static void set_offsets(etx_placement* placement,
                        const etx_region_memory* regions,
                        const collected_blocks* c, const uint64_t* offsets) {
  for (size_t i = 0; i < c->storage_count; ++i) {
    placement->storages[c->storages[i]].offset = offsets[i];
  }
  for (uint32_t s = 0; s < placement->storage_count; ++s) {
    if (!is_in_region(regions, s)) continue;
    placement->storages[s].offset =
        offsets[c->storage_count + regions->block_of_storage[s]] +
        regions->offset_in_block[s];
  }
}

// Blocks of regions hold several storages, whose sizes are not known here.
static etx_status choose_order(memory_planner* p, const etx_ir_method* method,
                               const etx_placement* placement,
                               const collected_blocks* c,
                               etx_plan_solution* solution,
                               etx_memory_plan* memory) {
  if (c->count != c->storage_count) return ETX_OK;
  const etx_plan_problem problem = {.blocks = c->blocks,
                                    .block_count = c->count};
  const etx_plan_sizes sizes = {.method = method,
                                .placement = placement,
                                .problem = &problem,
                                .storages = c->storages,
                                .takes_layouts = p->takes_layouts,
                                .pool = &p->pool,
                                .diag = p->diag};
  etx_size_layouts layouts;
  ETX_TRY(etx_plan_for_sizes(&sizes, solution, &layouts));
  memory->worst_ratio = layouts.worst_ratio;
  for (size_t k = 0; k < layouts.count; ++k) {
    const etx_size_layout* const layout = &layouts.layouts[k];
    etx_storage_place* const places = etx_pool_take(
        p->module->pool, placement->storage_count * sizeof *places);
    if (places == NULL) return ETX_OUT_OF_MEMORY;
    for (size_t s = 0; s < placement->storage_count; ++s) {
      places[s] = (etx_storage_place){0, 1};
    }
    for (size_t i = 0; i < c->count; ++i) {
      places[c->storages[i]] =
          (etx_storage_place){layout->offsets[i], layout->bytes[i]};
    }
    memory->layouts[memory->layout_count++] = places;
  }
  return ETX_OK;
}

// What is planned of a method.
typedef struct method_blocks {
  const etx_ir_method* method;
  etx_placement* placement;
  etx_region_memory regions;
  collected_blocks c;
  etx_plan_problem problem;  // of these blocks
  etx_plan_gap* gaps;
  size_t gap_count;
} method_blocks;

// The plan of a method in one memory.
static etx_status plan_arena(memory_planner* p, const method_blocks* b,
                             etx_memory_plan* memory) {
  etx_plan_solution solution = {0};
  ETX_TRY(solve(p, &b->problem, &solution));
  ETX_TRY(use_gaps(p, &b->problem, b->gaps, b->gap_count, &solution));
  if (b->gap_count == 0 && p->algorithm == NULL) {
    etx_plan_spread(&b->problem, &solution);
    ETX_TRY(choose_order(p, b->method, b->placement, &b->c, &solution, memory));
  }
  set_offsets(b->placement, &b->regions, &b->c, solution.offsets);
  memory->planned_bytes = solution.arena_bytes;
  memory->lower_bound = solution.lower_bound;
  memory->block_count = b->problem.block_count;
  memory->algorithm = solution.algorithm;
  memory->steps = solution.steps;
  return ETX_OK;
}

static etx_status plan_blocks(memory_planner* p, const method_blocks* b,
                              const etx_live_interval* lifetimes,
                              etx_memory_plan* memory) {
  if (!etx_board_memories_used(p->module)) return plan_arena(p, b, memory);
  // If all of it fits into the fastest memory, the others are not needed.
  ETX_TRY(plan_arena(p, b, memory));
  if (memory->planned_bytes <= p->limits[0]) {
    memory->memory_bytes[0] = memory->planned_bytes;
    return etx_board_memories_traffic(&p->pool, b->method, b->placement,
                                      memory);
  }
  memory->layout_count = 0;
  memory->worst_ratio = 0;
  const etx_board_method board = {.module = p->module,
                                  .method = b->method,
                                  .lifetimes = lifetimes,
                                  .limits = p->limits};
  return etx_board_memories_plan(&p->pool, &board, b->placement, memory,
                                 p->diag);
}

static etx_status plan_method(memory_planner* p, const etx_ir_method* method,
                              etx_placement* placement,
                              etx_live_interval* lifetimes,
                              etx_memory_plan* memory) {
  method_blocks b = {.method = method, .placement = placement};
  if (p->keeps_regions_apart) {
    ETX_TRY(etx_region_memory_plan(&p->pool, method, placement, lifetimes,
                                   p->module->alignment, &b.regions));
  }
  ETX_TRY(collect(p, placement, lifetimes, &b.regions, &b.c));
  b.problem =
      (etx_plan_problem){.blocks = b.c.blocks, .block_count = b.c.count};
  ETX_TRY(collect_gaps(p, lifetimes, b.c.storages, b.c.storage_count, &b.gaps,
                       &b.gap_count));
  const etx_status status = plan_blocks(p, &b, lifetimes, memory);
  if (status != ETX_OK) {
    etx_diag_append(p->diag, ", in the plan of method '%t'", method->name);
    return status;
  }
  return find_peak(p, &b.problem, b.gaps, b.gap_count, method->node_count,
                   &memory->peak_node);
}

static size_t last_memory(const etx_ir_module* module) {
  return module->memory_count == 0 ? 0 : module->memory_count - 1;
}

// Moves the plan of each method to the start of its range.
static etx_status assign_ranges(memory_planner* p, etx_placement* placements,
                                etx_live_interval* const* lifetimes,
                                etx_memory_plan* memory) {
  const size_t count = p->module->method_count;
  uint64_t* const bytes = etx_pool_take(&p->pool, count * sizeof *bytes);
  uint64_t* const starts = etx_pool_take(&p->pool, count * sizeof *starts);
  if (bytes == NULL || starts == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t m = 0; m < count; ++m) bytes[m] = memory[m].planned_bytes;
  ETX_TRY(etx_concurrent_methods_ranges(p->module, bytes, starts));
  for (size_t m = 0; m < count; ++m) {
    memory[m].range_start = starts[m];
    memory[m].memory_bytes[0] = starts[m] + bytes[m];
    // Layouts start at 0, where another method may run.
    if (starts[m] > 0) memory[m].layout_count = 0;
    for (size_t s = 0; s < placements[m].storage_count; ++s) {
      if (lifetimes[m][s].end == 0 || lifetimes[m][s].is_stable) continue;
      placements[m].storages[s].offset += starts[m];
    }
  }
  return ETX_OK;
}

// Places stable outputs one after the other from `*end` on, in the last memory.
static etx_status place_stable_outputs(memory_planner* p,
                                       etx_placement* placement,
                                       const etx_live_interval* lifetimes,
                                       uint64_t* end, etx_memory_plan* memory) {
  const size_t last = last_memory(p->module);
  uint64_t start = UINT64_MAX;
  for (uint32_t s = 0; s < placement->storage_count; ++s) {
    if (lifetimes[s].end == 0 || !lifetimes[s].is_stable) continue;
    etx_storage* const storage = &placement->storages[s];
    if (!etx_align_up_u64(*end, p->module->alignment, &storage->offset) ||
        !etx_add_u64(storage->offset, storage->bytes, end)) {
      return ETX_OUT_OF_RANGE;
    }
    if (start == UINT64_MAX) start = storage->offset;
    storage->memory = (uint32_t)last;
    memory->stable_bytes = *end - start;
    memory->memory_bytes[last] = *end;
    memory->layout_count = 0;  // they have no place for it
    ++memory->block_count;
  }
  return ETX_OK;
}

// The bytes that stable outputs of all methods take, and their padding.
static etx_status count_stable(memory_planner* p,
                               const etx_placement* placements,
                               etx_live_interval* const* lifetimes,
                               uint64_t* out_bytes) {
  *out_bytes = 0;
  for (size_t m = 0; m < p->module->method_count; ++m) {
    for (size_t s = 0; s < placements[m].storage_count; ++s) {
      if (lifetimes[m][s].end == 0 || !lifetimes[m][s].is_stable) continue;
      if (!etx_add_u64(*out_bytes, p->module->alignment - 1, out_bytes) ||
          !etx_add_u64(*out_bytes, placements[m].storages[s].bytes,
                       out_bytes)) {
        return ETX_OUT_OF_RANGE;
      }
    }
  }
  return ETX_OK;
}

// One memory is planned without regard to its capacity.
static etx_status check_capacity(memory_planner* p,
                                 const etx_memory_plan* memory) {
  const etx_ir_module* const module = p->module;
  if (module->memory_count != 1 || p->limits[0] == UINT64_MAX) return ETX_OK;
  for (size_t m = 0; m < module->method_count; ++m) {
    if (memory[m].memory_bytes[0] <= p->limits[0]) continue;
    return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                         "method '%t' needs %u bytes of scratch, but memory "
                         "'%t' has %u left for it",
                         module->methods[m].name, memory[m].memory_bytes[0],
                         module->memories[0].name, p->limits[0]);
  }
  return ETX_OK;
}

static etx_status plan_all(memory_planner* p, etx_placement* placements,
                           uint64_t state_bytes, etx_memory_plan* memory) {
  const size_t count = p->module->method_count;
  const size_t last = last_memory(p->module);
  etx_live_interval** const lifetimes =
      etx_pool_take(&p->pool, count * sizeof *lifetimes);
  if (lifetimes == NULL) return ETX_OUT_OF_MEMORY;
  uint64_t end = 0;
  uint64_t stable = 0;
  for (size_t m = 0; m < count; ++m) {
    ETX_TRY(etx_liveness_find(&p->pool, &p->module->methods[m], &placements[m],
                              &lifetimes[m]));
  }
  ETX_TRY(count_stable(p, placements, lifetimes, &stable));
  ETX_TRY(etx_board_memories_limits(p->module, state_bytes, stable, p->limits,
                                    p->diag));
  for (size_t m = 0; m < count; ++m) {
    ETX_TRY(plan_method(p, &p->module->methods[m], &placements[m], lifetimes[m],
                        &memory[m]));
  }
  if (!etx_board_memories_used(p->module)) {
    ETX_TRY(assign_ranges(p, placements, lifetimes, memory));
  }
  for (size_t m = 0; m < count; ++m) {
    if (memory[m].memory_bytes[last] > end) end = memory[m].memory_bytes[last];
  }
  for (size_t m = 0; m < count; ++m) {
    ETX_TRY(place_stable_outputs(p, &placements[m], lifetimes[m], &end,
                                 &memory[m]));
    for (size_t k = 0; k <= last; ++k) {
      memory[m].scratch_bytes += memory[m].memory_bytes[k];
    }
  }
  return check_capacity(p, memory);
}

etx_status etx_plan_memory(const etx_ir_module* module,
                           etx_placement* placements,
                           const etx_memory_options* options,
                           etx_memory_plan** out_memory, etx_diag* diag) {
  etx_memory_plan* const memory =
      etx_pool_take(module->pool, module->method_count * sizeof *memory);
  if (memory == NULL) return ETX_OUT_OF_MEMORY;
  memory_planner p = {.module = module,
                      .algorithm = options->algorithm,
                      .keeps_regions_apart = options->keeps_regions_apart,
                      .takes_layouts = options->takes_layouts,
                      .diag = diag};
  etx_pool_init(&p.pool);
  const etx_status status =
      plan_all(&p, placements, options->state_bytes, memory);
  etx_pool_close(&p.pool);
  if (status == ETX_OK) *out_memory = memory;
  return status;
}
