#include "exporter/arenas/region_memory.h"

#include <string.h>

#include "exporter/ir/ir_cond.h"
#include "format/base/independent_regions.h"
#include "planner/plan.h"

// A node reads or writes bytes of a storage.
typedef struct region_access {
  etx_storage_range range;
  uint32_t node;
  bool is_written;
} region_access;

typedef struct region_finder {
  etx_pool* pool;
  const etx_ir_method* method;
  const etx_placement* placement;
  etx_live_interval* lifetimes;
  uint64_t alignment;
  etx_regions_problem problem;
  uint64_t* costs;
  region_access* accesses;
  size_t access_count, access_capacity;
  etx_region_memory* memory;
} region_finder;

// ---- regions ----

static etx_status add_access(region_finder* f, uint32_t value,
                             bool is_written) {
  ETX_TRY(etx_pool_grow(f->pool, &f->accesses, f->access_count,
                        &f->access_capacity, sizeof *f->accesses));
  const uint32_t node = (uint32_t)f->problem.count;
  const etx_storage_range range = etx_placement_range(f->placement, value);
  f->accesses[f->access_count++] = (region_access){range, node, is_written};
  f->costs[node] += range.end - range.start;
  return ETX_OK;
}

static etx_status note_read(void* context, size_t argument, uint32_t value) {
  (void)argument;
  return add_access(context, value, false);
}

static void compare_with_earlier(region_finder* f, size_t first_access) {
  const size_t node = f->problem.count;
  for (size_t i = first_access; i-- > 0;) {
    const region_access* const early = &f->accesses[i];
    if (node - early->node > ETX_REGIONS_WINDOW) return;
    for (size_t k = first_access; k < f->access_count; ++k) {
      const region_access* const late = &f->accesses[k];
      if ((early->is_written || late->is_written) &&
          etx_storage_range_overlaps(early->range, late->range)) {
        etx_regions_conflict(&f->problem, early->node, node);
        break;
      }
    }
  }
}

static etx_status add_node(region_finder* f, const etx_ir_node* node) {
  const size_t first_access = f->access_count;
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value == ETX_IR_NONE ||
        f->placement->values[value].kind != ETX_PLACEMENT_COMPUTED) {
      continue;
    }
    ETX_TRY(add_access(f, value, true));
  }
  if (etx_placement_has_instruction(f->placement, node)) {
    ETX_TRY(etx_placement_each_read(node, note_read, f));
  }
  compare_with_earlier(f, first_access);
  return ETX_OK;
}

// True for nodes of control flow and those that read numbers from data.
static bool runs_alone(const etx_ir_node* node) {
  return node->branch != 0 || node->cond != 0 || node->late != 0;
}

static etx_status find_regions(region_finder* f) {
  const size_t count = f->method->node_count;
  for (size_t n = 0; n < count; ++n) {
    f->problem.count = n;
    ETX_TRY(add_node(f, &f->method->nodes[n]));
    if (!runs_alone(&f->method->nodes[n])) continue;
    f->problem.count = count;
    etx_regions_isolate(&f->problem, n);
  }
  f->problem.count = count;
  etx_regions_find(&f->problem);
  return ETX_OK;
}

// ---- lifetimes ----

// Instead of the number of a region.
static const uint32_t NOT_USED = UINT32_MAX, SEVERAL = UINT32_MAX - 1;

// The number of a region among those of all groups.
static uint32_t block_of(const region_finder* f, uint32_t node,
                         const uint32_t* group_of) {
  return group_of[node] * (uint32_t)f->problem.region_limit +
         f->problem.regions[node];
}

static bool is_private(const region_finder* f, uint32_t storage) {
  const etx_storage* const s = &f->placement->storages[storage];
  const etx_live_interval* const lifetime = &f->lifetimes[storage];
  return s->kind == ETX_STORAGE_SCRATCH && s->index == ETX_IR_NONE &&
         lifetime->end != 0 && lifetime->end <= f->method->node_count &&
         !lifetime->is_stable && lifetime->gap_count == 0;
}

static void extend(etx_live_interval* lifetime, uint32_t start, uint32_t end) {
  if (lifetime->end == 0) return;
  if (start < lifetime->start) lifetime->start = start;
  if (end > lifetime->end) lifetime->end = end;
}

// Sorts storages into regions, and extends the lifetimes of the others.
static void sort_storages(region_finder* f, const uint32_t* group_of,
                          const uint32_t* group_start) {
  etx_region_memory* const m = f->memory;
  for (size_t i = 0; i < f->access_count; ++i) {
    const region_access* const a = &f->accesses[i];
    uint32_t* const block = &m->block_of_storage[a->range.storage];
    const bool is_in_group = f->problem.group_ends[a->node] != 0;
    const uint32_t own = is_in_group ? block_of(f, a->node, group_of) : SEVERAL;
    *block = *block == NOT_USED || *block == own ? own : SEVERAL;
  }
  for (uint32_t s = 0; s < f->placement->storage_count; ++s) {
    if (m->block_of_storage[s] == SEVERAL || !is_private(f, s)) {
      m->block_of_storage[s] = ETX_IR_NONE;
    }
  }
  for (size_t i = 0; i < f->access_count; ++i) {
    const region_access* const a = &f->accesses[i];
    if (m->block_of_storage[a->range.storage] != ETX_IR_NONE ||
        f->problem.group_ends[a->node] == 0) {
      continue;
    }
    extend(&f->lifetimes[a->range.storage], group_start[group_of[a->node]],
           f->problem.group_ends[a->node]);
  }
}

// ---- blocks ----

