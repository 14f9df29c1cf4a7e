// Nodes that write into a tensor, as torch.export leaves them in a program that
// was not decomposed: each becomes its functional form, whose result is what
// all names of those bytes stand for from then on.
//
//   y = conv(x); relu_(y); add(y, x)     y = conv(x); r = relu(y); add(r, x)
//   k = slice(cache); copy_(k, x)        slice_scatter(cache, copy(k, x))
//
// What is written through a view is put into what is viewed; a buffer or an
// input that was written is the target of a mutation when the method ends. A
// view that is read later and that no operator brings up to date is declined.

#include "exporter/ir/aten_schema.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/lower/nearest_operator.h"
#include "exporter/read_pt2/pt2_internal.h"

enum { MAX_NAME = 64, MAX_ARGS = 6 };

// True if a result of the node may see bytes of an operand. A cast to another
// type does not, nor does what is no operator of ours.
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

// ---------------------------------------------------------------- names

static size_t next_name(const etx_pt2_graph* graph, size_t position) {
  const uint32_t next = graph->bytes[position].next;
  return next == 0 ? position : next - 1u;
}

static bool are_joined(const etx_pt2_graph* graph, size_t a, size_t b) {
  size_t at = a;
  do {
    if (at == b) return true;
    at = next_name(graph, at);
  } while (at != a);
  return false;
}

static void join(etx_pt2_graph* graph, size_t a, size_t b) {
  if (are_joined(graph, b, a)) return;
  const size_t behind_a = next_name(graph, a);
  graph->bytes[a].next = (uint32_t)next_name(graph, b) + 1;
  graph->bytes[b].next = (uint32_t)behind_a + 1;
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

// The names in an Argument, a tensor or a list of them; how many there are.
static size_t names_in(const etx_json* argument, const etx_json** out_first) {
  const etx_json* const one = etx_json_member(argument, "as_tensor");
  const etx_json* const list = etx_json_member(argument, "as_tensors");
  *out_first = one;
  if (one != NULL) return 1;
  if (list == NULL || list->kind != ETX_JSON_ARRAY) return 0;
  *out_first = list->items;
  return list->count;
}

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
  // Operands in front of the first tensors are numbers.
  for (size_t i = 0; i < inputs->count && count == 0; ++i) {
    count = names_in(etx_json_member(&inputs->items[i], "arg"), &names);
  }
  for (size_t i = 0; i < count; ++i) {
    if (!find_name(graph, &names[i], &at)) continue;
    if (base == SIZE_MAX) base = at;
    join(graph, base, at);
  }
  for (size_t i = 0; i < outputs->count && base != SIZE_MAX; ++i) {
    count = names_in(&outputs->items[i], &names);
    for (size_t k = 0; k < count; ++k) {
      if (!find_name(graph, &names[k], &at)) continue;
      join(graph, base, at);
      graph->bytes[at].base = (uint32_t)base + 1;
      graph->bytes[at].view = node;
    }
  }
}

// ---------------------------------------------------------------- forms

