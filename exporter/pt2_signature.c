// Inputs and outputs of an archive's program. The i-th graph input belongs to
// the i-th input spec, the same for outputs. Values are made in a fixed order
// - caller's inputs, then named buffers, then constants - and only for what
// the graph uses, so that the archive and its dump give the same method.

#include <stdlib.h>

#include "exporter/pt2_internal.h"

// A parameter, buffer or constant among the graph's inputs.
typedef struct stored {
  etx_text name;          // fully qualified
  etx_text value_name;    // in the graph
  const etx_json* entry;  // of a payload config
  size_t position;        // in tensor_values
  size_t order;           // among the specs
  bool is_constant;
} stored;

typedef struct stored_list {
  stored* items;
  size_t count, capacity;
} stored_list;

// ---------------------------------------------------------------- inputs

// Marks a graph input's name as taken.
static etx_status place_tensor(etx_pt2_graph* graph, etx_text name,
                               size_t* out_position) {
  ETX_TRY(etx_pt2_find_tensor(graph, name, out_position));
  if (graph->states[*out_position] != ETX_PT2_UNDEFINED) {
    return etx_pt2_refuse(graph, "input '%t' is defined twice", name);
  }
  graph->states[*out_position] = ETX_PT2_PLACEHOLDER;
  return ETX_OK;
}

static etx_status define(etx_pt2_graph* graph, size_t position,
                         const etx_ir_value* value) {
  ETX_TRY(etx_ir_add_value(graph->import->module, graph->method, value,
                           &graph->values[position]));
  graph->states[position] = ETX_PT2_DEFINED;
  return ETX_OK;
}

static etx_status add_input(etx_pt2_graph* graph, const etx_ir_input* input) {
  etx_ir_method* const method = graph->method;
  ETX_TRY(etx_pool_grow(graph->pool, &method->inputs, method->input_count,
                        &method->input_capacity, sizeof *method->inputs));
  for (size_t i = 0; i < method->input_count; ++i) {
    if (etx_text_equal(method->inputs[i].name, input->name)) {
      return etx_pt2_refuse(graph, "two inputs are named '%t'", input->name);
    }
  }
  method->inputs[method->input_count] = *input;
  method->inputs[method->input_count++].place = graph->where;
  return ETX_OK;
}

static etx_status read_tensor_input(etx_pt2_graph* graph, etx_text name) {
  size_t position = 0;
  etx_ir_value value = {0};
  etx_pt2_set_place(graph, "input '%t'", name);
  ETX_TRY(place_tensor(graph, name, &position));
  ETX_TRY(etx_pt2_shape(graph, &graph->tensor_values->items[position],
                        &value.shape));
  value.name = name;
  value.has_shape = true;
  value.origin = ETX_IR_FROM_INPUT;
  value.index = (uint32_t)graph->method->input_count;
  ETX_TRY(define(graph, position, &value));
  etx_ir_input input = {0};
  input.name = name;
  input.arg = etx_ir_value_arg(graph->values[position]);
  return add_input(graph, &input);
}

// A user input: a tensor, or an integer that varies.
static etx_status read_user_input(etx_pt2_graph* graph,
                                  const etx_json* argument) {
  etx_text tag, name;
  const etx_json* payload = NULL;
  ETX_TRY(etx_pt2_union(graph, argument, &tag, &payload));
  if (etx_text_is(tag, "as_tensor")) {
    ETX_TRY(etx_pt2_text(graph, payload, "name", &name));
    return read_tensor_input(graph, name);
  }
  if (!etx_text_is(tag, "as_sym_int")) {
    etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->where,
                       "%s: an input of kind '%t' is not supported",
                       graph->place, tag);
    return ETX_OK;
  }
  etx_ir_input input = {0};
  etx_dim size = 0;
  ETX_TRY(etx_pt2_text(graph, payload, "as_name", &input.name));
  etx_pt2_set_place(graph, "input '%t'", input.name);
  ETX_TRY(etx_pt2_named_size(graph, input.name, &size));
  input.arg = etx_ir_int(size);
  return add_input(graph, &input);
}

