// Operators of the application (own_operators.h): nodes that change arguments,
// and what to write to describe an operator that is not known.
//
// Such a node comes in two forms. As torch.export writes it, it changes its
// arguments: my.step(state, x) -> y. After run_decompositions it is a call of
// auto_functionalized_v2, which returns the new contents:
//
//   auto_functionalized_v2(my.step, x=x, _state_base_index=0,
//                          _all_bases=[state]) -> (y, new state)
//
// Both become one node, whose results are those of the operator and behind them
// the new contents.

#include "exporter/host/text_buffer.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/read_pt2/pt2_internal.h"

static const etx_text no_key = {NULL, 0};

static const char functionalized[] =
    "torch.ops.higher_order.auto_functionalized_v2";
static const char prefix[] = "torch.ops.";

bool etx_pt2_is_functionalized(etx_text target) {
  return etx_text_is(target, functionalized);
}

// The name of an operator in graphs, from a target: "my.scale.default".
static etx_text name_of(etx_text target) {
  if (!etx_text_starts_with(target, etx_text_of(prefix))) return target;
  return (etx_text){target.data + sizeof prefix - 1,
                    target.size - (sizeof prefix - 1)};
}

static etx_text text_of(const etx_json* json) {
  return json != NULL && json->kind == ETX_JSON_STRING ? json->string : no_key;
}

// The "arg" of the input with the name; NULL if there is none.
static const etx_json* argument_named(const etx_json* inputs, etx_text name) {
  for (size_t i = 0; i < inputs->count; ++i) {
    if (etx_text_equal(text_of(etx_json_member(&inputs->items[i], "name")),
                       name)) {
      return etx_json_member(&inputs->items[i], "arg");
    }
  }
  return NULL;
}

// The operator that a node of auto_functionalized_v2 calls, as a target.
static etx_text called(const etx_json* inputs) {
  if (inputs == NULL || inputs->kind != ETX_JSON_ARRAY || inputs->count == 0) {
    return no_key;
  }
  return text_of(etx_json_member(etx_json_member(&inputs->items[0], "arg"),
                                 "as_operator"));
}

// ---------------------------------------------------------------- bases

// Finds argument `name` among the bases of the node. False if it is none of
// them.
static bool find_base(etx_pt2_graph* graph, const etx_json* inputs,
                      etx_text name, size_t* out_base) {
  const etx_text key = etx_pool_format(graph->pool, "_%t_base_index", name);
  const etx_json* const bases = etx_json_member(
      argument_named(inputs, etx_text_of("_all_bases")), "as_tensors");
  const etx_json* const index =
      key.data == NULL ? NULL
                       : etx_json_member(argument_named(inputs, key), "as_int");
  if (bases == NULL || bases->kind != ETX_JSON_ARRAY || index == NULL ||
      index->kind != ETX_JSON_INT || index->integer < 0 ||
      (uint64_t)index->integer >= bases->count) {
    return false;
  }
  *out_base = (size_t)index->integer;
  return true;
}

// The argument of the operator that the node has for `name`: its own, or one of
// its bases.
static etx_status find_argument(etx_pt2_graph* graph, const etx_json* inputs,
                                etx_text name, etx_json* out, bool* out_found) {
  const etx_json* const given = argument_named(inputs, name);
  size_t base = 0;
  *out_found = given != NULL;
  if (given != NULL) {
    *out = *given;
    return ETX_OK;
  }
  *out_found = find_base(graph, inputs, name, &base);
  if (!*out_found) return ETX_OK;
  const etx_json* const bases = etx_json_member(
      argument_named(inputs, etx_text_of("_all_bases")), "as_tensors");
  return etx_pt2_json_member_of(graph->pool, "as_tensor", bases->items[base],
                                out);
}

