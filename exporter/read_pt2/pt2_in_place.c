// Functionalization of in-place operators, which torch.export leaves in a
// program without decompositions. Each becomes its functional form, whose
// result is from then on the value of all names that alias the written tensor.
//
//   y = conv(x); relu_(y); add(y, x)     y = conv(x); r = relu(y); add(r, x)
//   k = slice(cache); copy_(k, x)        slice_scatter(cache, copy(k, x))
//
// A write through a view is propagated to its base by the inverse of the view,
// and other views of the same bytes that are read later are made anew. A buffer
// or input that was written becomes the target of a mutation at the end of the
// method. A view whose operator may also copy, as reshape does, can neither be
// written through nor made anew: such programs are reported as unsupported.
//
// In a sub-graph the same is done for tensors that the sub-graph makes. Writes
// into its inputs are reported.

#include "exporter/ir/aten_schema.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/lower/nearest_operator.h"
#include "exporter/read_pt2/pt2_internal.h"

enum { MAX_NAME = 64, MAX_ARGS = 6 };

// True if a result of the node may be a view of an operand. A cast to another
// dtype makes a copy. Operators without a schema were reported already.
static bool may_alias(const etx_pt2_graph* graph, const etx_ir_node* node) {
  const etx_aten_schema* const schema = etx_aten_schema_find(node->aten);
  if (schema == NULL || !etx_aten_may_alias(schema)) return false;
  if (node->arg_count == 0 || node->args[0].kind != ETX_IR_ARG_VALUE ||
      node->output_count == 0 ||
      !etx_text_starts_with(node->aten, etx_text_of("aten.to."))) {
    return true;
  }
  const etx_ir_value* const values = graph->method->values;
  return values[node->args[0].as.value].shape.dtype ==
         values[node->outputs[0]].shape.dtype;
}

// ---------------------------------------------------------------- alias sets

static size_t next_name(const etx_pt2_graph* graph, size_t position) {
  const uint32_t next = graph->aliases[position].next;
  return next == 0 ? position : next - 1u;
}

static bool are_aliases(const etx_pt2_graph* graph, size_t a, size_t b) {
  size_t at = a;
  do {
    if (at == b) return true;
    at = next_name(graph, at);
  } while (at != a);
  return false;
}

// Joins the alias rings of two names.
static void join_aliases(etx_pt2_graph* graph, size_t a, size_t b) {
  if (are_aliases(graph, b, a)) return;
  const size_t after_a = next_name(graph, a);
  graph->aliases[a].next = (uint32_t)next_name(graph, b) + 1;
  graph->aliases[b].next = (uint32_t)after_a + 1;
}

// The tensor that `json`, a TensorArgument, names.
static bool find_name(const etx_pt2_graph* graph, const etx_json* json,
                      size_t* out_position) {
  const etx_json* const name = etx_json_member(json, "name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return false;
  const etx_json* const meta =
      etx_json_find(graph->tensor_values, name->string);
  if (meta == NULL) return false;
  *out_position = (size_t)(meta - graph->tensor_values->items);
  return true;
}

// The TensorArguments in an Argument, a tensor or a list of tensors; returns
// their number.
static size_t names_in(const etx_json* argument, const etx_json** out_first) {
  const etx_json* const one = etx_json_member(argument, "as_tensor");
  const etx_json* const list = etx_json_member(argument, "as_tensors");
  *out_first = one;
  if (one != NULL) return 1;
  if (list == NULL || list->kind != ETX_JSON_ARRAY) return 0;
  *out_first = list->items;
  return list->count;
}

// The position of the single defined tensor in an Argument.
static bool find_only(const etx_pt2_graph* graph, const etx_json* argument,
                      size_t* out_position) {
  const etx_json* first = NULL;
  return names_in(argument, &first) == 1 &&
         find_name(graph, first, out_position) &&
         graph->states[*out_position] == ETX_PT2_DEFINED;
}

void etx_pt2_note_views(etx_pt2_graph* graph, const etx_json* inputs,
                        const etx_json* outputs) {
  const uint32_t node = (uint32_t)graph->method->node_count - 1;
  const etx_json* names = NULL;
  size_t count = 0, base = SIZE_MAX, at = 0;
  if (!may_alias(graph, &graph->method->nodes[node])) return;
  // The first operand with tensors is the base of the views.
  for (size_t i = 0; i < inputs->count && count == 0; ++i) {
    count = names_in(etx_json_member(&inputs->items[i], "arg"), &names);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!find_name(graph, &names[i], &at)) continue;
    if (base == SIZE_MAX) base = at;
    join_aliases(graph, base, at);
  }
  for (size_t i = 0; i < outputs->count && base != SIZE_MAX; ++i) {
    count = names_in(&outputs->items[i], &names);
    for (size_t k = 0; k < count; ++k) {
      if (!find_name(graph, &names[k], &at)) continue;
      join_aliases(graph, base, at);
      graph->aliases[at].base = (uint32_t)base + 1;
      graph->aliases[at].view = node;
      graph->aliases[at].output = (uint32_t)(outputs->count == 1 ? k : i);
    }
  }
}

