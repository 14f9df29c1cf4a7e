#include "exporter/schedule/schedule_graph.h"

#include "exporter/ir/ir_cond.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/ir/ir_late.h"
#include "exporter/placement/operand_reuse.h"

// Lists that are built item by item.
typedef struct item_lists {
  uint32_t* starts;
  uint32_t* entries;
  size_t count, capacity;
} item_lists;

// An access to a storage in which the order of accesses matters.
typedef struct access {
  uint64_t start, end;
  uint32_t item;
  bool is_write;
} access;

typedef struct accesses {
  access* items;
  size_t count, capacity;
} accesses;

typedef struct dependency {
  uint32_t from, to;
} dependency;

typedef struct graph_builder {
  etx_pool* pool;
  const etx_ir_method* method;
  const etx_placement* placement;
  etx_schedule_region region;
  bool reuses_operands;
  etx_live_interval* lifetimes;
  uint32_t* item_starts;
  uint32_t* item_of;  // by node of the region
  size_t item_count;
  uint32_t* block_of;  // by storage: its block, or ETX_SCHEDULE_NONE
  etx_schedule_block* blocks;
  size_t block_count;
  uint32_t* touched_by;  // by block: the last item that has it in its list
  uint32_t* results;
  uint64_t* transients;
  item_lists touches, reusable, successors;
  dependency* dependencies;
  size_t dependency_count, dependency_capacity;
  uint32_t* writers;      // by storage: values written into it
  accesses* accesses_of;  // by storage: that later accesses may depend on
  uint32_t last_random;   // the last item that drew random numbers
  uint32_t last_check;    // the last item that checked a condition
  // By symbol: the item that sets it from data, or ETX_SCHEDULE_NONE.
  uint32_t setters[ETX_SYMBOLS_MAX_COUNT];
  uint32_t item;  // the present item
  size_t node;    // the present node
} graph_builder;

// ---------------------------------------------------------------- items

// One past the last node of the item that starts at `node`.
static size_t end_of_item(const graph_builder* m, size_t node) {
  const etx_ir_node* const head = &m->method->nodes[node];
  if (!etx_ir_is_head(head)) return node + 1;
  size_t end = node + 1;
  const etx_ir_node* const nodes = m->method->nodes;
  while (end < m->region.last && nodes[end].branch != m->region.branch) ++end;
  while (end < m->region.last && etx_ir_is_join(&nodes[end]) &&
         nodes[end].cond == head->cond) {
    ++end;
  }
  return end;
}

static void find_items(graph_builder* m) {
  for (size_t n = m->region.first; n < m->region.last;) {
    const size_t end = end_of_item(m, n);
    m->item_starts[m->item_count] = (uint32_t)n;
    for (; n < end; ++n) {
      m->item_of[n - m->region.first] = (uint32_t)m->item_count;
    }
    ++m->item_count;
  }
  m->item_starts[m->item_count] = (uint32_t)m->region.last;
}

// ---------------------------------------------------------------- blocks

static etx_status append(graph_builder* m, item_lists* l, uint32_t entry) {
  ETX_TRY(etx_pool_grow(m->pool, &l->entries, l->count, &l->capacity,
                        sizeof entry));
  l->entries[l->count++] = entry;
  return ETX_OK;
}

static bool has_several_nodes(const graph_builder* m, uint32_t item) {
  return m->item_starts[item + 1] - m->item_starts[item] > 1;
}

// True if the block is live only inside the present item, which has several
// nodes.
static bool is_local_to_item(const graph_builder* m,
                             const etx_live_interval* lifetime) {
  return has_several_nodes(m, m->item) &&
         lifetime->start >= m->item_starts[m->item] &&
         lifetime->end <= m->item_starts[m->item + 1];
}

static etx_status touch(graph_builder* m, uint32_t value) {
  const uint32_t storage = etx_placement_range(m->placement, value).storage;
  const uint32_t block = m->block_of[storage];
  if (block == ETX_SCHEDULE_NONE || m->touched_by[block] == m->item ||
      is_local_to_item(m, &m->lifetimes[storage])) {
    return ETX_OK;
  }
  m->touched_by[block] = m->item;
  return append(m, &m->touches, block);
}

static etx_status touch_read(void* context, size_t argument, uint32_t value) {
  (void)argument;
  return touch(context, value);
}

static bool is_written(const graph_builder* m, uint32_t value) {
  return value != ETX_IR_NONE &&
         m->placement->values[value].kind == ETX_PLACEMENT_COMPUTED;
}

static etx_status touch_node(graph_builder* m, const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    if (is_written(m, node->outputs[i])) ETX_TRY(touch(m, node->outputs[i]));
  }
  if (!etx_placement_has_instruction(m->placement, node)) return ETX_OK;
  return etx_placement_each_read(node, touch_read, m);
}