static etx_status put_input(etx_pt2_graph* graph, etx_text name,
                            const etx_json* value, etx_pt2_json_items* list) {
  static const char* const keys[] = {"name", "arg"};
  const etx_json values[] = {etx_pt2_json_string(name), *value};
  etx_json item;
  ETX_TRY(etx_pt2_json_object(graph->pool, keys, values, 2, &item));
  return etx_pt2_add_json(graph->pool, list, no_key, &item);
}

// The inputs of the operator, in the order of its schema.
static etx_status collect_inputs(etx_pt2_graph* graph, const etx_own_entry* own,
                                 const etx_json* inputs, etx_json* out) {
  etx_pt2_json_items list = {NULL, NULL, 0, 0, 0};
  const etx_aten_schema schema = {own->name, own->arguments, 0};
  const size_t count = etx_aten_schema_argument_count(&schema);
  for (size_t i = 0; i < count; ++i) {
    const etx_argument argument = etx_aten_schema_argument(&schema, i);
    etx_json value;
    bool is_found = false;
    ETX_TRY(find_argument(graph, inputs, argument.name, &value, &is_found));
    if (is_found) ETX_TRY(put_input(graph, argument.name, &value, &list));
  }
  *out = etx_pt2_json_array(&list);
  return ETX_OK;
}

// The results of the operator, then the new contents in the order of its
// changed arguments. `*out_known` is false if the node has them in a form that
// is not supported: two arguments are parts of one tensor.
static etx_status collect_outputs(etx_pt2_graph* graph,
                                  const etx_own_entry* own,
                                  const etx_json* inputs,
                                  const etx_json* outputs, etx_json* out,
                                  bool* out_known) {
  etx_pt2_json_items list = {NULL, NULL, 0, 0, 0};
  // The first output is None if the operator returns nothing.
  const size_t first = own->result_count == 0 ? 1 : own->result_count;
  *out_known = outputs->count == first + own->changed_count;
  if (!*out_known) return ETX_OK;
  for (size_t i = 0; i < own->result_count; ++i) {
    ETX_TRY(etx_pt2_add_json(graph->pool, &list, no_key, &outputs->items[i]));
  }
  for (size_t i = 0; i < own->changed_count; ++i) {
    const etx_aten_schema schema = {own->name, own->arguments, 0};
    const etx_argument argument =
        etx_aten_schema_argument(&schema, own->changed[i]);
    size_t base = 0;
    *out_known = *out_known && find_base(graph, inputs, argument.name, &base) &&
                 base < own->changed_count;
    if (!*out_known) return ETX_OK;
    ETX_TRY(etx_pt2_add_json(graph->pool, &list, no_key,
                             &outputs->items[first + base]));
  }
  *out = etx_pt2_json_array(&list);
  return ETX_OK;
}

// Replaces the node in `*node`; leaves it if its operator is not described.
static etx_status replace_node(etx_pt2_graph* graph, etx_json* node) {
  const etx_json* const inputs = etx_json_member(node, "inputs");
  const etx_json* const outputs = etx_json_member(node, "outputs");
  const etx_text target = called(inputs);
  const etx_own_entry* const own =
      etx_own_operators_find(graph->import->module, name_of(target));
  etx_json new_inputs, new_outputs;
  bool is_known = false;
  if (own == NULL || outputs == NULL || outputs->kind != ETX_JSON_ARRAY) {
    return ETX_OK;
  }
  ETX_TRY(
      collect_outputs(graph, own, inputs, outputs, &new_outputs, &is_known));
  if (!is_known) return ETX_OK;
  ETX_TRY(collect_inputs(graph, own, inputs, &new_inputs));
  ETX_TRY(etx_pt2_copy_items(graph->pool, node));
  etx_pt2_put_member(node, "inputs", new_inputs);
  etx_pt2_put_member(node, "outputs", new_outputs);
  etx_pt2_put_member(node, "target", etx_pt2_json_string(target));
  return ETX_OK;
}

