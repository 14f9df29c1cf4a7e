// Emits conditionals as jumps:
//
//        JumpFalse c, else        skips the first branch
//        ...                      first branch
//        JumpFalse false, end     skips the second branch
//   else: ...                     second branch
//   end:
//
// A loop jumps back to the jump at its head instead:
//
//   head: JumpFalse c, end
//         ...                     body; its last copies update c
//         JumpFalse false, head
//   end:
//
// Joins need no instruction: both branches write the tensor that the users of
// the join read. Jumps over branches without instructions are removed.
//
// A size that is computed in a branch has no value outside of it. So at the end
// of a branch, the sizes computed since its start are forgotten.

#include "exporter/emit/emit_internal.h"
#include "exporter/ir/ir_cond.h"

struct etx_emit_cond {
  uint32_t cond;
  size_t jump;                // the instruction that skips the first branch
  size_t skip;                // the instruction that skips the second branch
  bool is_else;               // the second branch is being emitted
  uint32_t* index_of_symbol;  // as it was before the branches
  size_t computed_count;      // as it was before the branches
};

static etx_status emit_jump(etx_emit_method* m, uint32_t condition,
                            size_t* out_at) {
  ETX_TRY(etx_pool_extend(m->emit->pool, &m->instructions,
                          m->instruction_count, &m->instruction_capacity,
                          sizeof *m->instructions));
  *out_at = m->instruction_count;
  m->instructions[m->instruction_count++] = (etx_pte_instruction){
      .kind = ETX_PTE_JUMP_FALSE_CALL, .index = (int32_t)condition};
  return ETX_OK;
}

// Sets the target of a jump to the next instruction.
static void set_target(etx_emit_method* m, size_t jump) {
  m->instructions[jump].target = (int32_t)m->instruction_count;
}

static void forget_sizes(etx_emit_method* m, const etx_emit_cond* c) {
  const size_t count = m->symbols->symbol_count;
  if (count != 0) {
    memcpy(m->index_of_symbol, c->index_of_symbol,
           count * sizeof *m->index_of_symbol);
  }
  m->computed_count = c->computed_count;
}

// ---------------------------------------------------------------- heads

// The slot of a condition on sizes: a bool that is false if the integer `dim`
// is 0.
static etx_status emit_size_condition(etx_emit_method* m, etx_dim dim,
                                      uint32_t* out_index) {
  const etx_pte_value unknown = {.kind = ETX_PTE_BOOL};
  uint32_t integer = 0;
  uint32_t zero = 0;
  uint32_t is_zero = 0;
  ETX_TRY(etx_emit_integer(m, dim, &integer));
  ETX_TRY(etx_emit_int(m, 0, &zero));
  ETX_TRY(etx_emit_value(m, &unknown, &is_zero));
  const uint32_t compare[3] = {integer, zero, is_zero};
  ETX_TRY(etx_emit_call(m, etx_op_at(ETX_OP_prim_eq_scalar), compare, 3));
  ETX_TRY(etx_emit_value(m, &unknown, out_index));
  const uint32_t negate[2] = {is_zero, *out_index};
  return etx_emit_call(m, etx_op_at(ETX_OP_prim_sym_not_scalar), negate, 2);
}

etx_status etx_emit_head(etx_emit_method* m, const etx_ir_node* head) {
  const etx_ir_arg* const condition = &head->args[0];
  const size_t count = m->symbols->symbol_count;
  uint32_t index = 0;
  if (condition->kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(etx_emit_tensor(m, condition->as.value, &index));
  } else {
    ETX_TRY(emit_size_condition(m, condition->as.integer, &index));
  }
  ETX_TRY(etx_pool_grow(m->emit->pool, &m->conds, m->cond_count,
                        &m->cond_capacity, sizeof *m->conds));
  etx_emit_cond* const c = &m->conds[m->cond_count++];
  *c = (etx_emit_cond){.cond = head->cond, .computed_count = m->computed_count};
  c->index_of_symbol =
      etx_pool_take(m->emit->pool, count * sizeof *c->index_of_symbol);
  if (c->index_of_symbol == NULL) return ETX_OUT_OF_MEMORY;
  if (count != 0) {
    memcpy(c->index_of_symbol, m->index_of_symbol,
           count * sizeof *c->index_of_symbol);
  }
  return emit_jump(m, index, &c->jump);
}

// ---------------------------------------------------------------- branches

static etx_status start_else(etx_emit_method* m, etx_emit_cond* c) {
  const etx_ir_arg no = {ETX_IR_ARG_BOOL, {0}};
  uint32_t never = 0;
  forget_sizes(m, c);
  ETX_TRY(etx_emit_any(m, &no, &never));
  ETX_TRY(emit_jump(m, never, &c->skip));
  if (etx_ir_is_loop(m->method, c->cond)) {
    m->instructions[c->skip].target = (int32_t)c->jump;
  }
  set_target(m, c->jump);
  c->is_else = true;
  return ETX_OK;
}

// Ends a conditional. Jumps over empty branches, which are then the last
// instructions, are removed.
static etx_status end_cond(etx_emit_method* m, etx_emit_cond* c) {
  if (!c->is_else) ETX_TRY(start_else(m, c));
  forget_sizes(m, c);
  if (etx_ir_is_loop(m->method, c->cond)) return ETX_OK;
  if (c->skip + 1 == m->instruction_count) {
    --m->instruction_count;
    set_target(m, c->jump);
    if (c->jump + 1 == m->instruction_count) --m->instruction_count;
    return ETX_OK;
  }
  set_target(m, c->skip);
  return ETX_OK;
}

etx_status etx_emit_enter_branch(etx_emit_method* m, uint32_t branch) {
  while (m->cond_count != 0) {
    etx_emit_cond* const c = &m->conds[m->cond_count - 1];
    const uint32_t first = etx_ir_then_branch(c->cond);
    if (!c->is_else && etx_ir_branch_is_within(m->method, branch, first)) {
      return ETX_OK;
    }
    if (etx_ir_branch_is_within(m->method, branch,
                                etx_ir_else_branch(c->cond))) {
      return c->is_else ? ETX_OK : start_else(m, c);
    }
    ETX_TRY(end_cond(m, c));
    --m->cond_count;
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- tensors

etx_status etx_emit_join_tensors(etx_emit_method* m) {
  const etx_ir_method* const method = m->method;
  m->tensor_of =
      etx_pool_take(m->emit->pool, method->value_count * sizeof *m->tensor_of);
  if (m->tensor_of == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t v = 0; v < method->value_count; ++v) m->tensor_of[v] = v;
  // Outer joins come after inner ones, so the loop visits them first.
  for (size_t n = method->node_count; n > 0; --n) {
    const etx_ir_node* const node = &method->nodes[n - 1];
    if (!etx_ir_is_join(node)) continue;
    for (size_t a = ETX_JOIN_THEN; a < ETX_JOIN_ARGUMENTS; ++a) {
      const uint32_t from = etx_placement_written_as(method, m->placement,
                                                     node->args[a].as.value);
      if (etx_placement_kind_is_root(m->placement->values[from].kind) &&
          m->placement->values[from].kind != ETX_PLACEMENT_EXTERNAL) {
        m->tensor_of[from] = m->tensor_of[node->outputs[0]];
      }
    }
  }
  return ETX_OK;
}
