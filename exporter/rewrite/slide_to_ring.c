// Turns caches whose rows slide (program.yaml `overflow: slide`) into rings.
//
// A method that drops the oldest row moves the whole cache:
//
//   index_put(roll(cache, -1), [.., -1], row)      cat([cache[1:], row])
//
// Attention does not depend on the order of its keys, if the mask has the same
// order. So the new row may take the place of the oldest one:
//
//   at = counter % capacity
//   index_put(cache, [.., at], row)
//   attention(.., mask of key (j - at - 1) % capacity in the place of key j)
//
// Every method that uses the cache must do no more than that. The counter is
// read before it counts the new row. A cache that cannot become a ring stays as
// it is, and the report says why.

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"

static const char kind[] = "sliding cache";

// A method that appends a row to a cache.
typedef struct slide_step {
  uint32_t buffer;
  uint32_t method;
  uint32_t cache;  // value of the old content
  size_t node;     // that computes the new content
  uint32_t row;    // value of the new row
} slide_step;

typedef struct slider {
  etx_pass_context* context;
  etx_ir_module* module;
  const char** reasons;  // by buffer: why it cannot become a ring
  slide_step* steps;
  size_t step_count, step_capacity;
} slider;

static bool slides(const etx_ir_buffer* buffer) {
  return buffer->cache.is_cache && buffer->cache.overflow == ETX_CACHE_SLIDE;
}

static int64_t capacity_of(const etx_ir_buffer* buffer) {
  return buffer->sizes[buffer->cache.dim];
}

// ------------------------------------------------ patterns

static const etx_ir_node* definition(const etx_ir_method* method,
                                     const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_VALUE
             ? etx_ir_definition(method, arg->as.value)
             : NULL;
}

static bool is_value(const etx_ir_arg* arg, uint32_t value) {
  return arg->kind == ETX_IR_ARG_VALUE && arg->as.value == value;
}

static bool is_only_int(const etx_ir_arg* list, int64_t a, int64_t b) {
  return list->kind == ETX_IR_ARG_LIST && list->as.list.count == 1 &&
         (etx_rewrite_is_int(&list->as.list.items[0], a) ||
          etx_rewrite_is_int(&list->as.list.items[0], b));
}

// True if the int64 constant has `count` elements: (first + i) % capacity.
static bool counts_from(const slider* s, const etx_ir_method* method,
                        uint32_t value, int64_t first, int64_t count,
                        int64_t capacity) {
  const etx_ir_constant* const constant =
      etx_rewrite_constant(s->module, method, value);
  if (constant == NULL || constant->dtype != ETX_DTYPE_INT64 ||
      constant->data.size != (size_t)count * sizeof(int64_t)) {
    return false;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t item = 0;
    memcpy(&item, constant->data.data + (size_t)i * sizeof item, sizeof item);
    if (item < 0) item += capacity;
    if (item != (first + i) % capacity) return false;
  }
  return true;
}

// True for the cache with all rows moved by one towards the start.
static bool is_rolled(const slider* s, const etx_ir_method* method,
                      const etx_ir_buffer* buffer, const etx_ir_node* node,
                      uint32_t cache) {
  const int64_t dim = buffer->cache.dim;
  const int64_t capacity = capacity_of(buffer);
  if (node == NULL || !is_value(&node->args[0], cache)) return false;
  if (node->op->id == ETX_OP_roll_out) {
    return is_only_int(&node->args[1], -1, capacity - 1) &&
           is_only_int(&node->args[2], dim, dim - buffer->rank);
  }
  return node->op->id == ETX_OP_index_select_out &&
         etx_rewrite_is_int(&node->args[1], dim) &&
         counts_from(s, method, node->args[2].as.value, 1, capacity, capacity);
}

static bool has_one_row(const etx_ir_method* method, const etx_ir_arg* arg,
                        size_t dim) {
  const etx_shape* const shape = &method->values[arg->as.value].shape;
  return dim < shape->rank && shape->dims[dim] == 1;
}