etx_status etx_pt2_replace_functionalized(etx_pt2_graph* graph) {
  etx_json* nodes = NULL;
  for (size_t i = 0; i < graph->nodes->count; ++i) {
    const etx_json* const node = &graph->nodes->items[i];
    if (!etx_pt2_is_functionalized(text_of(etx_json_member(node, "target")))) {
      continue;
    }
    if (nodes == NULL) {
      nodes = etx_pool_take(graph->pool, sizeof *nodes);
      if (nodes == NULL) return ETX_OUT_OF_MEMORY;
      *nodes = *graph->nodes;
      ETX_TRY(etx_pt2_copy_items(graph->pool, nodes));
      graph->nodes = nodes;
    }
    ETX_TRY(replace_node(graph, (etx_json*)&nodes->items[i]));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- changes

etx_status etx_pt2_add_contents(etx_pt2_graph* graph, const etx_own_entry* own,
                                etx_ir_node* node) {
  const size_t count = node->output_count + own->changed_count;
  uint32_t* const outputs = etx_pool_take(graph->pool, count * sizeof *outputs);
  if (outputs == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < node->output_count; ++i) outputs[i] = node->outputs[i];
  for (size_t i = 0; i < own->changed_count; ++i) {
    const size_t argument = own->changed[i];
    uint32_t* const out = &outputs[node->output_count + i];
    *out = ETX_IR_NONE;
    if (argument >= node->arg_count ||
        node->args[argument].kind != ETX_IR_ARG_VALUE) {
      continue;  // it was reported
    }
    etx_ir_value value = graph->method->values[node->args[argument].as.value];
    value.origin = ETX_IR_FROM_NODE;
    value.index = (uint32_t)graph->method->node_count;
    ETX_TRY(
        etx_ir_add_value(graph->import->module, graph->method, &value, out));
  }
  node->outputs = outputs;
  node->output_count = count;
  return ETX_OK;
}

etx_status etx_pt2_write_contents(etx_pt2_graph* graph,
                                  const etx_own_entry* own,
                                  const etx_json* inputs,
                                  const etx_ir_node* node) {
  for (size_t i = 0; i < own->changed_count; ++i) {
    const uint32_t content = node->outputs[own->result_count + i];
    const etx_aten_schema schema = {own->name, own->arguments, 0};
    const etx_argument argument =
        etx_aten_schema_argument(&schema, own->changed[i]);
    if (content == ETX_IR_NONE) continue;
    const etx_json* const given = argument_named(inputs, argument.name);
    ETX_TRY(etx_pt2_write_argument(graph, node->aten, given, content));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- description

// The description of an operator while it is written.
typedef struct own_description {
  etx_pt2_graph* graph;
  const etx_json* inputs;
  bool is_functionalized;
  bool has_result;
  bool has_tensor;
  etx_text_buffer text;
} own_description;

// The word of a schema for an argument of a node.
static const char* type_word(const etx_json* argument) {
  static const char* const words[][2] = {
      {"as_tensor", "Tensor"},  {"as_tensors", "Tensor[]"},
      {"as_float", "float"},    {"as_sym_float", "float"},
      {"as_floats", "float[]"}, {"as_int", "int"},
      {"as_sym_int", "int"},    {"as_ints", "int[]"},
      {"as_sym_ints", "int[]"}, {"as_bool", "bool"},
      {"as_sym_bool", "bool"},  {"as_bools", "bool[]"},
      {"as_string", "str"},     {"as_scalar_type", "ScalarType"},
      {"as_none", "Tensor?"},   {"as_optional_tensors", "Tensor?[]"},
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (etx_json_member(argument, words[i][0]) != NULL) return words[i][1];
  }
  return "?";
}

static void put_argument(own_description* d, etx_text name, const char* type,
                         bool is_changed) {
  etx_text_put_format(&d->text, "%s%s%s %t", d->has_tensor ? ", " : "", type,
                      is_changed ? "(a!)" : "", name);
  d->has_tensor = true;
}

// The name of the argument that "_NAME_base_index" is about; empty for others.
static etx_text changed_name(etx_text key) {
  static const char end[] = "_base_index";
  const size_t size = sizeof end - 1;
  if (key.size <= size + 1 || key.data[0] != '_' ||
      memcmp(key.data + key.size - size, end, size) != 0) {
    return no_key;
  }
  return (etx_text){key.data + 1, key.size - size - 1};
}

// Arguments that the operator changes, which usually are the first ones: the
// archive does not have the order of the schema.
static void put_changed(own_description* d) {
  const etx_json* const inputs = d->inputs;
  for (size_t i = 0; d->is_functionalized && i < inputs->count; ++i) {
    const etx_text name =
        changed_name(text_of(etx_json_member(&inputs->items[i], "name")));
    if (name.size > 0) put_argument(d, name, "Tensor", true);
  }
}

static void put_arguments(own_description* d) {
  const etx_json* const inputs = d->inputs;
  put_changed(d);
  for (size_t i = d->is_functionalized ? 1 : 0; i < inputs->count; ++i) {
    const etx_text name = text_of(etx_json_member(&inputs->items[i], "name"));
    const char* const type =
        type_word(etx_json_member(&inputs->items[i], "arg"));
    if (d->is_functionalized && name.size > 0 && name.data[0] == '_') continue;
    // An operator without results changes something: its first tensor, unless
    // the archive says more.
    const bool is_changed = !d->is_functionalized && !d->has_result && i == 0 &&
                            strcmp(type, "Tensor") == 0;
    put_argument(d, name, type, is_changed);
  }
}

// The type of a tensor that an Argument names; false if it names none.
static bool type_of(etx_pt2_graph* graph, const etx_json* argument,
                    etx_shape* out) {
  const etx_text name =
      text_of(etx_json_member(etx_json_member(argument, "as_tensor"), "name"));
  const etx_json* const meta =
      name.data == NULL ? NULL : etx_json_find(graph->tensor_values, name);
  return meta != NULL && etx_pt2_shape(graph, meta, out) == ETX_OK;
}

static bool same_sizes(const etx_symbols* symbols, const etx_shape* a,
                       const etx_shape* b) {
  bool same = a->rank == b->rank;
  for (size_t i = 0; same && i < a->rank; ++i) {
    same = etx_symbols_equal(symbols, a->dims[i], b->dims[i]);
  }
  return same;
}

// Writes a size as that of an argument, as a number, or as '?'.
static void put_size(own_description* d, etx_dim size) {
  const etx_symbols* const symbols = &d->graph->method->symbols;
  for (size_t i = 0; i < d->inputs->count; ++i) {
    const etx_json* const input = &d->inputs->items[i];
    etx_shape shape;
    if (!type_of(d->graph, etx_json_member(input, "arg"), &shape)) continue;
    for (size_t k = 0; k < shape.rank; ++k) {
      if (!etx_symbols_equal(symbols, shape.dims[k], size)) continue;
      etx_text_put_format(&d->text, "%t.%z",
                          text_of(etx_json_member(input, "name")), k);
      return;
    }
  }
  if (etx_dim_is_number(size)) {
    etx_text_put_format(&d->text, "%i", size);
  } else {
    etx_text_put_string(&d->text, "?");
  }
}

static void put_sizes(own_description* d, const etx_shape* shape) {
  for (size_t i = 0; i < d->inputs->count; ++i) {
    const etx_json* const input = &d->inputs->items[i];
    etx_shape own;
    if (!type_of(d->graph, etx_json_member(input, "arg"), &own)) continue;
    if (!same_sizes(&d->graph->method->symbols, &own, shape)) continue;
    etx_text_put_text(&d->text, text_of(etx_json_member(input, "name")));
    return;
  }
  etx_text_put_string(&d->text, "[");
  for (size_t i = 0; i < shape->rank; ++i) {
    if (i != 0) etx_text_put_string(&d->text, ", ");
    put_size(d, shape->dims[i]);
  }
  etx_text_put_string(&d->text, "]");
}

static void put_rules(own_description* d, const etx_json* outputs,
                      size_t count) {
  etx_shape shape;
  etx_text_put_string(&d->text, "; sizes: ");
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) etx_text_put_string(&d->text, ", ");
    if (type_of(d->graph, &outputs->items[i], &shape)) {
      put_sizes(d, &shape);
    } else {
      etx_text_put_string(&d->text, "?");
    }
  }
  etx_text_put_string(&d->text, "; dtypes: ");
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) etx_text_put_string(&d->text, ", ");
    etx_text_put_string(&d->text, type_of(d->graph, &outputs->items[i], &shape)
                                      ? etx_dtype_name(shape.dtype)
                                      : "?");
  }
}

