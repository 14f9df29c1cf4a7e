// Ends every branch with copies of its results. The copies of both branches can
// then share the storage of the join, wherever the originals are stored and
// whichever nodes read them. share_branch_storage and remove_self_copy remove
// the copies whose original can be computed in that storage.

#include "exporter/ir/ir_cond.h"
#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/view_rules.h"

// Appends a copy of `source` to the end of `branch`; `result` is its type and
// name.
static etx_status append_copy(etx_ir_module* module, etx_ir_method* method,
                              uint32_t branch, uint32_t source,
                              etx_ir_value result, uint32_t* out_copy) {
  const size_t head = etx_ir_find_head(method, etx_ir_cond_of(branch));
  const size_t end = etx_ir_branch_end(method, head, branch);
  if (result.name.data == NULL) return ETX_OUT_OF_MEMORY;
  result.origin = ETX_IR_FROM_NODE;
  result.index = (uint32_t)method->node_count;
  ETX_TRY(etx_ir_add_value(module, method, &result, out_copy));
  etx_ir_arg args[2] = {etx_ir_value_arg(source), {ETX_IR_ARG_NONE, {0}}};
  const etx_ir_node node = {
      .aten = etx_text_of("aten.clone.default"),
      .op = etx_op_at(ETX_OP_clone_out),
      .args = args,
      .arg_count = 2,
      .outputs = out_copy,
      .output_count = 1,
      .place = method->nodes[head].place,
      .branch = branch,
      .keeps_copy = etx_ir_is_loop(method, etx_ir_cond_of(branch))};
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_node(module, method, &node, &index));
  etx_placement_move_node(method, index, end);
  return ETX_OK;
}

// Copies argument `argument` of the join at `*position`, and increases
// `*position` by the inserted node.
static etx_status copy_argument(etx_ir_module* module, etx_ir_method* method,
                                size_t* position, size_t argument) {
  const etx_ir_node* const join = &method->nodes[*position];
  const uint32_t branch = argument == ETX_JOIN_THEN
                              ? etx_ir_then_branch(join->cond)
                              : etx_ir_else_branch(join->cond);
  etx_ir_value value = method->values[join->outputs[0]];
  uint32_t copy = 0;
  value.name = etx_pool_format(
      module->pool, argument == ETX_JOIN_THEN ? "%t.then" : "%t.else",
      value.name);
  ETX_TRY(append_copy(module, method, branch, join->args[argument].as.value,
                      value, &copy));
  ++*position;
  method->nodes[*position].args[argument].as.value = copy;
  return ETX_OK;
}

// ---------------------------------------------------------------- loops

// True if a node of the body computes `value` in bytes of its own. Then the
// copies of other results cannot overwrite it.
static bool is_new_in_body(const etx_ir_method* method, uint32_t value,
                           uint32_t body, etx_target target) {
  const etx_ir_value* const v = &method->values[value];
  etx_value_view view;
  if (v->origin != ETX_IR_FROM_NODE) return false;
  const etx_ir_node* const node = &method->nodes[v->index];
  return node->branch == body && node->output_count == 1 &&
         (!etx_value_view_find(method, node, 0, &view) ||
          (view.has_dynamic_offset && target != ETX_TARGET_ETX));
}

// Copies what the next iteration starts with: first the values that may be
// bytes of carried values to blocks of their own, then all of them to the
// carried values.
static etx_status copy_results_of_body(etx_ir_module* module,
                                       etx_ir_method* method, uint32_t loop,
                                       etx_target target) {
  const uint32_t body = etx_ir_then_branch(loop);
  for (size_t n = 0; n < method->node_count; ++n) {
    const etx_ir_node* const join = &method->nodes[n];
    if (!etx_ir_is_join(join) || join->cond != loop ||
        is_new_in_body(method, join->args[ETX_JOIN_THEN].as.value, body,
                       target)) {
      continue;
    }
    ETX_TRY(copy_argument(module, method, &n, ETX_JOIN_THEN));
  }
  for (size_t n = 0; n < method->node_count; ++n) {
    const etx_ir_node* const join = &method->nodes[n];
    if (!etx_ir_is_join(join) || join->cond != loop) continue;
    ETX_TRY(copy_argument(module, method, &n, ETX_JOIN_THEN));
  }
  return ETX_OK;
}

typedef struct outside_values {
  etx_ir_module* module;
  const etx_ir_method* method;
  uint32_t loop;
  bool* is_listed;  // by value
  etx_ir_arg* items;
  size_t count, capacity;
} outside_values;

