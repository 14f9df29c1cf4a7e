// Branch heads, joins, carries and iteration ends are nodes with operators of
// their own, which exist in the IR only: they have no kernel and are never
// written to a file.

#include "exporter/ir/ir_cond.h"

static const etx_op head_row = {
    .id = ETX_OP_COUNT,
    .name = "etx::cond",
    .overload = "",
    .arguments = "Tensor condition, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
};
static const etx_op join_row = {
    .id = ETX_OP_COUNT,
    .name = "etx::join",
    .overload = "",
    .arguments = "Tensor token, Tensor a, Tensor b, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
};
static const etx_op carry_row = {
    .id = ETX_OP_COUNT,
    .name = "etx::carry",
    .overload = "",
    .arguments = "Tensor init, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
};
static const etx_op iteration_end_row = {
    .id = ETX_OP_COUNT,
    .name = "etx::iteration_end",
    .overload = "",
    .arguments = "Tensor[] values, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
};

bool etx_ir_is_carry(const etx_ir_node* node) { return node->op == &carry_row; }
bool etx_ir_is_iteration_end(const etx_ir_node* node) {
  return node->op == &iteration_end_row;
}
bool etx_ir_is_head(const etx_ir_node* node) { return node->op == &head_row; }
bool etx_ir_is_join(const etx_ir_node* node) { return node->op == &join_row; }

etx_status etx_ir_add_cond(etx_ir_module* module, etx_ir_method* method,
                           uint32_t parent, uint32_t* out_cond) {
  if (method->cond_count >= UINT32_MAX / 2 - 1) return ETX_OUT_OF_RANGE;
  ETX_TRY(etx_pool_grow(module->pool, &method->conds, method->cond_count,
                        &method->cond_capacity, sizeof *method->conds));
  method->conds[method->cond_count] = (etx_ir_cond){.parent = parent};
  *out_cond = (uint32_t)++method->cond_count;
  return ETX_OK;
}

etx_status etx_ir_add_head(etx_ir_module* module, etx_ir_method* method,
                           uint32_t cond, const etx_ir_arg* condition,
                           const etx_source_location* place,
                           uint32_t* out_token) {
  etx_ir_value token = {.has_shape = true,
                        .shape = {.dtype = ETX_DTYPE_BOOL, .rank = 1},
                        .origin = ETX_IR_FROM_NODE,
                        .index = (uint32_t)method->node_count};
  // The space keeps the name from being that of a value in the model, which
  // would then get a suffix (etx_ir_add_value).
  token.name = etx_pool_format(module->pool, "cond %u", (uint64_t)cond);
  if (token.name.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_ir_add_value(module, method, &token, out_token));
  etx_ir_arg args[1] = {*condition};
  const etx_ir_node node = {
      .aten = etx_text_of("torch.cond"),
      .op = &head_row,
      .args = args,
      .arg_count = 1,
      .outputs = out_token,
      .output_count = 1,
      .place = *place,
      .branch = method->conds[cond - 1].parent,
      .cond = cond,
  };
  uint32_t index = 0;
  return etx_ir_add_node(module, method, &node, &index);
}

etx_status etx_ir_add_join(etx_ir_module* module, etx_ir_method* method,
                           const etx_ir_join* join,
                           const etx_source_location* place) {
  etx_ir_arg args[ETX_JOIN_ARGUMENTS] = {etx_ir_value_arg(join->token),
                                         etx_ir_value_arg(join->then_value),
                                         etx_ir_value_arg(join->else_value)};
  uint32_t output = join->output;
  const etx_ir_node node = {
      .aten = etx_text_of("torch.cond"),
      .op = &join_row,
      .args = args,
      .arg_count = ETX_JOIN_ARGUMENTS,
      .outputs = &output,
      .output_count = 1,
      .place = *place,
      .branch = method->conds[join->cond - 1].parent,
      .cond = join->cond,
  };
  uint32_t index = 0;
  return etx_ir_add_node(module, method, &node, &index);
}