static etx_status find_reusable(graph_builder* m, const etx_ir_node* node) {
  const uint32_t result = etx_operand_reuse_result(m->placement, node);
  if (result == ETX_IR_NONE) return ETX_OK;
  const uint32_t own = m->block_of[m->placement->values[result].storage];
  if (own == ETX_SCHEDULE_NONE) return ETX_OK;
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (!etx_operand_reuse_is_allowed(m->method, m->placement, node, i,
                                      result)) {
      continue;
    }
    const uint32_t value = node->args[i].as.value;
    const uint32_t block =
        m->block_of[etx_placement_range(m->placement, value).storage];
    if (block == ETX_SCHEDULE_NONE || block == own) continue;
    m->results[m->item] = own;
    ETX_TRY(append(m, &m->reusable, block));
  }
  return ETX_OK;
}

// The peak of the blocks that are live only inside the present item.
static etx_status find_transient(graph_builder* m) {
  const size_t first = m->item_starts[m->item];
  const size_t last = m->item_starts[m->item + 1];
  uint64_t* const change =
      etx_pool_take(m->pool, (last - first + 1) * sizeof *change);
  if (change == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t s = 0; s < m->placement->storage_count; ++s) {
    const uint32_t block = m->block_of[s];
    if (block == ETX_SCHEDULE_NONE || !is_local_to_item(m, &m->lifetimes[s]))
      continue;
    change[m->lifetimes[s].start - first] += m->blocks[block].bytes;
    change[m->lifetimes[s].end - first] -= m->blocks[block].bytes;
  }
  uint64_t live = 0;
  for (size_t i = 0; i <= last - first; ++i) {
    live += change[i];  // unsigned: negative changes wrap around
    if (live > m->transients[m->item]) m->transients[m->item] = live;
  }
  return ETX_OK;
}

