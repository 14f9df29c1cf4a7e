#include "exporter/placement/placement_copy.h"

#include "exporter/ir/ir_cond.h"

etx_status etx_placement_copy_report(etx_pool* pool,
                                     etx_placement_copies* copies,
                                     const etx_placement_copy* copy) {
  ETX_TRY(etx_pool_grow(pool, &copies->items, copies->count, &copies->capacity,
                        sizeof *copy));
  copies->items[copies->count++] = *copy;
  return ETX_OK;
}

// The branch of a node that is inserted at `position`.
static uint32_t branch_at(const etx_ir_method* method, size_t position) {
  return position < method->node_count ? method->nodes[position].branch : 0;
}

// Appends a value of the type of `like`, placed at `place`, and the node that
// computes it, then moves the node to `position`.
static etx_status insert(const etx_placed_method* m, etx_ir_node* node,
                         uint32_t like, const etx_value_placement* place,
                         size_t position, uint32_t* out_value) {
  etx_ir_value value = m->method->values[like];
  value.origin = ETX_IR_FROM_NODE;
  value.index = (uint32_t)m->method->node_count;
  value.name = etx_pool_format(m->module->pool, "%t_copy", value.name);
  if (value.name.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_ir_add_value(m->module, m->method, &value, out_value));
  ETX_TRY(etx_placement_add(m->module->pool, m->placement, place));
  node->outputs = out_value;
  node->output_count = 1;
  node->branch = branch_at(m->method, position);
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_node(m->module, m->method, node, &index));
  etx_placement_move_node(m->method, index, position);
  return ETX_OK;
}

etx_status etx_placement_copy_insert(const etx_placed_method* m,
                                     uint32_t source, size_t position,
                                     uint32_t* out_value) {
  const etx_storage storage = {.kind = ETX_STORAGE_SCRATCH,
                               .index = ETX_IR_NONE,
                               .bytes = m->placement->values[source].bytes};
  etx_value_placement place = {.kind = ETX_PLACEMENT_COMPUTED,
                               .base = ETX_IR_NONE,
                               .bytes = storage.bytes};
  ETX_TRY(etx_placement_add_storage(m->module->pool, m->placement, &storage,
                                    &place.storage));
  etx_ir_arg args[2] = {etx_ir_value_arg(source), {ETX_IR_ARG_NONE, {0}}};
  etx_ir_node node = {.aten = etx_text_of("aten.clone.default"),
                      .op = etx_op_at(ETX_OP_clone_out),
                      .args = args,
                      .arg_count = 2};
  return insert(m, &node, source, &place, position, out_value);
}

etx_status etx_placement_copy_insert_write(const etx_placed_method* m,
                                           uint32_t target, uint32_t source,
                                           size_t position,
                                           uint32_t* out_value) {
  etx_value_placement place = m->placement->values[target];
  place.kind = ETX_PLACEMENT_COMPUTED;
  etx_ir_arg args[3] = {etx_ir_value_arg(target),
                        etx_ir_value_arg(source),
                        {ETX_IR_ARG_BOOL, {0}}};
  etx_ir_node node = {.aten = etx_text_of("aten.copy.default"),
                      .op = etx_op_at(ETX_OP_copy_out),
                      .args = args,
                      .arg_count = 3};
  return insert(m, &node, target, &place, position, out_value);
}

// The values that the hoisted value is made of, itself included.
typedef struct hoisting {
  const etx_ir_method* method;
  bool* is_part;  // by value
} hoisting;

static etx_status add_part(void* context, size_t argument, uint32_t value) {
  hoisting* const m = context;
  (void)argument;
  m->is_part[value] = true;
  return ETX_OK;
}

static bool makes_part(const hoisting* m, const etx_placement* placement,
                       const etx_ir_node* node) {
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value != ETX_IR_NONE && m->is_part[value] &&
        !etx_placement_kind_is_root(placement->values[value].kind)) {
      return true;
    }
  }
  return false;
}

etx_status etx_placement_copy_hoist(etx_pool* pool, etx_ir_method* method,
                                    const etx_placement* placement,
                                    uint32_t value, size_t* position) {
  const etx_ir_value* const v = &method->values[value];
  if (v->origin != ETX_IR_FROM_NODE || v->index < *position) return ETX_OK;
  hoisting m = {method, etx_pool_take(pool, method->value_count)};
  if (m.is_part == NULL) return ETX_OUT_OF_MEMORY;
  m.is_part[value] = true;
  const size_t last = v->index;
  for (size_t n = last + 1; n > *position; --n) {
    const etx_ir_node* const node = &method->nodes[n - 1];
    if (!makes_part(&m, placement, node)) continue;
    ETX_TRY(etx_placement_each_read(node, add_part, &m));
  }
  for (size_t n = *position; n <= last; ++n) {
    if (!makes_part(&m, placement, &method->nodes[n])) continue;
    method->nodes[n].branch = branch_at(method, *position);
    etx_placement_move_node(method, n, *position);
    ++*position;
  }
  return ETX_OK;
}

static void redirect(etx_ir_arg* arg, uint32_t from, uint32_t to) {
  if (arg->kind == ETX_IR_ARG_VALUE && arg->as.value == from) {
    arg->as.value = to;
  }
  if (arg->kind != ETX_IR_ARG_LIST) return;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    etx_ir_arg* const item = &arg->as.list.items[i];
    if (item->kind == ETX_IR_ARG_VALUE && item->as.value == from) {
      item->as.value = to;
    }
  }
}

etx_status etx_placement_copy_save(const etx_placed_method* m,
                                   const etx_placement_conflict* conflict,
                                   uint32_t* out_value) {
  etx_ir_method* const method = m->method;
  const uint32_t value = conflict->value;
  size_t position = conflict->last;
  ETX_TRY(etx_placement_copy_hoist(m->module->pool, method, m->placement, value,
                                   &position));
  uint32_t copy = 0;
  ETX_TRY(etx_placement_copy_insert(m, value, position, &copy));
  const uint32_t branch = method->nodes[position].branch;
  for (size_t n = position + 1; n < method->node_count; ++n) {
    etx_ir_node* const node = &method->nodes[n];
    if (!etx_placement_has_instruction(m->placement, node) ||
        !etx_ir_branch_is_within(method, node->branch, branch)) {
      continue;
    }
    for (size_t i = 0; i < node->arg_count; ++i) {
      redirect(&node->args[i], value, copy);
    }
  }
  *out_value = copy;
  if (branch != 0) return ETX_OK;
  for (size_t i = 0; i < method->output_count; ++i) {
    redirect(&method->outputs[i].arg, value, copy);
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    etx_ir_mutation* const mutation = &method->mutations[i];
    if (mutation->value == value &&
        !etx_placement_is_in_place(m->placement, mutation)) {
      mutation->value = copy;
    }
  }
  return ETX_OK;
}
