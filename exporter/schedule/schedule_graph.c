#include "exporter/schedule/schedule_graph.h"

#include "exporter/ir/ir_cond.h"
#include "exporter/placement/operand_reuse.h"

// Lists being written, item by item.
typedef struct lists {
  uint32_t* starts;
  uint32_t* entries;
  size_t count, capacity;
} lists;

// An earlier access to bytes that somebody writes.
typedef struct access {
  uint64_t start, end;
  uint32_t item;
  bool is_write;
} access;

typedef struct accesses {
  access* items;
  size_t count, capacity;
} accesses;

typedef struct edge {
  uint32_t from, to;
} edge;

typedef struct making {
  etx_pool* pool;
  const etx_ir_method* method;
  const etx_placement* placement;
  etx_schedule_region stretch;
  bool takes_over;
  etx_live_interval* lifetimes;
  uint32_t* item_starts;
  uint32_t* item_of;  // by node of the stretch
  size_t item_count;
  uint32_t* block_of;  // by storage: ETX_SCHEDULE_NONE if it is none here
  etx_schedule_block* blocks;
  size_t block_count;
  uint32_t* touched_by;  // by block: last item that listed it
  uint32_t* results;
  uint64_t* transients;
  lists touches, takes, after;
  edge* edges;
  size_t edge_count, edge_capacity;
  uint32_t* writers;   // by storage: values written into it
  accesses* open;      // by storage: what later accesses must stay behind
  uint32_t last_draw;  // item that drew random numbers
  // Where the walk is.
  uint32_t item;
  size_t node;
} making;

// ---------------------------------------------------------------- items

// One past the last node of the item that starts at `node`.
static size_t end_of_item(const making* m, size_t node) {
  const etx_ir_node* const head = &m->method->nodes[node];
  if (!etx_ir_is_head(head)) return node + 1;
  size_t end = node + 1;
  const etx_ir_node* const nodes = m->method->nodes;
  while (end < m->stretch.last && nodes[end].branch != m->stretch.branch) ++end;
  while (end < m->stretch.last && etx_ir_is_join(&nodes[end]) &&
         nodes[end].choice == head->choice) {
    ++end;
  }
  return end;
}

static void find_items(making* m) {
  for (size_t n = m->stretch.first; n < m->stretch.last;) {
    const size_t end = end_of_item(m, n);
    m->item_starts[m->item_count] = (uint32_t)n;
    for (; n < end; ++n) {
      m->item_of[n - m->stretch.first] = (uint32_t)m->item_count;
    }
    ++m->item_count;
  }
  m->item_starts[m->item_count] = (uint32_t)m->stretch.last;
}

// ---------------------------------------------------------------- blocks

static etx_status append(making* m, lists* l, uint32_t entry) {
  ETX_TRY(etx_pool_grow(m->pool, &l->entries, l->count, &l->capacity,
                        sizeof entry));
  l->entries[l->count++] = entry;
  return ETX_OK;
}

static bool is_several(const making* m, uint32_t item) {
  return m->item_starts[item + 1] - m->item_starts[item] > 1;
}

// True if the block lives in the present item and only there. Of a single node
// that is a touch like any other.
static bool is_inner(const making* m, const etx_live_interval* lifetime) {
  return is_several(m, m->item) && lifetime->start >= m->item_starts[m->item] &&
         lifetime->end <= m->item_starts[m->item + 1];
}

static etx_status touch(making* m, uint32_t value) {
  const uint32_t storage = etx_placement_range(m->placement, value).storage;
  const uint32_t block = m->block_of[storage];
  if (block == ETX_SCHEDULE_NONE || m->touched_by[block] == m->item ||
      is_inner(m, &m->lifetimes[storage])) {
    return ETX_OK;
  }
  m->touched_by[block] = m->item;
  return append(m, &m->touches, block);
}

static etx_status touch_read(void* context, size_t argument, uint32_t value) {
  (void)argument;
  return touch(context, value);
}

static bool is_written(const making* m, uint32_t value) {
  return value != ETX_IR_NONE &&
         m->placement->values[value].kind == ETX_PLACEMENT_COMPUTED;
}

static etx_status touch_node(making* m, const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    if (is_written(m, node->outputs[i])) ETX_TRY(touch(m, node->outputs[i]));
  }
  if (!etx_placement_has_instruction(m->placement, node)) return ETX_OK;
  return etx_placement_each_read(node, touch_read, m);
}

static etx_status find_takes(making* m, const etx_ir_node* node) {
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
    ETX_TRY(append(m, &m->takes, block));
  }
  return ETX_OK;
}

