#include "exporter/quantize/caches/cache_flow.h"

#include "exporter/lower/builder/builder.h"

enum { KEY = 1, VALUE = 2, KEY_ORDER = 6, VALUE_ORDER = 7 };  // of attention

// Attention that fuse_attention makes.
static bool is_attention(const etx_ir_node* node) {
  return node->op->id == ETX_OP_attention_out ||
         node->op->id == ETX_OP_attention_capped_out;
}

int64_t etx_cache_width(const etx_ir_module* module, uint32_t cache) {
  const etx_ir_buffer* const buffer = &module->buffers[cache];
  return buffer->sizes[buffer->rank - 1];
}

uint32_t etx_cache_flow_at(const etx_cache_flow* flow, const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_VALUE ? flow->cache[arg->as.value]
                                       : ETX_IR_NONE;
}

static const etx_shape* shape_of(const etx_cache_flow* flow, uint32_t value) {
  return &flow->method->values[value].shape;
}

// The last size of a value; 0 if there is none or it varies.
static int64_t last_size(const etx_cache_flow* flow, uint32_t value) {
  const etx_shape* const shape = shape_of(flow, value);
  if (shape->rank == 0) return 0;
  const etx_dim last = shape->dims[shape->rank - 1];
  return etx_dim_is_number(last) ? last : 0;
}

static bool has_rows(const etx_cache_flow* flow, uint32_t value,
                     int64_t width) {
  const int64_t last = last_size(flow, value);
  return last > 0 && last % width == 0;
}

// The argument is a dimension before the last one of `value`.
static bool is_before_last(const etx_cache_flow* flow, const etx_ir_arg* dim,
                           uint32_t value) {
  const etx_dim rank = shape_of(flow, value)->rank;
  return dim->kind == ETX_IR_ARG_INT && dim->as.integer != rank - 1 &&
         dim->as.integer != -1;
}

static bool keeps_last(const etx_ir_arg* order) {
  const size_t count = order->as.list.count;
  if (count == 0) return false;
  const etx_ir_arg* const last = &order->as.list.items[count - 1];
  return last->kind == ETX_IR_ARG_INT &&
         (last->as.integer == (etx_dim)count - 1 || last->as.integer == -1);
}

static bool all_before_last(const etx_cache_flow* flow, const etx_ir_arg* dims,
                            uint32_t value) {
  for (size_t i = 0; i < dims->as.list.count; ++i) {
    if (!is_before_last(flow, &dims->as.list.items[i], value)) return false;
  }
  return dims->as.list.count > 0;
}

// True if the node moves whole rows of its first argument.
static bool moves_rows(const etx_cache_flow* flow, const etx_ir_node* node) {
  const uint32_t from = node->args[0].as.value;
  switch (node->op->id) {
    case ETX_OP_view_copy_out:
    case ETX_OP_clone_out:
      return true;
    case ETX_OP_embedding_out:
      return shape_of(flow, from)->rank == 2;
    case ETX_OP_expand_copy_out:
      return last_size(flow, from) == last_size(flow, node->outputs[0]);
    case ETX_OP_permute_copy_out:
      return keeps_last(&node->args[1]);
    case ETX_OP_slice_copy_tensor_out:
    case ETX_OP_select_copy_int_out:
    case ETX_OP_index_select_out:
      return is_before_last(flow, &node->args[1], from);
    case ETX_OP_roll_out:
      return all_before_last(flow, &node->args[2], from);
    case ETX_OP_index_tensor_out:
      return node->args[1].as.list.count < shape_of(flow, from)->rank;
    default:
      return false;
  }
}

// The argument with the rows that a node writes over rows of its first
// argument; 0 if it does something else.
static size_t written_rows(const etx_cache_flow* flow,
                           const etx_ir_node* node) {
  const uint32_t to = node->args[0].as.value;
  switch (node->op->id) {
    case ETX_OP_index_put_out:
      return !node->args[3].as.boolean &&
                     node->args[1].as.list.count < shape_of(flow, to)->rank
                 ? 2
                 : 0;
    case ETX_OP_slice_scatter_out:
    case ETX_OP_select_scatter_out:
      return is_before_last(flow, &node->args[2], to) ? 1 : 0;
    case ETX_OP_copy_out:
      return 1;
    default:
      return 0;
  }
}

static bool attends_rows(const etx_cache_flow* flow, const etx_ir_node* node,
                         size_t side) {
  const uint32_t cache = etx_cache_flow_at(flow, &node->args[side]);
  const etx_ir_arg* const order =
      &node->args[side == KEY ? KEY_ORDER : VALUE_ORDER];
  return cache == ETX_IR_NONE ||
         (keeps_last(order) && last_size(flow, node->args[side].as.value) ==
                                   etx_cache_width(flow->module, cache));
}

