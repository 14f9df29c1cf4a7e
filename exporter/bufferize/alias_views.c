// Turns results that are bytes of an argument into views of it.
//
// If all sizes are fixed, a view is a second tensor over the same bytes and
// needs no instruction. If sizes are dynamic, or the bytes belong to the
// caller, an instruction sets sizes and address of the view at run time:
// et_view if the view has all elements, else part_view, which only etx's
// runtime has. ExecuTorch's runtime uses aten::empty instead, which sets the
// sizes of its output and writes no bytes: a second tensor over the same bytes,
// which works if the address is planned (a constant, a state, scratch). All
// other views stay copies. A part whose offset depends on sizes is a view for
// etx's runtime only.
//
// Whether a view is read before its bytes are overwritten is checked by the
// passes that overwrite something (update_in_place, write_back).

#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/view_rules.h"

static bool way_of_view(const etx_pass_context* context,
                        const etx_ir_method* method,
                        const etx_placement* placement, uint32_t value,
                        const etx_value_view* view,
                        etx_placement_kind* out_kind) {
  const etx_storage* const storage =
      &placement->storages[etx_placement_range(placement, view->base).storage];
  const bool is_static = etx_ir_is_static(&method->values[value].shape) &&
                         (!view->all_elements ||
                          etx_ir_is_static(&method->values[view->base].shape));
  *out_kind = ETX_PLACEMENT_DYNAMIC_PART;
  if (view->has_dynamic_offset) {
    return context->options->target == ETX_TARGET_ETX;
  }
  *out_kind = ETX_PLACEMENT_ALIAS;
  if (etx_value_view_same_shape(method, value, view->base)) return true;
  if (storage->kind != ETX_STORAGE_INPUT && is_static &&
      etx_placement_has_fixed_offset(placement, view->base)) {
    return true;
  }
  *out_kind = ETX_PLACEMENT_DYNAMIC_VIEW;
  if (view->all_elements || context->options->target == ETX_TARGET_ETX) {
    return true;
  }
  *out_kind = ETX_PLACEMENT_DYNAMIC_SIZE;
  return storage->kind != ETX_STORAGE_INPUT;
}

static void alias_node(const etx_pass_context* context,
                       const etx_ir_method* method, etx_placement* placement,
                       const etx_ir_node* node) {
  etx_value_placement aliases[ETX_MAX_ARGUMENTS];
  if (node->output_count > ETX_MAX_ARGUMENTS) return;
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    etx_value_view view;
    etx_placement_kind kind;
    if (!etx_value_view_find(method, node, i, &view)) return;
    const etx_value_placement* const place = &placement->values[value];
    // The result of a branch must stay in the storage of the join.
    if (place->kind != ETX_PLACEMENT_COMPUTED || place->bytes == 0 ||
        node->keeps_copy ||
        placement->storages[place->storage].is_branch_result ||
        !way_of_view(context, method, placement, value, &view, &kind)) {
      return;
    }
    aliases[i] = (etx_value_placement){.kind = kind,
                                       .base = view.base,
                                       .delta = view.delta,
                                       .bytes = place->bytes};
  }
  for (size_t i = 0; i < node->output_count; ++i) {
    placement->values[node->outputs[i]] = aliases[i];
  }
}

etx_status etx_pass_alias_views(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    const etx_ir_method* const method = &module->methods[m];
    // The init method must copy the initial values.
    if (method->is_synthetic) continue;
    for (size_t n = 0; n < method->node_count; ++n) {
      alias_node(context, method, &context->placements[m], &method->nodes[n]);
    }
  }
  return ETX_OK;
}
