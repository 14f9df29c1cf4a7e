// Sub-graphs of higher-order operators: torch.cond, while_loop, map, scan. A
// sub-graph has names of its own; its inputs are bound to values of the graph
// around it.
//
// An operand is a tensor, a size or an integer. The archive states a list of
// tensors and sizes as a list of tensors, so the tables of names tell which it
// is. A sub-graph states the sizes that it gets as expressions over the symbols
// of the method.

#include "exporter/read_pt2/pt2_internal.h"

enum { MAX_DEPTH = 16 };

etx_status etx_pt2_open_subgraph(const etx_pt2_graph* outer,
                                 const etx_json* json, etx_pt2_graph* out) {
  *out = *outer;
  out->graph = json;
  out->depth = outer->depth + 1;
  out->writes = NULL;
  out->write_count = out->write_capacity = 0;
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
  ETX_TRY(etx_pt2_group_vmaps(out));
  ETX_TRY(etx_pt2_replace_associative_scans(out));
  ETX_TRY(etx_pt2_replace_functionalized(out));
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
  if (etx_text_is(tag, "as_sym_int") || etx_text_is(tag, "as_int")) {
    return ETX_OK;
  }
  if (!etx_text_is(tag, "as_tensor")) {
    return etx_pt2_fail_unsupported(
        inner,
        "input %z of a sub-graph should be a tensor or an integer, found "
        "'%t'",
        index, tag);
  }
  ETX_TRY(etx_pt2_text(inner, payload, "name", &name));
  return etx_pt2_find_tensor(inner, name, out_position);
}

etx_status etx_pt2_check_operands_unwritten(etx_pt2_graph* graph,
                                            const etx_json* inputs) {
  for (size_t i = 0; i < inputs->count; ++i) {
    const etx_json* const name = etx_json_member(&inputs->items[i], "name");
    if (name == NULL || name->kind != ETX_JSON_STRING ||
        !etx_text_is(name->string, "mutated_arg_indices")) {
      continue;
    }
    return etx_pt2_fail_unsupported(
        graph,
        "the sub-graph writes into a tensor that it gets from outside. PyTorch "
        "allows this only without gradients: compute a new tensor, and return "
        "it from the sub-graph");
  }
  return ETX_OK;
}

etx_status etx_pt2_operands(etx_pt2_graph* graph, const etx_json* inputs,
                            size_t index, const etx_json** out) {
  static const char* const lists[] = {"as_tensors", "as_sym_ints", "as_ints"};
  etx_text tag;
  const etx_json* argument = NULL;
  ETX_TRY(etx_pt2_field(graph, &inputs->items[index], "arg", ETX_JSON_OBJECT,
                        &argument));
  ETX_TRY(etx_pt2_union(graph, argument, &tag, out));
  // An empty list may have the tag of any type of list.
  bool is_list = (*out)->kind == ETX_JSON_ARRAY && (*out)->count == 0;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
    is_list = is_list || etx_text_is(tag, lists[i]);
  }
  if (is_list) return etx_pt2_expect(graph, *out, ETX_JSON_ARRAY, "operands");
  return etx_pt2_fail_unsupported(
      graph,
      "argument %z should be a list of tensors and sizes, found '%t'; other "
      "numbers can be passed as tensors of one element",
      index, tag);
}

etx_status etx_pt2_operand(etx_pt2_graph* graph, const etx_json* operand,
                           size_t* out_position) {
  etx_text name;
  *out_position = SIZE_MAX;
  if (operand->kind == ETX_JSON_INT) return ETX_OK;
  if (etx_json_member(operand, "as_int") != NULL) return ETX_OK;
  const bool is_size = etx_json_member(operand, "as_name") != NULL;
  ETX_TRY(etx_pt2_text(graph, operand, is_size ? "as_name" : "name", &name));
  if (etx_json_find(graph->sym_ints, name) != NULL) return ETX_OK;
  if (etx_json_find(graph->sym_floats, name) != NULL ||
      etx_json_find(graph->sym_bools, name) != NULL) {
    return etx_pt2_fail_unsupported(
        graph,
        "'%t', which a sub-graph reads, is computed from sizes and is not an "
        "integer: pass it as a tensor of one element",
        name);
  }
  return etx_pt2_find_tensor(graph, name, out_position);
}

etx_status etx_pt2_mark_operand(etx_pt2_graph* graph, const etx_json* operand) {
  size_t position = 0;
  ETX_TRY(etx_pt2_operand(graph, operand, &position));
  if (position != SIZE_MAX) graph->last_reads[position] = graph->now;
  return ETX_OK;
}

etx_status etx_pt2_use_operand(etx_pt2_graph* graph, const etx_json* operand,
                               uint32_t* out_value) {
  size_t position = 0;
  ETX_TRY(etx_pt2_operand(graph, operand, &position));
  *out_value = ETX_IR_NONE;
  if (position == SIZE_MAX) return ETX_OK;
  return etx_pt2_use_tensor(graph, graph->tensor_values->keys[position],
                            out_value);
}

etx_status etx_pt2_check_is_tensor(etx_pt2_graph* graph, uint32_t value,
                                   size_t index) {
  if (value != ETX_IR_NONE) return ETX_OK;
  return etx_pt2_fail_unsupported(
      graph,
      "operand %z, of which a loop has another value in each iteration, is an "
      "integer: make it a tensor of one element, such as torch.tensor(0)",
      index);
}

etx_status etx_pt2_bind_input(etx_pt2_graph* inner, const etx_json* inputs,
                              size_t index, uint32_t value) {
  size_t position = 0;
  ETX_TRY(etx_pt2_subgraph_input(inner, inputs, index, &position));
  if ((position == SIZE_MAX) != (value == ETX_IR_NONE)) {
    return etx_pt2_fail_malformed(
        inner, "input %z of a sub-graph is %s, but its operand is not", index,
        position == SIZE_MAX ? "an integer" : "a tensor");
  }
  if (position == SIZE_MAX) return ETX_OK;
  return etx_pt2_bind_name(inner, position, ETX_PT2_DEFINED, value);
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
