// Steps of map and scan that stand one after the other in the method's list of
// nodes: all of a short loop (pt2_unroll.c), or those of one block of rows in
// the body of a longer one (pt2_scan.c).

#include "exporter/read_pt2/pt2_internal.h"

// The name of a value that the archive does not name.
static etx_status name_of_step(etx_pt2_graph* graph, uint32_t value, int64_t t,
                               etx_text* out) {
  *out = etx_pool_format(graph->pool, "%t.%i",
                         graph->method->values[value].name, t);
  return out->data == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

// Adds a node that selects row `t` of an operand.
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
                              const etx_pt2_steps* p, const uint32_t* carries,
                              int64_t t) {
  const etx_json* inputs = NULL;
  const size_t rows_end = p->carried + p->with_rows;
  ETX_TRY(etx_pt2_subgraph_inputs(inner, rows_end + p->invariant, &inputs));
  for (size_t i = 0; i < inputs->count; ++i) {
    uint32_t value = i < p->carried ? carries[i] : p->operands[i];
    if (i >= p->carried && i < rows_end) {
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
                           const etx_pt2_steps* p, int64_t t, uint32_t* results,
                           etx_pt2_visit_nodes* read_nodes) {
  etx_pt2_graph inner = *body;
  const etx_json* outputs = NULL;
  ETX_TRY(etx_pt2_alloc_names(&inner));
  ETX_TRY(bind_inputs(graph, &inner, p, results, t));
  ETX_TRY(read_nodes(&inner));
  ETX_TRY(
      etx_pt2_field(&inner, inner.graph, "outputs", ETX_JSON_ARRAY, &outputs));
  if (outputs->count != p->result_count) {
    return etx_pt2_fail_malformed(
        graph, "the loop has %z results, but its body has %z", p->result_count,
        outputs->count);
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

etx_status etx_pt2_add_steps(etx_pt2_graph* graph, const etx_pt2_steps* p,
                             etx_pt2_visit_nodes* read_nodes, uint32_t* results,
                             etx_ir_arg* rows) {
  etx_pt2_graph body;
  ETX_TRY(etx_pt2_open_subgraph(graph, p->body, &body));
  for (size_t t = 0; t < p->count; ++t) {
    ETX_TRY(add_step(graph, &body, p, (int64_t)(p->first + t), results,
                     read_nodes));
    for (size_t i = p->carried; i < p->result_count; ++i) {
      rows[(i - p->carried) * p->count + t] = etx_ir_value_arg(results[i]);
    }
  }
  return ETX_OK;
}

etx_status etx_pt2_stack_rows(etx_pt2_graph* graph, const etx_ir_arg* rows,
                              size_t count, const etx_ir_value* result,
                              uint32_t* out_value) {
  etx_ir_arg args[2] = {{.kind = ETX_IR_ARG_LIST}, etx_ir_int(0)};
  args[0].as.list.items = (etx_ir_arg*)rows;
  args[0].as.list.count = count;
  const etx_text names[2] = {etx_text_of(""), etx_text_of("")};
  const etx_aten_arguments given = {args, names, 2};
  return etx_pt2_add_node(graph, "aten.stack.default", &given, result,
                          out_value);
}
