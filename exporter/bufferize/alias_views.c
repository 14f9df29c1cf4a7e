// Results that are bytes of an argument become views of it.
//
// With sizes known now, a view is a second tensor over the same bytes and
// costs nothing. Where sizes vary, or the bytes are the caller's, an
// instruction sets the header: et_view if all elements are kept. If some are,
// etx's runtime has part_view. The stock runtime has nothing of the kind, but
// its aten::empty gives its output sizes and writes none of its bytes; so a
// second tensor over the same bytes that aten::empty sizes in every call is a
// view there, as long as the plan knows the address: a constant, a state,
// scratch. What is none of these stays a copy.
// Whether the base's bytes are still there when a view is read is settled by
// the passes that overwrite something (update_in_place, write_back).

#include "exporter/passes/pass_context.h"
#include "exporter/placement/placement.h"
#include "exporter/placement/view_rules.h"

static bool way_of_view(const etx_pass_context* context,
                        const etx_ir_method* method,
                        const etx_placement* placement, uint32_t value,
                        const etx_value_view* view,
                        etx_placement_kind* out_way) {
  const etx_storage* const storage =
      &placement->storages[etx_placement_range(placement, view->base).storage];
  const bool is_static = etx_ir_is_static(&method->values[value].shape) &&
                         (!view->all_elements ||
                          etx_ir_is_static(&method->values[view->base].shape));
  *out_way = ETX_PLACEMENT_ALIAS;
  if (etx_value_view_same_shape(method, value, view->base)) return true;
  if (storage->kind != ETX_STORAGE_INPUT && is_static) return true;
  *out_way = ETX_PLACEMENT_DYNAMIC_VIEW;
  if (view->all_elements || context->options->target == ETX_TARGET_ETX) {
    return true;
  }
  *out_way = ETX_PLACEMENT_DYNAMIC_SIZE;
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
    etx_placement_kind way;
    if (!etx_value_view_find(method, node, i, &view)) return;
    const etx_value_placement* const place = &placement->places[value];
    // What a branch gives to a join stays where the join expects it.
    if (place->way != ETX_PLACEMENT_COMPUTED || place->bytes == 0 ||
        placement->storages[place->storage].is_chosen ||
        !way_of_view(context, method, placement, value, &view, &way)) {
      return;
    }
    aliases[i] =
        (etx_value_placement){way, view.base, view.delta, 0, 0, place->bytes};
  }
  for (size_t i = 0; i < node->output_count; ++i) {
    placement->places[node->outputs[i]] = aliases[i];
  }
}

etx_status etx_pass_alias_views(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    const etx_ir_method* const method = &module->methods[m];
    // Initial values are meant to be copied.
    if (method->is_synthetic) continue;
    for (size_t n = 0; n < method->node_count; ++n) {
      alias_node(context, method, &context->placements[m], &method->nodes[n]);
    }
  }
  return ETX_OK;
}
