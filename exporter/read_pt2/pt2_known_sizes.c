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

// ---------------------------------------------------------------- decided

// Integers that go through a tensor although sizes decide them:
//
//   span = torch.tensor(min(x.size(1), 512))
//   rows = table[512 - span : 512 + span]
//
// torch.export reads the bounds back by item(), and gives them and the size of
// the slice symbols of their own, of which it knows nothing. Here they become
// the expressions over sizes that they are.

static bool find_value(const etx_pt2_graph* graph, uint32_t value,
                       etx_dim* out) {
  for (size_t i = 0; i < graph->decided_count; ++i) {
    if (graph->decided[i].value != value) continue;
    *out = graph->decided[i].number;
    return true;
  }
  return false;
}

static etx_status add(etx_pt2_graph* graph, etx_pt2_decided entry) {
  ETX_TRY(etx_pool_grow(graph->pool, &graph->decided, graph->decided_count,
                        &graph->decided_capacity, sizeof entry));
  graph->decided[graph->decided_count++] = entry;
  return ETX_OK;
}

// ---------------------------------------------------------------- tensors

static bool is_copy(etx_text aten) {
  static const char* const names[] = {
      "aten._to_copy.default",
      "aten.alias.default",
      "aten.clone.default",
      "aten.detach.default",
      "aten.detach_.default",
      "aten.detach_copy.default",
      "aten.lift_fresh_copy.default",
      "aten.scalar_tensor.default",
      "aten.to.device",
      "aten.to.dtype",
      "aten.to.dtype_layout",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (etx_text_is(aten, names[i])) return true;
  }
  return false;
}

typedef struct integer_operator {
  const char* name;
  etx_symbol_op op;
  bool swaps_operands;
} integer_operator;

static const integer_operator operators[] = {
    {"aten.add.Scalar", ETX_SYMBOL_ADD, false},
    {"aten.add.Tensor", ETX_SYMBOL_ADD, false},
    {"aten.maximum.default", ETX_SYMBOL_MAXIMUM, false},
    {"aten.minimum.default", ETX_SYMBOL_MINIMUM, false},
    {"aten.mul.Scalar", ETX_SYMBOL_MULTIPLY, false},
    {"aten.mul.Tensor", ETX_SYMBOL_MULTIPLY, false},
    {"aten.rsub.Scalar", ETX_SYMBOL_SUBTRACT, true},
    {"aten.rsub.Tensor", ETX_SYMBOL_SUBTRACT, true},
    {"aten.sub.Scalar", ETX_SYMBOL_SUBTRACT, false},
    {"aten.sub.Tensor", ETX_SYMBOL_SUBTRACT, false},
};

static bool find_operand(const etx_pt2_graph* graph, const etx_ir_node* node,
                         size_t index, etx_dim* out) {
  if (index >= node->arg_count) return false;
  const etx_ir_arg* const arg = &node->args[index];
  if (arg->kind == ETX_IR_ARG_VALUE) {
    return find_value(graph, arg->as.value, out);
  }
  *out = arg->as.integer;
  return arg->kind == ETX_IR_ARG_INT;
}

// alpha of additions and subtractions.
static bool has_factor(const etx_ir_node* node) {
  if (node->arg_count < 3 || node->args[2].kind == ETX_IR_ARG_NONE) {
    return false;
  }
  return node->args[2].kind != ETX_IR_ARG_INT || node->args[2].as.integer != 1;
}

static bool compute(etx_pt2_graph* graph, const etx_ir_node* node,
                    etx_dim* out) {
  etx_dim a = 0, b = 0;
  if (!find_operand(graph, node, 0, &a)) return false;
  *out = a;
  if (is_copy(node->aten)) return true;
  for (size_t i = 0; i < sizeof operators / sizeof *operators; ++i) {
    const integer_operator* const known = &operators[i];
    if (!etx_text_is(node->aten, known->name)) continue;
    return find_operand(graph, node, 1, &b) && !has_factor(node) &&
           etx_symbols_apply(&graph->method->symbols, known->op,
                             known->swaps_operands ? b : a,
                             known->swaps_operands ? a : b, out) == ETX_OK;
  }
  return false;
}

etx_status etx_pt2_note_decided(etx_pt2_graph* graph, const etx_ir_node* node) {
  if (node->output_count != 1 || node->outputs[0] == ETX_IR_NONE ||
      node->arg_count == 0) {
    return ETX_OK;
  }
  const etx_shape* const shape = &graph->method->values[node->outputs[0]].shape;
  etx_dim number = 0;
  if (shape->rank != 0 || shape->dtype != ETX_DTYPE_INT64 ||
      !compute(graph, node, &number)) {
    return ETX_OK;
  }
  const etx_text none = {NULL, 0};
  return add(graph, (etx_pt2_decided){node->outputs[0], none, number});
}

// ---------------------------------------------------------------- symbols

