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
  etx_pt2_steps all;        // its first row is 0
  uint32_t* operands;       // of `all`
  const etx_json* outputs;  // a list of Arguments
  etx_dim row_count;
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

// ---------------------------------------------------------------- the loop

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
  ETX_TRY(etx_pt2_steps_together(graph, all->body, p.row_count, all->with_rows,
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
