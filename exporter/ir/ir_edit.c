#include "exporter/ir/ir_edit.h"

#include "exporter/ir/ir_cond.h"
#include "exporter/ir/ir_late.h"

uint32_t* etx_ir_identity_map(etx_pool* pool, const etx_ir_method* method) {
  uint32_t* const map =
      etx_pool_take(pool, method->value_count * sizeof(uint32_t));
  if (map == NULL) return NULL;
  for (size_t i = 0; i < method->value_count; ++i) map[i] = (uint32_t)i;
  return map;
}

// Follows a chain of replacements to its end.
static uint32_t resolve(const uint32_t* map, uint32_t value) {
  while (map[value] != value) value = map[value];
  return value;
}

void etx_ir_replace_in_arg(etx_ir_arg* arg, const uint32_t* map) {
  if (arg->kind == ETX_IR_ARG_VALUE) {
    arg->as.value = resolve(map, arg->as.value);
  }
  if (arg->kind != ETX_IR_ARG_LIST) return;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    etx_ir_arg* const item = &arg->as.list.items[i];
    if (item->kind != ETX_IR_ARG_VALUE) continue;
    item->as.value = resolve(map, item->as.value);
  }
}

void etx_ir_replace(etx_ir_method* method, const uint32_t* map) {
  for (size_t i = 0; i < method->node_count; ++i) {
    etx_ir_node* const node = &method->nodes[i];
    for (size_t j = 0; j < node->arg_count; ++j) {
      etx_ir_replace_in_arg(&node->args[j], map);
    }
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    etx_ir_replace_in_arg(&method->outputs[i].arg, map);
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    uint32_t* const value = &method->mutations[i].value;
    *value = resolve(map, *value);
  }
}

static bool defines(const etx_ir_node* node, uint32_t value) {
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] == value) return true;
  }
  return false;
}

static void rename_in_arg(etx_ir_arg* arg, uint32_t from, uint32_t to) {
  const bool is_list = arg->kind == ETX_IR_ARG_LIST;
  const size_t count = is_list ? arg->as.list.count : 1;
  for (size_t i = 0; i < count; ++i) {
    etx_ir_arg* const item = is_list ? &arg->as.list.items[i] : arg;
    if (item->kind == ETX_IR_ARG_VALUE && item->as.value == from) {
      item->as.value = to;
    }
  }
}

bool etx_ir_adopt(etx_ir_method* method, size_t first, uint32_t result,
                  uint32_t output) {
  bool is_fresh = false;
  for (size_t i = first; i < method->node_count && !is_fresh; ++i) {
    is_fresh = defines(&method->nodes[i], result);
  }
  if (!is_fresh) return false;
  for (size_t i = first; i < method->node_count; ++i) {
    etx_ir_node* const node = &method->nodes[i];
    for (size_t j = 0; j < node->output_count; ++j) {
      if (node->outputs[j] == result) node->outputs[j] = output;
    }
    for (size_t j = 0; j < node->arg_count; ++j) {
      rename_in_arg(&node->args[j], result, output);
    }
    if (!defines(node, output)) continue;
    method->values[output].origin = ETX_IR_FROM_NODE;
    method->values[output].index = (uint32_t)i;
  }
  return true;
}

static void count_arg(const etx_ir_arg* arg, uint32_t* uses) {
  if (arg->kind == ETX_IR_ARG_VALUE) ++uses[arg->as.value];
  if (arg->kind != ETX_IR_ARG_LIST) return;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    const etx_ir_arg* const item = &arg->as.list.items[i];
    if (item->kind == ETX_IR_ARG_VALUE) ++uses[item->as.value];
  }
}

static void count_results(const etx_ir_method* method, uint32_t* uses) {
  for (size_t i = 0; i < method->output_count; ++i) {
    count_arg(&method->outputs[i].arg, uses);
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    ++uses[method->mutations[i].value];
  }
}

static void count_node(const etx_ir_node* node, uint32_t* uses) {
  for (size_t i = 0; i < node->arg_count; ++i) count_arg(&node->args[i], uses);
}

static uint32_t* zero_counts(etx_pool* pool, const etx_ir_method* method) {
  return etx_pool_take(pool, method->value_count * sizeof(uint32_t));
}

uint32_t* etx_ir_count_uses(etx_pool* pool, const etx_ir_method* method) {
  uint32_t* const uses = zero_counts(pool, method);
  if (uses == NULL) return NULL;
  count_results(method, uses);
  for (size_t i = 0; i < method->node_count; ++i) {
    count_node(&method->nodes[i], uses);
  }
  return uses;
}

const etx_ir_node* etx_ir_definition(const etx_ir_method* method,
                                     uint32_t value) {
  const etx_ir_value* const v = &method->values[value];
  return v->origin == ETX_IR_FROM_NODE ? &method->nodes[v->index] : NULL;
}