// index_put(roll(cache), [None, .., last row], row)
static bool match_put(const slider* s, const etx_ir_method* method,
                      const etx_ir_buffer* buffer, const etx_ir_node* node,
                      slide_step* step) {
  const size_t dim = buffer->cache.dim;
  if (node->op->id != ETX_OP_index_put_out || node->args[3].as.boolean ||
      node->args[1].as.list.count != dim + 1 ||
      !is_rolled(s, method, buffer, definition(method, &node->args[0]),
                 step->cache)) {
    return false;
  }
  for (size_t i = 0; i < dim; ++i) {
    if (node->args[1].as.list.items[i].kind != ETX_IR_ARG_NONE) return false;
  }
  const int64_t capacity = capacity_of(buffer);
  step->row = node->args[2].as.value;
  return counts_from(s, method, node->args[1].as.list.items[dim].as.value,
                     capacity - 1, 1, capacity);
}

// cat([cache[1:], row])
static bool match_cat(const etx_ir_method* method, const etx_ir_buffer* buffer,
                      const etx_ir_node* node, slide_step* step) {
  const int64_t dim = buffer->cache.dim;
  if (node->op->id != ETX_OP_cat_out || node->args[0].as.list.count != 2 ||
      !etx_rewrite_is_int(&node->args[1], dim)) {
    return false;
  }
  const etx_ir_arg* const parts = node->args[0].as.list.items;
  const etx_ir_node* const rest = definition(method, &parts[0]);
  step->row = parts[1].as.value;
  return rest != NULL && rest->op->id == ETX_OP_slice_copy_tensor_out &&
         is_value(&rest->args[0], step->cache) &&
         etx_rewrite_is_int(&rest->args[1], dim) &&
         etx_rewrite_is_int(&rest->args[2], 1) &&
         etx_rewrite_is_int(&rest->args[3], capacity_of(buffer)) &&
         etx_rewrite_is_int(&rest->args[4], 1) &&
         has_one_row(method, &parts[1], (size_t)dim);
}

// ------------------------------------------------ matching

static uint32_t value_of_buffer(const etx_ir_method* method, uint32_t buffer) {
  for (uint32_t i = 0; i < method->value_count; ++i) {
    if (method->values[i].origin == ETX_IR_FROM_BUFFER &&
        method->values[i].index == buffer) {
      return i;
    }
  }
  return ETX_IR_NONE;
}

// Matches what a method does with a cache. Returns the reason if that is
// something else than appending a row.
static const char* match_method(const slider* s, uint32_t buffer,
                                uint32_t method_index, const uint32_t* uses,
                                slide_step* step) {
  const etx_ir_method* const method = &s->module->methods[method_index];
  const etx_ir_buffer* const b = &s->module->buffers[buffer];
  const uint32_t mutation = etx_ir_mutation_of_buffer(method, buffer);
  if (mutation == ETX_IR_NONE) return "a method does not append to it";
  const uint32_t value = method->mutations[mutation].value;
  const etx_ir_node* const node = etx_ir_definition(method, value);
  *step = (slide_step){buffer, method_index, value_of_buffer(method, buffer),
                       method->values[value].index, ETX_IR_NONE};
  if (step->cache == ETX_IR_NONE || node == NULL || node->branch != 0 ||
      (!match_put(s, method, b, node, step) &&
       !match_cat(method, b, node, step))) {
    return "a method does not drop the first row and append one";
  }
  return uses[step->cache] == 1 ? NULL : "a method also reads the old rows";
}

static etx_status match_buffer(slider* s, uint32_t buffer) {
  const etx_ir_cache* const cache = &s->module->buffers[buffer].cache;
  if (cache->counter == ETX_IR_NONE) {
    s->reasons[buffer] = "program.yaml does not state its 'length'";
    return ETX_OK;
  }
  for (uint32_t m = 0; m < s->module->method_count; ++m) {
    const etx_ir_method* const method = &s->module->methods[m];
    if (value_of_buffer(method, buffer) == ETX_IR_NONE &&
        etx_ir_mutation_of_buffer(method, buffer) == ETX_IR_NONE) {
      continue;
    }
    const uint32_t* const uses = etx_ir_count_uses(s->module->pool, method);
    if (uses == NULL) return ETX_OUT_OF_MEMORY;
    slide_step step;
    s->reasons[buffer] = match_method(s, buffer, m, uses, &step);
    if (s->reasons[buffer] != NULL) return ETX_OK;
    ETX_TRY(etx_pool_grow(s->module->pool, &s->steps, s->step_count,
                          &s->step_capacity, sizeof step));
    s->steps[s->step_count++] = step;
  }
  return ETX_OK;
}

