// torch.while_loop: a node with two sub-graphs, the condition and the body. The
// graph of the condition is added twice: in front of the loop over the initial
// values, and at the end of the body over the values of the next iteration. So
// the condition is one more carried value (ir_cond.h).

#include "exporter/ir/ir_cond.h"
#include "exporter/read_pt2/pt2_internal.h"

// Positions of the node's arguments.
enum { CONDITION_GRAPH, BODY_GRAPH, CARRIED, ADDITIONAL, ARGUMENTS };

typedef struct while_call {
  const etx_json* condition;    // a Graph
  const etx_json* body;         // a Graph
  const etx_json* operands[2];  // lists: the carried values, and what the
                                // graphs only read
  const etx_json* outputs;      // Arguments
  size_t carried_count;
  size_t operand_count;  // of both lists
} while_call;

bool etx_pt2_is_while(etx_text target) {
  return etx_text_is(target, "torch.ops.higher_order.while_loop");
}

// ---------------------------------------------------------------- the call

etx_status etx_pt2_graph_argument(etx_pt2_graph* graph, const etx_json* inputs,
                                  size_t index, const etx_json** out) {
  etx_text tag;
  const etx_json* argument = NULL;
  const etx_json* named = NULL;
  ETX_TRY(etx_pt2_field(graph, &inputs->items[index], "arg", ETX_JSON_OBJECT,
                        &argument));
  ETX_TRY(etx_pt2_union(graph, argument, &tag, &named));
  if (!etx_text_is(tag, "as_graph")) {
    return etx_pt2_fail_malformed(
        graph, "argument %z of a loop should be 'as_graph', found '%t'", index,
        tag);
  }
  return etx_pt2_field(graph, named, "graph", ETX_JSON_OBJECT, out);
}

static etx_status read_while_call(etx_pt2_graph* graph, const etx_json* node,
                                  while_call* out) {
  const etx_json* inputs = NULL;
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, node, "outputs", ETX_JSON_ARRAY, &out->outputs));
  ETX_TRY(etx_pt2_check_operands_unwritten(graph, inputs));
  if (inputs->count != ARGUMENTS) {
    return etx_pt2_fail_malformed(
        graph, "torch.while_loop should have 4 arguments, found %z",
        inputs->count);
  }
  ETX_TRY(
      etx_pt2_graph_argument(graph, inputs, CONDITION_GRAPH, &out->condition));
  ETX_TRY(etx_pt2_graph_argument(graph, inputs, BODY_GRAPH, &out->body));
  ETX_TRY(etx_pt2_operands(graph, inputs, CARRIED, &out->operands[0]));
  ETX_TRY(etx_pt2_operands(graph, inputs, ADDITIONAL, &out->operands[1]));
  out->carried_count = out->operands[0]->count;
  out->operand_count = out->carried_count + out->operands[1]->count;
  if (out->outputs->count == out->carried_count) return ETX_OK;
  return etx_pt2_fail_malformed(
      graph, "torch.while_loop has %z results, but carries %z values",
      out->outputs->count, out->carried_count);
}

static const etx_json* operand_of(const while_call* p, size_t index) {
  return index < p->carried_count
             ? &p->operands[0]->items[index]
             : &p->operands[1]->items[index - p->carried_count];
}

// ---------------------------------------------------------------- uses

etx_status etx_pt2_mark_graph(etx_pt2_graph* graph, const etx_json* json,
                              etx_pt2_visit_nodes* mark_nodes) {
  etx_pt2_graph inner;
  const etx_json* outputs = NULL;
  ETX_TRY(etx_pt2_open_subgraph(graph, json, &inner));
  ETX_TRY(mark_nodes(&inner));
  ETX_TRY(etx_pt2_field(&inner, json, "outputs", ETX_JSON_ARRAY, &outputs));
  for (size_t i = 0; i < outputs->count; ++i) {
    etx_pt2_mark_argument(&inner, &outputs->items[i]);
  }
  return ETX_OK;
}