// Results of the operator; new contents are behind them.
static size_t count_results(const own_description* d, const etx_json* outputs) {
  size_t changed = 0;
  if (!d->is_functionalized) return outputs->count;
  for (size_t i = 0; i < d->inputs->count; ++i) {
    const etx_text name =
        text_of(etx_json_member(&d->inputs->items[i], "name"));
    changed += changed_name(name).size > 0;
  }
  const bool is_none = outputs->count > 0 &&
                       etx_json_member(&outputs->items[0], "as_none") != NULL;
  return outputs->count < changed || is_none ? 0 : outputs->count - changed;
}

// "my::scale" of "my.scale.default", and the overload unless it is the default.
static void put_name(own_description* d, etx_text name) {
  size_t dot = 0, last = name.size;
  while (dot < name.size && name.data[dot] != '.') ++dot;
  while (last > dot && name.data[last - 1] != '.') --last;
  const etx_text overload = {name.data + last, name.size - last};
  const size_t end = last > dot + 1 ? last - 1 : name.size;
  etx_text_put_text(&d->text, (etx_text){name.data, dot});
  etx_text_put_string(&d->text, "::");
  if (dot < end) {
    etx_text_put_text(&d->text, (etx_text){name.data + dot + 1, end - dot - 1});
  }
  if (last <= dot + 1 || etx_text_is(overload, "default")) return;
  etx_text_put_string(&d->text, ".");
  etx_text_put_text(&d->text, overload);
}