// A value baked in when exporting; the caller passes exactly it.
static etx_status read_constant_input(etx_pt2_graph* graph,
                                      const etx_json* spec) {
  etx_ir_input input = {0};
  const etx_json* value = NULL;
  ETX_TRY(etx_pt2_text(graph, spec, "name", &input.name));
  etx_pt2_set_place(graph, "input '%t'", input.name);
  ETX_TRY(etx_pt2_field(graph, spec, "value", ETX_JSON_OBJECT, &value));
  ETX_TRY(etx_pt2_argument(graph, value, &input.arg));
  return add_input(graph, &input);
}

// ---------------------------------------------------------------- stored

static etx_status read_stored(etx_pt2_graph* graph, const etx_json* spec,
                              const char* name_key, bool is_constant,
                              stored_list* list) {
  const etx_json* arg = NULL;
  stored item = {0};
  ETX_TRY(etx_pt2_text(graph, spec, name_key, &item.name));
  etx_pt2_set_place(graph, "'%t'", item.name);
  ETX_TRY(etx_pt2_field(graph, spec, "arg", ETX_JSON_OBJECT, &arg));
  ETX_TRY(etx_pt2_text(graph, arg, "name", &item.value_name));
  ETX_TRY(place_tensor(graph, item.value_name, &item.position));
  item.is_constant = is_constant;
  item.order = list->count;
  item.entry = etx_json_find(graph->weights, item.name);
  if (item.entry == NULL) {
    item.entry = etx_json_find(graph->constants, item.name);
  }
  if (item.entry == NULL) {
    return etx_pt2_refuse(graph, "the archive stores no tensor of that name");
  }
  ETX_TRY(etx_pool_grow(graph->pool, &list->items, list->count, &list->capacity,
                        sizeof *list->items));
  list->items[list->count++] = item;
  return ETX_OK;
}

// Buffers by name, then constants as they stand.
static int by_kind_and_name(const void* a, const void* b) {
  const stored* const x = a;
  const stored* const y = b;
  if (x->is_constant != y->is_constant) return x->is_constant ? 1 : -1;
  const int order = x->is_constant ? 0 : etx_text_compare(x->name, y->name);
  return order != 0 ? order : (x->order < y->order ? -1 : 1);
}

static bool same_type(const etx_shape* shape, const etx_ir_constant* type) {
  if (shape->dtype != type->dtype || shape->rank != type->rank) return false;
  for (size_t i = 0; i < type->rank; ++i) {
    if (shape->dims[i] != type->sizes[i]) return false;
  }
  return true;
}

// Type as stored, which the graph must agree with.
static etx_status stored_type(etx_pt2_graph* graph, const stored* item,
                              etx_ir_constant* out_type, etx_shape* out_shape) {
  ETX_TRY(etx_pt2_payload_type(graph, item->entry, out_type));
  ETX_TRY(etx_pt2_shape(graph, &graph->tensor_values->items[item->position],
                        out_shape));
  if (same_type(out_shape, out_type)) return ETX_OK;
  return etx_pt2_refuse(graph, "stored as %t, but the graph says otherwise",
                        etx_import_type_text(graph->pool, out_type));
}

static etx_status define_constant(etx_pt2_graph* graph, const stored* item,
                                  const etx_import_source* source,
                                  const etx_ir_constant* type,
                                  const etx_shape* shape) {
  uint32_t constant = 0, found = 0;
  if (graph->is_used[item->position] == 0) return ETX_OK;
  ETX_TRY(etx_pt2_load(source, graph->import->module, type, &constant,
                       graph->diag));
  for (found = 0; found < graph->method->value_count; ++found) {
    const etx_ir_value* const other = &graph->method->values[found];
    if (other->origin == ETX_IR_FROM_CONSTANT && other->index == constant) {
      graph->states[item->position] = ETX_PT2_DEFINED;
      graph->values[item->position] = found;
      return ETX_OK;
    }
  }
  const etx_ir_value value = {item->value_name, true, *shape,
                              ETX_IR_FROM_CONSTANT, constant};
  return define(graph, item->position, &value);
}

