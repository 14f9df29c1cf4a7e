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

// Most nodes that one map or scan may become. More would make the file large
// and planning slow.
enum { MAX_UNROLLED_NODES = 4096 };

typedef struct unrolled_call {
  const etx_json* body;     // a Graph
  const etx_json* outputs;  // a list of Arguments
  // Operands in the order of the body's inputs: carried, sliced, invariant.
  uint32_t* operands;
  size_t carried, sliced, invariant;
  int64_t steps;
  size_t stacked;  // outputs that are stacked
} unrolled_call;

static bool is_scan(etx_text target) {
  return etx_text_is(target, "torch.ops.higher_order.scan");
}

// ---------------------------------------------------------------- the call

static etx_status payload_of(etx_pt2_graph* graph, const etx_json* inputs,
                             size_t index, const char* wanted,
                             const etx_json** out_payload) {
  etx_text tag;
  const etx_json* argument = NULL;
  ETX_TRY(etx_pt2_field(graph, &inputs->items[index], "arg", ETX_JSON_OBJECT,
                        &argument));
  ETX_TRY(etx_pt2_union(graph, argument, &tag, out_payload));
  if (etx_text_is(tag, wanted)) return ETX_OK;
  return etx_pt2_fail_unsupported(
      graph, "argument %z of the loop should be '%s', found '%t'", index,
      wanted, tag);
}

// Appends the values of a list of tensors to the operands.
static etx_status add_operands(etx_pt2_graph* graph, const etx_json* inputs,
                               size_t index, unrolled_call* p,
                               size_t* out_count) {
  const etx_json* tensors = NULL;
  const size_t before = p->carried + p->sliced + p->invariant;
  ETX_TRY(payload_of(graph, inputs, index, "as_tensors", &tensors));
  ETX_TRY(etx_pt2_expect(graph, tensors, ETX_JSON_ARRAY, "as_tensors"));
  uint32_t* const all = etx_pool_take(
      graph->pool, (before + tensors->count) * sizeof *p->operands);
  if (all == NULL) return ETX_OUT_OF_MEMORY;
  if (before > 0) memcpy(all, p->operands, before * sizeof *all);
  for (size_t i = 0; i < tensors->count; ++i) {
    etx_text name;
    ETX_TRY(etx_pt2_text(graph, &tensors->items[i], "name", &name));
    ETX_TRY(etx_pt2_use_tensor(graph, name, &all[before + i]));
  }
  p->operands = all;
  *out_count = tensors->count;
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
    if (!etx_dim_is_number(shape->dims[0]) || shape->dims[0] < 1) {
      return etx_pt2_fail_unsupported(
          graph,
          "the loop has as many steps as '%t' has rows, which must be a fixed "
          "number above 0: export with a fixed size of dimension 0",
          value->name);
    }
    if (i > 0 && shape->dims[0] != p->steps) {
      return etx_pt2_fail_malformed(
          graph, "the loop slices operands of %i and %i rows", p->steps,
          (int64_t)shape->dims[0]);
    }
    p->steps = shape->dims[0];
  }
  if (p->sliced > 0) return ETX_OK;
  return etx_pt2_fail_malformed(graph, "the loop has no operand to slice");
}

static etx_status read_call(etx_pt2_graph* graph, const etx_json* node,
                            unrolled_call* p) {
  const etx_json *inputs = NULL, *named = NULL;
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
  ETX_TRY(payload_of(graph, inputs, 0, "as_graph", &named));
  ETX_TRY(etx_pt2_field(graph, named, "graph", ETX_JSON_OBJECT, &p->body));
  size_t at = 1;
  if (carries) ETX_TRY(add_operands(graph, inputs, at++, p, &p->carried));
  ETX_TRY(add_operands(graph, inputs, at++, p, &p->sliced));
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
    size_t position = 0;
    uint32_t value = i < p->carried ? carries[i] : p->operands[i];
    ETX_TRY(etx_pt2_subgraph_input(inner, inputs, i, &position));
    if (position == SIZE_MAX) continue;
    if (i >= p->carried && i < sliced_end) {
      ETX_TRY(select_row(graph, value, t, &value));
    }
    ETX_TRY(etx_pt2_bind_name(inner, position, ETX_PT2_DEFINED, value));
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

// True if all steps together have few nodes.
static etx_status is_short(etx_pt2_graph* graph, const unrolled_call* p,
                           bool* out_is_short) {
  const etx_json* nodes = NULL;
  ETX_TRY(etx_pt2_field(graph, p->body, "nodes", ETX_JSON_ARRAY, &nodes));
  *out_is_short =
      (uint64_t)p->steps <= MAX_UNROLLED_NODES / (nodes->count + p->sliced);
  return ETX_OK;
}

// A symbol that the body sets from data has another value in each step, so one
// symbol for all steps would be wrong.
static etx_status check_symbols(etx_pt2_graph* graph, size_t first) {
  const etx_symbols* const symbols = &graph->method->symbols;
  for (size_t i = first; i < symbols->symbol_count; ++i) {
    if (!symbols->symbols[i].is_late) continue;
    return etx_pt2_fail_unsupported(
        graph, "the loop's body sets '%t' from data, which is not supported",
        symbols->symbols[i].name);
  }
  return ETX_OK;
}

etx_status etx_pt2_unroll_scan(etx_pt2_graph* graph, const etx_json* node,
                               etx_pt2_visit_nodes* read_nodes,
                               bool* out_is_unrolled) {
  unrolled_call p = {0};
  etx_pt2_graph body;
  ETX_TRY(read_call(graph, node, &p));
  ETX_TRY(is_short(graph, &p, out_is_unrolled));
  if (!*out_is_unrolled) return ETX_OK;
  ETX_TRY(etx_pt2_open_subgraph(graph, p.body, &body));
  const size_t steps = (size_t)p.steps;
  const size_t first_symbol = graph->method->symbols.symbol_count;
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
    if (t == 0) ETX_TRY(check_symbols(graph, first_symbol));
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