// Most bytes live at once of blocks that only the present item knows.
static etx_status find_transient(making* m) {
  const size_t first = m->item_starts[m->item];
  const size_t last = m->item_starts[m->item + 1];
  uint64_t* const change =
      etx_pool_take(m->pool, (last - first + 1) * sizeof *change);
  if (change == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t s = 0; s < m->placement->storage_count; ++s) {
    const uint32_t block = m->block_of[s];
    if (block == ETX_SCHEDULE_NONE || !is_inner(m, &m->lifetimes[s])) continue;
    change[m->lifetimes[s].start - first] += m->blocks[block].bytes;
    change[m->lifetimes[s].end - first] -= m->blocks[block].bytes;
  }
  uint64_t live = 0;
  for (size_t i = 0; i <= last - first; ++i) {
    live += change[i];  // falls by wrapping
    if (live > m->transients[m->item]) m->transients[m->item] = live;
  }
  return ETX_OK;
}

// Scratch that outlives other calls has a range of its own.
static etx_status find_blocks(making* m, uint64_t alignment) {
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
        lifetime->start < m->stretch.first || holds_input,
        lifetime->end > m->stretch.last};
  }
  return ETX_OK;
}

static etx_status find_costs(making* m) {
  for (m->item = 0; m->item < m->item_count; ++m->item) {
    m->results[m->item] = ETX_SCHEDULE_NONE;
    m->touches.starts[m->item] = (uint32_t)m->touches.count;
    m->takes.starts[m->item] = (uint32_t)m->takes.count;
    const size_t end = m->item_starts[m->item + 1];
    for (m->node = m->item_starts[m->item]; m->node < end; ++m->node) {
      ETX_TRY(touch_node(m, &m->method->nodes[m->node]));
    }
    const etx_ir_node* const first = &m->method->nodes[m->item_starts[m->item]];
    if (is_several(m, m->item)) {
      ETX_TRY(find_transient(m));
    } else if (m->takes_over) {
      ETX_TRY(find_takes(m, first));
    }
  }
  m->touches.starts[m->item] = (uint32_t)m->touches.count;
  m->takes.starts[m->item] = (uint32_t)m->takes.count;
  return ETX_OK;
}

// ---------------------------------------------------------------- edges

static etx_status add_edge(making* m, uint32_t from) {
  if (from == m->item) return ETX_OK;
  ETX_TRY(etx_pool_grow(m->pool, &m->edges, m->edge_count, &m->edge_capacity,
                        sizeof *m->edges));
  m->edges[m->edge_count++] = (edge){from, m->item};
  return ETX_OK;
}

static etx_status follow_maker(void* context, size_t argument, uint32_t value) {
  making* const m = context;
  const etx_ir_value* const v = &m->method->values[value];
  (void)argument;
  if (v->origin != ETX_IR_FROM_NODE || v->index < m->stretch.first ||
      v->index >= m->stretch.last) {
    return ETX_OK;
  }
  return add_edge(m, m->item_of[v->index - m->stretch.first]);
}

// A storage in which the order of accesses matters: written more than once, or
// written at all where it held something before.
static bool is_contended(const making* m, uint32_t storage) {
  const etx_storage* const s = &m->placement->storages[storage];
  return m->writers[storage] > (etx_storage_is_tracked(s) ? 0u : 1u);
}

// Stays behind all earlier accesses that this one would disturb.
static etx_status follow_accesses(making* m, uint32_t value, bool is_write) {
  enum { OPEN = 128 };  // accesses kept apart
  const etx_storage_range range = etx_placement_range(m->placement, value);
  if (!is_contended(m, range.storage)) return ETX_OK;
  accesses* const open = &m->open[range.storage];
  access own = {range.start, range.end, m->item, is_write};
  const bool is_full = open->count == OPEN;
  size_t kept = 0;
  for (size_t i = 0; i < open->count; ++i) {
    const access* const other = &open->items[i];
    const bool overlaps = other->start < own.end && own.start < other->end;
    if (is_full || (overlaps && (is_write || other->is_write))) {
      ETX_TRY(add_edge(m, other->item));
    }
    // Whoever must stay behind that one will stay behind this one.
    const bool is_covered =
        is_write && own.start <= other->start && other->end <= own.end;
    if (!is_full && !is_covered) open->items[kept++] = *other;
  }
  open->count = kept;
  if (is_full) own = (access){0, UINT64_MAX, m->item, true};
  ETX_TRY(etx_pool_grow(m->pool, &open->items, open->count, &open->capacity,
                        sizeof own));
  open->items[open->count++] = own;
  return ETX_OK;
}

static etx_status follow_writers(void* context, size_t argument,
                                 uint32_t value) {
  (void)argument;
  return follow_accesses(context, value, false);
}

static bool is_random(const etx_ir_node* node) {
  return node->op->id == ETX_OP_rand_out || node->op->id == ETX_OP_randn_out ||
         node->op->id == ETX_OP_native_dropout_out;
}