static etx_status define_buffer(etx_pt2_graph* graph, const stored* item,
                                const etx_import_source* source,
                                const etx_ir_constant* type,
                                const etx_shape* shape) {
  etx_import_claim claim = {0};
  uint32_t buffer = 0;
  claim.method = graph->method_index;
  claim.type = *type;
  claim.is_used = graph->is_used[item->position] != 0;
  claim.source = *source;
  claim.place = graph->where;
  ETX_TRY(etx_import_add_claim(graph->import, item->name, &claim, &buffer));
  if (!claim.is_used) return ETX_OK;
  const etx_ir_value value = {item->name, true, *shape, ETX_IR_FROM_BUFFER,
                              buffer};
  return define(graph, item->position, &value);
}

static etx_status define_stored(etx_pt2_graph* graph, const stored_list* list) {
  if (list->count > 1) {
    qsort(list->items, list->count, sizeof *list->items, by_kind_and_name);
  }
  for (size_t i = 0; i < list->count; ++i) {
    const stored* const item = &list->items[i];
    etx_ir_constant type;
    etx_shape shape;
    etx_pt2_set_place(graph, "'%t'", item->name);
    if (i > 0 && !item->is_constant &&
        etx_text_equal(item->name, list->items[i - 1].name)) {
      return etx_pt2_refuse(graph, "two inputs stand for it");
    }
    ETX_TRY(stored_type(graph, item, &type, &shape));
    const etx_import_source source = {etx_pt2_load, graph, item->entry,
                                      item->name};
    ETX_TRY(item->is_constant
                ? define_constant(graph, item, &source, &type, &shape)
                : define_buffer(graph, item, &source, &type, &shape));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- specs

static etx_status read_input_spec(etx_pt2_graph* graph, size_t index,
                                  stored_list* list) {
  etx_text tag;
  const etx_json* spec = NULL;
  etx_pt2_set_place(graph, "input spec %z", index);
  ETX_TRY(etx_pt2_union(graph, &graph->input_specs->items[index], &tag, &spec));
  if (etx_text_is(tag, "parameter")) {
    return read_stored(graph, spec, "parameter_name", false, list);
  }
  if (etx_text_is(tag, "buffer")) {
    return read_stored(graph, spec, "buffer_name", false, list);
  }
  if (etx_text_is(tag, "tensor_constant")) {
    return read_stored(graph, spec, "tensor_constant_name", true, list);
  }
  if (etx_text_is(tag, "user_input")) {
    return read_user_input(graph, etx_json_member(spec, "arg"));
  }
  if (etx_text_is(tag, "constant_input")) {
    return read_constant_input(graph, spec);
  }
  etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->where,
                     "%s: an input of kind '%t' is not supported", graph->place,
                     tag);
  return ETX_OK;
}

// True if two arguments of the graph and the signature name the same thing.
static bool same_name(const etx_json* argument, const etx_json* spec_arg) {
  if (argument == NULL || argument->kind != ETX_JSON_OBJECT ||
      argument->count != 1) {
    return false;
  }
  const etx_json* const inner = &argument->items[0];
  const etx_json* const name = etx_json_member(inner, "name");
  const etx_json* other = etx_json_member(spec_arg, "name");
  if (other == NULL) {  // a full Argument
    if (spec_arg == NULL || spec_arg->kind != ETX_JSON_OBJECT ||
        spec_arg->count != 1) {
      return false;
    }
    if (!etx_text_equal(spec_arg->keys[0], argument->keys[0])) return false;
    other = etx_json_member(&spec_arg->items[0], "name");
  }
  if (name == NULL || other == NULL) return name == other;
  return name->kind == ETX_JSON_STRING && other->kind == ETX_JSON_STRING &&
         etx_text_equal(name->string, other->string);
}

// The graph's own list must say what the signature says.
static etx_status check_pairs(etx_pt2_graph* graph, const char* key,
                              const etx_json* specs) {
  const etx_json* arguments = NULL;
  etx_pt2_set_place(graph, "graph");
  ETX_TRY(etx_pt2_field(graph, graph->graph, key, ETX_JSON_ARRAY, &arguments));
  if (arguments->count != specs->count) {
    return etx_pt2_refuse(graph, "%z %s, but %z in the signature",
                          arguments->count, key, specs->count);
  }
  for (size_t i = 0; i < specs->count; ++i) {
    etx_text tag;
    const etx_json* spec = NULL;
    ETX_TRY(etx_pt2_union(graph, &specs->items[i], &tag, &spec));
    const etx_json* const arg = etx_json_member(spec, "arg");
    if (arg == NULL) continue;  // a constant input has none
    if (!same_name(&arguments->items[i], arg)) {
      return etx_pt2_refuse(graph, "%s %z is not what the signature says", key,
                            i);
    }
  }
  return ETX_OK;
}

etx_status etx_pt2_read_inputs(etx_pt2_graph* graph) {
  stored_list list = {NULL, 0, 0};
  ETX_TRY(check_pairs(graph, "inputs", graph->input_specs));
  for (size_t i = 0; i < graph->input_specs->count; ++i) {
    ETX_TRY(read_input_spec(graph, i, &list));
  }
  return define_stored(graph, &list);
}

// ---------------------------------------------------------------- outputs

static bool shapes_equal(const etx_pt2_graph* graph, const etx_shape* a,
                         const etx_shape* b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (size_t i = 0; i < a->rank; ++i) {
    if (!etx_symbols_equal(&graph->method->symbols, a->dims[i], b->dims[i])) {
      return false;
    }
  }
  return true;
}

static etx_status add_mutation(etx_pt2_graph* graph, etx_ir_mutation mutation,
                               const etx_json* spec, const etx_shape* target) {
  const etx_json* arg = NULL;
  etx_text name;
  etx_ir_method* const method = graph->method;
  ETX_TRY(etx_pt2_field(graph, spec, "arg", ETX_JSON_OBJECT, &arg));
  ETX_TRY(etx_pt2_text(graph, arg, "name", &name));
  ETX_TRY(etx_pt2_use_tensor(graph, name, &mutation.value));
  if (!shapes_equal(graph, &method->values[mutation.value].shape, target)) {
    return etx_pt2_refuse(graph, "'%t' has another type than what it replaces",
                          name);
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    if (method->mutations[i].is_input == mutation.is_input &&
        method->mutations[i].target == mutation.target) {
      return etx_pt2_refuse(graph, "it is written twice");
    }
  }
  ETX_TRY(etx_pool_grow(graph->pool, &method->mutations, method->mutation_count,
                        &method->mutation_capacity, sizeof *method->mutations));
  mutation.place = graph->where;
  method->mutations[method->mutation_count++] = mutation;
  return ETX_OK;
}

// The claim of this method on a buffer, by name.
static etx_import_claim* find_claim(etx_pt2_graph* graph, etx_text name) {
  for (size_t i = graph->import->claim_count; i-- > 0;) {
    etx_import_claim* const claim = &graph->import->claims[i];
    if (claim->method == graph->method_index &&
        etx_text_equal(claim->source.name, name)) {
      return claim;
    }
  }
  return NULL;
}

static etx_status read_buffer_mutation(etx_pt2_graph* graph,
                                       const etx_json* spec,
                                       const char* name_key) {
  etx_text name;
  etx_ir_mutation mutation = {0};
  etx_shape target = {0};
  ETX_TRY(etx_pt2_text(graph, spec, name_key, &name));
  etx_pt2_set_place(graph, "mutation of '%t'", name);
  const etx_import_claim* const claim = find_claim(graph, name);
  if (claim == NULL) {
    return etx_pt2_refuse(graph, "the program has no such buffer");
  }
  mutation.target = claim->buffer;
  target.dtype = claim->type.dtype;
  target.rank = claim->type.rank;
  for (size_t i = 0; i < target.rank; ++i)
    target.dims[i] = claim->type.sizes[i];
  return add_mutation(graph, mutation, spec, &target);
}

static etx_status read_input_mutation(etx_pt2_graph* graph,
                                      const etx_json* spec) {
  etx_text name;
  uint32_t value = 0;
  etx_ir_mutation mutation = {0};
  ETX_TRY(etx_pt2_text(graph, spec, "user_input_name", &name));
  etx_pt2_set_place(graph, "mutation of input '%t'", name);
  ETX_TRY(etx_pt2_use_tensor(graph, name, &value));
  const etx_ir_value* const target = &graph->method->values[value];
  if (target->origin != ETX_IR_FROM_INPUT) {
    return etx_pt2_refuse(graph, "it is not an input of the caller");
  }
  mutation.is_input = true;
  mutation.target = target->index;
  graph->method->inputs[target->index].is_mutable = true;
  const etx_shape shape = target->shape;
  return add_mutation(graph, mutation, spec, &shape);
}

static etx_status read_user_output(etx_pt2_graph* graph, const etx_json* spec) {
  etx_ir_method* const method = graph->method;
  etx_ir_output output = {0};
  ETX_TRY(etx_pt2_argument(graph, etx_json_member(spec, "arg"), &output.arg));
  if (output.arg.kind == ETX_IR_ARG_LIST ||
      output.arg.kind == ETX_IR_ARG_DTYPE) {
    return etx_pt2_decline(graph, "an output must be a tensor or a number");
  }
  ETX_TRY(etx_pool_grow(graph->pool, &method->outputs, method->output_count,
                        &method->output_capacity, sizeof *method->outputs));
  method->outputs[method->output_count++] = output;
  return ETX_OK;
}

static etx_status read_output_spec(etx_pt2_graph* graph, size_t index) {
  etx_text tag;
  const etx_json* spec = NULL;
  etx_pt2_set_place(graph, "output spec %z", index);
  ETX_TRY(
      etx_pt2_union(graph, &graph->output_specs->items[index], &tag, &spec));
  if (etx_text_is(tag, "user_output")) return read_user_output(graph, spec);
  if (etx_text_is(tag, "buffer_mutation")) {
    return read_buffer_mutation(graph, spec, "buffer_name");
  }
  if (etx_text_is(tag, "parameter_mutation")) {
    return read_buffer_mutation(graph, spec, "parameter_name");
  }
  if (etx_text_is(tag, "user_input_mutation")) {
    return read_input_mutation(graph, spec);
  }
  etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->where,
                     "%s: an output of kind '%t' is not supported",
                     graph->place, tag);
  return ETX_OK;
}

