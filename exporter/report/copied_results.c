#include "exporter/report/copied_results.h"

#include "exporter/ir/ir_cond.h"

static const char* reason_of(const etx_ir_method* method,
                             const etx_ir_node* join, size_t argument) {
  if (!etx_ir_is_loop(method, join->cond)) {
    return "a branch does not compute its result in the storage of the joined "
           "value";
  }
  return argument == ETX_JOIN_THEN
             ? "each iteration copies the next value over the present one"
             : "a loop starts with a copy of the initial value";
}

// `argument` of a join is a copy that a pass added, unless it was removed
// since.
static etx_status find_in_join(const etx_ir_module* module, uint32_t index,
                               const etx_placement* placement,
                               const etx_ir_node* join, size_t argument,
                               etx_placement_copies* copies) {
  const etx_ir_method* const method = &module->methods[index];
  const uint32_t value = join->args[argument].as.value;
  if (method->values[value].origin != ETX_IR_FROM_NODE ||
      placement->values[value].kind != ETX_PLACEMENT_COMPUTED) {
    return ETX_OK;
  }
  const etx_ir_node* const node = &method->nodes[method->values[value].index];
  if (node->op->id != ETX_OP_clone_out) return ETX_OK;
  const etx_placement_copy copy = {
      .method = index,
      .target = method->values[join->outputs[0]].name,
      .bytes = placement->values[value].bytes,
      .op = node->op->name,
      .reason = reason_of(method, join, argument),
  };
  return etx_placement_copy_report(module->pool, copies, &copy);
}

etx_status etx_copied_results_find(const etx_ir_module* module,
                                   const etx_placement* placements,
                                   etx_placement_copies* copies) {
  for (uint32_t m = 0; m < module->method_count; ++m) {
    const etx_ir_method* const method = &module->methods[m];
    for (size_t n = 0; n < method->node_count; ++n) {
      const etx_ir_node* const node = &method->nodes[n];
      if (!etx_ir_is_join(node)) continue;
      for (size_t a = ETX_JOIN_THEN; a < ETX_JOIN_ARGUMENTS; ++a) {
        ETX_TRY(find_in_join(module, m, &placements[m], node, a, copies));
      }
    }
  }
  return ETX_OK;
}