// Stable outputs are not blocks here: they have a memory range of their own.
static etx_status find_blocks(graph_builder* m, uint64_t alignment) {
  const size_t count = m->placement->storage_count;
  m->block_of = etx_pool_take(m->pool, count * sizeof *m->block_of);
  m->blocks = etx_pool_take(m->pool, count * sizeof *m->blocks);
  m->touched_by = etx_pool_take(m->pool, count * sizeof *m->touched_by);
  if (m->block_of == NULL || m->blocks == NULL || m->touched_by == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  for (size_t s = 0; s < count; ++s) {
    const etx_live_interval* const lifetime = &m->lifetimes[s];
    const etx_storage* const storage = &m->placement->storages[s];
    m->block_of[s] = ETX_SCHEDULE_NONE;
    if (lifetime->end == 0 || lifetime->is_stable) continue;
    const bool holds_input = storage->index != ETX_IR_NONE;
    m->touched_by[m->block_count] = ETX_SCHEDULE_NONE;
    m->block_of[s] = (uint32_t)m->block_count;
    m->blocks[m->block_count++] = (etx_schedule_block){
        storage->bytes + (alignment - storage->bytes % alignment) % alignment,
        lifetime->start < m->region.first || holds_input,
        lifetime->end > m->region.last};
  }
  return ETX_OK;
}

static etx_status find_costs(graph_builder* m) {
  for (m->item = 0; m->item < m->item_count; ++m->item) {
    m->results[m->item] = ETX_SCHEDULE_NONE;
    m->touches.starts[m->item] = (uint32_t)m->touches.count;
    m->reusable.starts[m->item] = (uint32_t)m->reusable.count;
    const size_t end = m->item_starts[m->item + 1];
    for (m->node = m->item_starts[m->item]; m->node < end; ++m->node) {
      ETX_TRY(touch_node(m, &m->method->nodes[m->node]));
    }
    const etx_ir_node* const first = &m->method->nodes[m->item_starts[m->item]];
    if (has_several_nodes(m, m->item)) {
      ETX_TRY(find_transient(m));
    } else if (m->reuses_operands) {
      ETX_TRY(find_reusable(m, first));
    }
  }
  m->touches.starts[m->item] = (uint32_t)m->touches.count;
  m->reusable.starts[m->item] = (uint32_t)m->reusable.count;
  return ETX_OK;
}

// ---------------------------------------------------------------- dependencies

static etx_status add_dependency(graph_builder* m, uint32_t from) {
  if (from == m->item) return ETX_OK;
  ETX_TRY(etx_pool_grow(m->pool, &m->dependencies, m->dependency_count,
                        &m->dependency_capacity, sizeof *m->dependencies));
  m->dependencies[m->dependency_count++] = (dependency){from, m->item};
  return ETX_OK;
}

static etx_status depend_on_producer(void* context, size_t argument,
                                     uint32_t value) {
  graph_builder* const m = context;
  const etx_ir_value* const v = &m->method->values[value];
  (void)argument;
  if (v->origin != ETX_IR_FROM_NODE || v->index < m->region.first ||
      v->index >= m->region.last) {
    return ETX_OK;
  }
  return add_dependency(m, m->item_of[v->index - m->region.first]);
}

// True if the order of accesses matters: the storage is written more than once,
// or written although it has content at the start.
static bool is_order_sensitive(const graph_builder* m, uint32_t storage) {
  const etx_storage* const s = &m->placement->storages[storage];
  return m->writers[storage] > (etx_storage_is_tracked(s) ? 0u : 1u);
}

// Adds dependencies on all earlier accesses that conflict with this one.
static etx_status depend_on_accesses(graph_builder* m, uint32_t value,
                                     bool is_write) {
  enum { MAX_ACCESSES = 128 };  // more are merged into one
  const etx_storage_range range = etx_placement_range(m->placement, value);
  if (!is_order_sensitive(m, range.storage)) return ETX_OK;
  accesses* const accesses_of = &m->accesses_of[range.storage];
  access own = {range.start, range.end, m->item, is_write};
  const bool is_full = accesses_of->count == MAX_ACCESSES;
  size_t kept = 0;
  for (size_t i = 0; i < accesses_of->count; ++i) {
    const access* const other = &accesses_of->items[i];
    const bool overlaps = other->start < own.end && own.start < other->end;
    if (is_full || (overlaps && (is_write || other->is_write))) {
      ETX_TRY(add_dependency(m, other->item));
    }
    // What depends on the covered access will depend on this one instead.
    const bool is_covered =
        is_write && own.start <= other->start && other->end <= own.end;
    if (!is_full && !is_covered) accesses_of->items[kept++] = *other;
  }
  accesses_of->count = kept;
  if (is_full) own = (access){0, UINT64_MAX, m->item, true};
  ETX_TRY(etx_pool_grow(m->pool, &accesses_of->items, accesses_of->count,
                        &accesses_of->capacity, sizeof own));
  accesses_of->items[accesses_of->count++] = own;
  return ETX_OK;
}

static etx_status depend_on_writers(void* context, size_t argument,
                                    uint32_t value) {
  (void)argument;
  return depend_on_accesses(context, value, false);
}

// Sizes that contain a number from data need the node that reads it.
static etx_status depend_on_setters(graph_builder* m, const etx_ir_node* node) {
  const uint64_t late = etx_ir_late_needed(m->method, node);
  for (size_t i = 0; i < m->method->symbols.symbol_count; ++i) {
    if (((late >> i) & 1) == 0 || m->setters[i] == ETX_SCHEDULE_NONE) continue;
    ETX_TRY(add_dependency(m, m->setters[i]));
  }
  if (node->late != 0) m->setters[node->late - 1] = m->item;
  // Nothing moves before a check, so that a run that fails it stops early.
  if (m->last_check != ETX_SCHEDULE_NONE) {
    ETX_TRY(add_dependency(m, m->last_check));
  }
  if (node->op->id == ETX_OP_check_range ||
      node->op->id == ETX_OP_cache_rows_out) {
    m->last_check = m->item;
  }
  return ETX_OK;
}

static etx_status find_dependencies_of(graph_builder* m,
                                       const etx_ir_node* node) {
  ETX_TRY(etx_placement_each_read(node, depend_on_producer, m));
  ETX_TRY(depend_on_setters(m, node));
  if (etx_op_draws_random_numbers(node->op)) {
    if (m->last_random != ETX_SCHEDULE_NONE)
      ETX_TRY(add_dependency(m, m->last_random));
    m->last_random = m->item;
  }
  if (!etx_placement_has_instruction(m->placement, node)) return ETX_OK;
  ETX_TRY(etx_placement_each_read(node, depend_on_writers, m));
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value == ETX_IR_NONE) continue;
    const etx_placement_kind kind = m->placement->values[value].kind;
    if (kind == ETX_PLACEMENT_COMPUTED || kind == ETX_PLACEMENT_SELF_COPY) {
      ETX_TRY(depend_on_accesses(m, value, true));
    }
  }
  return ETX_OK;
}

static void count_writers(graph_builder* m) {
  for (size_t n = 0; n < m->method->node_count; ++n) {
    const etx_ir_node* const node = &m->method->nodes[n];
    for (size_t i = 0; i < node->output_count; ++i) {
      if (!is_written(m, node->outputs[i])) continue;
      ++m->writers[m->placement->values[node->outputs[i]].storage];
    }
  }
}

