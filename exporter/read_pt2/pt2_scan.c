// scan and map: nodes with one sub-graph, which runs for each row of some
// operands and gives rows of some results. Short ones are unrolled
// (pt2_steps.c), others become a loop (ir_cond.h) over an index:
//
//   x = index_select(xs, 0, i)        a row, in the body
//   ys' = index_put(ys, [i], y)       a stacked result is a carried value
//
// If the number of rows is known and the sub-graph is small, an iteration takes
// a block of several rows (pt2_steps.c):
//
//   xs' = view(xs[:n * k], [n, k, ..])    in front of the loop
//   x = index_select(xs', 0, i)           k rows; each step selects one
//   ys' = index_put(ys, [i], stack(y))    ys has the sizes [n, k, ..]
//
// The rows behind the last whole block follow the loop, and are one more block
// of the stacked results.
//
// map is a scan without carried values of its own.

#include "exporter/ir/ir_cond.h"
#include "exporter/read_pt2/pt2_internal.h"

enum { MAX_GIVEN = 5 };

typedef struct scan_call {
  const etx_json* body;         // a Graph
  const etx_json* operands[3];  // lists: initial values, operands with rows,
                                // and what is only read
  const etx_json* outputs;      // Arguments
  size_t carried_count;
  size_t stacked_count;  // results that are stacked
  size_t operand_count;  // of all lists
} scan_call;

static bool is_map(etx_text target) {
  return etx_text_is(target, "torch.ops.higher_order.map_impl");
}

// ---------------------------------------------------------------- the call

static etx_status read_scan_call(etx_pt2_graph* graph, const etx_json* node,
                                 scan_call* out) {
  static const etx_json none = {.kind = ETX_JSON_ARRAY};
  const etx_json* inputs = NULL;
  etx_text target;
  ETX_TRY(etx_pt2_text(graph, node, "target", &target));
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, node, "outputs", ETX_JSON_ARRAY, &out->outputs));
  ETX_TRY(etx_pt2_check_operands_unwritten(graph, inputs));
  const size_t first = is_map(target) ? 1 : 0;
  if (inputs->count != 4 - first) {
    return etx_pt2_fail_malformed(graph,
                                  "'%t' should have %z arguments, found %z",
                                  target, 4 - first, inputs->count);
  }
  ETX_TRY(etx_pt2_graph_argument(graph, inputs, 0, &out->body));
  out->operands[0] = &none;
  out->operand_count = 0;
  for (size_t i = first; i < 3; ++i) {
    ETX_TRY(etx_pt2_operands(graph, inputs, i + 1 - first, &out->operands[i]));
  }
  for (size_t i = 0; i < 3; ++i) out->operand_count += out->operands[i]->count;
  out->carried_count = out->operands[0]->count;
  if (out->operands[1]->count == 0 ||
      out->outputs->count < out->carried_count) {
    return etx_pt2_fail_malformed(graph, "'%t' has no rows or too few results",
                                  target);
  }
  out->stacked_count = out->outputs->count - out->carried_count;
  return ETX_OK;
}

static const etx_json* operand_of(const scan_call* p, size_t index) {
  size_t list = 0;
  while (index >= p->operands[list]->count) {
    index -= p->operands[list++]->count;
  }
  return &p->operands[list]->items[index];
}

