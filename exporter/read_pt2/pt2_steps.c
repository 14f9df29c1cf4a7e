// Steps of map and scan that stand one after the other in the method's list of
// nodes: how many they are, and their nodes. They are those of one block of
// rows in the body of a loop (pt2_scan.c), or all steps of a short loop, which
// is unrolled. A block divides the cost of a loop itself (the index, its
// condition, the jumps, and the copies of rows) by its number of rows.
//
//   carry, stacked = scan(body, carry, sliced, invariants)
//       for each t: carry, stacked[t] = body(carry, sliced[t], invariants)
//   stacked = map(body, sliced, invariants)
//
// In an unrolled loop, slices become views, and the parts of a stacked output
// are computed where they lie in it, so the memory of a step is reused by the
// next one. Fusion, constant folding and preparation see plain nodes.

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

// The number of steps of a map or scan over `rows` rows that stand one after
// the other: 0 for all, if they are few; 1 if each iteration must be one step.
// `with_rows` is the number of operands of which a step gets a row.
static etx_status steps_together(etx_pt2_graph* graph, const etx_json* body,
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
// names of `body` are defined anew; all steps share its last reads.
static etx_status add_step(etx_pt2_graph* graph, etx_pt2_graph* body,
                           const etx_pt2_steps* p, int64_t t, uint32_t* results,
                           etx_pt2_visit_nodes* read_nodes) {
  etx_pt2_graph inner = *body;
  const etx_json* outputs = NULL;
  ETX_TRY(etx_pt2_alloc_names(&inner));
  if (body->has_last_reads) {
    inner.last_reads = body->last_reads;
    inner.has_last_reads = true;
  }
  ETX_TRY(bind_inputs(graph, &inner, p, results, t));
  ETX_TRY(read_nodes(&inner));
  body->last_reads = inner.last_reads;
  body->has_last_reads = true;
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

// ---------------------------------------------------------------- unrolling

typedef struct unrolled_call {
  etx_pt2_steps all;        // its first row is 0
  uint32_t* operands;       // of `all`
  const etx_json* outputs;  // a list of Arguments
  etx_dim row_count;
} unrolled_call;

static bool is_scan(etx_text target) {
  return etx_text_is(target, "torch.ops.higher_order.scan");
}

// ---------------------------------------------------------------- the whole
// loop

// Appends the values of a list of operands.
static etx_status add_operands(etx_pt2_graph* graph, const etx_json* inputs,
                               size_t index, unrolled_call* p,
                               size_t* out_count) {
  const etx_json* list = NULL;
  const etx_pt2_steps* const all = &p->all;
  const size_t before = all->carried + all->with_rows + all->invariant;
  ETX_TRY(etx_pt2_operands(graph, inputs, index, &list));
  uint32_t* const operands =
      etx_pool_take(graph->pool, (before + list->count) * sizeof *p->operands);
  if (operands == NULL) return ETX_OUT_OF_MEMORY;
  if (before > 0) memcpy(operands, p->operands, before * sizeof *operands);
  for (size_t i = 0; i < list->count; ++i) {
    ETX_TRY(etx_pt2_use_operand(graph, &list->items[i], &operands[before + i]));
  }
  p->all.operands = p->operands = operands;
  *out_count = list->count;
  return ETX_OK;
}

// The number of steps: dimension 0 of all sliced operands.
static etx_status find_steps(etx_pt2_graph* graph, unrolled_call* p) {
  for (size_t i = 0; i < p->all.with_rows; ++i) {
    const etx_ir_value* const value =
        &graph->method->values[p->operands[p->all.carried + i]];
    const etx_shape* const shape = &value->shape;
    if (shape->rank == 0) {
      return etx_pt2_fail_malformed(
          graph, "the loop slices '%t', which has no dimension", value->name);
    }
    if (i > 0 && !etx_symbols_equal(&graph->method->symbols, p->row_count,
                                    shape->dims[0])) {
      return etx_pt2_fail_malformed(
          graph, "the operands that the loop slices differ in their rows");
    }
    p->row_count = shape->dims[0];
  }
  if (p->all.with_rows > 0) return ETX_OK;
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
  ETX_TRY(etx_pt2_graph_argument(graph, inputs, 0, &p->all.body));
  size_t at = 1;
  if (carries) ETX_TRY(add_operands(graph, inputs, at++, p, &p->all.carried));
  ETX_TRY(add_operands(graph, inputs, at++, p, &p->all.with_rows));
  for (size_t i = 0; i < p->all.carried + p->all.with_rows; ++i) {
    ETX_TRY(etx_pt2_check_is_tensor(graph, p->operands[i], i));
  }
  ETX_TRY(add_operands(graph, inputs, at, p, &p->all.invariant));
  if (p->outputs->count < p->all.carried) {
    return etx_pt2_fail_malformed(
        graph, "the loop carries %z values, but the node has %z outputs",
        p->all.carried, p->outputs->count);
  }
  p->all.result_count = p->outputs->count;
  return find_steps(graph, p);
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

// Defines the results of the node from those of all steps.
static etx_status define_results(etx_pt2_graph* graph, const unrolled_call* p,
                                 const uint32_t* results,
                                 const etx_ir_arg* rows) {
  const size_t count = p->all.count;
  for (size_t i = 0; i < p->outputs->count; ++i) {
    size_t position = 0;
    ETX_TRY(output_position(graph, p, i, &position));
    if (position == SIZE_MAX) continue;
    uint32_t value = results[i];
    if (i >= p->all.carried) {
      etx_ir_value stacked = {.name = graph->tensor_values->keys[position]};
      ETX_TRY(etx_pt2_shape(graph, &graph->tensor_values->items[position],
                            &stacked.shape));
      ETX_TRY(etx_pt2_stack_rows(graph, &rows[(i - p->all.carried) * count],
                                 count, &stacked, &value));
    }
    ETX_TRY(define_result(graph, position, value));
  }
  return ETX_OK;
}

etx_status etx_pt2_unroll_scan(etx_pt2_graph* graph, const etx_json* node,
                               etx_pt2_visit_nodes* read_nodes,
                               size_t* out_together) {
  unrolled_call p = {0};
  ETX_TRY(read_call(graph, node, &p));
  etx_pt2_steps* const all = &p.all;
  ETX_TRY(steps_together(graph, all->body, p.row_count, all->with_rows,
                         out_together));
  if (*out_together != 0) return ETX_OK;
  all->count = (size_t)p.row_count;
  uint32_t* const results =
      etx_pool_take(graph->pool, all->result_count * sizeof *results);
  etx_ir_arg* const rows =
      etx_pool_take(graph->pool, (all->result_count - all->carried) *
                                     all->count * sizeof *rows);
  if (results == NULL || rows == NULL) return ETX_OUT_OF_MEMORY;
  if (all->carried > 0) {
    memcpy(results, p.operands, all->carried * sizeof *results);
  }
  ETX_TRY(etx_pt2_add_steps(graph, all, read_nodes, results, rows));
  return define_results(graph, &p, results, rows);
}
