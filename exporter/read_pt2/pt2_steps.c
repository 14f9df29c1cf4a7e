// Steps of map and scan that stand one after the other in the method's list of
// nodes: how many they are, and their nodes. They are all steps of a short loop
// (pt2_unroll.c), or those of one block of rows in the body of a longer one
// (pt2_scan.c). A block divides the cost of a loop itself (the index, its
// condition, the jumps, and the copies of rows) by its number of rows.

#include "exporter/read_pt2/pt2_internal.h"

// Nodes of a block, and steps. With so many, a step costs as much as in an
// unrolled loop; more would make the file larger only.
enum { BLOCK_NODES = 256, BLOCK_STEPS = 64 };

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
    if (number != NULL && number->kind == ETX_JSON_STRING &&
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

// The sub-graph that an input of a node is, or NULL.
static const etx_json* graph_of(const etx_json* input) {
  const etx_json* const named =
      etx_json_member(etx_json_member(input, "arg"), "as_graph");
  return etx_json_member(named, "graph");
}

static etx_status find_new_symbols(etx_pt2_graph* outer, const etx_json* json,
                                   bool* is_found);

static etx_status find_in_subgraphs(etx_pt2_graph* graph, const etx_json* node,
                                    bool* is_found) {
  const etx_json* inputs = NULL;
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  for (size_t i = 0; i < inputs->count && !*is_found; ++i) {
    const etx_json* const json = graph_of(&inputs->items[i]);
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

// ---------------------------------------------------------------- the count

bool etx_pt2_is_scan(etx_text target) {
  return etx_text_is(target, "torch.ops.higher_order.scan") ||
         etx_text_is(target, "torch.ops.higher_order.map_impl");
}

// Adds the nodes of a graph and of its sub-graphs to `*count`. A loop of rows
// within it counts as a whole block: it may become one.
static etx_status count_nodes(etx_pt2_graph* outer, const etx_json* json,
                              uint64_t* count) {
  etx_pt2_graph graph;
  ETX_TRY(etx_pt2_open_subgraph(outer, json, &graph));
  *count += graph.nodes->count;
  for (size_t i = 0; i < graph.nodes->count; ++i) {
    const etx_json* const node = &graph.nodes->items[i];
    const etx_json* inputs = NULL;
    etx_text target;
    ETX_TRY(etx_pt2_text(&graph, node, "target", &target));
    if (etx_pt2_is_scan(target)) *count += BLOCK_NODES;
    ETX_TRY(etx_pt2_field(&graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
    for (size_t j = 0; j < inputs->count; ++j) {
      const etx_json* const inner = graph_of(&inputs->items[j]);
      if (inner == NULL) continue;
      ETX_TRY(etx_pt2_expect(&graph, inner, ETX_JSON_OBJECT, "graph"));
      ETX_TRY(count_nodes(&graph, inner, count));
    }
  }
  return ETX_OK;
}

// The largest block, preferably one that divides the number of rows.
static size_t block_of(uint64_t rows, uint64_t most) {
  for (uint64_t block = most; block > 1 && block >= most / 2; --block) {
    if (rows % block == 0) return (size_t)block;
  }
  return (size_t)most;
}

etx_status etx_pt2_steps_together(etx_pt2_graph* graph, const etx_json* body,
                                  etx_dim rows, size_t with_rows,
                                  size_t* out_together) {
  const uint64_t limit = graph->import->module->unroll_limit;
  const uint64_t block_limit =
      limit / 2 < BLOCK_NODES ? limit / 2 : BLOCK_NODES;
  const etx_json* nodes = NULL;
  bool sets_symbols = false;
  uint64_t count = with_rows;
  *out_together = 1;
  ETX_TRY(etx_pt2_field(graph, body, "nodes", ETX_JSON_ARRAY, &nodes));
  if (!etx_dim_is_number(rows) || rows <= 0) return ETX_OK;
  ETX_TRY(find_new_symbols(graph, body, &sets_symbols));
  if (sets_symbols) return ETX_OK;
  if ((uint64_t)rows <= limit / (nodes->count + with_rows)) {
    *out_together = 0;
    return ETX_OK;
  }
  ETX_TRY(count_nodes(graph, body, &count));
  const uint64_t most = block_limit / count;
  if (most > 1) {
    *out_together =
        block_of((uint64_t)rows, most < BLOCK_STEPS ? most : BLOCK_STEPS);
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- the nodes

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