// ----------------------------------------------------- functional forms

// The schema of an overload of operator `base`, if it is supported, computes
// one tensor and has a tensor as its first argument.
static const etx_aten_schema* find_overload(etx_text base, const char* prefix,
                                            etx_text overload) {
  char name[MAX_NAME];
  const size_t size =
      etx_format_text(name, sizeof name, "%t.%s%t", base, prefix, overload);
  const etx_text text = {name, size};
  const etx_aten_schema* const schema = etx_aten_schema_find(text);
  return schema != NULL && schema->results == 1 &&
                 etx_text_starts_with(etx_text_of(schema->arguments),
                                      etx_text_of("Tensor")) &&
                 etx_operator_is_importable(text)
             ? schema
             : NULL;
}

// "aten.add.Tensor" for "aten.add_.Tensor", "aten.pow.Tensor_Scalar" for
// "aten.pow_.Scalar".
const etx_aten_schema* etx_pt2_functional_form(etx_text aten) {
  size_t dot = aten.size;
  if (!etx_operator_is_in_place(aten)) return NULL;
  while (dot > 0 && aten.data[dot - 1] != '.') --dot;
  if (dot < 2) return NULL;
  const etx_text base = {aten.data, dot - 2};
  const etx_text overload = {aten.data + dot, aten.size - dot};
  const etx_aten_schema* const schema = find_overload(base, "", overload);
  return schema != NULL ? schema : find_overload(base, "Tensor_", overload);
}

// ---------------------------------------------------------------- views

// How the new content of a view is written back to its base.
typedef enum inverse_kind {
  INVERSE_RESHAPE,     // the view has all elements in the same order
  INVERSE_INVOLUTION,  // the view operator is its own inverse
  INVERSE_SCATTER,     // the view is a part of the base
  INVERSE_PERMUTE,     // the view has the dimensions in another order
  INVERSE_PARTS,       // the views are parts of the base along a dimension
  INVERSE_ROWS,        // the views are the rows of the base
  INVERSE_NONE,        // elements of the view share memory
} inverse_kind;

