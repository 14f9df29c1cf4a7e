// How many steps of a map or scan stand one after the other in the list of
// nodes: all of a short one, which is no loop then, or those of one block of
// rows, which an iteration of the loop runs. A block divides the cost of a loop
// itself (the index, its condition, the jumps, and the copies of rows) by its
// number of rows.

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
