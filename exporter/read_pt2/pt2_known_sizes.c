// Sizes from data that the model says to know: torch._check(m.shape[0] == 3) of
// m = x.nonzero(). torch.export then writes 3, or a size of an input, where it
// would write a symbol. The operator still gives as many rows as the data say.
// So its result gets a symbol of its own, a check that this is the known size,
// and a narrow to it, which is what the other nodes read.

#include "exporter/read_pt2/pt2_internal.h"

// Operators whose first dimension depends on data.
static bool is_sized_by_data(const etx_ir_node* node) {
  static const char* const names[] = {
      "aten.argwhere.default",      "aten.bincount.default",
      "aten.masked_select.default", "aten.nonzero.default",
      "torchvision.nms.default",
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    if (etx_text_is(node->aten, names[i])) return true;
  }
  return false;
}

// A symbol that the next node sets, with the upper bound of `known`.
static etx_status add_symbol(etx_pt2_graph* graph, etx_text name, etx_dim known,
                             int64_t low, uint32_t* out_index) {
  etx_symbols* const symbols = &graph->method->symbols;
  int64_t unused = 0, high = 0;
  etx_text fresh = etx_pool_format(graph->pool, "%t_size", name);
  if (etx_symbols_find(symbols, fresh, out_index)) {
    fresh =
        etx_pool_format(graph->pool, "%t_size_%z", name, symbols->symbol_count);
  }
  if (fresh.data == NULL) return ETX_OUT_OF_MEMORY;
  etx_symbols_bounds(symbols, known, &unused, &high);
  if (etx_symbols_add(symbols, fresh, low, high, out_index) != ETX_OK) {
    return etx_pt2_fail_malformed(graph, "more than %i symbols",
                                  (int64_t)ETX_SYMBOLS_MAX_COUNT);
  }
  etx_symbols_make_late(symbols, *out_index);
  return ETX_OK;
}

