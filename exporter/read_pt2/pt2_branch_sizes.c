// Sizes and integers that differ between the branches of torch.cond, such as
// x[:2] in one branch and torch.cat([x, x]) in the other. torch.export gives
// the result a size of its own, u0.
//
// Each branch computes this number as a tensor, and pads its result up to the
// upper bound of the number. Behind the branches, item() reads the number, and
// the result is cut to it:
//
//   if c:  n = 2  p = pad(x[:2], 6)
//   else:  n = 8  p = torch.cat([x, x])
//   u0 = n.item()
//   y = p[:u0]
//
// An integer that the branches return is such a number without a result that is
// cut.

#include "exporter/import/size_caps.h"
#include "exporter/ir/ir_cond.h"
#include "exporter/read_pt2/pt2_internal.h"

static const etx_text unnamed[4] = {{"", 0}, {"", 0}, {"", 0}, {"", 0}};

// ---------------------------------------------------------------- numbers

// The sizes that a graph states for one of its outputs; NULL if it is no
// tensor.
static const etx_json* sizes_of(const etx_json* tensor_values,
                                const etx_json* output) {
  const etx_json* const name =
      etx_json_member(etx_json_member(output, "as_tensor"), "name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return NULL;
  const etx_json* const found =
      etx_json_member(etx_json_find(tensor_values, name->string), "sizes");
  return found != NULL && found->kind == ETX_JSON_ARRAY ? found : NULL;
}

// The SymInt of an output that is an integer; NULL if it is none.
static const etx_json* integer_of(const etx_json* sym_ints,
                                  const etx_json* output) {
  const etx_json* const name =
      etx_json_member(etx_json_member(output, "as_sym_int"), "as_name");
  if (name != NULL && name->kind == ETX_JSON_STRING) {
    return etx_json_find(sym_ints, name->string);
  }
  return etx_json_member(output, "as_int") != NULL ? output : NULL;
}

// The SymInt that a sub-graph states for a number; NULL if there is none.
static const etx_json* stated_in(const etx_json* graph,
                                 const etx_pt2_branch_size* number) {
  const etx_json* const outputs = etx_json_member(graph, "outputs");
  if (outputs == NULL || outputs->kind != ETX_JSON_ARRAY ||
      number->output >= outputs->count) {
    return NULL;
  }
  const etx_json* const output = &outputs->items[number->output];
  if (number->dim == SIZE_MAX) {
    return integer_of(etx_json_member(graph, "sym_int_values"), output);
  }
  const etx_json* const sizes =
      sizes_of(etx_json_member(graph, "tensor_values"), output);
  return sizes != NULL && number->dim < sizes->count
             ? &sizes->items[number->dim]
             : NULL;
}

// The upper bound that both branches state for the number; 0 if one states a
// size that it sets itself.
static int64_t most_in_branches(const etx_pt2_graph* graph,
                                const etx_json* const graphs[2],
                                const etx_pt2_branch_size* number) {
  etx_diag unread;
  etx_diag_init(&unread);
  etx_pt2_graph quiet = *graph;
  quiet.is_optional = true;
  quiet.diag = &unread;
  int64_t most = 0;
  for (size_t i = 0; i < 2; ++i) {
    const etx_json* const stated = stated_in(graphs[i], number);
    etx_dim size = 0;
    int64_t low = 0, high = 0;
    if (stated == NULL || etx_pt2_size(&quiet, stated, &size) != ETX_OK) {
      return 0;
    }
    etx_symbols_bounds(&graph->method->symbols, size, &low, &high);
    if (high > most) most = high;
  }
  return most;
}

// Adds the number `size`, a SymInt, if it is a symbol that occurs for the first
// time.
static etx_status add_size(etx_pt2_graph* graph,
                           const etx_json* const graphs[2],
                           etx_pt2_branch_sizes* sizes, const etx_json* size,
                           etx_pt2_branch_size entry) {
  etx_symbol_node top;
  if (!etx_pt2_has_new_symbol(graph, size)) return ETX_OK;
  etx_pt2_start_late(graph);
  graph->late_most = most_in_branches(graph, graphs, &entry);
  ETX_TRY(etx_pt2_size(graph, size, &entry.size));
  graph->late_most = 0;
  entry.late = etx_pt2_end_late(graph);
  ETX_TRY(etx_symbols_top(&graph->method->symbols, entry.size, &top));
  if (!top.is_symbol || top.symbol + 1 != entry.late) {
    return etx_pt2_fail_unsupported(
        graph,
        "a size of result %z of torch.cond is computed from a number that its "
        "branches decide: return that number from the branches",
        entry.output);
  }
  ETX_TRY(etx_pool_grow(graph->pool, &sizes->items, sizes->count,
                        &sizes->capacity, sizeof entry));
  sizes->items[sizes->count++] = entry;
  return ETX_OK;
}

etx_status etx_pt2_find_branch_sizes(etx_pt2_graph* graph,
                                     const etx_json* outputs,
                                     const etx_json* const graphs[2],
                                     etx_pt2_branch_sizes* out) {
  *out = (etx_pt2_branch_sizes){NULL, 0, 0, 0};
  for (size_t i = 0; i < outputs->count; ++i) {
    const etx_json* const output = &outputs->items[i];
    const etx_json* const integer = integer_of(graph->sym_ints, output);
    const etx_json* const sizes = sizes_of(graph->tensor_values, output);
    etx_pt2_branch_size entry = {.output = i, .dim = SIZE_MAX};
    if (integer != NULL) ETX_TRY(add_size(graph, graphs, out, integer, entry));
    for (size_t d = 0; sizes != NULL && d < sizes->count; ++d) {
      entry.dim = d;
      ETX_TRY(add_size(graph, graphs, out, &sizes->items[d], entry));
    }
  }
  return ETX_OK;
}

// The number that is this size; NULL if the size is none of the numbers.
static const etx_pt2_branch_size* find_size(const etx_pt2_graph* graph,
                                            const etx_pt2_branch_sizes* sizes,
                                            etx_dim size) {
  for (size_t i = 0; i < sizes->count; ++i) {
    if (etx_symbols_equal(&graph->method->symbols, sizes->items[i].size,
                          size)) {
      return &sizes->items[i];
    }
  }
  return NULL;
}

// The shape of an output with the upper bounds of the numbers in place of them.
// `*out_differs` is false if it has none of the numbers.
static etx_status shape_in_branches(etx_pt2_graph* graph,
                                    const etx_pt2_branch_sizes* sizes,
                                    const etx_shape* shape,
                                    etx_shape* out_shape, bool* out_differs) {
  *out_shape = *shape;
  *out_differs = false;
  for (size_t d = 0; d < shape->rank; ++d) {
    const etx_pt2_branch_size* const size =
        find_size(graph, sizes, shape->dims[d]);
    if (size == NULL) continue;
    const etx_symbol* const symbol =
        &graph->method->symbols.symbols[size->late - 1];
    *out_differs = true;
    out_shape->dims[d] = symbol->maximum;
    if (symbol->maximum != INT64_MAX ||
        etx_size_cap_find(graph->import->module, graph->method, symbol->name,
                          &out_shape->dims[d])) {
      continue;
    }
    return etx_pt2_fail_unsupported(
        graph,
        "size '%t', which the branches of torch.cond decide, has no upper "
        "bound: give the option --cap %t=N, or call torch._check(size <= N) "
        "in the model",
        symbol->name, symbol->name);
  }
  return ETX_OK;
}

// The shape that the archive states for an output; false if the output is no
// tensor.
static etx_status stated_shape(etx_pt2_graph* graph, const etx_json* output,
                               etx_shape* out_shape, bool* out_is_tensor) {
  const etx_json* const name =
      etx_json_member(etx_json_member(output, "as_tensor"), "name");
  *out_is_tensor = sizes_of(graph->tensor_values, output) != NULL;
  if (!*out_is_tensor) return ETX_OK;
  return etx_pt2_shape(graph, etx_json_find(graph->tensor_values, name->string),
                       out_shape);
}

// ---------------------------------------------------------------- branches

static etx_status add_number(etx_pt2_graph* inner, etx_dim number,
                             uint32_t* out_value) {
  const etx_ir_arg args[2] = {etx_ir_int(number),
                              {ETX_IR_ARG_DTYPE, {.dtype = ETX_DTYPE_INT64}}};
  const etx_text names[2] = {etx_text_of(""), etx_text_of("dtype")};
  const etx_aten_arguments given = {args, names, 2};
  const etx_ir_value result = {.shape = {.dtype = ETX_DTYPE_INT64}};
  return etx_pt2_add_node(inner, "aten.scalar_tensor.default", &given, &result,
                          out_value);
}

// Pads a result of a branch with zeros at the end of each dimension.
static etx_status pad_to(etx_pt2_graph* inner, const etx_shape* wanted,
                         uint32_t* value) {
  const etx_ir_value from = inner->method->values[*value];
  etx_ir_arg pads[2 * ETX_MAX_RANK];
  bool is_padded = false;
  if (from.shape.rank != wanted->rank) return ETX_OK;
  for (size_t i = 0; i < wanted->rank; ++i) {
    const size_t d = wanted->rank - 1 - i;
    etx_dim more = 0;
    ETX_TRY(etx_symbols_apply(&inner->method->symbols, ETX_SYMBOL_SUBTRACT,
                              wanted->dims[d], from.shape.dims[d], &more));
    pads[2 * i] = etx_ir_int(0);
    pads[2 * i + 1] = etx_ir_int(more);
    is_padded = is_padded || more != 0;
  }
  if (!is_padded) return ETX_OK;
  const etx_ir_arg args[3] = {
      etx_ir_value_arg(*value),
      {ETX_IR_ARG_LIST, {.list = {pads, 2 * (size_t)wanted->rank}}},
      etx_ir_int(0)};
  const etx_aten_arguments given = {args, unnamed, 3};
  const etx_ir_value result = {.name = from.name, .shape = *wanted};
  return etx_pt2_add_node(inner, "aten.constant_pad_nd.default", &given,
                          &result, value);
}

// The number that a branch has for `size`.
static etx_status number_of(etx_pt2_graph* graph,
                            const etx_pt2_branch_size* size,
                            const etx_ir_arg* result, etx_dim* out) {
  if (size->dim == SIZE_MAX && result->kind == ETX_IR_ARG_INT) {
    *out = result->as.integer;
    return ETX_OK;
  }
  if (size->dim != SIZE_MAX && result->kind == ETX_IR_ARG_VALUE) {
    const etx_shape* const shape =
        &graph->method->values[result->as.value].shape;
    if (size->dim < shape->rank) {
      *out = shape->dims[size->dim];
      return ETX_OK;
    }
  }
  return etx_pt2_fail_unsupported(
      graph, "the branches of torch.cond return different types");
}

etx_status etx_pt2_end_branch(etx_pt2_graph* outer, etx_pt2_graph* inner,
                              const etx_json* outputs,
                              etx_pt2_branch_sizes* sizes,
                              etx_ir_arg* results) {
  for (size_t i = 0; i < sizes->count; ++i) {
    etx_pt2_branch_size* const size = &sizes->items[i];
    etx_dim number = 0;
    ETX_TRY(number_of(outer, size, &results[size->output], &number));
    ETX_TRY(add_number(inner, number, &size->values[sizes->ended]));
  }
  for (size_t i = 0; sizes->count != 0 && i < outputs->count; ++i) {
    etx_shape stated, wanted;
    bool is_tensor = false, differs = false;
    if (results[i].kind != ETX_IR_ARG_VALUE) continue;
    ETX_TRY(stated_shape(outer, &outputs->items[i], &stated, &is_tensor));
    if (!is_tensor) continue;
    ETX_TRY(shape_in_branches(outer, sizes, &stated, &wanted, &differs));
    if (differs) ETX_TRY(pad_to(inner, &wanted, &results[i].as.value));
  }
  ++sizes->ended;
  return ETX_OK;
}

// ---------------------------------------------------------------- results

etx_status etx_pt2_join_branch_sizes(etx_pt2_graph* graph, etx_ir_join join,
                                     etx_pt2_branch_sizes* sizes) {
  for (size_t i = 0; i < sizes->count; ++i) {
    etx_pt2_branch_size* const size = &sizes->items[i];
    const etx_ir_value number = {
        .name = graph->method->symbols.symbols[size->late - 1].name,
        .has_shape = true,
        .shape = {.dtype = ETX_DTYPE_INT64},
        .origin = ETX_IR_FROM_NODE,
        .index = (uint32_t)graph->method->node_count};
    ETX_TRY(etx_ir_add_value(graph->import->module, graph->method, &number,
                             &size->joined));
    join.output = size->joined;
    join.then_value = size->values[0];
    join.else_value = size->values[1];
    ETX_TRY(etx_ir_add_join(graph->import->module, graph->method, &join,
                            &graph->place));
  }
  return ETX_OK;
}

etx_status etx_pt2_padded_result(etx_pt2_graph* graph, const etx_json* output,
                                 const etx_pt2_branch_sizes* sizes,
                                 uint32_t* out_value) {
  etx_ir_value padded = {.has_shape = true,
                         .origin = ETX_IR_FROM_NODE,
                         .index = (uint32_t)graph->method->node_count};
  etx_shape stated;
  bool is_tensor = false, differs = false;
  *out_value = ETX_IR_NONE;
  ETX_TRY(stated_shape(graph, output, &stated, &is_tensor));
  if (!is_tensor) return ETX_OK;
  ETX_TRY(shape_in_branches(graph, sizes, &stated, &padded.shape, &differs));
  if (!differs) return ETX_OK;
  ETX_TRY(etx_pt2_text(graph, etx_json_member(output, "as_tensor"), "name",
                       &padded.name));
  return etx_ir_add_value(graph->import->module, graph->method, &padded,
                          out_value);
}

static etx_status cut_result(etx_pt2_graph* graph, const etx_json* output,
                             const etx_pt2_branch_sizes* sizes,
                             uint32_t value) {
  etx_ir_value result = graph->method->values[value];
  etx_shape stated;
  size_t position = 0;
  bool is_tensor = false;
  ETX_TRY(stated_shape(graph, output, &stated, &is_tensor));
  ETX_TRY(etx_pt2_find_tensor(graph, result.name, &position));
  for (size_t d = 0; d < stated.rank; ++d) {
    if (find_size(graph, sizes, stated.dims[d]) == NULL) continue;
    const etx_ir_arg args[4] = {etx_ir_value_arg(value), etx_ir_int((int64_t)d),
                                etx_ir_int(0), etx_ir_int(stated.dims[d])};
    const etx_aten_arguments given = {args, unnamed, 4};
    result.shape.dims[d] = stated.dims[d];
    ETX_TRY(etx_pt2_add_node(graph, "aten.narrow.default", &given, &result,
                             &value));
  }
  return etx_pt2_bind_name(graph, position, ETX_PT2_DEFINED, value);
}

etx_status etx_pt2_cut_results(etx_pt2_graph* graph, const etx_json* outputs,
                               const etx_pt2_branch_sizes* sizes,
                               const uint32_t* padded) {
  for (size_t i = 0; i < sizes->count; ++i) {
    const etx_pt2_branch_size* const size = &sizes->items[i];
    const etx_ir_arg number = etx_ir_value_arg(size->joined);
    ETX_TRY(etx_pt2_add_item(
        graph, graph->method->symbols.symbols[size->late - 1].name, &number,
        size->late));
  }
  for (size_t i = 0; i < outputs->count; ++i) {
    if (padded[i] == ETX_IR_NONE) continue;
    ETX_TRY(cut_result(graph, &outputs->items[i], sizes, padded[i]));
  }
  return ETX_OK;
}