// The step whose new content `arg` is, maybe by a view; NULL if it cannot
// become a ring.
static const slide_step* step_of(const slider* s, uint32_t method_index,
                                 const etx_ir_arg* arg) {
  const etx_ir_method* const method = &s->module->methods[method_index];
  const etx_ir_node* const view = definition(method, arg);
  if (view != NULL && view->op->id == ETX_OP_view_copy_out) {
    arg = &view->args[0];
  }
  if (arg->kind != ETX_IR_ARG_VALUE) return NULL;
  for (size_t i = 0; i < s->step_count; ++i) {
    const slide_step* const step = &s->steps[i];
    if (step->method == method_index && s->reasons[step->buffer] == NULL &&
        method->nodes[step->node].outputs[0] == arg->as.value) {
      return step;
    }
  }
  return NULL;
}

// True if the rows of the operand, which is a cache or a view of one, are the
// keys: as many elements lie in front of both dimensions.
static bool has_keys_in_rows(const slider* s, const slide_step* step,
                             const etx_ir_arg* operand,
                             const etx_ir_arg* order) {
  const etx_ir_method* const method = &s->module->methods[step->method];
  const etx_ir_buffer* const buffer = &s->module->buffers[step->buffer];
  const etx_shape* const shape = &method->values[operand->as.value].shape;
  int64_t parts = 1;
  int64_t cache_parts = 1;
  if (order->as.list.count != 4 || shape->rank != 4 ||
      !etx_ir_is_static(shape)) {
    return false;
  }
  const size_t keys = (size_t)order->as.list.items[2].as.integer;
  for (size_t i = 0; i < keys; ++i) parts *= shape->dims[i];
  for (size_t i = 0; i < buffer->cache.dim; ++i) {
    cache_parts *= buffer->sizes[i];
  }
  return shape->dims[keys] == capacity_of(buffer) && parts == cache_parts;
}

// True for attention over a pair of caches that become rings together.
static bool is_attention(const slider* s, uint32_t method,
                         const etx_ir_node* node) {
  enum { KEY = 1, VALUE, LAST = 4, KEY_ORDER = 6, VALUE_ORDER, CAUSAL = 11 };
  if (node->op->id != ETX_OP_attention_out &&
      node->op->id != ETX_OP_attention_capped_out) {
    return false;
  }
  const slide_step* const keys = step_of(s, method, &node->args[KEY]);
  const slide_step* const values = step_of(s, method, &node->args[VALUE]);
  if (keys == NULL || values == NULL || node->branch != 0 ||
      node->args[LAST].kind != ETX_IR_ARG_NONE ||
      node->args[CAUSAL].as.boolean) {
    return false;
  }
  const etx_ir_buffer* const a = &s->module->buffers[keys->buffer];
  const etx_ir_buffer* const b = &s->module->buffers[values->buffer];
  return a->cache.counter == b->cache.counter &&
         capacity_of(a) == capacity_of(b) &&
         has_keys_in_rows(s, keys, &node->args[KEY], &node->args[KEY_ORDER]) &&
         has_keys_in_rows(s, values, &node->args[VALUE],
                          &node->args[VALUE_ORDER]);
}

static bool reads(const etx_ir_node* node, uint32_t value) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    if (is_value(arg, value)) return true;
    for (size_t k = 0; arg->kind == ETX_IR_ARG_LIST && k < arg->as.list.count;
         ++k) {
      if (is_value(&arg->as.list.items[k], value)) return true;
    }
  }
  return false;
}

// True if only such attention and views read a value, and no state but the
// cache of the step gets it.
static bool is_read_by_attention(const slider* s, const slide_step* step,
                                 uint32_t value, bool may_have_views) {
  const etx_ir_method* const method = &s->module->methods[step->method];
  for (size_t i = 0; i < method->output_count; ++i) {
    if (is_value(&method->outputs[i].arg, value)) return false;
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    const etx_ir_mutation* const other = &method->mutations[i];
    if (other->value == value &&
        (other->is_input || other->target != step->buffer)) {
      return false;
    }
  }
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (!reads(node, value) || is_attention(s, step->method, node)) continue;
    if (!may_have_views || node->op->id != ETX_OP_view_copy_out) return false;
  }
  return true;
}

