// Numbers that are read from a tensor's data: x.max().item(). They are unknown
// at plan time and so not supported, but often only assertions, which are
// dropped, use them. This file finds out whether anything else does.

#include "exporter/read_pt2/pt2_internal.h"

// The result of an item call.
typedef struct item_number {
  etx_text name;    // in the graph
  etx_text symbol;  // in expressions; empty if the archive has no expression
} item_number;

bool etx_pt2_is_item_call(etx_text target) {
  return etx_text_starts_with(target, etx_text_of("torch.ops.aten.item.")) ||
         etx_text_starts_with(
             target, etx_text_of("torch.ops.aten._local_scalar_dense."));
}

// The expression for the name of an integer, condition or float; empty if there
// is none.
static etx_text expression_of(const etx_pt2_graph* graph, etx_text name) {
  const etx_json* const tables[] = {graph->sym_ints, graph->sym_bools,
                                    graph->sym_floats};
  const etx_text none = {NULL, 0};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i) {
    const etx_json* const entry = etx_json_find(tables[i], name);
    const etx_json* const text =
        etx_json_member(etx_json_member(entry, "as_expr"), "expr_str");
    if (text != NULL && text->kind == ETX_JSON_STRING) return text->string;
  }
  return none;
}

// True if `text` contains `symbol`, which includes its quotes.
static bool mentions(etx_text text, etx_text symbol) {
  for (size_t i = 0; symbol.size != 0 && i + symbol.size <= text.size; ++i) {
    const etx_text rest = {text.data + i, text.size - i};
    if (etx_text_starts_with(rest, symbol)) return true;
  }
  return false;
}

// "'u0'" for "Symbol('u0', integer=True)". If there is no quoted name, the
// whole expression, which is at least found where it occurs as such.
static etx_text symbol_of(etx_text expression) {
  size_t first = 0, end = 0;
  while (first < expression.size && expression.data[first] != '\'') ++first;
  end = first + 1;
  while (end < expression.size && expression.data[end] != '\'') ++end;
  if (end >= expression.size) return expression;
  return (etx_text){expression.data + first, end + 1 - first};
}

// True if the payload of an Argument is the number, or is computed from it.
static bool refers_to(const etx_pt2_graph* graph, const etx_json* payload,
                      const item_number* n) {
  const etx_json* const name = etx_json_member(payload, "as_name");
  return name != NULL && name->kind == ETX_JSON_STRING &&
         (etx_text_equal(name->string, n->name) ||
          mentions(expression_of(graph, name->string), n->symbol));
}

// True if an Argument uses the number. A sub-graph counts as a use.
static bool argument_uses(const etx_pt2_graph* graph, const etx_json* argument,
                          const item_number* n) {
  if (argument == NULL || argument->kind != ETX_JSON_OBJECT) return false;
  for (size_t i = 0; i < argument->count; ++i) {
    const etx_json* const payload = &argument->items[i];
    if (etx_text_is(argument->keys[i], "as_graph")) return true;
    if (refers_to(graph, payload, n)) return true;
    if (payload->kind != ETX_JSON_ARRAY) continue;
    for (size_t j = 0; j < payload->count; ++j) {
      if (refers_to(graph, &payload->items[j], n)) return true;
    }
  }
  return false;
}

static bool sizes_use(const etx_json* tensor, etx_text symbol) {
  const etx_json* const sizes = etx_json_member(tensor, "sizes");
  if (sizes == NULL || sizes->kind != ETX_JSON_ARRAY) return false;
  for (size_t i = 0; i < sizes->count; ++i) {
    const etx_json* const text = etx_json_member(
        etx_json_member(&sizes->items[i], "as_expr"), "expr_str");
    if (text != NULL && text->kind == ETX_JSON_STRING &&
        mentions(text->string, symbol)) {
      return true;
    }
  }
  return false;
}

static bool node_uses(const etx_pt2_graph* graph, const etx_json* node,
                      const item_number* n) {
  const etx_json* const target = etx_json_member(node, "target");
  const etx_json* const inputs = etx_json_member(node, "inputs");
  if (target == NULL || target->kind != ETX_JSON_STRING || inputs == NULL ||
      inputs->kind != ETX_JSON_ARRAY || etx_pt2_is_dropped(target->string)) {
    return false;
  }
  for (size_t i = 0; i < inputs->count; ++i) {
    if (argument_uses(graph, etx_json_member(&inputs->items[i], "arg"), n)) {
      return true;
    }
  }
  return false;
}

bool etx_pt2_is_item_used(const etx_pt2_graph* graph, const etx_json* node) {
  const etx_json* const outputs = etx_json_member(node, "outputs");
  const etx_json* const results = etx_json_member(graph->graph, "outputs");
  if (outputs == NULL || outputs->kind != ETX_JSON_ARRAY ||
      outputs->count != 1 || outputs->items[0].kind != ETX_JSON_OBJECT ||
      outputs->items[0].count != 1 || results == NULL ||
      results->kind != ETX_JSON_ARRAY) {
    return true;
  }
  const etx_json* const name =
      etx_json_member(&outputs->items[0].items[0], "as_name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return true;
  const item_number n = {name->string,
                         symbol_of(expression_of(graph, name->string))};
  for (size_t i = 0; i < graph->tensor_values->count; ++i) {
    if (sizes_use(&graph->tensor_values->items[i], n.symbol)) return true;
  }
  for (size_t i = 0; i < graph->nodes->count; ++i) {
    if (node_uses(graph, &graph->nodes->items[i], &n)) return true;
  }
  for (size_t i = 0; i < results->count; ++i) {
    if (argument_uses(graph, &results->items[i], &n)) return true;
  }
  return false;
}
