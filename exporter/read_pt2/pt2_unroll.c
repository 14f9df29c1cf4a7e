// map and scan with few steps: the loop is unrolled.
//
//   carry, stacked = scan(body, carry, sliced, invariants)
//       for each t: carry, stacked[t] = body(carry, sliced[t], invariants)
//   stacked = map(body, sliced, invariants)
//
// Slices become views, and the parts of a stacked output are computed where
// they lie in it, so the memory of a step is reused by the next one. Fusion,
// constant folding and preparation see plain nodes. pt2_scan.c reads longer
// loops.

#include "exporter/read_pt2/pt2_internal.h"

typedef struct unrolled_call {
  const etx_json* body;     // a Graph
  const etx_json* outputs;  // a list of Arguments
  // Operands in the order of the body's inputs: carried, sliced, invariant.
  uint32_t* operands;
  size_t carried, sliced, invariant;
  etx_dim steps;
  size_t stacked;  // outputs that are stacked
} unrolled_call;

static bool is_scan(etx_text target) {
  return etx_text_is(target, "torch.ops.higher_order.scan");
}

// ---------------------------------------------------------------- the call

// Appends the values of a list of operands.
static etx_status add_operands(etx_pt2_graph* graph, const etx_json* inputs,
                               size_t index, unrolled_call* p,
                               size_t* out_count) {
  const etx_json* list = NULL;
  const size_t before = p->carried + p->sliced + p->invariant;
  ETX_TRY(etx_pt2_operands(graph, inputs, index, &list));
  uint32_t* const all =
      etx_pool_take(graph->pool, (before + list->count) * sizeof *p->operands);
  if (all == NULL) return ETX_OUT_OF_MEMORY;
  if (before > 0) memcpy(all, p->operands, before * sizeof *all);
  for (size_t i = 0; i < list->count; ++i) {
    ETX_TRY(etx_pt2_use_operand(graph, &list->items[i], &all[before + i]));
  }
  p->operands = all;
  *out_count = list->count;
  return ETX_OK;
}

// The number of steps: dimension 0 of all sliced operands.
static etx_status find_steps(etx_pt2_graph* graph, unrolled_call* p) {
  for (size_t i = 0; i < p->sliced; ++i) {
    const etx_ir_value* const value =
        &graph->method->values[p->operands[p->carried + i]];
    const etx_shape* const shape = &value->shape;
    if (shape->rank == 0) {
      return etx_pt2_fail_malformed(
          graph, "the loop slices '%t', which has no dimension", value->name);
    }
    if (i > 0 &&
        !etx_symbols_equal(&graph->method->symbols, p->steps, shape->dims[0])) {
      return etx_pt2_fail_malformed(
          graph, "the operands that the loop slices differ in their rows");
    }
    p->steps = shape->dims[0];
  }
  if (p->sliced > 0) return ETX_OK;
  return etx_pt2_fail_malformed(graph, "the loop has no operand to slice");
}

static etx_status read_call(etx_pt2_graph* graph, const etx_json* node,
                            unrolled_call* p) {
  const etx_json* inputs = NULL;
  etx_text target;
  ETX_TRY(etx_pt2_text(graph, node, "target", &target));
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, node, "outputs", ETX_JSON_ARRAY, &p->outputs));
  const bool carries = is_scan(target);
  const size_t expected = carries ? 4 : 3;
  if (inputs->count != expected) {
    return etx_pt2_fail_malformed(graph,
                                  "'%t' should have %z arguments, found %z",
                                  target, expected, inputs->count);
  }
  ETX_TRY(etx_pt2_graph_argument(graph, inputs, 0, &p->body));
  size_t at = 1;
  if (carries) ETX_TRY(add_operands(graph, inputs, at++, p, &p->carried));
  ETX_TRY(add_operands(graph, inputs, at++, p, &p->sliced));
  for (size_t i = 0; i < p->carried + p->sliced; ++i) {
    ETX_TRY(etx_pt2_check_is_tensor(graph, p->operands[i], i));
  }
  ETX_TRY(add_operands(graph, inputs, at, p, &p->invariant));
  if (p->outputs->count < p->carried) {
    return etx_pt2_fail_malformed(
        graph, "the loop carries %z values, but the node has %z outputs",
        p->carried, p->outputs->count);
  }
  p->stacked = p->outputs->count - p->carried;
  return find_steps(graph, p);
}

