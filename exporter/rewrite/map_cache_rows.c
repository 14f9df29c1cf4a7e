// Says what happens to rows for which a cache has no room (program.yaml
// `caches`), where a method appends them by a tensor of positions:
//
//   index_put(cache, [None, index], rows)
//     ->  index_put(cache, [None, cache_rows(index)], rows)
//
// etx::cache_rows refuses positions beyond the capacity, or, for a ring, takes
// them modulo the capacity. It and what computes the positions are moved to the
// start of the method, so that a run that is refused has written nothing. Rows
// at positions that are known to fit stay as they are. So do slices: their
// sizes are checked before a run starts.

#include "exporter/ir/ir_edit.h"
#include "exporter/ir/ir_late.h"
#include "exporter/rewrite/ir_rewrite.h"

// A node that maps positions.
typedef struct mapped_index {
  uint32_t index;
  int64_t capacity;
  bool wraps;
  uint32_t rows;  // its result
  size_t reader;  // the first node that reads it
} mapped_index;

typedef struct cache_mapper {
  etx_pass_context* context;
  etx_builder builder;
  size_t node_count;  // before nodes were added
  mapped_index* mapped;
  size_t mapped_count, mapped_capacity;
} cache_mapper;

static etx_text cache_text(const cache_mapper* m, const etx_ir_buffer* buffer) {
  return etx_pool_format(m->builder.module->pool, "cache '%t'", buffer->name);
}

// Position of the only index tensor of an index_put; false if there are
// several.
static bool only_index(const etx_ir_node* node, size_t* out_axis) {
  const etx_ir_arg* const list = &node->args[1];
  size_t found = 0;
  for (size_t i = 0; i < list->as.list.count; ++i) {
    if (list->as.list.items[i].kind == ETX_IR_ARG_NONE) continue;
    ++found;
    *out_axis = i;
  }
  return found == 1;
}

// True for a constant whose elements are all below the capacity.
static bool is_known_to_fit(const cache_mapper* m, uint32_t index,
                            int64_t capacity) {
  const etx_ir_constant* const constant =
      etx_rewrite_constant(m->builder.module, m->builder.method, index);
  if (constant == NULL || constant->dtype != ETX_DTYPE_INT64) return false;
  for (size_t at = 0; at < constant->data.size; at += sizeof(int64_t)) {
    int64_t row = 0;
    memcpy(&row, constant->data.data + at, sizeof row);
    if (row < 0 || row >= capacity) return false;
  }
  return true;
}

static etx_status map_index(cache_mapper* m, const etx_ir_buffer* buffer,
                            size_t reader, uint32_t index, uint32_t* out_rows) {
  const bool wraps = buffer->cache.overflow != ETX_CACHE_ERROR;
  const int64_t capacity = buffer->sizes[buffer->cache.dim];
  etx_builder* const builder = &m->builder;
  for (size_t i = 0; i < m->mapped_count; ++i) {
    mapped_index* const other = &m->mapped[i];
    if (other->index != index || other->capacity != capacity ||
        other->wraps != wraps) {
      continue;
    }
    if (reader < other->reader) other->reader = reader;
    *out_rows = other->rows;
    return ETX_OK;
  }
  etx_ir_arg args[] = {etx_ir_value_arg(index),
                       etx_ir_int(capacity),
                       etx_ir_bool(wraps),
                       {ETX_IR_ARG_STRING, {0}}};
  args[3].as.string = cache_text(m, buffer);
  if (args[3].as.string.data == NULL) return ETX_OUT_OF_MEMORY;
  const etx_ir_node node = builder->method->nodes[reader];
  builder->node = &node;
  builder->name = builder->method->values[index].name;
  builder->name_count = 0;
  ETX_TRY(etx_build_op(builder, ETX_OP_cache_rows_out, args, 4, out_rows));
  ETX_TRY(etx_pool_grow(builder->module->pool, &m->mapped, m->mapped_count,
                        &m->mapped_capacity, sizeof *m->mapped));
  m->mapped[m->mapped_count++] =
      (mapped_index){index, capacity, wraps, *out_rows, reader};
  return ETX_OK;
}

static void refuse_ring(const cache_mapper* m, const etx_ir_node* node,
                        const etx_ir_buffer* buffer, const char* why) {
  const etx_source_location* const place =
      node == NULL ? &buffer->place : &node->place;
  etx_problem(m->context->problems, place,
              "cache '%t' cannot be a ring in method '%t': %s", buffer->name,
              m->builder.method->name, why);
}