etx_status etx_pt2_mark_while(etx_pt2_graph* graph, const etx_json* node,
                              etx_pt2_visit_nodes* mark_nodes) {
  while_call p;
  ETX_TRY(read_while_call(graph, node, &p));
  ETX_TRY(etx_pt2_mark_graph(graph, p.condition, mark_nodes));
  ETX_TRY(etx_pt2_mark_graph(graph, p.body, mark_nodes));
  for (size_t i = 0; i < p.operand_count; ++i) {
    ETX_TRY(etx_pt2_mark_operand(graph, operand_of(&p, i)));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- graphs

// Binds the names of a sub-graph's inputs to `operands`.
static etx_status define_inputs(etx_pt2_graph* inner, size_t count,
                                const uint32_t* operands) {
  const etx_json* inputs = NULL;
  ETX_TRY(etx_pt2_subgraph_inputs(inner, count, &inputs));
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_pt2_bind_input(inner, inputs, i, operands[i]));
  }
  return ETX_OK;
}

etx_status etx_pt2_add_graph(etx_pt2_graph* graph, const etx_pt2_loop_graph* g,
                             etx_pt2_visit_nodes* read_nodes,
                             uint32_t* results) {
  etx_pt2_graph inner;
  const etx_json* outputs = NULL;
  ETX_TRY(etx_pt2_open_subgraph(graph, g->json, &inner));
  inner.branch = g->branch;
  ETX_TRY(define_inputs(&inner, g->operand_count, g->operands));
  ETX_TRY(read_nodes(&inner));
  ETX_TRY(
      etx_pt2_field(&inner, inner.graph, "outputs", ETX_JSON_ARRAY, &outputs));
  if (outputs->count != g->result_count) {
    return etx_pt2_fail_malformed(
        graph, "a sub-graph of a loop has %z results, expected %z",
        outputs->count, g->result_count);
  }
  for (size_t i = 0; i < outputs->count; ++i) {
    etx_ir_arg result;
    ETX_TRY(etx_pt2_argument(&inner, &outputs->items[i], &result));
    if (result.kind != ETX_IR_ARG_VALUE) {
      return etx_pt2_fail_unsupported(
          graph, "result %z of a graph of a loop is not a tensor", i);
    }
    results[i] = result.as.value;
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- the loop

// A torch.while_loop while it is read. The arrays have room for all operands.
typedef struct while_reader {
  etx_pt2_graph* graph;
  const while_call* call;
  etx_pt2_visit_nodes* read_nodes;
  uint32_t* operands;  // the initial values, and what the graphs only read
  uint32_t* carried;   // the same during an iteration
  uint32_t* next;      // the same in the next iteration
  uint32_t loop;
  uint32_t token;
} while_reader;

static etx_status find_operands(const while_reader* r) {
  for (size_t i = 0; i < r->call->operand_count; ++i) {
    ETX_TRY(
        etx_pt2_use_operand(r->graph, operand_of(r->call, i), &r->operands[i]));
    if (i < r->call->carried_count) {
      ETX_TRY(etx_pt2_check_is_tensor(r->graph, r->operands[i], i));
    }
    r->carried[i] = r->next[i] = r->operands[i];
  }
  return ETX_OK;
}

static etx_status add_condition(const while_reader* r, uint32_t branch,
                                const uint32_t* operands,
                                uint32_t* out_condition) {
  const etx_pt2_loop_graph condition = {r->call->condition, branch, operands,
                                        r->call->operand_count, 1};
  ETX_TRY(
      etx_pt2_add_graph(r->graph, &condition, r->read_nodes, out_condition));
  const etx_shape* const shape =
      &r->graph->method->values[*out_condition].shape;
  bool is_one = shape->dtype == ETX_DTYPE_BOOL;
  for (size_t i = 0; i < shape->rank; ++i) {
    is_one = is_one && shape->dims[i] == 1;
  }
  if (is_one) return ETX_OK;
  return etx_pt2_fail_unsupported(r->graph,
                                  "the condition of torch.while_loop should be "
                                  "a bool tensor of one element");
}

static etx_status check_carried(const while_reader* r, size_t index) {
  if (etx_pt2_same_types(r->graph, r->operands[index], r->next[index])) {
    return ETX_OK;
  }
  return etx_pt2_fail_unsupported(
      r->graph,
      "value %z of torch.while_loop has another type after an iteration than "
      "before the loop",
      index);
}

static etx_status add_results(const while_reader* r, uint32_t condition,
                              uint32_t next_condition) {
  etx_pt2_graph* const graph = r->graph;
  etx_ir_method* const method = graph->method;
  etx_ir_module* const module = graph->import->module;
  for (size_t i = 0; i < r->call->carried_count; ++i) {
    etx_text tag;
    const etx_json* payload = NULL;
    etx_ir_join join = {.cond = r->loop,
                        .token = r->token,
                        .then_value = r->next[i],
                        .else_value = r->carried[i]};
    ETX_TRY(check_carried(r, i));
    ETX_TRY(etx_pt2_union(graph, &r->call->outputs->items[i], &tag, &payload));
    if (!etx_text_is(tag, "as_tensor")) {
      return etx_pt2_fail_unsupported(
          graph, "result %z of torch.while_loop is not a tensor, but '%t'", i,
          tag);
    }
    ETX_TRY(etx_pt2_define_tensor(graph, payload, (uint32_t)method->node_count,
                                  &join.output));
    ETX_TRY(etx_ir_add_join(module, method, &join, &graph->place));
  }
  etx_ir_value value = {.has_shape = true,
                        .shape = method->values[condition].shape,
                        .origin = ETX_IR_FROM_NODE,
                        .index = (uint32_t)method->node_count};
  etx_ir_join join = {.cond = r->loop,
                      .token = r->token,
                      .then_value = next_condition,
                      .else_value = condition};
  ETX_TRY(etx_ir_add_value(module, method, &value, &join.output));
  return etx_ir_add_join(module, method, &join, &graph->place);
}

static etx_status read_loop(while_reader* r) {
  etx_pt2_graph* const graph = r->graph;
  etx_ir_method* const method = graph->method;
  etx_ir_module* const module = graph->import->module;
  uint32_t condition = 0;
  uint32_t next_condition = 0;
  ETX_TRY(find_operands(r));
  ETX_TRY(add_condition(r, graph->branch, r->operands, &condition));
  ETX_TRY(etx_ir_add_cond(module, method, graph->branch, &r->loop));
  method->conds[r->loop - 1].is_loop = true;
  for (size_t i = 0; i < r->call->carried_count; ++i) {
    const etx_ir_carry carry = {r->loop, r->operands[i], {NULL, 0}};
    ETX_TRY(etx_ir_add_carry(module, method, &carry, &graph->place,
                             &r->carried[i]));
  }
  const etx_ir_carry carry = {r->loop, condition, {NULL, 0}};
  ETX_TRY(etx_ir_add_carry(module, method, &carry, &graph->place, &condition));
  const etx_ir_arg holds = etx_ir_value_arg(condition);
  ETX_TRY(etx_ir_add_head(module, method, r->loop, &holds, &graph->place,
                          &r->token));
  const uint32_t branch = etx_ir_then_branch(r->loop);
  const etx_pt2_loop_graph body = {r->call->body, branch, r->carried,
                                   r->call->operand_count,
                                   r->call->carried_count};
  ETX_TRY(etx_pt2_add_graph(graph, &body, r->read_nodes, r->next));
  ETX_TRY(add_condition(r, branch, r->next, &next_condition));
  return add_results(r, condition, next_condition);
}

etx_status etx_pt2_read_while(etx_pt2_graph* graph, const etx_json* node,
                              etx_pt2_visit_nodes* read_nodes) {
  while_call p;
  ETX_TRY(read_while_call(graph, node, &p));
  const size_t bytes = p.operand_count * sizeof(uint32_t);
  while_reader r = {.graph = graph,
                    .call = &p,
                    .read_nodes = read_nodes,
                    .operands = etx_pool_take(graph->pool, bytes),
                    .carried = etx_pool_take(graph->pool, bytes),
                    .next = etx_pool_take(graph->pool, bytes)};
  if (r.operands == NULL || r.carried == NULL || r.next == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  return read_loop(&r);
}
