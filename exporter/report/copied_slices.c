#include "exporter/report/copied_slices.h"

#include "exporter/placement/view_rules.h"

// The name of the constant or state; its value in the graph may have another
// name.
static etx_text name_of(const etx_ir_module* module,
                        const etx_ir_method* method,
                        const etx_placement* placement, uint32_t value) {
  uint64_t delta = 0;
  const etx_storage_range range = etx_placement_range(placement, value);
  const etx_storage* const storage = &placement->storages[range.storage];
  const uint32_t root = etx_placement_root(placement, value, &delta);
  const etx_ir_value* const v = &method->values[root];
  if (storage->kind == ETX_STORAGE_STATE) {
    return module->buffers[storage->index].name;
  }
  return v->origin == ETX_IR_FROM_BUFFER ? module->buffers[v->index].name
                                         : v->name;
}

static bool is_kept_in_place(const etx_placement* placement, uint32_t value) {
  const uint32_t storage = etx_placement_range(placement, value).storage;
  const etx_storage_kind kind = placement->storages[storage].kind;
  return kind == ETX_STORAGE_CONSTANT || kind == ETX_STORAGE_STATE;
}

// The bytes that a node copies because its results cannot be views; 0: none.
static uint64_t copied_bytes(const etx_ir_method* method,
                             const etx_placement* placement,
                             const etx_ir_node* node) {
  uint64_t bytes = 0;
  if (etx_value_view_obstacle(method, node) == NULL) return 0;
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] == ETX_IR_NONE) continue;
    const etx_value_placement* const place =
        &placement->values[node->outputs[i]];
    if (place->kind == ETX_PLACEMENT_COMPUTED) bytes += place->bytes;
  }
  return bytes;
}

etx_copied_parts etx_copied_parts_count(const etx_ir_method* method,
                                        const etx_placement* placement) {
  etx_copied_parts parts = {0, 0};
  for (size_t n = 0; n < method->node_count; ++n) {
    const etx_ir_node* const node = &method->nodes[n];
    const uint64_t bytes = copied_bytes(method, placement, node);
    if (bytes == 0 || is_kept_in_place(placement, node->args[0].as.value)) {
      continue;
    }
    ++parts.count;
    parts.bytes += bytes;
  }
  return parts;
}

static etx_status find_in_node(const etx_ir_module* module, uint32_t index,
                               const etx_placement* placement,
                               const etx_ir_node* node,
                               etx_placement_copies* copies) {
  const etx_ir_method* const method = &module->methods[index];
  const uint64_t bytes = copied_bytes(method, placement, node);
  if (bytes == 0 || !is_kept_in_place(placement, node->args[0].as.value)) {
    return ETX_OK;
  }
  const etx_placement_copy copy = {
      .method = index,
      .target = name_of(module, method, placement, node->args[0].as.value),
      .bytes = bytes,
      .op = node->op->name,
      .reason = etx_value_view_obstacle(method, node),
  };
  return etx_placement_copy_report(module->pool, copies, &copy);
}

etx_status etx_copied_slices_find(const etx_ir_module* module,
                                  const etx_placement* placements,
                                  etx_placement_copies* copies) {
  for (uint32_t m = 0; m < module->method_count; ++m) {
    const etx_ir_method* const method = &module->methods[m];
    for (size_t n = 0; n < method->node_count; ++n) {
      ETX_TRY(
          find_in_node(module, m, &placements[m], &method->nodes[n], copies));
    }
  }
  return ETX_OK;
}
