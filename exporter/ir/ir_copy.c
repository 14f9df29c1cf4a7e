// Copies a method, so that changes of the copy leave the original as it is.

#include "exporter/ir/ir_edit.h"

// Replaces the array at `*items` by a copy of `count` items of `size` bytes.
static bool copy_array(etx_pool* pool, void* items, size_t count, size_t size) {
  void* old = NULL;
  if (count == 0) return true;
  memcpy(&old, items, sizeof old);
  void* const copy = etx_pool_take(pool, count * size);
  if (copy == NULL) return false;
  memcpy(copy, old, count * size);
  memcpy(items, &copy, sizeof copy);
  return true;
}

static bool copy_args(etx_pool* pool, etx_ir_node* node) {
  if (!copy_array(pool, &node->args, node->arg_count, sizeof *node->args)) {
    return false;
  }
  for (size_t i = 0; i < node->arg_count; ++i) {
    etx_ir_arg* const arg = &node->args[i];
    if (arg->kind == ETX_IR_ARG_LIST &&
        !copy_array(pool, &arg->as.list.items, arg->as.list.count,
                    sizeof *arg->as.list.items)) {
      return false;
    }
  }
  return true;
}

// Both tables share the old expressions, which never change. Their capacity is
// used up, so that a new expression moves the copy's table to another array.
static bool copy_symbols(etx_pool* pool, etx_symbols* symbols) {
  symbols->symbol_capacity = symbols->symbol_count;
  symbols->expression_capacity = symbols->expression_count;
  return copy_array(pool, &symbols->symbols, symbols->symbol_count,
                    sizeof *symbols->symbols);
}

// The table of values can be extended.
static etx_status copy_values(etx_pool* pool, const etx_ir_method* method,
                              etx_ir_method* copy) {
  copy->values = NULL;
  copy->value_capacity = 0;
  ETX_TRY(etx_pool_extend_to(pool, &copy->values, &copy->value_capacity,
                             method->value_count, sizeof *copy->values));
  if (method->value_count != 0) {
    memcpy(copy->values, method->values,
           method->value_count * sizeof *copy->values);
  }
  return ETX_OK;
}

etx_status etx_ir_copy_method(etx_pool* pool, const etx_ir_method* method,
                              etx_ir_method* out_copy) {
  etx_ir_method copy = *method;
  ETX_TRY(copy_values(pool, method, &copy));
  copy.node_capacity = copy.node_count;
  copy.node_reserve = copy.spare_capacity = 0;
  copy.spare_nodes = NULL;
  copy.input_capacity = copy.input_count;
  copy.output_capacity = copy.output_count;
  copy.mutation_capacity = copy.mutation_count;
  copy.cond_capacity = copy.cond_count;
  bool is_copied =
      copy_symbols(pool, &copy.symbols) &&
      copy_array(pool, &copy.value_names.entries, copy.value_names.size,
                 sizeof *copy.value_names.entries) &&
      copy_array(pool, &copy.constant_values.items, copy.constant_values.count,
                 sizeof *copy.constant_values.items) &&
      copy_array(pool, &copy.buffer_values.items, copy.buffer_values.count,
                 sizeof *copy.buffer_values.items) &&
      copy_array(pool, &copy.nodes, copy.node_count, sizeof *copy.nodes) &&
      copy_array(pool, &copy.inputs, copy.input_count, sizeof *copy.inputs) &&
      copy_array(pool, &copy.outputs, copy.output_count,
                 sizeof *copy.outputs) &&
      copy_array(pool, &copy.mutations, copy.mutation_count,
                 sizeof *copy.mutations) &&
      copy_array(pool, &copy.conds, copy.cond_count, sizeof *copy.conds);
  for (size_t i = 0; is_copied && i < copy.node_count; ++i) {
    is_copied = copy_args(pool, &copy.nodes[i]);
  }
  if (!is_copied) return ETX_OUT_OF_MEMORY;
  *out_copy = copy;
  return ETX_OK;
}