// The same for the new content of a step and for its views.
static bool has_right_readers(const slider* s, const slide_step* step) {
  const etx_ir_method* const method = &s->module->methods[step->method];
  const uint32_t value = method->nodes[step->node].outputs[0];
  if (!is_read_by_attention(s, step, value, true)) return false;
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (node->op->id == ETX_OP_view_copy_out && reads(node, value) &&
        !is_read_by_attention(s, step, node->outputs[0], false)) {
      return false;
    }
  }
  return true;
}

// If one of two caches that an attention reads cannot become a ring, neither
// can.
static void check_all_readers(slider* s) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < s->step_count; ++i) {
      const slide_step* const step = &s->steps[i];
      if (s->reasons[step->buffer] != NULL) continue;
      if (has_right_readers(s, step)) continue;
      s->reasons[step->buffer] =
          "it is read by something else than fused attention over it and "
          "another such cache";
      changed = true;
    }
  }
}

// ------------------------------------------------ rewriting

// The caches of one counter and capacity, which write the same row.
typedef struct ring_rows {
  uint32_t counter;
  int64_t capacity;
  uint32_t row;    // value: that row, int64 [1]
  uint32_t order;  // value: the place of each row in order of age
} ring_rows;

typedef struct turned_mask {
  uint32_t mask;
  uint32_t order;
  uint32_t turned;  // the mask in the order of the ring
} turned_mask;

// The method that is changed. New nodes are appended, then moved in front of
// the old node that needs them.
typedef struct ring_builder {
  etx_builder builder;
  size_t node_count;  // of old nodes
  size_t* before;     // by new node
  size_t before_count, before_capacity;
  ring_rows* rows;
  size_t rows_count, rows_capacity;
  turned_mask* masks;
  size_t mask_count, mask_capacity;
} ring_builder;

// Moves the nodes that were appended so far in front of old node `position`.
static etx_status put_before(ring_builder* r, size_t position) {
  const etx_ir_method* const method = r->builder.method;
  while (r->node_count + r->before_count < method->node_count) {
    ETX_TRY(etx_pool_grow(r->builder.module->pool, &r->before, r->before_count,
                          &r->before_capacity, sizeof *r->before));
    r->before[r->before_count++] = position;
  }
  return ETX_OK;
}

static void start_node(ring_builder* r, const etx_ir_node* node) {
  r->builder.node = node;
  r->builder.name = r->builder.method->values[node->outputs[0]].name;
  r->builder.name_count = 0;
}

