// Replaces conditionals whose condition is known: it is a constant, or an
// expression over sizes that is true for all sizes or for none. The nodes of
// the branch that is taken then always run; those of the other branch are
// removed. A join whose operands are the same value is replaced by that value.

#include "exporter/ir/ir_cond.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"
#include "exporter/passes/pass_context.h"

typedef enum taken_branch { UNKNOWN, THEN, ELSE } taken_branch;

static taken_branch find_taken(const etx_ir_module* module,
                               const etx_ir_method* method,
                               const etx_ir_arg* condition) {
  if (condition->kind == ETX_IR_ARG_INT) {
    int64_t low = 0;
    int64_t high = 0;
    etx_symbols_bounds(&method->symbols, condition->as.integer, &low, &high);
    if (low > 0 || high < 0) return THEN;
    return low == 0 && high == 0 ? ELSE : UNKNOWN;
  }
  const etx_ir_constant* const constant =
      etx_rewrite_constant(module, method, condition->as.value);
  if (constant == NULL || constant->data.size != 1) return UNKNOWN;
  return constant->data.data[0] != 0 ? THEN : ELSE;
}

// Moves the nodes of `branch` into the branch that contains its conditional.
static void hoist_branch(etx_ir_method* method, uint32_t branch) {
  const uint32_t parent = etx_ir_branch_parent(method, branch);
  for (size_t i = 0; i < method->node_count; ++i) {
    if (method->nodes[i].branch == branch) method->nodes[i].branch = parent;
  }
  for (size_t i = 0; i < method->cond_count; ++i) {
    if (method->conds[i].parent == branch) method->conds[i].parent = parent;
  }
}

static etx_status fold_method(etx_ir_module* module, etx_ir_method* method) {
  uint32_t* const map = etx_ir_identity_map(module->pool, method);
  if (map == NULL) return ETX_OUT_OF_MEMORY;
  bool changed = false;
  taken_branch* const taken =
      etx_pool_take(module->pool, (method->cond_count + 1) * sizeof *taken);
  if (taken == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (etx_ir_is_head(node)) {
      taken[node->cond] = find_taken(module, method, &node->args[0]);
    }
    if (!etx_ir_is_join(node)) continue;
    const uint32_t a = node->args[ETX_JOIN_THEN].as.value;
    const uint32_t b = node->args[ETX_JOIN_ELSE].as.value;
    if (taken[node->cond] == UNKNOWN && a != b) continue;
    map[node->outputs[0]] = taken[node->cond] == ELSE ? b : a;
    changed = true;
  }
  for (uint32_t c = 1; c <= method->cond_count; ++c) {
    if (taken[c] == THEN) hoist_branch(method, etx_ir_then_branch(c));
    if (taken[c] == ELSE) hoist_branch(method, etx_ir_else_branch(c));
  }
  if (!changed) return ETX_OK;
  etx_ir_replace(method, map);
  return etx_ir_drop_dead_nodes(module, method);
}

etx_status etx_pass_fold_constant_branches(etx_pass_context* context) {
  for (size_t i = 0; i < context->module->method_count; ++i) {
    etx_ir_method* const method = &context->module->methods[i];
    if (method->cond_count == 0) continue;
    ETX_TRY(fold_method(context->module, method));
  }
  return ETX_OK;
}