static etx_status list_value(void* context, size_t argument, uint32_t value) {
  outside_values* const o = context;
  const etx_ir_value* const v = &o->method->values[value];
  (void)argument;
  if (o->is_listed[value]) return ETX_OK;
  o->is_listed[value] = true;
  if (v->origin == ETX_IR_FROM_NODE) {
    const etx_ir_node* const node = &o->method->nodes[v->index];
    if (etx_ir_is_head(node) ||
        etx_ir_branch_is_within(o->method, node->branch,
                                etx_ir_then_branch(o->loop))) {
      return ETX_OK;
    }
  }
  ETX_TRY(etx_pool_grow(o->module->pool, &o->items, o->count, &o->capacity,
                        sizeof *o->items));
  o->items[o->count++] = etx_ir_value_arg(value);
  return ETX_OK;
}

// Ends the body with a node that reads the new carried values, and all values
// from outside that the body reads: the next iteration needs them.
static etx_status read_outside_values(etx_ir_module* module,
                                      etx_ir_method* method, uint32_t loop) {
  const uint32_t body = etx_ir_then_branch(loop);
  const size_t head = etx_ir_find_head(method, loop);
  outside_values o = {
      module, method, loop, etx_pool_take(module->pool, method->value_count),
      NULL,   0,      0};
  if (o.is_listed == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t n = 0; n < method->node_count; ++n) {
    const etx_ir_node* const node = &method->nodes[n];
    if (!etx_ir_is_join(node) || node->cond != loop) continue;
    // The carried value itself has been replaced by then.
    o.is_listed[node->args[ETX_JOIN_ELSE].as.value] = true;
    const uint32_t next = node->args[ETX_JOIN_THEN].as.value;
    o.is_listed[next] = true;
    ETX_TRY(etx_pool_grow(module->pool, &o.items, o.count, &o.capacity,
                          sizeof *o.items));
    o.items[o.count++] = etx_ir_value_arg(next);
  }
  for (size_t n = head + 1; n < etx_ir_branch_end(method, head, body); ++n) {
    ETX_TRY(etx_placement_each_read(&method->nodes[n], list_value, &o));
  }
  const size_t end = etx_ir_branch_end(method, head, body);
  const etx_ir_arg list = {ETX_IR_ARG_LIST, {.list = {o.items, o.count}}};
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_iteration_end(module, method, loop, &list,
                                   &method->nodes[head].place, &index));
  etx_placement_move_node(method, index, end);
  return ETX_OK;
}

// The carries become copies of the initial values.
static etx_status copy_initial_values(etx_ir_module* module,
                                      etx_ir_method* method) {
  for (size_t n = 0; n < method->node_count; ++n) {
    etx_ir_node* const node = &method->nodes[n];
    if (!etx_ir_is_carry(node)) continue;
    etx_ir_arg* const args = etx_pool_take(module->pool, 2 * sizeof *args);
    if (args == NULL) return ETX_OUT_OF_MEMORY;
    args[0] = node->args[0];
    args[1] = (etx_ir_arg){ETX_IR_ARG_NONE, {0}};
    node->aten = etx_text_of("aten.clone.default");
    node->op = etx_op_at(ETX_OP_clone_out);
    node->args = args;
    node->arg_count = 2;
    node->cond = 0;
    node->keeps_copy = true;
  }
  return ETX_OK;
}

static etx_status copy_results_of_loops(etx_ir_module* module,
                                        etx_ir_method* method,
                                        etx_target target) {
  for (uint32_t c = 1; c <= method->cond_count; ++c) {
    if (!etx_ir_is_loop(method, c) ||
        etx_ir_find_head(method, c) == method->node_count) {
      continue;
    }
    ETX_TRY(copy_results_of_body(module, method, c, target));
  }
  for (uint32_t c = 1; c <= method->cond_count; ++c) {
    if (!etx_ir_is_loop(method, c) ||
        etx_ir_find_head(method, c) == method->node_count) {
      continue;
    }
    ETX_TRY(read_outside_values(module, method, c));
  }
  return copy_initial_values(module, method);
}

etx_status etx_pass_copy_branch_results(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    etx_ir_method* const method = &module->methods[m];
    for (size_t n = 0; n < method->node_count; ++n) {
      const etx_ir_node* const node = &method->nodes[n];
      if (!etx_ir_is_join(node) || etx_ir_is_loop(method, node->cond)) continue;
      ETX_TRY(copy_argument(module, method, &n, ETX_JOIN_THEN));
      ETX_TRY(copy_argument(module, method, &n, ETX_JOIN_ELSE));
    }
    ETX_TRY(copy_results_of_loops(module, method, context->options->target));
  }
  return ETX_OK;
}