// The row that the method writes: the counter modulo the capacity, int64 [1].
static etx_status build_row(ring_builder* r, const etx_ir_buffer* buffer,
                            uint32_t* out_row) {
  etx_builder* const builder = &r->builder;
  const etx_dim one = 1;
  uint32_t counter = 0;
  ETX_TRY(etx_ir_buffer_value(builder->module, builder->method,
                              buffer->cache.counter, &counter));
  ETX_TRY(etx_build_cast(builder, counter, ETX_DTYPE_INT64, &counter));
  ETX_TRY(etx_build_view(builder, counter, &one, 1, &counter));
  etx_ir_arg args[] = {etx_ir_value_arg(counter),
                       etx_ir_int(capacity_of(buffer)),
                       etx_ir_bool(true),
                       {ETX_IR_ARG_STRING, {0}}};
  args[3].as.string =
      etx_pool_format(builder->module->pool, "cache '%t'", buffer->name);
  if (args[3].as.string.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_build_op(builder, ETX_OP_cache_rows_out, args, 4, out_row);
}

// The constant -1, 0, .., capacity - 2.
static etx_status build_places(ring_builder* r, int64_t capacity,
                               uint32_t* out_value) {
  const size_t bytes = (size_t)capacity * sizeof(int64_t);
  uint8_t* const data = etx_pool_take(r->builder.module->pool, bytes);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  for (int64_t i = 0; i < capacity; ++i) {
    const int64_t place = i - 1;
    memcpy(data + (size_t)i * sizeof place, &place, sizeof place);
  }
  const etx_ir_constant constant = {.dtype = ETX_DTYPE_INT64,
                                    .rank = 1,
                                    .sizes = {capacity},
                                    .data = {data, bytes}};
  return etx_build_constant(&r->builder, &constant, out_value);
}

// Key j of the ring is key (j - row - 1) % capacity in the order of age.
static etx_status build_order(ring_builder* r, int64_t capacity, uint32_t row,
                              uint32_t* out_order) {
  uint32_t places = 0;
  uint32_t order = 0;
  ETX_TRY(build_places(r, capacity, &places));
  ETX_TRY(etx_build_binary(&r->builder, ETX_OP_sub_out, places, row, &order));
  const etx_ir_arg args[] = {etx_ir_value_arg(order), etx_ir_int(capacity)};
  return etx_build_op(&r->builder, ETX_OP_remainder_scalar_out, args, 2,
                      out_order);
}

// Finds the rows of a cache, or computes them at the start of the method.
static etx_status find_rows(ring_builder* r, const etx_ir_buffer* buffer,
                            ring_rows* out) {
  const int64_t capacity = capacity_of(buffer);
  for (size_t i = 0; i < r->rows_count; ++i) {
    *out = r->rows[i];
    if (out->counter == buffer->cache.counter && out->capacity == capacity) {
      return ETX_OK;
    }
  }
  *out = (ring_rows){buffer->cache.counter, capacity, 0, 0};
  ETX_TRY(build_row(r, buffer, &out->row));
  ETX_TRY(build_order(r, capacity, out->row, &out->order));
  ETX_TRY(etx_pool_grow(r->builder.module->pool, &r->rows, r->rows_count,
                        &r->rows_capacity, sizeof *r->rows));
  r->rows[r->rows_count++] = *out;
  return put_before(r, 0);
}

// Changes the node of a step to write one row in place.
static etx_status write_row(ring_builder* r, const slide_step* step,
                            const etx_ir_buffer* buffer) {
  etx_pool* const pool = r->builder.module->pool;
  const size_t dim = buffer->cache.dim;
  const etx_ir_node node = r->builder.method->nodes[step->node];
  ring_rows rows;
  start_node(r, &node);
  ETX_TRY(find_rows(r, buffer, &rows));
  etx_ir_arg* const args = etx_pool_take(pool, 4 * sizeof *args);
  etx_ir_arg* const items = etx_pool_take(pool, (dim + 1) * sizeof *items);
  if (args == NULL || items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < dim; ++i) items[i] = etx_ir_none();
  items[dim] = etx_ir_value_arg(rows.row);
  args[0] = etx_ir_value_arg(step->cache);
  args[1] = etx_ir_list(items, dim + 1);
  args[2] = etx_ir_value_arg(step->row);
  args[3] = etx_ir_bool(false);
  etx_ir_node* const changed = &r->builder.method->nodes[step->node];
  changed->op = etx_op_at(ETX_OP_index_put_out);
  changed->args = args;
  changed->arg_count = 4;
  return ETX_OK;
}

// The mask in the order of the ring; layers often share one. It is computed in
// front of node `position`, the first that reads it.
static etx_status find_turned(ring_builder* r, size_t position, uint32_t mask,
                              uint32_t order, uint32_t* out_turned) {
  for (size_t i = 0; i < r->mask_count; ++i) {
    if (r->masks[i].mask != mask || r->masks[i].order != order) continue;
    *out_turned = r->masks[i].turned;
    return ETX_OK;
  }
  const size_t last = (size_t)etx_builder_shape(&r->builder, mask)->rank - 1;
  const etx_ir_arg args[] = {etx_ir_value_arg(mask), etx_ir_int((etx_dim)last),
                             etx_ir_value_arg(order)};
  ETX_TRY(
      etx_build_op(&r->builder, ETX_OP_index_select_out, args, 3, out_turned));
  ETX_TRY(etx_pool_grow(r->builder.module->pool, &r->masks, r->mask_count,
                        &r->mask_capacity, sizeof *r->masks));
  r->masks[r->mask_count++] = (turned_mask){mask, order, *out_turned};
  return put_before(r, position);
}

// Gives the mask of an attention the order of the ring. A mask that is the same
// for all keys stays.
static etx_status turn_mask(ring_builder* r, size_t position,
                            const etx_ir_buffer* buffer) {
  enum { MASK = 3 };
  const etx_ir_node node = r->builder.method->nodes[position];
  const etx_ir_arg* const mask = &node.args[MASK];
  ring_rows rows;
  uint32_t turned = 0;
  if (mask->kind != ETX_IR_ARG_VALUE) return ETX_OK;
  const etx_shape* const shape = etx_builder_shape(&r->builder, mask->as.value);
  if (shape->rank == 0 || shape->dims[shape->rank - 1] == 1) return ETX_OK;
  start_node(r, &node);
  ETX_TRY(find_rows(r, buffer, &rows));
  ETX_TRY(find_turned(r, position, mask->as.value, rows.order, &turned));
  r->builder.method->nodes[position].args[MASK] = etx_ir_value_arg(turned);
  return ETX_OK;
}

static etx_status order_nodes(ring_builder* r) {
  etx_ir_method* const method = r->builder.method;
  const size_t total = method->node_count;
  etx_ir_node* const nodes =
      etx_pool_take(r->builder.module->pool, total * sizeof *nodes);
  if (nodes == NULL) return ETX_OUT_OF_MEMORY;
  size_t count = 0;
  for (size_t i = 0; i < r->node_count; ++i) {
    for (size_t k = 0; k < r->before_count; ++k) {
      if (r->before[k] != i) continue;
      nodes[count++] = method->nodes[r->node_count + k];
    }
    nodes[count++] = method->nodes[i];
  }
  etx_ir_set_nodes(method, nodes, total);
  etx_ir_renumber_outputs(method, 0, count);
  return etx_ir_drop_dead_nodes(r->builder.module, method);
}

static etx_status rewrite_method(slider* s, uint32_t index) {
  etx_ir_method* const method = &s->module->methods[index];
  ring_builder r = {.node_count = method->node_count};
  r.builder = (etx_builder){.module = s->module,
                            .method = method,
                            .target = s->context->options->target,
                            .diag = s->context->diag};
  for (size_t i = 0; i < r.node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (!is_attention(s, index, node)) continue;
    const slide_step* const keys = step_of(s, index, &node->args[1]);
    ETX_TRY(turn_mask(&r, i, &s->module->buffers[keys->buffer]));
  }
  for (size_t i = 0; i < s->step_count; ++i) {
    const slide_step* const step = &s->steps[i];
    if (step->method != index || s->reasons[step->buffer] != NULL) continue;
    ETX_TRY(write_row(&r, step, &s->module->buffers[step->buffer]));
    ETX_TRY(etx_fusion_report_fused(&s->context->fusions, &r.builder, kind));
  }
  return method->node_count == r.node_count ? ETX_OK : order_nodes(&r);
}

// Notes what became of a cache: its bytes are those of a ring, or it is listed.
static etx_status finish(slider* s, uint32_t buffer) {
  etx_ir_buffer* const b = &s->module->buffers[buffer];
  if (!slides(b)) return ETX_OK;
  if (s->reasons[buffer] == NULL) {
    b->cache.overflow = ETX_CACHE_RING;
    return ETX_OK;
  }
  for (size_t m = 0; m < s->module->method_count; ++m) {
    etx_ir_method* const method = &s->module->methods[m];
    if (etx_ir_mutation_of_buffer(method, buffer) == ETX_IR_NONE) continue;
    const etx_builder builder = {
        .module = s->module, .method = method, .name = b->name};
    return etx_fusion_report_missed(&s->context->fusions, &builder, kind,
                                    s->reasons[buffer]);
  }
  return ETX_OK;
}

etx_status etx_pass_slide_to_ring(etx_pass_context* context) {
  slider s = {.context = context, .module = context->module};
  const size_t count = s.module->buffer_count;
  bool found = false;
  for (size_t i = 0; i < count; ++i) {
    found = found || slides(&s.module->buffers[i]);
  }
  if (!found) return ETX_OK;
  s.reasons = etx_pool_take(s.module->pool, count * sizeof *s.reasons);
  if (s.reasons == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < count; ++i) {
    s.reasons[i] = NULL;
    if (!slides(&s.module->buffers[i])) continue;
    if (context->options->target != ETX_TARGET_ETX) {
      s.reasons[i] = "only the target etx has rings";
    } else {
      ETX_TRY(match_buffer(&s, i));
    }
  }
  check_all_readers(&s);
  for (uint32_t m = 0; m < s.module->method_count; ++m) {
    ETX_TRY(rewrite_method(&s, m));
  }
  for (uint32_t i = 0; i < count; ++i) ETX_TRY(finish(&s, i));
  return ETX_OK;
}
