// Ends every branch with copies of its results. The copies of both branches can
// then share the storage of the join, wherever the originals are stored and
// whichever nodes read them. share_branch_storage and remove_self_copy remove
// the copies whose original can be computed in that storage.

#include "exporter/ir/ir_cond.h"
#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"

// Copies argument `argument` of the join at `*position`, and increases
// `*position` by the inserted node.
static etx_status copy_argument(etx_ir_module* module, etx_ir_method* method,
                                size_t* position, size_t argument) {
  const uint32_t cond = method->nodes[*position].cond;
  const uint32_t source = method->nodes[*position].args[argument].as.value;
  const uint32_t branch = argument == ETX_JOIN_THEN ? etx_ir_then_branch(cond)
                                                    : etx_ir_else_branch(cond);
  const size_t end =
      etx_ir_branch_end(method, etx_ir_find_head(method, cond), branch);
  etx_ir_value value = method->values[method->nodes[*position].outputs[0]];
  value.name = etx_pool_format(
      module->pool, argument == ETX_JOIN_THEN ? "%t.then" : "%t.else",
      value.name);
  value.index = (uint32_t)method->node_count;
  if (value.name.data == NULL) return ETX_OUT_OF_MEMORY;
  uint32_t copy = 0;
  ETX_TRY(etx_ir_add_value(module, method, &value, &copy));
  etx_ir_arg args[2] = {etx_ir_value_arg(source), {ETX_IR_ARG_NONE, {0}}};
  const etx_ir_node node = {.aten = etx_text_of("aten.clone.default"),
                            .op = etx_op_at(ETX_OP_clone_out),
                            .args = args,
                            .arg_count = 2,
                            .outputs = &copy,
                            .output_count = 1,
                            .place = method->nodes[*position].place,
                            .branch = branch};
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_node(module, method, &node, &index));
  etx_placement_move_node(method, index, end);
  ++*position;
  method->nodes[*position].args[argument].as.value = copy;
  return ETX_OK;
}

etx_status etx_pass_copy_branch_results(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    etx_ir_method* const method = &module->methods[m];
    for (size_t n = 0; n < method->node_count; ++n) {
      if (!etx_ir_is_join(&method->nodes[n])) continue;
      ETX_TRY(copy_argument(module, method, &n, ETX_JOIN_THEN));
      ETX_TRY(copy_argument(module, method, &n, ETX_JOIN_ELSE));
    }
  }
  return ETX_OK;
}
