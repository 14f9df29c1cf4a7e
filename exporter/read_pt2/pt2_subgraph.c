// Sub-graphs of higher-order operators: torch.cond, map, scan. A sub-graph has
// names of its own; its inputs are bound to values of the graph around it.

#include "exporter/read_pt2/pt2_internal.h"

enum { MAX_DEPTH = 16 };

etx_status etx_pt2_open_subgraph(const etx_pt2_graph* outer,
                                 const etx_json* json, etx_pt2_graph* out) {
  *out = *outer;
  out->graph = json;
  out->depth = outer->depth + 1;
  if (out->depth > MAX_DEPTH) {
    return etx_pt2_fail_unsupported(
        out, "sub-graphs are nested deeper than %i levels", (int64_t)MAX_DEPTH);
  }
  ETX_TRY(etx_pt2_field(out, json, "nodes", ETX_JSON_ARRAY, &out->nodes));
  ETX_TRY(etx_pt2_field(out, json, "tensor_values", ETX_JSON_OBJECT,
                        &out->tensor_values));
  ETX_TRY(etx_pt2_field(out, json, "sym_int_values", ETX_JSON_OBJECT,
                        &out->sym_ints));
  ETX_TRY(etx_pt2_field(out, json, "sym_bool_values", ETX_JSON_OBJECT,
                        &out->sym_bools));
  out->sym_floats = etx_json_member(json, "sym_float_values");
  ETX_TRY(etx_pt2_inline_wrappers(out));
  return etx_pt2_alloc_names(out);
}

etx_status etx_pt2_subgraph_inputs(etx_pt2_graph* inner, size_t operands,
                                   const etx_json** out_inputs) {
  ETX_TRY(
      etx_pt2_field(inner, inner->graph, "inputs", ETX_JSON_ARRAY, out_inputs));
  if ((*out_inputs)->count == operands) return ETX_OK;
  return etx_pt2_fail_malformed(
      inner, "a sub-graph has %z inputs, but the node passes %z operands",
      (*out_inputs)->count, operands);
}

etx_status etx_pt2_subgraph_input(etx_pt2_graph* inner, const etx_json* inputs,
                                  size_t index, size_t* out_position) {
  etx_text tag;
  etx_text name;
  const etx_json* payload = NULL;
  ETX_TRY(etx_pt2_union(inner, &inputs->items[index], &tag, &payload));
  *out_position = SIZE_MAX;
  if (etx_text_is(tag, "as_sym_int")) return ETX_OK;
  if (!etx_text_is(tag, "as_tensor")) {
    return etx_pt2_fail_unsupported(
        inner, "input %z of a sub-graph should be a tensor, found '%t'", index,
        tag);
  }
  ETX_TRY(etx_pt2_text(inner, payload, "name", &name));
  return etx_pt2_find_tensor(inner, name, out_position);
}

etx_status etx_pt2_bind_name(etx_pt2_graph* graph, size_t position,
                             uint8_t state, uint32_t value) {
  if (graph->states[position] != ETX_PT2_UNDEFINED) {
    return etx_pt2_fail_malformed(graph, "tensor '%t' is defined twice",
                                  graph->tensor_values->keys[position]);
  }
  graph->states[position] = state;
  graph->values[position] = value;
  return ETX_OK;
}

bool etx_pt2_same_types(const etx_pt2_graph* graph, uint32_t a, uint32_t b) {
  const etx_shape* const x = &graph->method->values[a].shape;
  const etx_shape* const y = &graph->method->values[b].shape;
  if (x->dtype != y->dtype || x->rank != y->rank) return false;
  for (size_t i = 0; i < x->rank; ++i) {
    if (!etx_symbols_equal(&graph->method->symbols, x->dims[i], y->dims[i])) {
      return false;
    }
  }
  return true;
}
