// Results of branches are computed where the join's result lies, so that
// nothing is copied where the ways meet:
//
//   if c:  a = f(x)       block of y
//   else:  b = g(x)       block of y
//   y = join(a, b)        block of y, no instruction
//
// Only what the branch itself computes, whole and of the join's type; anything
// else (an input, a part, a value that something outside reads too) stays
// where it is and is copied at the branch's end.

#include "exporter/ir/ir_cond.h"
#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/view_rules.h"

typedef struct merging {
  const etx_ir_method* method;
  etx_placement* placement;
  bool* is_merged;  // by value: it lies in the block of an outer join
} merging;

// A block that holds this value and, if it is the result of an inner choice,
// what that was made of.
static bool has_own_block(const merging* m, uint32_t value) {
  const etx_value_placement* const place = &m->placement->values[value];
  const etx_storage* const storage = &m->placement->storages[place->storage];
  const bool is_free = place->kind == ETX_PLACEMENT_COMPUTED
                           ? !storage->is_branch_result
                           : place->kind == ETX_PLACEMENT_BRANCH_RESULT;
  return is_free && place->offset == 0 &&
         storage->kind == ETX_STORAGE_SCRATCH &&
         storage->index == ETX_IR_NONE && storage->bytes == place->bytes;
}

static void move_block(const merging* m, uint32_t from, uint32_t to) {
  for (size_t v = 0; v < m->placement->value_count; ++v) {
    etx_value_placement* const place = &m->placement->values[v];
    if (etx_placement_kind_is_root(place->kind) && place->storage == from) {
      place->storage = to;
    }
  }
}

// `copy` is what a branch gives to the join.
static void merge_result(const merging* m, uint32_t copy, uint32_t branch) {
  const etx_ir_node* const node =
      &m->method->nodes[m->method->values[copy].index];
  if (node->op->id != ETX_OP_clone_out ||
      m->placement->values[copy].kind != ETX_PLACEMENT_COMPUTED) {
    return;
  }
  const uint32_t source = node->args[0].as.value;
  const etx_ir_value* const value = &m->method->values[source];
  if (value->origin != ETX_IR_FROM_NODE || m->is_merged[source] ||
      m->method->nodes[value->index].branch != branch ||
      !has_own_block(m, source) ||
      !etx_value_view_same_shape(m->method, source, copy)) {
    return;
  }
  move_block(m, m->placement->values[source].storage,
             m->placement->values[copy].storage);
  m->is_merged[source] = true;
}

etx_status etx_pass_share_branch_storage(etx_pass_context* context) {
  for (size_t i = 0; i < context->module->method_count; ++i) {
    const etx_ir_method* const method = &context->module->methods[i];
    const merging m = {
        method, &context->placements[i],
        etx_pool_take(context->module->pool, method->value_count)};
    if (m.is_merged == NULL) return ETX_OUT_OF_MEMORY;
    for (size_t n = 0; n < m.method->node_count; ++n) {
      const etx_ir_node* const node = &m.method->nodes[n];
      if (!etx_ir_is_join(node)) continue;
      merge_result(&m, node->args[ETX_JOIN_THEN].as.value,
                   etx_ir_then_branch(node->choice));
      merge_result(&m, node->args[ETX_JOIN_ELSE].as.value,
                   etx_ir_else_branch(node->choice));
    }
  }
  return ETX_OK;
}