// ---------------------------------------------------------------- a step

// The name of a value that the archive does not name.
static etx_status name_of_step(etx_pt2_graph* graph, uint32_t value, int64_t t,
                               etx_text* out) {
  *out = etx_pool_format(graph->pool, "%t.%i",
                         graph->method->values[value].name, t);
  return out->data == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

// Adds a node that selects row `t` of a sliced operand.
static etx_status select_row(etx_pt2_graph* graph, uint32_t from, int64_t t,
                             uint32_t* out_value) {
  const etx_ir_arg args[3] = {etx_ir_value_arg(from), etx_ir_int(0),
                              etx_ir_int(t)};
  const etx_text names[3] = {etx_text_of(""), etx_text_of(""), etx_text_of("")};
  const etx_aten_arguments given = {args, names, 3};
  etx_ir_value row = {.shape = graph->method->values[from].shape};
  --row.shape.rank;
  memmove(row.shape.dims, row.shape.dims + 1,
          row.shape.rank * sizeof *row.shape.dims);
  ETX_TRY(name_of_step(graph, from, t, &row.name));
  return etx_pt2_add_node(graph, "aten.select.int", &given, &row, out_value);
}

static etx_status bind_inputs(etx_pt2_graph* graph, etx_pt2_graph* inner,
                              const unrolled_call* p, const uint32_t* carries,
                              int64_t t) {
  const etx_json* inputs = NULL;
  const size_t sliced_end = p->carried + p->sliced;
  ETX_TRY(etx_pt2_subgraph_inputs(inner, sliced_end + p->invariant, &inputs));
  for (size_t i = 0; i < inputs->count; ++i) {
    uint32_t value = i < p->carried ? carries[i] : p->operands[i];
    if (i >= p->carried && i < sliced_end) {
      ETX_TRY(select_row(graph, value, t, &value));
    }
    ETX_TRY(etx_pt2_bind_input(inner, inputs, i, value));
  }
  return ETX_OK;
}

// Adds the nodes of one more step. `results` has the body's outputs of the step
// before, of which the carried ones are read; it gets those of this step. The
// names of `body` are defined anew.
static etx_status add_step(etx_pt2_graph* graph, const etx_pt2_graph* body,
                           const unrolled_call* p, int64_t t, uint32_t* results,
                           etx_pt2_visit_nodes* read_nodes) {
  etx_pt2_graph inner = *body;
  const etx_json* outputs = NULL;
  ETX_TRY(etx_pt2_alloc_names(&inner));
  ETX_TRY(bind_inputs(graph, &inner, p, results, t));
  ETX_TRY(read_nodes(&inner));
  ETX_TRY(
      etx_pt2_field(&inner, inner.graph, "outputs", ETX_JSON_ARRAY, &outputs));
  if (outputs->count != p->outputs->count) {
    return etx_pt2_fail_malformed(
        graph, "the loop has %z results, but its body has %z",
        p->outputs->count, outputs->count);
  }
  for (size_t i = 0; i < outputs->count; ++i) {
    etx_ir_arg result;
    ETX_TRY(etx_pt2_argument(&inner, &outputs->items[i], &result));
    if (result.kind != ETX_IR_ARG_VALUE) {
      return etx_pt2_fail_unsupported(
          graph, "result %z of the loop's body is not a tensor", i);
    }
    results[i] = result.as.value;
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- results

// The position in tensor_values of output `index` of the node; SIZE_MAX if the
// output is not used.
static etx_status output_position(etx_pt2_graph* graph, const unrolled_call* p,
                                  size_t index, size_t* out_position) {
  etx_text tag, name;
  const etx_json* payload = NULL;
  ETX_TRY(etx_pt2_union(graph, &p->outputs->items[index], &tag, &payload));
  *out_position = SIZE_MAX;
  if (etx_text_is(tag, "as_none")) return ETX_OK;
  if (!etx_text_is(tag, "as_tensor")) {
    return etx_pt2_fail_unsupported(
        graph, "result %z of the loop should be a tensor, found '%t'", index,
        tag);
  }
  ETX_TRY(etx_pt2_text(graph, payload, "name", &name));
  return etx_pt2_find_tensor(graph, name, out_position);
}

// The type that the archive states for output `index` must be that of `value`.
static etx_status define_result(etx_pt2_graph* graph, size_t position,
                                uint32_t value) {
  const etx_ir_value* const found = &graph->method->values[value];
  etx_shape stated;
  ETX_TRY(
      etx_pt2_shape(graph, &graph->tensor_values->items[position], &stated));
  if (stated.dtype != found->shape.dtype || stated.rank != found->shape.rank) {
    return etx_pt2_fail_malformed(
        graph, "the loop's body computes '%t' with another type than the loop",
        found->name);
  }
  return etx_pt2_bind_name(graph, position, ETX_PT2_DEFINED, value);
}

// Adds a node that stacks the results of all steps.
static etx_status stack_rows(etx_pt2_graph* graph, size_t position,
                             const etx_ir_arg* rows, size_t steps,
                             uint32_t* out_value) {
  etx_ir_arg args[2] = {{.kind = ETX_IR_ARG_LIST}, etx_ir_int(0)};
  args[0].as.list.items = (etx_ir_arg*)rows;
  args[0].as.list.count = steps;
  const etx_text names[2] = {etx_text_of(""), etx_text_of("")};
  const etx_aten_arguments given = {args, names, 2};
  etx_ir_value value = {.name = graph->tensor_values->keys[position]};
  ETX_TRY(etx_pt2_shape(graph, &graph->tensor_values->items[position],
                        &value.shape));
  return etx_pt2_add_node(graph, "aten.stack.default", &given, &value,
                          out_value);
}

// True if the number of steps is known and all steps together have few nodes.
static etx_status is_short(etx_pt2_graph* graph, const unrolled_call* p,
                           bool* out_is_short) {
  const etx_json* nodes = NULL;
  ETX_TRY(etx_pt2_field(graph, p->body, "nodes", ETX_JSON_ARRAY, &nodes));
  *out_is_short = etx_dim_is_number(p->steps) && p->steps > 0 &&
                  (uint64_t)p->steps <= graph->import->module->unroll_limit /
                                            (nodes->count + p->sliced);
  return ETX_OK;
}

// ---------------------------------------------------------------- symbols

static bool has_new_size(const etx_pt2_graph* graph, const etx_json* tensor) {
  const etx_json* const name = etx_json_member(tensor, "name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return false;
  const etx_json* const sizes = etx_json_member(
      etx_json_find(graph->tensor_values, name->string), "sizes");
  if (sizes == NULL || sizes->kind != ETX_JSON_ARRAY) return false;
  for (size_t i = 0; i < sizes->count; ++i) {
    if (etx_pt2_has_new_symbol(graph, &sizes->items[i])) return true;
  }
  return false;
}

// True if one of the outputs of a node sets a symbol: its own value, or a size.
static bool sets_symbol(const etx_pt2_graph* graph, const etx_json* node,
                        etx_text target) {
  const etx_json* const outputs = etx_json_member(node, "outputs");
  if (outputs == NULL || outputs->kind != ETX_JSON_ARRAY) return false;
  const bool is_item = etx_pt2_is_item_call(target);
  if (is_item && !etx_pt2_is_item_used(graph, node)) return false;
  for (size_t i = 0; i < outputs->count; ++i) {
    const etx_json* const output = &outputs->items[i];
    const etx_json* const number =
        etx_json_member(etx_json_member(output, "as_sym_int"), "as_name");
    const etx_json* const list = etx_json_member(output, "as_tensors");
    if (is_item && number != NULL && number->kind == ETX_JSON_STRING &&
        etx_pt2_has_new_symbol(
            graph, etx_json_find(graph->sym_ints, number->string))) {
      return true;
    }
    if (has_new_size(graph, etx_json_member(output, "as_tensor"))) return true;
    if (list == NULL || list->kind != ETX_JSON_ARRAY) continue;
    for (size_t j = 0; j < list->count; ++j) {
      if (has_new_size(graph, &list->items[j])) return true;
    }
  }
  return false;
}

static etx_status find_new_symbols(etx_pt2_graph* outer, const etx_json* json,
                                   bool* is_found);

static etx_status find_in_subgraphs(etx_pt2_graph* graph, const etx_json* node,
                                    bool* is_found) {
  const etx_json* inputs = NULL;
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  for (size_t i = 0; i < inputs->count && !*is_found; ++i) {
    const etx_json* const named =
        etx_json_member(etx_json_member(&inputs->items[i], "arg"), "as_graph");
    const etx_json* const json = etx_json_member(named, "graph");
    if (json == NULL) continue;
    ETX_TRY(etx_pt2_expect(graph, json, ETX_JSON_OBJECT, "graph"));
    ETX_TRY(find_new_symbols(graph, json, is_found));
  }
  return ETX_OK;
}

// Finds out whether a sub-graph sets a symbol from data. Such a symbol has
// another value in each step, so one symbol for all unrolled steps would be
// wrong; in a loop it is set anew in each iteration.
static etx_status find_new_symbols(etx_pt2_graph* outer, const etx_json* json,
                                   bool* is_found) {
  etx_pt2_graph graph;
  ETX_TRY(etx_pt2_open_subgraph(outer, json, &graph));
  for (size_t i = 0; i < graph.nodes->count && !*is_found; ++i) {
    const etx_json* const node = &graph.nodes->items[i];
    etx_text target;
    ETX_TRY(etx_pt2_text(&graph, node, "target", &target));
    if (etx_pt2_is_dropped(target)) continue;
    *is_found = sets_symbol(&graph, node, target);
    if (!*is_found) ETX_TRY(find_in_subgraphs(&graph, node, is_found));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- the loop

etx_status etx_pt2_unroll_scan(etx_pt2_graph* graph, const etx_json* node,
                               etx_pt2_visit_nodes* read_nodes,
                               bool* out_is_unrolled) {
  unrolled_call p = {0};
  etx_pt2_graph body;
  bool sets_symbols = false;
  ETX_TRY(read_call(graph, node, &p));
  ETX_TRY(is_short(graph, &p, out_is_unrolled));
  if (!*out_is_unrolled) return ETX_OK;
  ETX_TRY(find_new_symbols(graph, p.body, &sets_symbols));
  *out_is_unrolled = !sets_symbols;
  if (sets_symbols) return ETX_OK;
  ETX_TRY(etx_pt2_open_subgraph(graph, p.body, &body));
  const size_t steps = (size_t)p.steps;
  uint32_t* const results =
      etx_pool_take(graph->pool, p.outputs->count * sizeof *results);
  etx_ir_arg* const rows =
      etx_pool_take(graph->pool, p.stacked * steps * sizeof *rows);
  if (results == NULL || rows == NULL) return ETX_OUT_OF_MEMORY;
  if (p.carried > 0) memcpy(results, p.operands, p.carried * sizeof *results);
  for (size_t t = 0; t < steps; ++t) {
    ETX_TRY(add_step(graph, &body, &p, (int64_t)t, results, read_nodes));
    for (size_t i = 0; i < p.stacked; ++i) {
      rows[i * steps + t] = etx_ir_value_arg(results[p.carried + i]);
    }
  }
  for (size_t i = 0; i < p.outputs->count; ++i) {
    size_t position = 0;
    ETX_TRY(output_position(graph, &p, i, &position));
    if (position == SIZE_MAX) continue;
    uint32_t value = results[i];
    if (i >= p.carried) {
      ETX_TRY(stack_rows(graph, position, &rows[(i - p.carried) * steps], steps,
                         &value));
    }
    ETX_TRY(define_result(graph, position, value));
  }
  return ETX_OK;
}