static bool is_used(const etx_ir_node* node, const uint32_t* uses) {
  if (etx_ir_late_must_stay(node)) return true;
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] != ETX_IR_NONE && uses[node->outputs[i]] != 0) {
      return true;
    }
  }
  return false;
}

// True if the next iteration of a loop reads the value that the node joins.
static bool is_carried(const etx_ir_method* method, const etx_ir_node* node) {
  return etx_ir_is_join(node) && etx_ir_is_loop(method, node->cond);
}

static etx_status drop_nodes(etx_ir_method* method, etx_pool* scratch) {
  uint32_t* const uses = zero_counts(scratch, method);
  bool* const keep = etx_pool_take(scratch, method->node_count);
  if (uses == NULL || keep == NULL) return ETX_OUT_OF_MEMORY;
  count_results(method, uses);
  for (size_t i = method->node_count; i-- > 0;) {
    keep[i] = is_used(&method->nodes[i], uses) ||
              is_carried(method, &method->nodes[i]);
    if (keep[i]) count_node(&method->nodes[i], uses);
  }
  size_t count = 0;
  for (size_t i = 0; i < method->node_count; ++i) {
    if (keep[i]) method->nodes[count++] = method->nodes[i];
  }
  method->node_count = count;
  return ETX_OK;
}

etx_status etx_ir_drop_dead_nodes(etx_ir_module* module,
                                  etx_ir_method* method) {
  etx_pool scratch;
  etx_pool_init(&scratch);
  const etx_status status = drop_nodes(method, &scratch);
  etx_pool_close(&scratch);
  return status == ETX_OK ? etx_ir_renumber(module, method) : status;
}

// Marks values to keep: inputs, outputs of nodes, used buffers and constants.
// Sets the origins of outputs of nodes.
static bool* mark_kept(etx_pool* pool, etx_ir_method* method) {
  bool* const keep = etx_pool_take(pool, method->value_count);
  uint32_t* const uses = etx_ir_count_uses(pool, method);
  if (keep == NULL || uses == NULL) return NULL;
  for (size_t i = 0; i < method->value_count; ++i) {
    const etx_ir_origin origin = method->values[i].origin;
    keep[i] = origin == ETX_IR_FROM_INPUT ||
              (origin != ETX_IR_FROM_NODE && uses[i] != 0);
  }
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    for (size_t j = 0; j < node->output_count; ++j) {
      const uint32_t value = node->outputs[j];
      if (value == ETX_IR_NONE) continue;
      keep[value] = true;
      method->values[value].origin = ETX_IR_FROM_NODE;
      method->values[value].index = (uint32_t)i;
    }
  }
  return keep;
}

static void renumber_outputs(etx_ir_method* method, const uint32_t* map) {
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    for (size_t j = 0; j < node->output_count; ++j) {
      if (node->outputs[j] != ETX_IR_NONE) {
        node->outputs[j] = map[node->outputs[j]];
      }
    }
  }
}

static void renumber_arg(etx_ir_arg* arg, const uint32_t* map) {
  if (arg->kind == ETX_IR_ARG_VALUE) arg->as.value = map[arg->as.value];
  if (arg->kind != ETX_IR_ARG_LIST) return;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    etx_ir_arg* const item = &arg->as.list.items[i];
    if (item->kind == ETX_IR_ARG_VALUE) item->as.value = map[item->as.value];
  }
}

static void renumber_uses(etx_ir_method* method, const uint32_t* map) {
  for (size_t i = 0; i < method->node_count; ++i) {
    for (size_t j = 0; j < method->nodes[i].arg_count; ++j) {
      renumber_arg(&method->nodes[i].args[j], map);
    }
  }
  for (size_t i = 0; i < method->input_count; ++i) {
    renumber_arg(&method->inputs[i].arg, map);
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    renumber_arg(&method->outputs[i].arg, map);
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    method->mutations[i].value = map[method->mutations[i].value];
  }
}

static etx_status renumber_with(etx_ir_module* module, etx_ir_method* method,
                                etx_pool* scratch) {
  const bool* const keep = mark_kept(scratch, method);
  uint32_t* const map =
      etx_pool_take(scratch, method->value_count * sizeof(uint32_t));
  if (keep == NULL || map == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_ir_keep_values(module, method, keep, map));
  renumber_outputs(method, map);
  renumber_uses(method, map);
  return ETX_OK;
}

etx_status etx_ir_renumber(etx_ir_module* module, etx_ir_method* method) {
  etx_pool scratch;
  etx_pool_init(&scratch);
  const etx_status status = renumber_with(module, method, &scratch);
  etx_pool_close(&scratch);
  return status;
}

void etx_ir_renumber_outputs(etx_ir_method* method, size_t from, size_t to) {
  for (size_t n = from; n < to; ++n) {
    const etx_ir_node* const node = &method->nodes[n];
    for (size_t i = 0; i < node->output_count; ++i) {
      if (node->outputs[i] == ETX_IR_NONE) continue;
      method->values[node->outputs[i]].index = (uint32_t)n;
    }
  }
}