// The name of a symbol that did not occur before, if the text is one:
// "Symbol('u0', integer=True)".
static bool is_new_symbol(const etx_pt2_graph* graph, const etx_json* size,
                          etx_text* out_name) {
  const etx_text head = etx_text_of("Symbol('");
  const etx_json* const text =
      etx_json_member(etx_json_member(size, "as_expr"), "expr_str");
  if (text == NULL || text->kind != ETX_JSON_STRING ||
      !etx_text_starts_with(text->string, head)) {
    return false;
  }
  const etx_text rest = {text->string.data + head.size,
                         text->string.size - head.size};
  size_t end = 0;
  while (end < rest.size && rest.data[end] != '\'') ++end;
  *out_name = (etx_text){rest.data, end};
  while (end < rest.size && rest.data[end] != ')') ++end;
  return end + 1 == rest.size && etx_pt2_is_late_name(*out_name) &&
         etx_pt2_has_new_symbol(graph, size);
}

etx_status etx_pt2_decide_item(etx_pt2_graph* graph, etx_text name,
                               const etx_ir_arg* arg, bool* out_is_decided) {
  etx_text symbol;
  etx_dim number = 0;
  *out_is_decided =
      arg->kind == ETX_IR_ARG_VALUE &&
      find_value(graph, arg->as.value, &number) &&
      is_new_symbol(graph, etx_json_find(graph->sym_ints, name), &symbol);
  if (!*out_is_decided) return ETX_OK;
  return add(graph, (etx_pt2_decided){ETX_IR_NONE, symbol, number});
}

// ---------------------------------------------------------------- slices

// A bound of a slice within [0, size]; negative ones count from the end.
static etx_status clamp(etx_symbols* symbols, etx_dim size, etx_dim bound,
                        etx_dim* out) {
  etx_dim wrapped = 0;
  ETX_TRY(etx_symbols_compare(symbols, ETX_SYMBOL_LESS, bound, 0, &wrapped));
  ETX_TRY(
      etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, wrapped, size, &wrapped));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, bound, wrapped, &bound));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MAXIMUM, bound, 0, &bound));
  return etx_symbols_apply(symbols, ETX_SYMBOL_MINIMUM, bound, size, out);
}

// The bound of a slice at argument `index`. False: data decide it.
static bool find_bound(const etx_pt2_graph* graph, const etx_ir_node* node,
                       size_t index, etx_dim otherwise, etx_dim* out) {
  *out = otherwise;
  if (index >= node->arg_count) return true;
  const etx_ir_arg* const arg = &node->args[index];
  if (arg->kind == ETX_IR_ARG_NONE) return true;
  if (arg->kind != ETX_IR_ARG_INT) return false;
  if (arg->as.integer != INT64_MAX) *out = arg->as.integer;
  return etx_symbols_late_in(&graph->method->symbols, *out) == 0;
}

static etx_status slice_size(etx_symbols* symbols, etx_dim size, etx_dim start,
                             etx_dim end, etx_dim* out) {
  ETX_TRY(clamp(symbols, size, start, &start));
  ETX_TRY(clamp(symbols, size, end, &end));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, end, start, out));
  return etx_symbols_apply(symbols, ETX_SYMBOL_MAXIMUM, *out, 0, out);
}

etx_status etx_pt2_decide_slice(etx_pt2_graph* graph, const etx_ir_node* node,
                                const etx_json* outputs) {
  etx_symbols* const symbols = &graph->method->symbols;
  etx_dim axis = 0, step = 1, start = 0, end = 0, number = 0;
  etx_text name, symbol;
  if (!etx_text_is(node->aten, "aten.slice.Tensor") || node->arg_count == 0 ||
      node->args[0].kind != ETX_IR_ARG_VALUE || outputs->count != 1 ||
      !find_bound(graph, node, 1, 0, &axis) ||
      !find_bound(graph, node, 4, 1, &step) || step != 1) {
    return ETX_OK;
  }
  const etx_shape shape = graph->method->values[node->args[0].as.value].shape;
  if (axis < 0) axis += shape.rank;
  if (axis < 0 || axis >= shape.rank) return ETX_OK;
  const etx_dim size = shape.dims[axis];
  if (!find_bound(graph, node, 2, 0, &start) ||
      !find_bound(graph, node, 3, size, &end)) {
    return ETX_OK;
  }
  const etx_json* const result =
      etx_json_member(&outputs->items[0], "as_tensor");
  if (result == NULL) return ETX_OK;
  ETX_TRY(etx_pt2_text(graph, result, "name", &name));
  const etx_json* const sizes =
      etx_json_member(etx_json_find(graph->tensor_values, name), "sizes");
  if (sizes == NULL || sizes->kind != ETX_JSON_ARRAY ||
      (size_t)axis >= sizes->count ||
      !is_new_symbol(graph, &sizes->items[axis], &symbol) ||
      slice_size(symbols, size, start, end, &number) != ETX_OK) {
    return ETX_OK;
  }
  return add(graph, (etx_pt2_decided){ETX_IR_NONE, symbol, number});
}