static const struct {
  const char* aten;
  inverse_kind kind;
  const char* inverse;
} view_inverses[] = {
    {"aten.view.default", INVERSE_RESHAPE, "aten.view.default"},
    {"aten.unsqueeze.default", INVERSE_RESHAPE, "aten.view.default"},
    {"aten.squeeze.default", INVERSE_RESHAPE, "aten.view.default"},
    {"aten.squeeze.dim", INVERSE_RESHAPE, "aten.view.default"},
    {"aten.squeeze.dims", INVERSE_RESHAPE, "aten.view.default"},
    {"aten.unflatten.int", INVERSE_RESHAPE, "aten.view.default"},
    {"aten.alias.default", INVERSE_RESHAPE, "aten.view.default"},
    {"aten.detach.default", INVERSE_RESHAPE, "aten.view.default"},
    {"aten.transpose.int", INVERSE_INVOLUTION, "aten.transpose.int"},
    {"aten.t.default", INVERSE_INVOLUTION, "aten.t.default"},
    {"aten.select.int", INVERSE_SCATTER, "aten.select_scatter.default"},
    {"aten.slice.Tensor", INVERSE_SCATTER, "aten.slice_scatter.default"},
    {"aten.diagonal.default", INVERSE_SCATTER, "aten.diagonal_scatter.default"},
    {"aten.permute.default", INVERSE_PERMUTE, "aten.permute.default"},
    {"aten.chunk.default", INVERSE_PARTS, "aten.slice_scatter.default"},
    {"aten.split.Tensor", INVERSE_PARTS, "aten.slice_scatter.default"},
    {"aten.split.sizes", INVERSE_PARTS, "aten.slice_scatter.default"},
    {"aten.split_with_sizes.default", INVERSE_PARTS,
     "aten.slice_scatter.default"},
    {"aten.unbind.int", INVERSE_ROWS, "aten.select_scatter.default"},
    {"aten.expand.default", INVERSE_NONE, NULL},
};

enum { VIEW_KINDS = sizeof view_inverses / sizeof *view_inverses };

// The row of view_inverses for an operator; VIEW_KINDS if there is none.
static size_t row_of(etx_text aten) {
  size_t row = 0;
  while (row < VIEW_KINDS && !etx_text_is(aten, view_inverses[row].aten)) ++row;
  return row;
}

// The number that argument `index` of a node is, or `fallback`.
static etx_dim integer_at(const etx_ir_node* node, size_t index,
                          etx_dim fallback) {
  return index < node->arg_count && node->args[index].kind == ETX_IR_ARG_INT
             ? node->args[index].as.integer
             : fallback;
}

// The places at which permuted dimensions were before.
static etx_status inverse_order(etx_pt2_graph* graph, const etx_ir_node* view,
                                int64_t rank, etx_ir_arg* out) {
  *out = view->args[1];
  if (out->kind != ETX_IR_ARG_LIST || out->as.list.count != (size_t)rank) {
    return etx_pt2_fail_malformed(graph, "a permutation of %z dimensions",
                                  (size_t)rank);
  }
  etx_ir_arg* const items =
      etx_pool_take(graph->pool, (size_t)rank * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (int64_t i = 0; i < rank; ++i) {
    const etx_ir_arg* const item = &out->as.list.items[i];
    int64_t dim = item->kind == ETX_IR_ARG_INT ? item->as.integer : rank;
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank) {
      return etx_pt2_fail_malformed(graph, "a permutation of %z dimensions",
                                    (size_t)rank);
    }
    items[dim] = etx_ir_int(i);
  }
  out->as.list.items = items;
  return ETX_OK;
}

// Arguments that tell where part `part` of a split is: dimension, start, end.
static etx_status place_of_part(etx_pt2_graph* graph, const etx_ir_node* view,
                                uint32_t part, etx_ir_arg* out) {
  const etx_ir_value* const values = graph->method->values;
  etx_symbols* const symbols = &graph->method->symbols;
  const etx_shape* const shape = &values[view->outputs[part]].shape;
  int64_t dim = integer_at(view, 2, 0);
  etx_dim start = 0, end = 0;
  if (dim < 0) dim += (int64_t)shape->rank;
  if (dim < 0 || (size_t)dim >= shape->rank) {
    return etx_pt2_fail_malformed(graph, "dimension %i of a split", dim);
  }
  for (uint32_t i = 0; i <= part; ++i) {
    const etx_dim size = values[view->outputs[i]].shape.dims[dim];
    start = end;
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, start, size, &end));
  }
  out[0] = etx_ir_int(dim);
  out[1] = etx_ir_int(start);
  out[2] = etx_ir_int(end);
  return ETX_OK;
}