static etx_status find_edges_of(making* m, const etx_ir_node* node) {
  ETX_TRY(etx_placement_each_read(node, follow_maker, m));
  if (is_random(node)) {
    if (m->last_draw != ETX_SCHEDULE_NONE) ETX_TRY(add_edge(m, m->last_draw));
    m->last_draw = m->item;
  }
  if (!etx_placement_has_instruction(m->placement, node)) return ETX_OK;
  ETX_TRY(etx_placement_each_read(node, follow_writers, m));
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value == ETX_IR_NONE) continue;
    const etx_placement_kind kind = m->placement->values[value].kind;
    if (kind == ETX_PLACEMENT_COMPUTED || kind == ETX_PLACEMENT_SELF_COPY) {
      ETX_TRY(follow_accesses(m, value, true));
    }
  }
  return ETX_OK;
}

static void count_writers(making* m) {
  for (size_t n = 0; n < m->method->node_count; ++n) {
    const etx_ir_node* const node = &m->method->nodes[n];
    for (size_t i = 0; i < node->output_count; ++i) {
      if (!is_written(m, node->outputs[i])) continue;
      ++m->writers[m->placement->values[node->outputs[i]].storage];
    }
  }
}

static etx_status find_edges(making* m) {
  const size_t count = m->placement->storage_count;
  m->writers = etx_pool_take(m->pool, count * sizeof *m->writers);
  m->open = etx_pool_take(m->pool, count * sizeof *m->open);
  if (m->writers == NULL || m->open == NULL) return ETX_OUT_OF_MEMORY;
  count_writers(m);
  m->last_draw = ETX_SCHEDULE_NONE;
  for (size_t n = m->stretch.first; n < m->stretch.last; ++n) {
    m->item = m->item_of[n - m->stretch.first];
    ETX_TRY(find_edges_of(m, &m->method->nodes[n]));
  }
  return ETX_OK;
}

// The edges as lists; those of one item stand together at its end.
static etx_status list_edges(making* m) {
  uint32_t* const starts = m->after.starts;
  uint32_t* const next = etx_pool_take(m->pool, m->item_count * sizeof *next);
  m->after.entries =
      etx_pool_take(m->pool, m->edge_count * sizeof *m->after.entries);
  if (next == NULL || m->after.entries == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < m->edge_count; ++i) ++starts[m->edges[i].from + 1];
  for (size_t i = 0; i < m->item_count; ++i) {
    starts[i + 1] += starts[i];
    next[i] = starts[i];
  }
  for (size_t i = 0; i < m->edge_count; ++i) {
    m->after.entries[next[m->edges[i].from]++] = m->edges[i].to;
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- all

static etx_status take_arrays(making* m) {
  const size_t nodes = m->stretch.last - m->stretch.first;
  m->item_starts = etx_pool_take(m->pool, (nodes + 1) * sizeof(uint32_t));
  m->item_of = etx_pool_take(m->pool, nodes * sizeof(uint32_t));
  m->results = etx_pool_take(m->pool, nodes * sizeof(uint32_t));
  m->transients = etx_pool_take(m->pool, nodes * sizeof(uint64_t));
  m->touches.starts = etx_pool_take(m->pool, (nodes + 1) * sizeof(uint32_t));
  m->takes.starts = etx_pool_take(m->pool, (nodes + 1) * sizeof(uint32_t));
  m->after.starts = etx_pool_take(m->pool, (nodes + 1) * sizeof(uint32_t));
  const bool is_complete = m->item_starts != NULL && m->item_of != NULL &&
                           m->results != NULL && m->transients != NULL &&
                           m->touches.starts != NULL &&
                           m->takes.starts != NULL && m->after.starts != NULL;
  return is_complete ? ETX_OK : ETX_OUT_OF_MEMORY;
}

etx_status etx_schedule_graph_make(etx_pool* pool, const etx_ir_method* method,
                                   const etx_placement* placement,
                                   const etx_schedule_region* stretch,
                                   uint64_t alignment, bool takes_over,
                                   etx_schedule_graph* out_graph) {
  making m = {.pool = pool,
              .method = method,
              .placement = placement,
              .stretch = *stretch,
              .takes_over = takes_over};
  ETX_TRY(take_arrays(&m));
  ETX_TRY(etx_liveness_find(pool, method, placement, &m.lifetimes));
  find_items(&m);
  ETX_TRY(find_blocks(&m, alignment));
  ETX_TRY(find_costs(&m));
  ETX_TRY(find_edges(&m));
  ETX_TRY(list_edges(&m));
  *out_graph = (etx_schedule_graph){
      .problem = {.blocks = m.blocks,
                  .block_count = m.block_count,
                  .item_count = m.item_count,
                  .touches = {m.touches.starts, m.touches.entries},
                  .after = {m.after.starts, m.after.entries},
                  .takes = {m.takes.starts, m.takes.entries},
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
  etx_placement_renumber_outputs(method, first, first + nodes);
  return ETX_OK;
}
