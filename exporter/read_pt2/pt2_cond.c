// torch.cond: a node with two sub-graphs. Their nodes are added to the method
// as branches (ir_cond.h). The inputs of a sub-graph are bound to the operands
// of the node, not copied.

#include "exporter/ir/ir_cond.h"
#include "exporter/read_pt2/pt2_internal.h"

// Positions of the node's arguments.
enum { CONDITION, THEN_GRAPH, ELSE_GRAPH, OPERANDS, ARGUMENTS };

typedef struct cond_call {
  const etx_json* condition;  // an Argument
  const etx_json* graphs[2];  // the Graphs of then and else
  const etx_json* operands;   // a list
  const etx_json* outputs;    // a list of Arguments
} cond_call;

bool etx_pt2_is_cond(etx_text target) {
  return etx_text_is(target, "torch.ops.higher_order.cond");
}

// ---------------------------------------------------------------- the call

static etx_status read_argument(etx_pt2_graph* graph, const etx_json* inputs,
                                size_t index, const char* wanted,
                                const etx_json** out_payload) {
  etx_text tag;
  const etx_json* argument = NULL;
  ETX_TRY(etx_pt2_field(graph, &inputs->items[index], "arg", ETX_JSON_OBJECT,
                        &argument));
  ETX_TRY(etx_pt2_union(graph, argument, &tag, out_payload));
  if (etx_text_is(tag, wanted)) return ETX_OK;
  return etx_pt2_fail_unsupported(
      graph, "argument %z of torch.cond should be '%s', found '%t'", index,
      wanted, tag);
}

static etx_status read_cond_call(etx_pt2_graph* graph, const etx_json* node,
                                 cond_call* out) {
  const etx_json* inputs = NULL;
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, node, "outputs", ETX_JSON_ARRAY, &out->outputs));
  if (inputs->count != ARGUMENTS) {
    return etx_pt2_fail_malformed(
        graph, "torch.cond should have 4 arguments, found %z", inputs->count);
  }
  ETX_TRY(etx_pt2_field(graph, &inputs->items[CONDITION], "arg",
                        ETX_JSON_OBJECT, &out->condition));
  for (size_t i = 0; i < 2; ++i) {
    const etx_json* named = NULL;
    ETX_TRY(read_argument(graph, inputs, THEN_GRAPH + i, "as_graph", &named));
    ETX_TRY(
        etx_pt2_field(graph, named, "graph", ETX_JSON_OBJECT, &out->graphs[i]));
  }
  return etx_pt2_operands(graph, inputs, OPERANDS, &out->operands);
}

// ---------------------------------------------------------------- uses

static etx_status mark_operands(etx_pt2_graph* graph, const cond_call* p,
                                const etx_json* json,
                                etx_pt2_visit_nodes* mark_nodes) {
  etx_pt2_graph inner;
  const etx_json* inputs = NULL;
  const etx_json* outputs = NULL;
  ETX_TRY(etx_pt2_open_subgraph(graph, json, &inner));
  ETX_TRY(etx_pt2_subgraph_inputs(&inner, p->operands->count, &inputs));
  ETX_TRY(etx_pt2_field(&inner, json, "outputs", ETX_JSON_ARRAY, &outputs));
  ETX_TRY(mark_nodes(&inner));
  for (size_t i = 0; i < outputs->count; ++i) {
    etx_pt2_mark_argument(&inner, &outputs->items[i]);
  }
  for (size_t i = 0; i < inputs->count; ++i) {
    size_t position = 0;
    ETX_TRY(etx_pt2_subgraph_input(&inner, inputs, i, &position));
    if (position == SIZE_MAX || inner.last_reads[position] == 0) continue;
    ETX_TRY(etx_pt2_mark_operand(graph, &p->operands->items[i]));
  }
  return ETX_OK;
}