static etx_status sizes_of(etx_pt2_graph* graph, const etx_shape* shape,
                           etx_ir_arg* out) {
  etx_ir_arg* const items =
      etx_pool_take(graph->pool, ((size_t)shape->rank + 1) * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < shape->rank; ++i) {
    items[i] = etx_ir_int(shape->dims[i]);
  }
  out->kind = ETX_IR_ARG_LIST;
  out->as.list.items = items;
  out->as.list.count = shape->rank;
  return ETX_OK;
}

// The arguments of the inverse of a view, behind those for the content; `base`
// is the type of what it is a view of. `*out_count` of them.
static etx_status inverse_arguments(etx_pt2_graph* graph, inverse_kind kind,
                                    const etx_pt2_alias* alias,
                                    const etx_shape* base, etx_ir_arg* out,
                                    size_t* out_count) {
  const etx_ir_node* const view = &graph->method->nodes[alias->view];
  const uint32_t part = alias->output;
  *out_count = 0;
  switch (kind) {
    case INVERSE_RESHAPE:
      *out_count = 1;
      return sizes_of(graph, base, out);
    case INVERSE_PERMUTE:
      *out_count = 1;
      return inverse_order(graph, view, (int64_t)base->rank, out);
    case INVERSE_PARTS:
      *out_count = 3;
      return place_of_part(graph, view, part, out);
    case INVERSE_ROWS:
      *out_count = 2;
      out[0] = etx_ir_int(integer_at(view, 1, 0));
      out[1] = etx_ir_int((etx_dim)part);
      return ETX_OK;
    case INVERSE_INVOLUTION:
    case INVERSE_SCATTER:
      *out_count = view->arg_count - 1;
      for (size_t i = 1; i < view->arg_count; ++i) out[i - 1] = view->args[i];
      return ETX_OK;
    case INVERSE_NONE:
      break;
  }
  return ETX_OK;
}

// The new value of `base` after `content` was written through the view that
// `alias` describes; ETX_IR_NONE if the view has no known inverse.
static etx_status write_back(etx_pt2_graph* graph, const etx_pt2_alias* alias,
                             uint32_t base, uint32_t content,
                             uint32_t* out_value) {
  static const etx_text positional[MAX_ARGS];
  const etx_ir_node view = graph->method->nodes[alias->view];
  const size_t row = row_of(view.aten);
  etx_ir_value value = graph->method->values[base];
  etx_ir_arg args[MAX_ARGS] = {etx_ir_value_arg(base)};
  size_t count = 0, more = 0;
  *out_value = ETX_IR_NONE;
  if (row == VIEW_KINDS || view_inverses[row].kind == INVERSE_NONE) {
    return ETX_OK;
  }
  const inverse_kind kind = view_inverses[row].kind;
  count =
      kind == INVERSE_SCATTER || kind == INVERSE_PARTS || kind == INVERSE_ROWS
          ? 1
          : 0;
  args[count++] = etx_ir_value_arg(content);
  if (view.arg_count > MAX_ARGS - 1) return ETX_OK;
  ETX_TRY(
      inverse_arguments(graph, kind, alias, &value.shape, &args[count], &more));
  value.name = graph->place.node;
  const etx_aten_arguments given = {args, positional, count + more};
  return etx_pt2_add_node(graph, view_inverses[row].inverse, &given, &value,
                          out_value);
}

// ---------------------------------------------------------------- writing

static etx_status report_write(etx_pt2_graph* graph, etx_text aten,
                               const char* reason) {
  etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->place,
                     "%s: in-place operator '%t' %s: call "
                     ".run_decompositions({}) before torch.export.save",
                     graph->context, aten, reason);
  return ETX_OK;
}

static etx_status report_outer_write(etx_pt2_graph* graph, etx_text aten) {
  etx_import_problem(
      graph->import, ETX_UNSUPPORTED, &graph->place,
      "%s: in-place operator '%t' writes into a tensor that the sub-graph of a "
      "torch.cond, a loop or torch.vmap gets from outside. PyTorch allows this "
      "only without gradients: compute a new tensor, and return it from the "
      "sub-graph",
      graph->context, aten);
  return ETX_OK;
}