// The only cache among the arguments; `*out_count` says how many have rows.
static uint32_t find_cache(const etx_cache_flow* flow, const etx_ir_node* node,
                           size_t* out_count) {
  uint32_t found = ETX_IR_NONE;
  *out_count = 0;
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    const bool is_list = arg->kind == ETX_IR_ARG_LIST;
    const size_t count = is_list ? arg->as.list.count : 1;
    for (size_t k = 0; k < count; ++k) {
      const uint32_t cache =
          etx_cache_flow_at(flow, is_list ? &arg->as.list.items[k] : arg);
      if (cache == ETX_IR_NONE) continue;
      if (found == ETX_IR_NONE) found = cache;
      ++*out_count;
    }
  }
  return found;
}

// cat of rows of one cache and of new rows.
static bool joins_rows(const etx_cache_flow* flow, const etx_ir_node* node,
                       uint32_t cache, int64_t width) {
  const etx_ir_arg* const parts = &node->args[0];
  if (node->op->id != ETX_OP_cat_out ||
      !is_before_last(flow, &node->args[1], node->outputs[0])) {
    return false;
  }
  for (size_t i = 0; i < parts->as.list.count; ++i) {
    const uint32_t other = etx_cache_flow_at(flow, &parts->as.list.items[i]);
    if (other != ETX_IR_NONE && other != cache) return false;
    if (last_size(flow, parts->as.list.items[i].as.value) != width) {
      return false;
    }
  }
  return true;
}

static etx_cache_use use_of(const etx_cache_flow* flow, const etx_ir_node* node,
                            etx_cache_step* step, size_t count) {
  const int64_t width = etx_cache_width(flow->module, step->cache);
  if (node->branch != 0 || node->cond != 0) return ETX_CACHE_OTHER;
  if (is_attention(node)) {
    const size_t sides =
        (size_t)(etx_cache_flow_at(flow, &node->args[KEY]) != ETX_IR_NONE) +
        (size_t)(etx_cache_flow_at(flow, &node->args[VALUE]) != ETX_IR_NONE);
    return sides == count && attends_rows(flow, node, KEY) &&
                   attends_rows(flow, node, VALUE)
               ? ETX_CACHE_ATTEND
               : ETX_CACHE_OTHER;
  }
  if (joins_rows(flow, node, step->cache, width)) return ETX_CACHE_JOIN;
  const bool is_first = node->arg_count > 0 &&
                        etx_cache_flow_at(flow, &node->args[0]) != ETX_IR_NONE;
  if (!is_first || node->output_count != 1 ||
      !has_rows(flow, node->outputs[0], width)) {
    return ETX_CACHE_OTHER;
  }
  if (count == 1 && moves_rows(flow, node)) return ETX_CACHE_MOVE;
  step->rows = written_rows(flow, node);
  if (step->rows == 0) return ETX_CACHE_OTHER;
  const etx_ir_arg* const rows = &node->args[step->rows];
  const uint32_t other = etx_cache_flow_at(flow, rows);
  const bool is_same_size = node->op->id != ETX_OP_copy_out ||
                            shape_of(flow, rows->as.value)->rank ==
                                shape_of(flow, node->outputs[0])->rank;
  return is_same_size && (other == ETX_IR_NONE || other == step->cache) &&
                 last_size(flow, rows->as.value) == width &&
                 last_size(flow, node->outputs[0]) == width
             ? ETX_CACHE_WRITE
             : ETX_CACHE_OTHER;
}

etx_cache_step etx_cache_step_of(const etx_cache_flow* flow,
                                 const etx_ir_node* node) {
  size_t count = 0;
  etx_cache_step step = {ETX_CACHE_UNUSED, find_cache(flow, node, &count), 0};
  if (count != 0) step.use = use_of(flow, node, &step, count);
  return step;
}

void etx_cache_flow_find(etx_cache_flow* flow, const bool* is_cache) {
  const etx_ir_method* const method = flow->method;
  for (size_t i = 0; i < method->value_count; ++i) {
    const etx_ir_value* const value = &method->values[i];
    const bool is_old =
        value->origin == ETX_IR_FROM_BUFFER && is_cache[value->index];
    flow->cache[i] = is_old ? value->index : ETX_IR_NONE;
  }
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    const etx_cache_step step = etx_cache_step_of(flow, node);
    if (step.use == ETX_CACHE_MOVE || step.use == ETX_CACHE_WRITE ||
        step.use == ETX_CACHE_JOIN) {
      flow->cache[node->outputs[0]] = step.cache;
    }
  }
}