etx_status etx_pt2_mark_cond(etx_pt2_graph* graph, const etx_json* node,
                             etx_pt2_visit_nodes* mark_nodes) {
  cond_call p;
  ETX_TRY(read_cond_call(graph, node, &p));
  etx_pt2_mark_argument(graph, p.condition);
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(mark_operands(graph, &p, p.graphs[i], mark_nodes));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- condition

static etx_status read_condition(etx_pt2_graph* graph, const etx_json* argument,
                                 etx_ir_arg* out) {
  etx_text tag;
  const etx_json* payload = NULL;
  uint32_t number = ETX_IR_NONE;
  ETX_TRY(etx_pt2_union(graph, argument, &tag, &payload));
  ETX_TRY(etx_pt2_use_number(graph, NULL, argument, &number));
  if (number != ETX_IR_NONE) {
    *out = etx_ir_value_arg(number);
    return ETX_OK;
  }
  if (etx_text_is(tag, "as_sym_bool")) {
    etx_dim holds = 0;
    ETX_TRY(etx_pt2_condition(graph, payload, &holds));
    *out = etx_ir_int(holds);
    return ETX_OK;
  }
  ETX_TRY(etx_pt2_argument(graph, argument, out));
  if (out->kind == ETX_IR_ARG_BOOL) {
    *out = etx_ir_int(out->as.boolean ? 1 : 0);
    return ETX_OK;
  }
  if (out->kind != ETX_IR_ARG_VALUE) {
    return etx_pt2_fail_malformed(graph, "a condition cannot be of kind '%t'",
                                  tag);
  }
  const etx_shape* const shape = &graph->method->values[out->as.value].shape;
  bool is_one = shape->dtype == ETX_DTYPE_BOOL;
  for (size_t i = 0; i < shape->rank; ++i) {
    is_one = is_one && shape->dims[i] == 1;
  }
  if (is_one) return ETX_OK;
  return etx_pt2_fail_unsupported(
      graph,
      "the condition of torch.cond should be a bool tensor of one element");
}

// ---------------------------------------------------------------- branches

// Binds the names of the sub-graph's inputs to the values of the operands. An
// operand that no sub-graph uses may have no value.
static etx_status define_inputs(etx_pt2_graph* graph, etx_pt2_graph* inner,
                                const cond_call* p) {
  const etx_json* inputs = NULL;
  ETX_TRY(etx_pt2_subgraph_inputs(inner, p->operands->count, &inputs));
  for (size_t i = 0; i < inputs->count; ++i) {
    size_t outside = 0;
    size_t inside = 0;
    ETX_TRY(etx_pt2_subgraph_input(inner, inputs, i, &inside));
    if (inside == SIZE_MAX) continue;
    ETX_TRY(etx_pt2_operand(graph, &p->operands->items[i], &outside));
    if (outside == SIZE_MAX) {
      return etx_pt2_fail_malformed(
          inner, "input %z of a sub-graph is a tensor, but its operand is not",
          i);
    }
    ETX_TRY(etx_pt2_bind_name(inner, inside, graph->states[outside],
                              graph->values[outside]));
    if (graph->states[outside] == ETX_PT2_UNDEFINED) {
      return etx_pt2_fail_malformed(graph,
                                    "tensor '%t' is read before it is defined",
                                    graph->tensor_values->keys[outside]);
    }
  }
  return ETX_OK;
}

// Adds the nodes of the next sub-graph to `branch`. `results` has room for the
// outputs of the torch.cond node.
static etx_status read_branch(etx_pt2_graph* graph, const cond_call* p,
                              uint32_t branch, etx_pt2_visit_nodes* read_nodes,
                              etx_pt2_branch_sizes* sizes,
                              etx_ir_arg* results) {
  etx_pt2_graph inner;
  const etx_json* outputs = NULL;
  ETX_TRY(etx_pt2_open_subgraph(graph, p->graphs[sizes->ended], &inner));
  inner.branch = branch;
  ETX_TRY(define_inputs(graph, &inner, p));
  ETX_TRY(read_nodes(&inner));
  ETX_TRY(
      etx_pt2_field(&inner, inner.graph, "outputs", ETX_JSON_ARRAY, &outputs));
  if (outputs->count != p->outputs->count) {
    return etx_pt2_fail_malformed(
        graph, "torch.cond has %z results, but a sub-graph has %z",
        p->outputs->count, outputs->count);
  }
  for (size_t i = 0; i < outputs->count; ++i) {
    ETX_TRY(etx_pt2_argument(&inner, &outputs->items[i], &results[i]));
  }
  return etx_pt2_end_branch(graph, &inner, p->outputs, sizes, results);
}

// ---------------------------------------------------------------- results

// Defines one output of the node as the output of `join`. An integer needs no
// node: it is a symbol, or a size that both branches have. `*out_padded` is the
// value that the output is cut from, or ETX_IR_NONE.
static etx_status add_result(etx_pt2_graph* graph, const etx_json* output,
                             const etx_pt2_branch_sizes* sizes,
                             etx_ir_join join, uint32_t* out_padded) {
  etx_text tag;
  const etx_json* payload = NULL;
  *out_padded = ETX_IR_NONE;
  ETX_TRY(etx_pt2_union(graph, output, &tag, &payload));
  if (etx_text_is(tag, "as_none") || etx_text_is(tag, "as_sym_int") ||
      etx_text_is(tag, "as_int")) {
    return ETX_OK;
  }
  if (!etx_text_is(tag, "as_tensor")) {
    etx_pt2_report_unsupported(graph, "a result of kind", tag);
    return ETX_OK;
  }
  ETX_TRY(etx_pt2_padded_result(graph, output, sizes, out_padded));
  join.output = *out_padded;
  if (join.output == ETX_IR_NONE) {
    ETX_TRY(etx_pt2_define_tensor(
        graph, payload, (uint32_t)graph->method->node_count, &join.output));
  }
  const uint32_t values[2] = {join.then_value, join.else_value};
  for (size_t i = 0; i < 2; ++i) {
    if (values[i] != ETX_IR_NONE &&
        etx_pt2_same_types(graph, join.output, values[i])) {
      continue;
    }
    return etx_pt2_fail_unsupported(
        graph, "the branches of torch.cond return different types");
  }
  return etx_ir_add_join(graph->import->module, graph->method, &join,
                         &graph->place);
}

static uint32_t tensor_of(const etx_ir_arg* result) {
  return result->kind == ETX_IR_ARG_VALUE ? result->as.value : ETX_IR_NONE;
}

etx_status etx_pt2_read_cond(etx_pt2_graph* graph, const etx_json* node,
                             etx_pt2_visit_nodes* read_nodes) {
  cond_call p;
  etx_ir_arg condition;
  etx_pt2_branch_sizes sizes;
  etx_ir_join join = {0};
  ETX_TRY(read_cond_call(graph, node, &p));
  ETX_TRY(read_condition(graph, p.condition, &condition));
  const size_t count = p.outputs->count;
  etx_ir_arg* const results =
      etx_pool_take(graph->pool, 2 * count * sizeof *results);
  uint32_t* const padded = etx_pool_take(graph->pool, count * sizeof *padded);
  if (results == NULL || padded == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_pt2_find_branch_sizes(graph, p.outputs, p.graphs, &sizes));
  ETX_TRY(etx_ir_add_cond(graph->import->module, graph->method, graph->branch,
                          &join.cond));
  ETX_TRY(etx_ir_add_head(graph->import->module, graph->method, join.cond,
                          &condition, &graph->place, &join.token));
  ETX_TRY(read_branch(graph, &p, etx_ir_then_branch(join.cond), read_nodes,
                      &sizes, results));
  ETX_TRY(read_branch(graph, &p, etx_ir_else_branch(join.cond), read_nodes,
                      &sizes, results + count));
  ETX_TRY(etx_pt2_join_branch_sizes(graph, join, &sizes));
  for (size_t i = 0; i < count; ++i) {
    join.then_value = tensor_of(&results[i]);
    join.else_value = tensor_of(&results[count + i]);
    ETX_TRY(add_result(graph, &p.outputs->items[i], &sizes, join, &padded[i]));
  }
  return etx_pt2_cut_results(graph, p.outputs, &sizes, padded);
}