static etx_status plan_block(region_finder* f, uint32_t index) {
  etx_region_memory* const m = f->memory;
  size_t capacity = 0;
  for (size_t s = 0; s < f->placement->storage_count; ++s) {
    capacity += m->block_of_storage[s] == index;
  }
  if (capacity == 0) return ETX_OK;
  etx_plan_block* const blocks =
      etx_pool_take(f->pool, capacity * sizeof *blocks);
  uint32_t* const storages =
      etx_pool_take(f->pool, capacity * sizeof *storages);
  if (blocks == NULL || storages == NULL) return ETX_OUT_OF_MEMORY;
  etx_plan_problem problem = {.blocks = blocks};
  for (uint32_t s = 0; s < f->placement->storage_count; ++s) {
    if (m->block_of_storage[s] != index) continue;
    storages[problem.block_count] = s;
    blocks[problem.block_count++] =
        (etx_plan_block){.size = f->placement->storages[s].bytes,
                         .alignment = f->alignment,
                         .start = f->lifetimes[s].start,
                         .end = f->lifetimes[s].end,
                         .fixed = ETX_PLAN_FREE};
  }
  const size_t bytes = etx_plan_needed(&problem);
  void* const block = etx_pool_take(f->pool, bytes);
  etx_plan_solution solution = {
      .offsets =
          etx_pool_take(f->pool, problem.block_count * sizeof(uint64_t))};
  if (block == NULL || solution.offsets == NULL) return ETX_OUT_OF_MEMORY;
  etx_arena work;
  etx_arena_init(&work, block, bytes);
  ETX_TRY(etx_plan_solve(&problem, NULL, &work, &solution, NULL));
  for (size_t i = 0; i < problem.block_count; ++i) {
    m->offset_in_block[storages[i]] = solution.offsets[i];
  }
  m->blocks[index].bytes = solution.arena_bytes;
  return ETX_OK;
}

// Numbers the groups. `group_of` is by node, `group_start` by group.
static size_t number_groups(const region_finder* f, uint32_t* group_of,
                            uint32_t* group_start) {
  size_t count = 0;
  for (uint32_t n = 0; n < f->method->node_count;) {
    const uint32_t end = f->problem.group_ends[n];
    if (end == 0) {
      ++n;
      continue;
    }
    group_start[count] = n;
    for (; n < end; ++n) group_of[n] = (uint32_t)count;
    ++count;
  }
  return count;
}

static etx_status plan_blocks(region_finder* f) {
  etx_region_memory* const m = f->memory;
  const size_t nodes = f->method->node_count;
  uint32_t* const group_of = etx_pool_take(f->pool, nodes * sizeof *group_of);
  uint32_t* const group_start =
      etx_pool_take(f->pool, nodes * sizeof *group_start);
  if (group_of == NULL || group_start == NULL) return ETX_OUT_OF_MEMORY;
  const size_t groups = number_groups(f, group_of, group_start);
  m->block_count = groups * f->problem.region_limit;
  m->blocks = etx_pool_take(f->pool, m->block_count * sizeof *m->blocks);
  if (m->blocks == NULL) return ETX_OUT_OF_MEMORY;
  sort_storages(f, group_of, group_start);
  for (uint32_t b = 0; b < m->block_count; ++b) {
    const uint32_t start = group_start[b / f->problem.region_limit];
    m->blocks[b] =
        (etx_region_block){.start = start, .end = f->problem.group_ends[start]};
    ETX_TRY(plan_block(f, b));
  }
  return ETX_OK;
}

static etx_status take_arrays(region_finder* f) {
  etx_regions_problem* const p = &f->problem;
  const size_t nodes = f->method->node_count;
  const size_t storages = f->placement->storage_count;
  f->costs = etx_pool_take(f->pool, nodes * sizeof *f->costs);
  p->conflicts =
      etx_pool_take(f->pool, nodes * ETX_REGIONS_WORDS * sizeof *p->conflicts);
  p->best = etx_pool_take(f->pool, (nodes + 1) * sizeof *p->best);
  p->from = etx_pool_take(f->pool, (nodes + 1) * sizeof *p->from);
  p->group_ends = etx_pool_take(f->pool, nodes * sizeof *p->group_ends);
  p->regions = etx_pool_take(f->pool, nodes);
  f->memory->block_of_storage =
      etx_pool_take(f->pool, storages * sizeof(uint32_t));
  f->memory->offset_in_block =
      etx_pool_take(f->pool, storages * sizeof(uint64_t));
  if (f->costs == NULL || p->conflicts == NULL || p->best == NULL ||
      p->from == NULL || p->group_ends == NULL || p->regions == NULL ||
      f->memory->block_of_storage == NULL ||
      f->memory->offset_in_block == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  p->costs = f->costs;
  memset(f->costs, 0, nodes * sizeof *f->costs);
  memset(p->conflicts, 0, nodes * ETX_REGIONS_WORDS * sizeof *p->conflicts);
  for (size_t s = 0; s < storages; ++s) {
    f->memory->block_of_storage[s] = NOT_USED;
  }
  return ETX_OK;
}

etx_status etx_region_memory_plan(etx_pool* pool, const etx_ir_method* method,
                                  const etx_placement* placement,
                                  etx_live_interval* lifetimes,
                                  uint64_t alignment,
                                  etx_region_memory* out_memory) {
  region_finder f = {.pool = pool,
                     .method = method,
                     .placement = placement,
                     .lifetimes = lifetimes,
                     .alignment = alignment,
                     .problem = {.region_limit = ETX_REGIONS_MOST},
                     .memory = out_memory};
  memset(out_memory, 0, sizeof *out_memory);
  ETX_TRY(take_arrays(&f));
  ETX_TRY(find_regions(&f));
  return plan_blocks(&f);
}
