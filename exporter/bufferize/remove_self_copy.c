// Removes copies whose source is their target: those of insert_self_copy, those
// that the imported graph had, and those whose result got the storage of their
// argument.

#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/view_rules.h"

static void remove_from_node(const etx_ir_method* method,
                             etx_placement* placement,
                             const etx_ir_node* node) {
  if (node->output_count != 1 || node->outputs[0] == ETX_IR_NONE) return;
  const uint32_t value = node->outputs[0];
  etx_value_placement* const place = &placement->values[value];
  if (place->kind == ETX_PLACEMENT_SELF_COPY) place->kind = ETX_PLACEMENT_ALIAS;
  etx_value_view view;
  if (place->kind != ETX_PLACEMENT_COMPUTED ||
      !etx_value_view_find(method, node, 0, &view)) {
    return;
  }
  if (view.has_dynamic_offset ||
      !etx_placement_has_fixed_offset(placement, view.base)) {
    return;
  }
  // The size of other views may be dynamic: then the bytes may differ.
  if (!view.all_elements && !etx_ir_is_static(&method->values[value].shape)) {
    return;
  }
  etx_storage_range source = etx_placement_range(placement, view.base);
  source.start += view.delta;
  source.end = source.start + place->bytes;
  if (!etx_storage_range_equal(source, etx_placement_range(placement, value)))
    return;
  const bool is_static = etx_ir_is_static(&method->values[value].shape) &&
                         etx_ir_is_static(&method->values[view.base].shape);
  const bool same = etx_value_view_same_shape(method, value, view.base);
  *place = (etx_value_placement){.kind = is_static || same
                                             ? ETX_PLACEMENT_ALIAS
                                             : ETX_PLACEMENT_DYNAMIC_VIEW,
                                 .base = view.base,
                                 .delta = view.delta,
                                 .bytes = place->bytes};
}

etx_status etx_pass_remove_self_copy(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    const etx_ir_method* const method = &module->methods[m];
    for (size_t n = 0; n < method->node_count; ++n) {
      remove_from_node(method, &context->placements[m], &method->nodes[n]);
    }
  }
  return ETX_OK;
}