// Replaces the value `from` by `to` for all aliases of the name at `position`.
static etx_status replace_value(etx_pt2_graph* graph, size_t position,
                                uint32_t from, uint32_t to) {
  const etx_ir_origin origin = graph->method->values[from].origin;
  size_t at = position;
  do {
    if (graph->values[at] == from && graph->states[at] == ETX_PT2_DEFINED) {
      graph->values[at] = to;
      if (origin == ETX_IR_FROM_BUFFER || origin == ETX_IR_FROM_INPUT) {
        ETX_TRY(etx_pool_grow(graph->pool, &graph->writes, graph->write_count,
                              &graph->write_capacity, sizeof *graph->writes));
        graph->writes[graph->write_count++] = (etx_pt2_write){
            .target = from, .position = at, .place = graph->place};
      }
    }
    at = next_name(graph, at);
  } while (at != position);
  return ETX_OK;
}

// True if some alias of the name is read later, but its value is older than
// `fresh`, the first value of this write.
static bool has_stale_alias(const etx_pt2_graph* graph, size_t position,
                            uint32_t fresh) {
  size_t at = position;
  do {
    if (graph->states[at] == ETX_PT2_DEFINED && graph->values[at] < fresh &&
        graph->last_reads[at] > graph->now) {
      return true;
    }
    at = next_name(graph, at);
  } while (at != position);
  return false;
}