etx_status etx_pt2_mark_scan(etx_pt2_graph* graph, const etx_json* node,
                             etx_pt2_visit_nodes* mark_nodes) {
  scan_call p;
  ETX_TRY(read_scan_call(graph, node, &p));
  ETX_TRY(etx_pt2_mark_graph(graph, p.body, mark_nodes));
  for (size_t i = 0; i < p.operand_count; ++i) {
    ETX_TRY(etx_pt2_mark_operand(graph, operand_of(&p, i)));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- nodes

// A scan while it is read. The carried values are the scan's own, the stacked
// results, the index, and the condition.
typedef struct scan_reader {
  etx_pt2_graph* graph;
  const scan_call* call;
  etx_pt2_visit_nodes* read_nodes;
  uint32_t* operands;  // of the node
  uint32_t* blocks;    // the same, with blocks of rows in place of rows
  uint32_t* rows;      // what an iteration reads of them
  uint32_t* results;   // of the sub-graph
  uint32_t* initial;   // of the carried values
  uint32_t* carried;   // the same during an iteration
  uint32_t* next;      // the same in the next iteration
  size_t count;        // of carried values
  size_t together;     // rows of an iteration
  etx_dim iterations;
  int64_t rest;  // rows behind the last iteration
  uint32_t loop;
  uint32_t token;
} scan_reader;

typedef struct scan_node {
  const char* aten;
  uint32_t branch;
  etx_shape shape;
  etx_ir_arg args[MAX_GIVEN];
  size_t arg_count;
} scan_node;

static etx_status add_node(const scan_reader* r, const scan_node* node,
                           uint32_t* out_value) {
  static const etx_text positional[MAX_GIVEN];
  const etx_aten_arguments given = {node->args, positional, node->arg_count};
  const etx_ir_value value = {.shape = node->shape};
  etx_pt2_graph inner = *r->graph;
  inner.branch = node->branch;
  return etx_pt2_add_node(&inner, node->aten, &given, &value, out_value);
}

static const etx_shape* shape_of(const scan_reader* r, uint32_t value) {
  return &r->graph->method->values[value].shape;
}

// A node that makes zeros with the given type.
static etx_status add_zeros(const scan_reader* r, const etx_shape* shape,
                            uint32_t* out_value) {
  etx_ir_arg* const sizes =
      etx_pool_take(r->graph->pool, shape->rank * sizeof *sizes);
  if (sizes == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < shape->rank; ++i) {
    sizes[i] = etx_ir_int(shape->dims[i]);
  }
  const etx_ir_arg args[2] = {{ETX_IR_ARG_LIST, {.list = {sizes, shape->rank}}},
                              {ETX_IR_ARG_DTYPE, {.dtype = shape->dtype}}};
  const etx_text names[2] = {etx_text_of(""), etx_text_of("dtype")};
  const etx_aten_arguments given = {args, names, 2};
  const etx_ir_value value = {.shape = *shape};
  return etx_pt2_add_node(r->graph, "aten.zeros.default", &given, &value,
                          out_value);
}

// True if there is an iteration with `index`.
static etx_status add_condition(const scan_reader* r, uint32_t branch,
                                uint32_t index, uint32_t* out_value) {
  const scan_node node = {"aten.lt.Scalar",
                          branch,
                          {.dtype = ETX_DTYPE_BOOL, .rank = 1, .dims = {1}},
                          {etx_ir_value_arg(index), etx_ir_int(r->iterations)},
                          2};
  return add_node(r, &node, out_value);
}

// The row of `operand` at `index`.
static etx_status add_row(const scan_reader* r, uint32_t operand,
                          uint32_t index, uint32_t* out_value) {
  const uint32_t body = etx_ir_then_branch(r->loop);
  uint32_t selected = 0;
  scan_node select = {
      "aten.index_select.default",
      body,
      *shape_of(r, operand),
      {etx_ir_value_arg(operand), etx_ir_int(0), etx_ir_value_arg(index)},
      3};
  select.shape.dims[0] = 1;
  ETX_TRY(add_node(r, &select, &selected));
  scan_node squeeze = {"aten.squeeze.dim",
                       body,
                       *shape_of(r, operand),
                       {etx_ir_value_arg(selected), etx_ir_int(0)},
                       2};
  --squeeze.shape.rank;
  memmove(squeeze.shape.dims, squeeze.shape.dims + 1,
          squeeze.shape.rank * sizeof *squeeze.shape.dims);
  return add_node(r, &squeeze, out_value);
}

// `stacked` with `row` at `index`.
static etx_status add_stacked(const scan_reader* r, uint32_t stacked,
                              uint32_t row, uint32_t index,
                              uint32_t* out_value) {
  const uint32_t body = etx_ir_then_branch(r->loop);
  uint32_t rows = 0;
  scan_node unsqueeze = {"aten.unsqueeze.default",
                         body,
                         *shape_of(r, stacked),
                         {etx_ir_value_arg(row), etx_ir_int(0)},
                         2};
  unsqueeze.shape.dims[0] = 1;
  ETX_TRY(add_node(r, &unsqueeze, &rows));
  etx_ir_arg* const indices = etx_pool_take(r->graph->pool, sizeof *indices);
  if (indices == NULL) return ETX_OUT_OF_MEMORY;
  *indices = etx_ir_value_arg(index);
  const scan_node put = {"aten.index_put.default",
                         body,
                         *shape_of(r, stacked),
                         {etx_ir_value_arg(stacked),
                          {ETX_IR_ARG_LIST, {.list = {indices, 1}}},
                          etx_ir_value_arg(rows)},
                         3};
  return add_node(r, &put, out_value);
}

// ---------------------------------------------------------------- blocks

// The sizes of `count` blocks of rows, for those of all rows.
static etx_shape in_blocks(const scan_reader* r, const etx_shape* rows,
                           int64_t count) {
  etx_shape shape = *rows;
  memmove(shape.dims + 1, shape.dims, shape.rank * sizeof *shape.dims);
  ++shape.rank;
  shape.dims[0] = count;
  shape.dims[1] = (etx_dim)r->together;
  return shape;
}

// A view of `value` with other sizes.
static etx_status add_view(const scan_reader* r, uint32_t value,
                           const etx_shape* shape, uint32_t* out_value) {
  etx_ir_arg* const sizes =
      etx_pool_take(r->graph->pool, shape->rank * sizeof *sizes);
  if (sizes == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < shape->rank; ++i) {
    sizes[i] = etx_ir_int(shape->dims[i]);
  }
  const scan_node view = {"aten.view.default",
                          r->graph->branch,
                          *shape,
                          {etx_ir_value_arg(value),
                           {ETX_IR_ARG_LIST, {.list = {sizes, shape->rank}}}},
                          2};
  return add_node(r, &view, out_value);
}

// The first `count` rows of `value`.
static etx_status add_first_rows(const scan_reader* r, uint32_t value,
                                 int64_t count, uint32_t* out_value) {
  scan_node slice = {"aten.slice.Tensor",
                     r->graph->branch,
                     *shape_of(r, value),
                     {etx_ir_value_arg(value), etx_ir_int(0), etx_ir_int(0),
                      etx_ir_int(count)},
                     4};
  slice.shape.dims[0] = count;
  return add_node(r, &slice, out_value);
}

// Replaces `*value` by the blocks of its rows. The rest is left out.
static etx_status split_rows(const scan_reader* r, uint32_t* value) {
  const int64_t count = r->iterations * (int64_t)r->together;
  const etx_shape shape = in_blocks(r, shape_of(r, *value), r->iterations);
  if (r->rest > 0) ETX_TRY(add_first_rows(r, *value, count, value));
  return add_view(r, *value, &shape, value);
}

// Adds `count` steps from row `first` on. `operands` are those of the steps;
// `results` are the carried values before, and then those after the steps and
// the rows of the stacked results.
static etx_status add_steps(const scan_reader* r, uint32_t branch,
                            const uint32_t* operands, int64_t first,
                            int64_t count, uint32_t* results) {
  const scan_call* const p = r->call;
  etx_pt2_graph graph = *r->graph;
  graph.branch = branch;
  const etx_pt2_steps steps = {.body = p->body,
                               .operands = operands,
                               .carried = p->carried_count,
                               .with_rows = p->operands[1]->count,
                               .invariant = p->operands[2]->count,
                               .result_count = p->outputs->count,
                               .first = (size_t)first,
                               .count = (size_t)count};
  etx_ir_arg* const rows =
      etx_pool_take(graph.pool, p->stacked_count * steps.count * sizeof *rows);
  if (rows == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_pt2_add_steps(&graph, &steps, r->read_nodes, results, rows));
  for (size_t i = 0; i < p->stacked_count; ++i) {
    uint32_t* const result = &results[p->carried_count + i];
    etx_ir_value stacked = {.shape = *shape_of(r, *result)};
    etx_shape* const shape = &stacked.shape;
    memmove(shape->dims + 1, shape->dims, shape->rank * sizeof *shape->dims);
    ++shape->rank;
    shape->dims[0] = count;
    ETX_TRY(etx_pt2_stack_rows(&graph, &rows[i * steps.count], steps.count,
                               &stacked, result));
  }
  return ETX_OK;
}

// Writes the rows of the rest behind those of all blocks. `*stacked` are the
// blocks of the loop, and then all rows.
static etx_status join_rest(const scan_reader* r, uint32_t rest,
                            uint32_t* stacked) {
  const int64_t together = (int64_t)r->together;
  const int64_t end = r->iterations * together;
  etx_shape shape = *shape_of(r, *stacked);
  --shape.rank;
  memmove(shape.dims, shape.dims + 1, shape.rank * sizeof *shape.dims);
  shape.dims[0] = r->rest > 0 ? end + together : end;
  ETX_TRY(add_view(r, *stacked, &shape, stacked));
  if (r->rest == 0) return ETX_OK;
  const scan_node put = {
      "aten.slice_scatter.default",
      r->graph->branch,
      shape,
      {etx_ir_value_arg(*stacked), etx_ir_value_arg(rest), etx_ir_int(0),
       etx_ir_int(end), etx_ir_int(end + r->rest)},
      5};
  ETX_TRY(add_node(r, &put, stacked));
  return add_first_rows(r, *stacked, end + r->rest, stacked);
}

// ---------------------------------------------------------------- the loop

static etx_status find_operands(scan_reader* r) {
  const scan_call* const p = r->call;
  for (size_t i = 0; i < p->operand_count; ++i) {
    ETX_TRY(etx_pt2_use_operand(r->graph, operand_of(p, i), &r->operands[i]));
    r->blocks[i] = r->operands[i];
    if (i < p->carried_count + p->operands[1]->count) {
      ETX_TRY(etx_pt2_check_is_tensor(r->graph, r->operands[i], i));
    }
  }
  r->iterations = shape_of(r, r->operands[p->carried_count])->dims[0];
  if (r->together == 1) return ETX_OK;
  r->rest = r->iterations % (int64_t)r->together;
  r->iterations /= (int64_t)r->together;
  for (size_t i = 0; i < p->operands[1]->count; ++i) {
    ETX_TRY(split_rows(r, &r->blocks[p->carried_count + i]));
  }
  return ETX_OK;
}

// The TensorArgument of result `index` of the node.
static etx_status result_of_node(const scan_reader* r, size_t index,
                                 const etx_json** out) {
  etx_text tag;
  ETX_TRY(etx_pt2_union(r->graph, &r->call->outputs->items[index], &tag, out));
  if (etx_text_is(tag, "as_tensor")) return ETX_OK;
  return etx_pt2_fail_unsupported(
      r->graph, "result %z of scan or map is not a tensor, but '%t'", index,
      tag);
}

// Gives the stacked result `index` of the node its initial value.
static etx_status stack_zeros(scan_reader* r, size_t index) {
  const etx_json* payload = NULL;
  etx_text name;
  size_t position = 0;
  etx_shape shape = {0};
  ETX_TRY(result_of_node(r, index, &payload));
  ETX_TRY(etx_pt2_text(r->graph, payload, "name", &name));
  ETX_TRY(etx_pt2_find_tensor(r->graph, name, &position));
  ETX_TRY(etx_pt2_shape(r->graph, &r->graph->tensor_values->items[position],
                        &shape));
  if (r->together > 1) {
    shape = in_blocks(r, &shape, r->iterations + (r->rest > 0 ? 1 : 0));
  }
  return add_zeros(r, &shape, &r->initial[index]);
}

static etx_status start_loop(scan_reader* r) {
  const scan_call* const p = r->call;
  etx_pt2_graph* const graph = r->graph;
  etx_ir_module* const module = graph->import->module;
  const etx_shape one = {.dtype = ETX_DTYPE_INT64, .rank = 1, .dims = {1}};
  ETX_TRY(find_operands(r));
  for (size_t i = 0; i < p->outputs->count; ++i) {
    if (i < p->carried_count) {
      r->initial[i] = r->operands[i];
    } else {
      ETX_TRY(stack_zeros(r, i));
    }
  }
  ETX_TRY(add_zeros(r, &one, &r->initial[r->count - 2]));
  ETX_TRY(add_condition(r, graph->branch, r->initial[r->count - 2],
                        &r->initial[r->count - 1]));
  ETX_TRY(etx_ir_add_cond(module, graph->method, graph->branch, &r->loop));
  graph->method->conds[r->loop - 1].is_loop = true;
  for (size_t i = 0; i < r->count; ++i) {
    const etx_ir_carry carry = {r->loop, r->initial[i], {NULL, 0}};
    ETX_TRY(etx_ir_add_carry(module, graph->method, &carry, &graph->place,
                             &r->carried[i]));
  }
  const etx_ir_arg holds = etx_ir_value_arg(r->carried[r->count - 1]);
  return etx_ir_add_head(module, graph->method, r->loop, &holds, &graph->place,
                         &r->token);
}

// Adds the steps of an iteration.
static etx_status add_iteration(const scan_reader* r) {
  const scan_call* const p = r->call;
  const uint32_t body = etx_ir_then_branch(r->loop);
  if (r->together == 1) {
    const etx_pt2_loop_graph graph = {p->body, body, r->rows, p->operand_count,
                                      p->outputs->count};
    return etx_pt2_add_graph(r->graph, &graph, r->read_nodes, r->results);
  }
  for (size_t i = 0; i < p->carried_count; ++i) r->results[i] = r->carried[i];
  return add_steps(r, body, r->rows, 0, (int64_t)r->together, r->results);
}

static etx_status add_body(scan_reader* r) {
  const scan_call* const p = r->call;
  const uint32_t body = etx_ir_then_branch(r->loop);
  const uint32_t index = r->carried[r->count - 2];
  const size_t rows_end = p->carried_count + p->operands[1]->count;
  for (size_t i = 0; i < p->operand_count; ++i) {
    r->rows[i] = i < p->carried_count ? r->carried[i] : r->blocks[i];
    if (i >= p->carried_count && i < rows_end) {
      ETX_TRY(add_row(r, r->blocks[i], index, &r->rows[i]));
    }
  }
  ETX_TRY(add_iteration(r));
  for (size_t i = 0; i < p->outputs->count; ++i) {
    r->next[i] = r->results[i];
    if (i < p->carried_count) continue;
    ETX_TRY(add_stacked(r, r->carried[i], r->results[i], index, &r->next[i]));
  }
  const scan_node add = {"aten.add.Scalar",
                         body,
                         *shape_of(r, index),
                         {etx_ir_value_arg(index), etx_ir_int(1)},
                         2};
  ETX_TRY(add_node(r, &add, &r->next[r->count - 2]));
  return add_condition(r, body, r->next[r->count - 2], &r->next[r->count - 1]);
}

// Ends the loop. A carried value that is a result of the node gets its name,
// unless more nodes follow (define_results_of_blocks).
static etx_status add_joins(const scan_reader* r) {
  etx_pt2_graph* const graph = r->graph;
  etx_ir_method* const method = graph->method;
  for (size_t i = 0; i < r->count; ++i) {
    etx_ir_join join = {.cond = r->loop,
                        .token = r->token,
                        .then_value = r->next[i],
                        .else_value = r->carried[i]};
    etx_ir_value value = {.has_shape = true,
                          .shape = *shape_of(r, r->carried[i]),
                          .origin = ETX_IR_FROM_NODE,
                          .index = (uint32_t)method->node_count};
    if (!etx_pt2_same_types(graph, r->next[i], r->carried[i])) {
      return etx_pt2_fail_unsupported(
          graph, "value %z of scan has another type after a row than before",
          i);
    }
    if (i < r->call->outputs->count && r->together == 1) {
      const etx_json* payload = NULL;
      ETX_TRY(result_of_node(r, i, &payload));
      ETX_TRY(etx_pt2_define_tensor(
          graph, payload, (uint32_t)method->node_count, &join.output));
    } else {
      ETX_TRY(etx_ir_add_value(graph->import->module, method, &value,
                               &join.output));
    }
    r->results[i] = join.output;
    ETX_TRY(
        etx_ir_add_join(graph->import->module, method, &join, &graph->place));
  }
  return ETX_OK;
}

// Adds the steps of the rest behind a loop over blocks, and defines the results
// of the node.
static etx_status define_results_of_blocks(const scan_reader* r) {
  const scan_call* const p = r->call;
  const int64_t end = r->iterations * (int64_t)r->together;
  uint32_t* const rest = r->next;  // not used any more
  for (size_t i = 0; i < p->carried_count; ++i) rest[i] = r->results[i];
  if (r->rest > 0) {
    ETX_TRY(add_steps(r, r->graph->branch, r->operands, end, r->rest, rest));
  }
  for (size_t i = 0; i < p->outputs->count; ++i) {
    const etx_json* payload = NULL;
    etx_text name;
    size_t position = 0;
    uint32_t value = rest[i];
    if (i >= p->carried_count) {
      value = r->results[i];
      ETX_TRY(join_rest(r, rest[i], &value));
    }
    ETX_TRY(result_of_node(r, i, &payload));
    ETX_TRY(etx_pt2_text(r->graph, payload, "name", &name));
    ETX_TRY(etx_pt2_find_tensor(r->graph, name, &position));
    ETX_TRY(etx_pt2_bind_name(r->graph, position, ETX_PT2_DEFINED, value));
  }
  return ETX_OK;
}

etx_status etx_pt2_read_scan(etx_pt2_graph* graph, const etx_json* node,
                             etx_pt2_visit_nodes* read_nodes) {
  scan_call p;
  size_t together = 0;
  ETX_TRY(etx_pt2_unroll_scan(graph, node, read_nodes, &together));
  if (together == 0) return ETX_OK;
  ETX_TRY(read_scan_call(graph, node, &p));
  scan_reader r = {.graph = graph,
                   .call = &p,
                   .read_nodes = read_nodes,
                   .together = together,
                   .count = p.outputs->count + 2};
  uint32_t** const arrays[] = {&r.operands, &r.blocks,  &r.rows, &r.results,
                               &r.initial,  &r.carried, &r.next};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) {
    *arrays[i] = etx_pool_take(graph->pool,
                               (p.operand_count + r.count) * sizeof(uint32_t));
    if (*arrays[i] == NULL) return ETX_OUT_OF_MEMORY;
  }
  ETX_TRY(start_loop(&r));
  ETX_TRY(add_body(&r));
  ETX_TRY(add_joins(&r));
  return r.together == 1 ? ETX_OK : define_results_of_blocks(&r);
}
