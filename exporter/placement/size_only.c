#include "exporter/placement/size_only.h"

#include <string.h>

typedef struct size_only_search {
  const etx_placement* placement;
  bool* values;          // by value: nothing but sizes and constants decides it
  etx_size_only* kinds;  // by storage
} size_only_search;

static bool arg_is_known(const size_only_search* s, const etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_VALUE) return s->values[arg->as.value];
  if (arg->kind != ETX_IR_ARG_LIST) return true;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    if (!arg_is_known(s, &arg->as.list.items[i])) return false;
  }
  return true;
}

static bool is_known(const size_only_search* s, const etx_ir_node* node) {
  if (etx_op_draws_random_numbers(node->op)) return false;
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (!arg_is_known(s, &node->args[i])) return false;
  }
  return true;
}

static uint32_t storage_of(const size_only_search* s, uint32_t value) {
  return etx_placement_range(s->placement, value).storage;
}

static void find_values(const size_only_search* s,
                        const etx_ir_method* method) {
  for (uint32_t v = 0; v < s->placement->value_count; ++v) {
    const uint32_t storage = storage_of(s, v);
    s->values[v] = storage != ETX_IR_NONE &&
                   s->placement->storages[storage].kind == ETX_STORAGE_CONSTANT;
  }
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (!is_known(s, node)) continue;
    for (size_t k = 0; k < node->output_count; ++k) {
      if (node->outputs[k] != ETX_IR_NONE) s->values[node->outputs[k]] = true;
    }
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    if (method->outputs[i].arg.kind == ETX_IR_ARG_VALUE) {
      s->values[method->outputs[i].arg.as.value] = false;
    }
  }
}

// True if sizes vary, the method runs all its instructions in order, and data
// decide no size.
static bool is_straight(const etx_ir_method* method) {
  if (method->symbols.symbol_count == 0) return false;
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (node->cond != 0 || node->branch != 0 || node->late != 0) return false;
  }
  return true;
}

static void note_read(const size_only_search* s, const etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_VALUE) {
    const uint32_t storage = storage_of(s, arg->as.value);
    if (storage != ETX_IR_NONE && s->kinds[storage] == ETX_SIZE_ONLY_PASSING) {
      s->kinds[storage] = ETX_SIZE_ONLY_KEPT;
    }
  }
  if (arg->kind != ETX_IR_ARG_LIST) return;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    note_read(s, &arg->as.list.items[i]);
  }
}

static void find_kinds(const size_only_search* s, const etx_ir_method* method) {
  const etx_placement* const placement = s->placement;
  for (size_t i = 0; i < placement->storage_count; ++i) {
    const etx_storage* const storage = &placement->storages[i];
    if (storage->kind == ETX_STORAGE_SCRATCH && storage->index == ETX_IR_NONE) {
      s->kinds[i] = ETX_SIZE_ONLY_PASSING;
    }
  }
  for (uint32_t v = 0; v < placement->value_count; ++v) {
    const uint32_t storage = storage_of(s, v);
    if (storage != ETX_IR_NONE && !s->values[v]) {
      s->kinds[storage] = ETX_SIZE_ONLY_NONE;
    }
  }
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (is_known(s, node)) continue;
    for (size_t k = 0; k < node->arg_count; ++k) note_read(s, &node->args[k]);
  }
}

static etx_status begin(const etx_ir_method* method,
                        const etx_placement* placement, etx_pool* pool,
                        size_only_search* out) {
  *out = (size_only_search){
      .placement = placement,
      .values = etx_pool_take(pool, placement->value_count + 1)};
  if (out->values == NULL) return ETX_OUT_OF_MEMORY;
  memset(out->values, 0, placement->value_count);
  if (is_straight(method)) find_values(out, method);
  return ETX_OK;
}

etx_status etx_size_only_values(const etx_ir_method* method,
                                const etx_placement* placement, etx_pool* pool,
                                const bool** out_values) {
  size_only_search s;
  ETX_TRY(begin(method, placement, pool, &s));
  *out_values = s.values;
  return ETX_OK;
}

etx_status etx_size_only_storages(const etx_ir_method* method,
                                  const etx_placement* placement,
                                  etx_pool* pool,
                                  const etx_size_only** out_kinds) {
  size_only_search s;
  const size_t count = placement->storage_count + 1;
  ETX_TRY(begin(method, placement, pool, &s));
  s.kinds = etx_pool_take(pool, count * sizeof *s.kinds);
  if (s.kinds == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) s.kinds[i] = ETX_SIZE_ONLY_NONE;
  if (is_straight(method)) find_kinds(&s, method);
  *out_kinds = s.kinds;
  return ETX_OK;
}