etx_status etx_ir_add_carry(etx_ir_module* module, etx_ir_method* method,
                            const etx_ir_carry* carry,
                            const etx_source_location* place,
                            uint32_t* out_value) {
  const uint32_t cond = carry->cond;
  etx_ir_value value = method->values[carry->init];
  value.origin = ETX_IR_FROM_NODE;
  value.index = (uint32_t)method->node_count;
  value.name = carry->name;
  if (value.name.size == 0) {
    // A dump writes this name, so it has no space. etx_ir_add_value adds a
    // suffix if another carry or a value of the model has it.
    value.name = etx_pool_format(module->pool, "loop_%u", (uint64_t)cond);
    if (value.name.data == NULL) return ETX_OUT_OF_MEMORY;
  }
  ETX_TRY(etx_ir_add_value(module, method, &value, out_value));
  etx_ir_arg args[1] = {etx_ir_value_arg(carry->init)};
  const etx_ir_node node = {
      .aten = etx_text_of("torch.while_loop"),
      .op = &carry_row,
      .args = args,
      .arg_count = 1,
      .outputs = out_value,
      .output_count = 1,
      .place = *place,
      .branch = method->conds[cond - 1].parent,
      .cond = cond,
  };
  uint32_t index = 0;
  return etx_ir_add_node(module, method, &node, &index);
}

etx_status etx_ir_add_iteration_end(etx_ir_module* module,
                                    etx_ir_method* method, uint32_t cond,
                                    const etx_ir_arg* values,
                                    const etx_source_location* place,
                                    uint32_t* out_node) {
  etx_ir_value token = {.has_shape = true,
                        .shape = {.dtype = ETX_DTYPE_BOOL, .rank = 1},
                        .origin = ETX_IR_FROM_NODE,
                        .index = (uint32_t)method->node_count};
  uint32_t output = 0;
  token.name =
      etx_pool_format(module->pool, "iteration end %u", (uint64_t)cond);
  if (token.name.data == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_ir_add_value(module, method, &token, &output));
  etx_ir_arg args[1] = {*values};
  const etx_ir_node node = {.aten = etx_text_of("torch.while_loop"),
                            .op = &iteration_end_row,
                            .args = args,
                            .arg_count = 1,
                            .outputs = &output,
                            .output_count = 1,
                            .place = *place,
                            .branch = etx_ir_then_branch(cond)};
  return etx_ir_add_node(module, method, &node, out_node);
}

bool etx_ir_has_loops(const etx_ir_method* method) {
  for (size_t i = 0; i < method->cond_count; ++i) {
    if (method->conds[i].is_loop) return true;
  }
  return false;
}

uint32_t etx_ir_outside_loops(const etx_ir_method* method, uint32_t inner,
                              uint32_t outer) {
  uint32_t outside = inner;
  while (!etx_ir_branch_is_within(method, outer, inner)) {
    const uint32_t parent = etx_ir_branch_parent(method, inner);
    if (etx_ir_is_loop(method, etx_ir_cond_of(inner))) outside = parent;
    inner = parent;
  }
  return outside;
}

uint32_t etx_ir_branch_parent(const etx_ir_method* method, uint32_t branch) {
  return method->conds[etx_ir_cond_of(branch) - 1].parent;
}

bool etx_ir_branch_is_within(const etx_ir_method* method, uint32_t inner,
                             uint32_t outer) {
  // A conditional is nested in one with a smaller number, so the loop ends.
  while (inner > outer) inner = etx_ir_branch_parent(method, inner);
  return inner == outer;
}

size_t etx_ir_find_head(const etx_ir_method* method, uint32_t cond) {
  size_t at = 0;
  while (at < method->node_count && !(etx_ir_is_head(&method->nodes[at]) &&
                                      method->nodes[at].cond == cond)) {
    ++at;
  }
  return at;
}

size_t etx_ir_branch_end(const etx_ir_method* method, size_t head,
                         uint32_t branch) {
  const uint32_t first = etx_ir_then_branch(etx_ir_cond_of(branch));
  size_t at = head + 1;
  for (uint32_t b = first; b <= branch; ++b) {
    while (at < method->node_count &&
           etx_ir_branch_is_within(method, method->nodes[at].branch, b)) {
      ++at;
    }
  }
  return at;
}

// The outermost conditional around branch `inner` that does not contain
// `branch`.
static uint32_t cond_between(const etx_ir_method* method, uint32_t inner,
                             uint32_t branch) {
  uint32_t outermost = inner;
  while (!etx_ir_branch_is_within(method, branch, inner)) {
    outermost = inner;
    inner = etx_ir_branch_parent(method, inner);
  }
  return etx_ir_cond_of(outermost);
}

size_t etx_ir_outside_conds(const etx_ir_method* method, uint32_t branch,
                            size_t position) {
  while (position < method->node_count) {
    const etx_ir_node* const node = &method->nodes[position];
    if (!etx_ir_branch_is_within(method, branch, node->branch)) {
      return etx_ir_find_head(method,
                              cond_between(method, node->branch, branch));
    }
    if (!etx_ir_is_join(node)) break;
    ++position;
  }
  return position;
}
