// Lets both branches of a conditional compute their results in the storage of
// the join, so that no copy is needed:
//
//   if c:  a = f(x)       block of y
//   else:  b = g(x)       block of y
//   y = join(a, b)        block of y, no instruction
//
// This needs a result that the branch itself computes, in a block of its own,
// with the type of the join. All other results (an input, a view, the result of
// another join) keep their storage and are copied at the end of the branch.
//
// In the body of a loop, the next carried value is computed over the present
// one if the nodes that compute it can work in place there and nothing reads
// the present value later in the body.

#include "exporter/ir/ir_cond.h"
#include "exporter/passes/pass_context.h"
#include "exporter/placement/in_place_move.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/placement_check.h"
#include "exporter/placement/view_rules.h"

typedef struct branch_sharing {
  const etx_ir_method* method;
  etx_placement* placement;
  bool* is_shared;         // by value: it has the storage of a join already
  etx_in_place_move move;  // of carried values
} branch_sharing;

// True if the value has a block of its own, shared only with the branches that
// compute it.
static bool has_own_block(const branch_sharing* m, uint32_t value) {
  const etx_value_placement* const place = &m->placement->values[value];
  const etx_storage* const storage = &m->placement->storages[place->storage];
  const bool is_free = place->kind == ETX_PLACEMENT_COMPUTED
                           ? !storage->is_branch_result
                           : place->kind == ETX_PLACEMENT_BRANCH_RESULT;
  return is_free && place->offset == 0 &&
         storage->kind == ETX_STORAGE_SCRATCH &&
         storage->index == ETX_IR_NONE && storage->bytes == place->bytes;
}

static void move_block(const branch_sharing* m, uint32_t from, uint32_t to) {
  for (size_t v = 0; v < m->placement->value_count; ++v) {
    etx_value_placement* const place = &m->placement->values[v];
    if (etx_placement_kind_is_root(place->kind) && place->storage == from) {
      place->storage = to;
    }
  }
}

// `copy` is the result of a branch that the join reads.
static void share_result(const branch_sharing* m, uint32_t copy,
                         uint32_t branch) {
  const etx_ir_node* const node =
      &m->method->nodes[m->method->values[copy].index];
  if (node->op->id != ETX_OP_clone_out ||
      m->placement->values[copy].kind != ETX_PLACEMENT_COMPUTED) {
    return;
  }
  const uint32_t source = node->args[0].as.value;
  const etx_ir_value* const value = &m->method->values[source];
  if (value->origin != ETX_IR_FROM_NODE || m->is_shared[source] ||
      m->method->nodes[value->index].branch != branch ||
      !has_own_block(m, source) ||
      !etx_value_view_same_shape(m->method, source, copy)) {
    return;
  }
  move_block(m, m->placement->values[source].storage,
             m->placement->values[copy].storage);
  m->is_shared[source] = true;
}

// Computes the next carried value of the join of a loop over the present one,
// together with as many of the values that it is computed from as possible.
static etx_status update_carried(branch_sharing* m, const etx_ir_node* join) {
  const uint32_t copy = join->args[ETX_JOIN_THEN].as.value;
  const uint32_t source =
      m->method->nodes[m->method->values[copy].index].args[0].as.value;
  const etx_ir_value* const value = &m->method->values[source];
  etx_in_place_move* const move = &m->move;
  move->target = m->placement->values[copy].storage;
  if (value->origin != ETX_IR_FROM_NODE || m->is_shared[source] ||
      m->method->nodes[value->index].branch != etx_ir_then_branch(join->cond) ||
      !has_own_block(m, source)) {
    return ETX_OK;
  }
  for (size_t reach = ETX_MOVE_REACH_COUNT;
       reach-- > 0 && !m->is_shared[source];) {
    etx_placement_conflicts conflicts = {0};
    move->reach = (etx_move_reach)reach;
    ETX_TRY(etx_in_place_move_save(move));
    const bool is_placed = etx_in_place_move_value(move, source);
    if (is_placed) {
      ETX_TRY(etx_placement_check(move->pool, m->method, m->placement,
                                  move->target, ETX_PLACEMENT_CHECK_ALL,
                                  &conflicts));
    }
    m->is_shared[source] = is_placed && conflicts.count == 0;
    if (!m->is_shared[source]) etx_in_place_move_restore(move);
  }
  return ETX_OK;
}

etx_status etx_pass_share_branch_storage(etx_pass_context* context) {
  for (size_t i = 0; i < context->module->method_count; ++i) {
    const etx_ir_method* const method = &context->module->methods[i];
    etx_pool* const pool = context->module->pool;
    etx_placement* const placement = &context->placements[i];
    branch_sharing m = {
        .method = method,
        .placement = placement,
        .is_shared = etx_pool_take(pool, method->value_count),
        .move = {.pool = pool, .method = method, .placement = placement}};
    if (m.is_shared == NULL) return ETX_OUT_OF_MEMORY;
    for (size_t n = 0; n < m.method->node_count; ++n) {
      const etx_ir_node* const node = &m.method->nodes[n];
      if (!etx_ir_is_join(node)) continue;
      if (etx_ir_is_loop(m.method, node->cond)) {
        ETX_TRY(update_carried(&m, node));
        continue;
      }
      share_result(&m, node->args[ETX_JOIN_THEN].as.value,
                   etx_ir_then_branch(node->cond));
      share_result(&m, node->args[ETX_JOIN_ELSE].as.value,
                   etx_ir_else_branch(node->cond));
    }
  }
  return ETX_OK;
}