// Makes the view at `position` anew from the present value of its base.
static etx_status refresh_view(etx_pt2_graph* graph, size_t position) {
  etx_ir_method* const method = graph->method;
  const etx_pt2_alias own = graph->aliases[position];
  etx_ir_node node = method->nodes[own.view];
  uint32_t unused = 0;
  const size_t bytes = node.arg_count * sizeof *node.args;
  const uint32_t* const before = node.outputs;
  node.args = etx_pool_take(graph->pool, bytes);
  node.outputs =
      etx_pool_take(graph->pool, node.output_count * sizeof *node.outputs);
  if (node.args == NULL || node.outputs == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(node.args, method->nodes[own.view].args, bytes);
  node.args[0] = etx_ir_value_arg(graph->values[own.base - 1u]);
  node.place = graph->place;
  for (size_t i = 0; i < node.output_count; ++i) {
    etx_ir_value value = method->values[before[i]];
    value.index = (uint32_t)method->node_count;
    ETX_TRY(etx_ir_add_value(graph->import->module, method, &value,
                             &node.outputs[i]));
  }
  graph->values[position] = node.outputs[own.output];
  return etx_ir_add_node(graph->import->module, method, &node, &unused);
}

// True if the view at `position` can be made anew from its base, which has the
// content of a write whose first value is `fresh`, and has not been.
static bool can_refresh(const etx_pt2_graph* graph, size_t position,
                        uint32_t fresh) {
  const etx_pt2_alias* const own = &graph->aliases[position];
  if (graph->states[position] != ETX_PT2_DEFINED || own->base == 0 ||
      graph->values[position] >= fresh ||
      graph->values[own->base - 1u] < fresh) {
    return false;
  }
  const etx_ir_node* const view = &graph->method->nodes[own->view];
  return row_of(view->aten) < VIEW_KINDS && view->late == 0 &&
         own->output < view->output_count && view->arg_count > 0 &&
         view->args[0].kind == ETX_IR_ARG_VALUE;
}

// Makes all views of the written name at `position` anew that are read later or
// that others are views of.
static etx_status refresh_views(etx_pt2_graph* graph, size_t position,
                                uint32_t fresh) {
  bool is_changed = has_stale_alias(graph, position, fresh);
  while (is_changed) {
    size_t at = position;
    is_changed = false;
    do {
      if (can_refresh(graph, at, fresh)) {
        ETX_TRY(refresh_view(graph, at));
        is_changed = true;
      }
      at = next_name(graph, at);
    } while (at != position);
  }
  return ETX_OK;
}

// Replaces the value of the name at `position` by `to`, then the value of its
// base, of the base's base, and so on. `*out_is_complete`: the last one is not
// a view, so no inverse was missing.
static etx_status propagate_write(etx_pt2_graph* graph, size_t position,
                                  uint32_t to, bool* out_is_complete) {
  for (;;) {
    const etx_pt2_alias own = graph->aliases[position];
    ETX_TRY(replace_value(graph, position, graph->values[position], to));
    *out_is_complete = own.base == 0;
    if (own.base == 0) return ETX_OK;
    position = own.base - 1u;
    ETX_TRY(write_back(graph, &own, graph->values[position], to, &to));
    if (to == ETX_IR_NONE) return ETX_OK;
  }
}

// The name whose storage a name is a view of.
static size_t base_of(const etx_pt2_graph* graph, size_t position) {
  while (graph->aliases[position].base != 0) {
    position = graph->aliases[position].base - 1u;
  }
  return position;
}

// True if the name is an input of the sub-graph, which is a tensor of the graph
// around it.
static bool is_operand(const etx_pt2_graph* graph, size_t position) {
  const etx_json* const inputs = etx_json_member(graph->graph, "inputs");
  size_t at = 0;
  for (size_t i = 0; inputs != NULL && i < inputs->count; ++i) {
    const etx_json* const tensor =
        etx_json_member(&inputs->items[i], "as_tensor");
    if (find_name(graph, tensor, &at) && at == position) return true;
  }
  return false;
}

// The origin of the storage of a name, before any write.
static etx_ir_origin origin_of(const etx_pt2_graph* graph, size_t position) {
  position = base_of(graph, position);
  uint32_t value = graph->values[position];
  for (size_t i = 0; i < graph->write_count; ++i) {
    if (graph->writes[i].position == position) value = graph->writes[i].target;
  }
  return graph->method->values[value].origin;
}

// Makes `value` the value of the name at `position`, of its aliases and of
// what it is a view of.
static etx_status write_value(etx_pt2_graph* graph, etx_text aten,
                              size_t position, uint32_t value) {
  const etx_ir_origin origin = origin_of(graph, position);
  bool is_complete = false;
  ETX_TRY(propagate_write(graph, position, value, &is_complete));
  ETX_TRY(refresh_views(graph, position, value));
  if ((!is_complete && origin != ETX_IR_FROM_NODE) ||
      has_stale_alias(graph, position, value)) {
    return report_write(
        graph, aten,
        "writes into a tensor of which another view is read later");
  }
  return ETX_OK;
}

etx_status etx_pt2_write_argument(etx_pt2_graph* graph, etx_text aten,
                                  const etx_json* argument, uint32_t value) {
  size_t position = 0;
  if (!find_only(graph, argument, &position)) {
    return report_write(graph, aten, "needs a tensor to write to");
  }
  if (graph->depth > 0 && is_operand(graph, base_of(graph, position))) {
    return report_outer_write(graph, aten);
  }
  if (origin_of(graph, position) == ETX_IR_FROM_CONSTANT) {
    return report_write(graph, aten, "writes into a constant");
  }
  return write_value(graph, aten, position, value);
}

etx_status etx_pt2_write_in_place(etx_pt2_graph* graph, etx_text aten,
                                  const etx_json* inputs,
                                  const etx_json* outputs) {
  size_t position = 0, result = 0;
  if (inputs->count == 0 || outputs->count != 1 ||
      !find_only(graph, etx_json_member(&inputs->items[0], "arg"), &position) ||
      !find_only(graph, &outputs->items[0], &result)) {
    return report_write(graph, aten,
                        "needs a tensor to write to and one result");
  }
  if (graph->depth > 0 && is_operand(graph, base_of(graph, position))) {
    return report_outer_write(graph, aten);
  }
  const uint32_t value = graph->values[result];
  if (origin_of(graph, position) == ETX_IR_FROM_CONSTANT) {
    return report_write(graph, aten, "writes into a constant");
  }
  join_aliases(graph, position, result);
  graph->aliases[result].base = graph->aliases[position].base;
  graph->aliases[result].view = graph->aliases[position].view;
  graph->aliases[result].output = graph->aliases[position].output;
  return write_value(graph, aten, position, value);
}