static etx_status check_known(etx_pt2_graph* graph, uint32_t symbol,
                              etx_dim known) {
  etx_symbols* const symbols = &graph->method->symbols;
  etx_dim found = 0, holds = 0;
  etx_text text;
  ETX_TRY(etx_symbols_dim(symbols, symbol, &found));
  ETX_TRY(etx_symbols_compare(symbols, ETX_SYMBOL_EQUAL, found, known, &holds));
  if (etx_dim_is_number(holds) && holds != 0) return ETX_OK;
  ETX_TRY(etx_symbols_print(symbols, known, graph->pool, &text));
  text = etx_pool_format(graph->pool, "%t == %t", symbols->symbols[symbol].name,
                         text);
  if (text.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_pt2_add_check(graph, holds, text);
}

etx_status etx_pt2_free_size(etx_pt2_graph* graph, etx_ir_node* node,
                             etx_dim* out_known) {
  *out_known = ETX_PT2_NO_SIZE;
  if (node->late != 0 || node->output_count != 1 || !is_sized_by_data(node)) {
    return ETX_OK;
  }
  const uint32_t value = node->outputs[0];
  uint32_t symbol = 0;
  if (value == ETX_IR_NONE || graph->method->values[value].shape.rank == 0) {
    return ETX_OK;
  }
  const etx_dim known = graph->method->values[value].shape.dims[0];
  ETX_TRY(
      add_symbol(graph, graph->method->values[value].name, known, 0, &symbol));
  *out_known = known;
  node->late = symbol + 1;
  return etx_symbols_dim(&graph->method->symbols, symbol,
                         &graph->method->values[value].shape.dims[0]);
}

etx_status etx_pt2_narrow_to_known(etx_pt2_graph* graph, etx_dim known,
                                   size_t position) {
  const etx_ir_node node = graph->method->nodes[graph->method->node_count - 1];
  etx_ir_value result = graph->method->values[node.outputs[0]];
  const etx_ir_arg args[4] = {etx_ir_value_arg(node.outputs[0]), etx_ir_int(0),
                              etx_ir_int(0), etx_ir_int(known)};
  const etx_text unnamed = etx_text_of("");
  const etx_text names[4] = {unnamed, unnamed, unnamed, unnamed};
  const etx_aten_arguments given = {args, names, 4};
  ETX_TRY(check_known(graph, node.late - 1, known));
  result.shape.dims[0] = known;
  return etx_pt2_add_node(graph, "aten.narrow.default", &given, &result,
                          &graph->values[position]);
}

etx_status etx_pt2_known_item(etx_pt2_graph* graph, etx_text name,
                              etx_dim known, uint32_t* out_late) {
  int64_t low = 0, high = 0;
  uint32_t symbol = 0;
  etx_symbols_bounds(&graph->method->symbols, known, &low, &high);
  ETX_TRY(add_symbol(graph, name, known, low, &symbol));
  *out_late = symbol + 1;
  return ETX_OK;
}

etx_status etx_pt2_check_item(etx_pt2_graph* graph, uint32_t late,
                              etx_dim known) {
  return check_known(graph, late - 1, known);
}

// ---------------------------------------------------------------- equalities

// Takes "Symbol('u0', integer=True)" off the front of the text.
static bool take_symbol(etx_text* text, etx_text* out_name) {
  const etx_text head = etx_text_of("Symbol('");
  if (!etx_text_starts_with(*text, head)) return false;
  size_t at = head.size;
  while (at < text->size && text->data[at] != '\'') ++at;
  *out_name = (etx_text){text->data + head.size, at - head.size};
  while (at < text->size && text->data[at] != ')') ++at;
  if (at == text->size) return false;
  *text = (etx_text){text->data + at + 1, text->size - at - 1};
  return true;
}

// The two symbols of "Equality(a, b)".
static bool read_equality(etx_text text, etx_text* out_a, etx_text* out_b) {
  const etx_text head = etx_text_of("Equality(");
  if (!etx_text_starts_with(text, head)) return false;
  text = (etx_text){text.data + head.size, text.size - head.size};
  if (!take_symbol(&text, out_a) || text.size < 2 || text.data[0] != ',') {
    return false;
  }
  text = (etx_text){text.data + 2, text.size - 2};
  return take_symbol(&text, out_b) && etx_text_is(text, ")");
}

static const etx_json* condition_text(const etx_pt2_graph* graph,
                                      const etx_json* node) {
  const etx_json* const inputs = etx_json_member(node, "inputs");
  if (inputs == NULL || inputs->kind != ETX_JSON_ARRAY || inputs->count == 0) {
    return NULL;
  }
  const etx_json* const name = etx_json_member(
      etx_json_member(etx_json_member(&inputs->items[0], "arg"), "as_sym_bool"),
      "as_name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return NULL;
  const etx_json* const text = etx_json_member(
      etx_json_member(etx_json_find(graph->sym_bools, name->string), "as_expr"),
      "expr_str");
  return text != NULL && text->kind == ETX_JSON_STRING ? text : NULL;
}

etx_status etx_pt2_unite_late(etx_pt2_graph* graph) {
  for (size_t i = 0; i < graph->nodes->count; ++i) {
    const etx_json* const node = &graph->nodes->items[i];
    const etx_json* const target = etx_json_member(node, "target");
    etx_text a, b;
    if (target == NULL || target->kind != ETX_JSON_STRING ||
        !etx_text_starts_with(target->string,
                              etx_text_of("torch.ops.aten._assert_scalar."))) {
      continue;
    }
    const etx_json* const text = condition_text(graph, node);
    if (text == NULL || !read_equality(text->string, &a, &b) ||
        !etx_pt2_is_late_name(a) || !etx_pt2_is_late_name(b) ||
        etx_text_equal(a, b)) {
      continue;
    }
    // The one with the smaller number is set first.
    const bool in_order =
        a.size != b.size ? a.size < b.size : etx_text_compare(a, b) < 0;
    const etx_pt2_replaced entry = {in_order ? b : a, in_order ? a : b, 1, 0};
    ETX_TRY(etx_pool_grow(graph->pool, &graph->replaced, graph->replaced_count,
                          &graph->replaced_capacity, sizeof entry));
    graph->replaced[graph->replaced_count++] = entry;
  }
  return ETX_OK;
}