// ---------------------------------------------------------------- names

typedef struct namer {
  etx_pt2_graph* graph;
  size_t next;  // output to be named
} namer;

// Names the leaves under a dictionary's value: the key itself, or the key and
// a number where the value is a container.
static etx_status name_leaves(namer* n, const etx_json* tree, etx_text name,
                              size_t depth) {
  const etx_json* const children = etx_json_member(tree, "children_spec");
  const etx_json* const type = etx_json_member(tree, "type");
  etx_ir_method* const method = n->graph->method;
  if (type == NULL || children == NULL || children->kind != ETX_JSON_ARRAY ||
      depth > ETX_JSON_MAX_DEPTH) {
    return etx_pt2_refuse(n->graph, "'out_spec' is malformed");
  }
  if (type->kind == ETX_JSON_NULL) {
    if (n->next < method->output_count) {
      method->outputs[n->next++].name = name;
    }
    return ETX_OK;
  }
  for (size_t i = 0; i < children->count; ++i) {
    const etx_text inner = etx_pool_format(n->graph->pool, "%t_%z", name, i);
    if (inner.data == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(name_leaves(n, &children->items[i], inner, depth + 1));
  }
  return ETX_OK;
}

// The keys of a dictionary: JSON text within the JSON.
static etx_status read_keys(etx_pt2_graph* graph, const etx_json* tree,
                            etx_json* out_keys) {
  etx_text text;
  ETX_TRY(etx_pt2_text(graph, tree, "context", &text));
  if (etx_json_read(graph->pool, text, out_keys, NULL) != ETX_OK ||
      out_keys->kind != ETX_JSON_ARRAY) {
    return etx_pt2_refuse(graph, "the keys in 'out_spec' are malformed");
  }
  return ETX_OK;
}

static etx_status name_by_keys(etx_pt2_graph* graph, const etx_json* tree) {
  etx_json keys;
  const etx_json* children = NULL;
  namer n = {graph, 0};
  ETX_TRY(read_keys(graph, tree, &keys));
  ETX_TRY(
      etx_pt2_field(graph, tree, "children_spec", ETX_JSON_ARRAY, &children));
  if (keys.count != children->count) {
    return etx_pt2_refuse(graph, "'out_spec' has %z keys for %z values",
                          keys.count, children->count);
  }
  for (size_t i = 0; i < keys.count; ++i) {
    const etx_json* const key = &keys.items[i];
    const etx_text name = key->kind == ETX_JSON_STRING
                              ? key->string
                              : etx_pool_format(graph->pool, "key_%z", i);
    if (name.data == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(name_leaves(&n, &children->items[i], name, 0));
  }
  return ETX_OK;
}

// The tree of what the method returns, or NULL if the program has none.
static etx_status read_tree(etx_pt2_graph* graph, etx_json* storage,
                            const etx_json** out_tree) {
  const etx_json* const calls = etx_json_member(
      etx_json_member(graph->program, "graph_module"), "module_call_graph");
  *out_tree = NULL;
  if (calls == NULL || calls->kind != ETX_JSON_ARRAY || calls->count == 0) {
    return ETX_OK;
  }
  const etx_json* const text = etx_json_member(
      etx_json_member(&calls->items[0], "signature"), "out_spec");
  if (text == NULL || text->kind != ETX_JSON_STRING) return ETX_OK;
  if (etx_json_read(graph->pool, text->string, storage, NULL) != ETX_OK ||
      storage->kind != ETX_JSON_ARRAY || storage->count != 2) {
    return etx_pt2_refuse(graph, "'out_spec' is malformed");
  }
  *out_tree = &storage->items[1];
  return ETX_OK;
}

static bool is_taken(const etx_ir_method* method, size_t index) {
  for (size_t i = 0; i < method->output_count; ++i) {
    if (i != index &&
        etx_text_equal(method->outputs[i].name, method->outputs[index].name)) {
      return true;
    }
  }
  return method->outputs[index].name.size == 0;
}

static etx_status name_outputs(etx_pt2_graph* graph) {
  etx_ir_method* const method = graph->method;
  etx_json storage;
  const etx_json* tree = NULL;
  etx_pt2_set_place(graph, "signature");
  ETX_TRY(read_tree(graph, &storage, &tree));
  const etx_json* const type = etx_json_member(tree, "type");
  if (type != NULL && type->kind == ETX_JSON_STRING &&
      (etx_text_is(type->string, "builtins.dict") ||
       etx_text_is(type->string, "collections.OrderedDict"))) {
    ETX_TRY(name_by_keys(graph, tree));
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    if (!is_taken(method, i)) continue;
    method->outputs[i].name = etx_pool_format(graph->pool, "output_%z", i);
    if (method->outputs[i].name.data == NULL) return ETX_OUT_OF_MEMORY;
  }
  return ETX_OK;
}

etx_status etx_pt2_read_outputs(etx_pt2_graph* graph) {
  ETX_TRY(check_pairs(graph, "outputs", graph->output_specs));
  for (size_t i = 0; i < graph->output_specs->count; ++i) {
    ETX_TRY(read_output_spec(graph, i));
  }
  return name_outputs(graph);
}
