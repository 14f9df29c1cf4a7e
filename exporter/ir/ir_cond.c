// Branch heads and joins are nodes with operators of their own, which exist in
// the IR only: they have no kernel and are never written to a file.

#include "exporter/ir/ir_cond.h"

static const etx_op head_row = {ETX_OP_COUNT,
                                "etx::cond",
                                "",
                                "Tensor condition, *, Tensor(a!) out",
                                ETX_RESULT_OUT,
                                ETX_IN_PLACE_NEVER,
                                NULL};
static const etx_op join_row = {
    ETX_OP_COUNT,
    "etx::join",
    "",
    "Tensor token, Tensor a, Tensor b, *, Tensor(a!) out",
    ETX_RESULT_OUT,
    ETX_IN_PLACE_NEVER,
    NULL};

bool etx_ir_is_head(const etx_ir_node* node) { return node->op == &head_row; }
bool etx_ir_is_join(const etx_ir_node* node) { return node->op == &join_row; }

etx_status etx_ir_add_cond(etx_ir_module* module, etx_ir_method* method,
                           uint32_t parent, uint32_t* out_cond) {
  if (method->cond_count >= UINT32_MAX / 2 - 1) return ETX_OUT_OF_RANGE;
  ETX_TRY(etx_pool_grow(module->pool, &method->conds, method->cond_count,
                        &method->cond_capacity, sizeof *method->conds));
  method->conds[method->cond_count].parent = parent;
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
  // The space keeps the name from colliding with the names of a model.
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