// Maps the positions of the rows that a mutation appends: follows its value
// back to the old content.
static etx_status map_mutation(cache_mapper* m, const etx_ir_mutation* mutation,
                               const etx_ir_buffer* buffer) {
  etx_ir_method* const method = m->builder.method;
  const bool is_ring = buffer->cache.overflow == ETX_CACHE_RING;
  uint32_t value = mutation->value;
  while (method->values[value].origin == ETX_IR_FROM_NODE) {
    const size_t position = method->values[value].index;
    const etx_ir_node* const node = &method->nodes[position];
    size_t axis = 0;
    const bool is_append = node->op->id == ETX_OP_index_put_out &&
                           only_index(node, &axis) && axis == buffer->cache.dim;
    if (!is_append) {
      if (is_ring) {
        refuse_ring(m, node, buffer,
                    "rows must be appended by index_copy or index_put with a "
                    "tensor of positions");
      }
      return ETX_OK;
    }
    const uint32_t index = node->args[1].as.list.items[axis].as.value;
    value = node->args[0].as.value;
    if (is_known_to_fit(m, index, buffer->sizes[axis])) continue;
    uint32_t rows = 0;
    ETX_TRY(map_index(m, buffer, position, index, &rows));
    // Lists may be shared, so this one is copied.
    etx_ir_node* const changed = &method->nodes[position];
    const size_t count = changed->args[1].as.list.count;
    etx_ir_arg* const items =
        etx_pool_take(m->builder.module->pool, count * sizeof *items);
    if (items == NULL) return ETX_OUT_OF_MEMORY;
    memcpy(items, changed->args[1].as.list.items, count * sizeof *items);
    items[axis] = etx_ir_value_arg(rows);
    changed->args[1].as.list.items = items;
  }
  return ETX_OK;
}

// ------------------------------------------------ order

static void mark_value(bool* marks, const etx_ir_method* method,
                       const etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_VALUE &&
      method->values[arg->as.value].origin == ETX_IR_FROM_NODE) {
    marks[method->values[arg->as.value].index] = true;
  }
}

static void mark_argument(bool* marks, const etx_ir_method* method,
                          const etx_ir_arg* arg) {
  mark_value(marks, method, arg);
  if (arg->kind != ETX_IR_ARG_LIST) return;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    mark_value(marks, method, &arg->as.list.items[i]);
  }
}

// Marks what the added nodes need, with them. False if some of that cannot run
// at the start: a node of a conditional, or a size that data decide.
static bool mark_needed(const cache_mapper* m, bool* marks) {
  const etx_ir_method* const method = m->builder.method;
  for (size_t i = m->node_count; i < method->node_count; ++i) marks[i] = true;
  for (size_t i = method->node_count; i-- > 0;) {
    const etx_ir_node* const node = &method->nodes[i];
    if (!marks[i]) continue;
    if (node->branch != 0 || node->cond != 0 || node->late != 0 ||
        etx_ir_late_needed(method, node) != 0) {
      return false;
    }
    for (size_t k = 0; k < node->arg_count; ++k) {
      mark_argument(marks, method, &node->args[k]);
    }
  }
  return true;
}

// Moves the added nodes from the end to the start, behind what they need, or at
// least in front of their readers.
static etx_status order_nodes(cache_mapper* m) {
  etx_ir_method* const method = m->builder.method;
  etx_pool* const pool = m->builder.module->pool;
  const size_t total = method->node_count;
  bool* const marks = etx_pool_take(pool, total * sizeof *marks);
  etx_ir_node* const nodes = etx_pool_take(pool, total * sizeof *nodes);
  if (marks == NULL || nodes == NULL) return ETX_OUT_OF_MEMORY;
  memset(marks, 0, total * sizeof *marks);
  const bool goes_first = mark_needed(m, marks);
  size_t count = 0;
  for (size_t i = 0; goes_first && i < total; ++i) {
    if (marks[i]) nodes[count++] = method->nodes[i];
  }
  for (size_t i = 0; i < m->node_count; ++i) {
    if (goes_first && marks[i]) continue;
    for (size_t k = 0; !goes_first && k < m->mapped_count; ++k) {
      if (m->mapped[k].reader != i) continue;
      nodes[count++] = method->nodes[m->node_count + k];
    }
    nodes[count++] = method->nodes[i];
  }
  etx_ir_set_nodes(method, nodes, total);
  etx_ir_renumber_outputs(method, 0, count);
  return ETX_OK;
}

// ------------------------------------------------ the pass

static etx_status map_method(etx_pass_context* context, etx_ir_method* method) {
  etx_ir_module* const module = context->module;
  cache_mapper m = {.context = context, .node_count = method->node_count};
  m.builder = (etx_builder){.module = module,
                            .method = method,
                            .target = context->options->target,
                            .diag = context->diag};
  for (size_t i = 0; i < method->mutation_count; ++i) {
    const etx_ir_mutation* const mutation = &method->mutations[i];
    if (mutation->is_input) continue;
    const etx_ir_buffer* const buffer = &module->buffers[mutation->target];
    if (!buffer->cache.is_cache || buffer->cache.overflow == ETX_CACHE_SLIDE) {
      continue;
    }
    if (context->options->target == ETX_TARGET_ETX) {
      ETX_TRY(map_mutation(&m, mutation, buffer));
    } else if (buffer->cache.overflow == ETX_CACHE_RING) {
      refuse_ring(&m, NULL, buffer, "it needs the target etx");
    }
  }
  return m.mapped_count == 0 ? ETX_OK : order_nodes(&m);
}

etx_status etx_pass_map_cache_rows(etx_pass_context* context) {
  for (size_t i = 0; i < context->module->method_count; ++i) {
    ETX_TRY(map_method(context, &context->module->methods[i]));
  }
  return ETX_OK;
}
