// Shared by the readers of graphs: classes of nodes, marking of names that are
// read, definition of names as values, and nodes that are not in the archive.

#include "exporter/ir/aten_schema.h"
#include "exporter/read_pt2/pt2_internal.h"

static bool starts_with(etx_text text, const char* prefix) {
  return etx_text_starts_with(text, etx_text_of(prefix));
}

etx_pt2_node_class etx_pt2_class_of(etx_text target) {
  static const char* const dropped[] = {
      "_operator.",
      "torch.sym_",
      "torch._sym_",
      "math.",
      "torch.ops.aten.sym_size.",
      "torch.ops.aten.sym_numel.",
      "torch.ops.aten.sym_stride.",
      "torch.ops.aten.sym_storage_offset.",
      "torch.ops.aten._assert_async.",
      "torch.ops.aten._assert_scalar.",
      "torch.ops.aten._assert_tensor_metadata.",
      "torch.ops.aten.sym_constrain_range",
  };
  static const char* const kept[] = {
      "torch.ops.aten.",        "torch.ops.quantized_decomposed.",
      "torch.ops.llama.",       "torch.ops.torchao.",
      "torch.ops.torchvision.", "torch.ops.transformers.",
  };
  for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; ++i) {
    if (starts_with(target, dropped[i])) return ETX_PT2_NODE_DROPPED;
  }
  for (size_t i = 0; i < sizeof kept / sizeof kept[0]; ++i) {
    if (starts_with(target, kept[i])) return ETX_PT2_NODE_KEPT;
  }
  return ETX_PT2_NODE_UNSUPPORTED;
}

bool etx_pt2_is_dropped(etx_text target) {
  return etx_pt2_class_of(target) == ETX_PT2_NODE_DROPPED;
}

void etx_pt2_mark_tensor(etx_pt2_graph* graph, const etx_json* tensor) {
  const etx_json* const name = etx_json_member(tensor, "name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return;
  const etx_json* const meta =
      etx_json_find(graph->tensor_values, name->string);
  if (meta != NULL) {
    graph->last_reads[meta - graph->tensor_values->items] = graph->now;
  }
}

void etx_pt2_mark_argument(etx_pt2_graph* graph, const etx_json* argument) {
  if (argument == NULL || argument->kind != ETX_JSON_OBJECT) return;
  for (size_t i = 0; i < argument->count; ++i) {
    const etx_json* const payload = &argument->items[i];
    if (etx_text_is(argument->keys[i], "as_tensor")) {
      etx_pt2_mark_tensor(graph, payload);
    } else if (payload->kind == ETX_JSON_ARRAY) {
      for (size_t j = 0; j < payload->count; ++j) {
        etx_pt2_mark_tensor(graph, &payload->items[j]);  // as_tensors
        // as_optional_tensors
        etx_pt2_mark_argument(graph, &payload->items[j]);
      }
    }
  }
}

etx_status etx_pt2_define_tensor(etx_pt2_graph* graph, const etx_json* tensor,
                                 uint32_t node, uint32_t* out_value) {
  etx_text name;
  size_t position = 0;
  etx_ir_value value = {0};
  ETX_TRY(etx_pt2_text(graph, tensor, "name", &name));
  ETX_TRY(etx_pt2_find_tensor(graph, name, &position));
  if (graph->states[position] != ETX_PT2_UNDEFINED) {
    return etx_pt2_fail_malformed(graph, "tensor '%t' is defined twice", name);
  }
  ETX_TRY(etx_pt2_shape(graph, &graph->tensor_values->items[position],
                        &value.shape));
  value.name = name;
  value.has_shape = true;
  value.origin = ETX_IR_FROM_NODE;
  value.index = node;
  ETX_TRY(etx_ir_add_value(graph->import->module, graph->method, &value,
                           out_value));
  graph->states[position] = ETX_PT2_DEFINED;
  graph->values[position] = *out_value;
  return ETX_OK;
}

etx_status etx_pt2_add_node(etx_pt2_graph* graph, const char* aten,
                            const etx_aten_arguments* given,
                            const etx_ir_value* result, uint32_t* out_value) {
  etx_ir_value value = *result;
  etx_ir_node node = {.aten = etx_text_of(aten),
                      .outputs = out_value,
                      .output_count = 1,
                      .place = graph->place,
                      .branch = graph->branch};
  uint32_t unused = 0;
  value.has_shape = true;
  value.origin = ETX_IR_FROM_NODE;
  value.index = (uint32_t)graph->method->node_count;
  ETX_TRY(etx_ir_add_value(graph->import->module, graph->method, &value,
                           out_value));
  ETX_TRY(etx_aten_complete(graph->pool, etx_aten_schema_find(node.aten), given,
                            &node, graph->diag));
  return etx_ir_add_node(graph->import->module, graph->method, &node, &unused);
}

etx_status etx_pt2_add_item(etx_pt2_graph* graph, etx_text name,
                            const etx_ir_arg* tensor, uint32_t late) {
  const etx_ir_value result = {
      .name = name,
      .shape = {.dtype = ETX_DTYPE_UINT8, .rank = 1, .dims = {0}}};
  const etx_text unnamed = etx_text_of("");
  const etx_aten_arguments given = {tensor, &unnamed, 1};
  uint32_t value = 0;
  ETX_TRY(
      etx_pt2_add_node(graph, "aten.item.default", &given, &result, &value));
  graph->method->nodes[graph->method->node_count - 1].late = late;
  return ETX_OK;
}