static etx_status find_dependencies(graph_builder* m) {
  const size_t count = m->placement->storage_count;
  m->writers = etx_pool_take(m->pool, count * sizeof *m->writers);
  m->accesses_of = etx_pool_take(m->pool, count * sizeof *m->accesses_of);
  if (m->writers == NULL || m->accesses_of == NULL) return ETX_OUT_OF_MEMORY;
  count_writers(m);
  m->last_random = ETX_SCHEDULE_NONE;
  m->last_check = ETX_SCHEDULE_NONE;
  for (size_t i = 0; i < ETX_SYMBOLS_MAX_COUNT; ++i) {
    m->setters[i] = ETX_SCHEDULE_NONE;
  }
  for (size_t n = m->region.first; n < m->region.last; ++n) {
    m->item = m->item_of[n - m->region.first];
    ETX_TRY(find_dependencies_of(m, &m->method->nodes[n]));
  }
  return ETX_OK;
}

// The dependencies as lists by item.
static etx_status list_dependencies(graph_builder* m) {
  uint32_t* const starts = m->successors.starts;
  uint32_t* const next = etx_pool_take(m->pool, m->item_count * sizeof *next);
  m->successors.entries = etx_pool_take(
      m->pool, m->dependency_count * sizeof *m->successors.entries);
  if (next == NULL || m->successors.entries == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < m->dependency_count; ++i)
    ++starts[m->dependencies[i].from + 1];
  for (size_t i = 0; i < m->item_count; ++i) {
    starts[i + 1] += starts[i];
    next[i] = starts[i];
  }
  for (size_t i = 0; i < m->dependency_count; ++i) {
    m->successors.entries[next[m->dependencies[i].from]++] =
        m->dependencies[i].to;
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- all

static etx_status take_arrays(graph_builder* m) {
  const size_t nodes = m->region.last - m->region.first;
  m->item_starts = etx_pool_take(m->pool, (nodes + 1) * sizeof(uint32_t));
  m->item_of = etx_pool_take(m->pool, nodes * sizeof(uint32_t));
  m->results = etx_pool_take(m->pool, nodes * sizeof(uint32_t));
  m->transients = etx_pool_take(m->pool, nodes * sizeof(uint64_t));
  m->touches.starts = etx_pool_take(m->pool, (nodes + 1) * sizeof(uint32_t));
  m->reusable.starts = etx_pool_take(m->pool, (nodes + 1) * sizeof(uint32_t));
  m->successors.starts = etx_pool_take(m->pool, (nodes + 1) * sizeof(uint32_t));
  const bool is_complete =
      m->item_starts != NULL && m->item_of != NULL && m->results != NULL &&
      m->transients != NULL && m->touches.starts != NULL &&
      m->reusable.starts != NULL && m->successors.starts != NULL;
  return is_complete ? ETX_OK : ETX_OUT_OF_MEMORY;
}

etx_status etx_schedule_graph_make(etx_pool* pool, const etx_ir_method* method,
                                   const etx_placement* placement,
                                   const etx_schedule_region* region,
                                   const etx_schedule_options* options,
                                   etx_schedule_graph* out_graph) {
  graph_builder m = {.pool = pool,
                     .method = method,
                     .placement = placement,
                     .region = *region,
                     .reuses_operands = options->reuses_operands};
  ETX_TRY(take_arrays(&m));
  ETX_TRY(etx_liveness_find(pool, method, placement, &m.lifetimes));
  find_items(&m);
  ETX_TRY(find_blocks(&m, options->alignment));
  ETX_TRY(find_costs(&m));
  ETX_TRY(find_dependencies(&m));
  ETX_TRY(list_dependencies(&m));
  *out_graph = (etx_schedule_graph){
      .problem = {.blocks = m.blocks,
                  .block_count = m.block_count,
                  .item_count = m.item_count,
                  .touches = {m.touches.starts, m.touches.entries},
                  .successors = {m.successors.starts, m.successors.entries},
                  .reusable = {m.reusable.starts, m.reusable.entries},
                  .results = m.results,
                  .transients = m.transients},
      .item_starts = m.item_starts};
  return ETX_OK;
}

etx_status etx_schedule_graph_apply(etx_pool* pool,
                                    const etx_schedule_graph* graph,
                                    const uint32_t* items,
                                    etx_ir_method* method) {
  const size_t count = graph->problem.item_count;
  const size_t first = graph->item_starts[0];
  const size_t nodes = graph->item_starts[count] - first;
  etx_ir_node* const ordered = etx_pool_take(pool, nodes * sizeof *ordered);
  if (ordered == NULL) return ETX_OUT_OF_MEMORY;
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t start = graph->item_starts[items[i]];
    const size_t end = graph->item_starts[items[i] + 1];
    memcpy(&ordered[at], &method->nodes[start],
           (end - start) * sizeof *ordered);
    at += end - start;
  }
  memcpy(&method->nodes[first], ordered, nodes * sizeof *ordered);
  etx_ir_renumber_outputs(method, first, first + nodes);
  return ETX_OK;
}