// The schema of the operator `base` with an overload, if it computes one tensor
// of another.
static const etx_aten_schema* find_form(etx_text base, const char* prefix,
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

// "aten.add_.Tensor" is "aten.add.Tensor"; "aten.pow_.Scalar" is
// "aten.pow.Tensor_Scalar".
const etx_aten_schema* etx_pt2_functional_form(etx_text aten) {
  size_t dot = aten.size;
  if (!etx_operator_is_in_place(aten)) return NULL;
  while (dot > 0 && aten.data[dot - 1] != '.') --dot;
  if (dot < 2) return NULL;
  const etx_text base = {aten.data, dot - 2};
  const etx_text overload = {aten.data + dot, aten.size - dot};
  const etx_aten_schema* const schema = find_form(base, "", overload);
  return schema != NULL ? schema : find_form(base, "Tensor_", overload);
}

// ---------------------------------------------------------------- views

// How a view's new content gets into what it is a view of.
typedef enum way_back {
  WAY_VIEW,     // it has all elements in their order
  WAY_SAME,     // the view again: it exchanges two dimensions
  WAY_SCATTER,  // as part of it
} way_back;

static const struct {
  const char* aten;
  way_back way;
  const char* back;
} ways[] = {
    {"aten.view.default", WAY_VIEW, "aten.view.default"},
    {"aten.unsqueeze.default", WAY_VIEW, "aten.view.default"},
    {"aten.squeeze.default", WAY_VIEW, "aten.view.default"},
    {"aten.squeeze.dim", WAY_VIEW, "aten.view.default"},
    {"aten.squeeze.dims", WAY_VIEW, "aten.view.default"},
    {"aten.unflatten.int", WAY_VIEW, "aten.view.default"},
    {"aten.alias.default", WAY_VIEW, "aten.view.default"},
    {"aten.detach.default", WAY_VIEW, "aten.view.default"},
    {"aten.transpose.int", WAY_SAME, "aten.transpose.int"},
    {"aten.t.default", WAY_SAME, "aten.t.default"},
    {"aten.select.int", WAY_SCATTER, "aten.select_scatter.default"},
    {"aten.slice.Tensor", WAY_SCATTER, "aten.slice_scatter.default"},
};

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

// `base` with `content` where `view` sees it; ETX_IR_NONE where no operator
// does that.
static etx_status put_back(etx_pt2_graph* graph, const etx_ir_node* view,
                           uint32_t base, uint32_t content,
                           uint32_t* out_value) {
  etx_ir_value value = graph->method->values[base];
  etx_ir_arg args[MAX_ARGS] = {etx_ir_value_arg(content)};
  size_t way = 0, count = 1;
  *out_value = ETX_IR_NONE;
  while (!etx_text_is(view->aten, ways[way].aten)) {
    if (++way == sizeof ways / sizeof *ways) return ETX_OK;
  }
  if (ways[way].way == WAY_VIEW) {
    ETX_TRY(sizes_of(graph, &value.shape, &args[count++]));
  } else if (ways[way].way == WAY_SCATTER) {
    args[0] = etx_ir_value_arg(base);
    args[count++] = etx_ir_value_arg(content);
  }
  for (size_t i = 1; ways[way].way != WAY_VIEW && i < view->arg_count; ++i) {
    args[count++] = view->args[i];
  }
  value.name = graph->where.node;
  return etx_pt2_add_node(graph, ways[way].back, args, NULL, count, &value,
                          out_value);
}

// ---------------------------------------------------------------- writing

static etx_status decline(etx_pt2_graph* graph, etx_text aten,
                          const char* reason) {
  etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->where,
                     "%s: operator '%t' writes in place, %s: save the program "
                     "that .run_decompositions({}) gives",
                     graph->place, aten, reason);
  return ETX_OK;
}

// The names of the bytes of `position` that stood for `from` stand for `to`.
static etx_status rename_all(etx_pt2_graph* graph, size_t position,
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
            .target = from, .position = at, .place = graph->where};
      }
    }
    at = next_name(graph, at);
  } while (at != position);
  return ETX_OK;
}

// True if some name of the bytes is read later, but stands for what they were
// before the values from `fresh` on were made.
static bool is_stale(const etx_pt2_graph* graph, size_t position,
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

// Gives the names of `position` the value `to`, and what they are views of the
// value that it becomes by that. `*out_is_whole`: up to what is no view.
static etx_status put_all_back(etx_pt2_graph* graph, size_t position,
                               uint32_t to, bool* out_is_whole) {
  for (;;) {
    const etx_pt2_bytes own = graph->bytes[position];
    ETX_TRY(rename_all(graph, position, graph->values[position], to));
    *out_is_whole = own.base == 0;
    if (own.base == 0) return ETX_OK;
    position = own.base - 1u;
    ETX_TRY(put_back(graph, &graph->method->nodes[own.view],
                     graph->values[position], to, &to));
    if (to == ETX_IR_NONE) return ETX_OK;
  }
}

// What the bytes of a name belong to, whether or not they were written before.
static etx_ir_origin origin_of(const etx_pt2_graph* graph, size_t position) {
  while (graph->bytes[position].base != 0) {
    position = graph->bytes[position].base - 1u;
  }
  uint32_t value = graph->values[position];
  for (size_t i = 0; i < graph->write_count; ++i) {
    if (graph->writes[i].position == position) value = graph->writes[i].target;
  }
  return graph->method->values[value].origin;
}

etx_status etx_pt2_write_in_place(etx_pt2_graph* graph, etx_text aten,
                                  const etx_json* inputs,
                                  const etx_json* outputs) {
  size_t position = 0, result = 0;
  bool is_whole = false;
  if (inputs->count == 0 || outputs->count != 1 ||
      !find_only(graph, etx_json_member(&inputs->items[0], "arg"), &position) ||
      !find_only(graph, &outputs->items[0], &result)) {
    return decline(graph, aten, "but has not a tensor and one result");
  }
  if (graph->depth > 0) return decline(graph, aten, "within torch.cond");
  const uint32_t value = graph->values[result];
  const etx_ir_origin origin = origin_of(graph, position);
  if (origin == ETX_IR_FROM_CONSTANT) {
    return decline(graph, aten, "into a constant");
  }
  join(graph, position, result);
  graph->bytes[result].base = graph->bytes[position].base;
  graph->bytes[result].view = graph->bytes[position].view;
  ETX_TRY(put_all_back(graph, position, value, &is_whole));
  return (!is_whole && origin != ETX_IR_FROM_NODE) ||
                 is_stale(graph, position, value)
             ? decline(graph, aten,
                       "and another view of the same bytes is read later")
             : ETX_OK;
}