static void put_results(own_description* d, size_t count) {
  etx_text_put_string(&d->text, count == 1 ? ") -> Tensor" : ") -> (");
  if (count == 1) return;
  for (size_t i = 0; i < count; ++i) {
    etx_text_put_string(&d->text, i == 0 ? "Tensor" : ", Tensor");
  }
  etx_text_put_string(&d->text, ")");
}

etx_status etx_pt2_report_own(etx_pt2_graph* graph, const etx_json* node,
                              etx_text target) {
  own_description d = {.graph = graph};
  const etx_json* outputs = NULL;
  etx_text_buffer_init(&d.text, graph->pool);
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &d.inputs));
  ETX_TRY(etx_pt2_field(graph, node, "outputs", ETX_JSON_ARRAY, &outputs));
  d.is_functionalized = etx_pt2_is_functionalized(target);
  if (d.is_functionalized) target = called(d.inputs);
  const etx_text name = name_of(target);
  const size_t count = count_results(&d, outputs);
  d.has_result = count > 0;
  if (etx_own_operators_find(graph->import->module, name) != NULL) {
    etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->place,
                       "%s: operator '%t' changes a part of a tensor, or its "
                       "description has other results: expected whole tensors",
                       graph->context, name);
    return ETX_OK;
  }
  put_name(&d, name);
  etx_text_put_string(&d.text, "(");
  put_arguments(&d);
  put_results(&d, count);
  if (count > 0) put_rules(&d, outputs, count);
  ETX_TRY(d.text.status);
  etx_import_problem(
      graph->import, ETX_UNSUPPORTED, &graph->place,
      "%s: operator '%t' is not one of etx; if it is your own, plan with "
      "--ops FILE, where FILE has the line: %t",
      graph->context, name, (etx_text){d.text.data, d.text.size});
  return ETX_OK;
}
