// Reads the outputs and mutations of a program. Outputs are named by the keys
// of the dictionary that the method returns, else output_0, output_1, ...

#include "exporter/read_pt2/pt2_internal.h"

// --------------------------------------------- graph against signature

// True if an argument of the graph and one of the signature have the same name.
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

etx_status etx_pt2_check_pairs(etx_pt2_graph* graph, const char* key,
                               const etx_json* specs) {
  const etx_json* arguments = NULL;
  etx_pt2_set_context(graph, "graph");
  ETX_TRY(etx_pt2_field(graph, graph->graph, key, ETX_JSON_ARRAY, &arguments));
  if (arguments->count != specs->count) {
    return etx_pt2_fail_malformed(graph,
                                  "the graph has %z %s, the signature %z",
                                  arguments->count, key, specs->count);
  }
  for (size_t i = 0; i < specs->count; ++i) {
    etx_text tag;
    const etx_json* spec = NULL;
    ETX_TRY(etx_pt2_union(graph, &specs->items[i], &tag, &spec));
    const etx_json* const arg = etx_json_member(spec, "arg");
    if (arg == NULL) continue;  // a constant input has none
    if (!same_name(&arguments->items[i], arg)) {
      return etx_pt2_fail_malformed(
          graph, "entry %z of the %s differs from the signature", i, key);
    }
  }
  return ETX_OK;
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

// Adds a mutation; the tensor `name` is the new content of the target, whose
// type is `target`.
static etx_status add_mutation(etx_pt2_graph* graph, etx_ir_mutation mutation,
                               etx_text name, const etx_shape* target) {
  etx_ir_method* const method = graph->method;
  ETX_TRY(etx_pt2_use_tensor(graph, name, &mutation.value));
  if (!shapes_equal(graph, &method->values[mutation.value].shape, target)) {
    return etx_pt2_fail_malformed(
        graph, "the type of '%t' is not that of the tensor that it replaces",
        name);
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    if (method->mutations[i].is_input == mutation.is_input &&
        method->mutations[i].target == mutation.target) {
      return etx_pt2_fail_malformed(graph, "there is another mutation of it");
    }
  }
  ETX_TRY(etx_pool_grow(graph->pool, &method->mutations, method->mutation_count,
                        &method->mutation_capacity, sizeof *method->mutations));
  mutation.place = graph->place;
  method->mutations[method->mutation_count++] = mutation;
  return ETX_OK;
}

// Adds a mutation that the signature states.
static etx_status add_stated_mutation(etx_pt2_graph* graph,
                                      etx_ir_mutation mutation,
                                      const etx_json* spec,
                                      const etx_shape* target) {
  const etx_json* arg = NULL;
  etx_text name;
  ETX_TRY(etx_pt2_field(graph, spec, "arg", ETX_JSON_OBJECT, &arg));
  ETX_TRY(etx_pt2_text(graph, arg, "name", &name));
  return add_mutation(graph, mutation, name, target);
}

// Adds the mutations that come from in-place operators (pt2_in_place.c).
static etx_status add_write_mutations(etx_pt2_graph* graph) {
  for (size_t i = 0; i < graph->write_count; ++i) {
    const etx_pt2_write* const write = &graph->writes[i];
    const etx_text name = graph->tensor_values->keys[write->position];
    const etx_ir_value target = graph->method->values[write->target];
    const etx_ir_mutation mutation = {
        .is_input = target.origin == ETX_IR_FROM_INPUT, .target = target.index};
    etx_pt2_set_context(graph, "mutation of '%t'", name);
    graph->place = write->place;
    if (mutation.is_input) {
      graph->method->inputs[target.index].is_mutable = true;
    }
    ETX_TRY(add_mutation(graph, mutation, name, &target.shape));
  }
  graph->place.node.size = 0;
  etx_pt2_forget_source(graph);
  return ETX_OK;
}

// This method's declaration of a buffer, by name.
static etx_buffer_declaration* find_declaration(etx_pt2_graph* graph,
                                                etx_text name) {
  for (size_t i = graph->import->declaration_count; i-- > 0;) {
    etx_buffer_declaration* const declaration = &graph->import->declarations[i];
    if (declaration->method == graph->method_index &&
        etx_text_equal(declaration->source.name, name)) {
      return declaration;
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
  etx_pt2_set_context(graph, "mutation of '%t'", name);
  const etx_buffer_declaration* const declaration =
      find_declaration(graph, name);
  if (declaration == NULL) {
    return etx_pt2_fail_malformed(graph, "the program has no such buffer");
  }
  mutation.target = declaration->buffer;
  target.dtype = declaration->type.dtype;
  target.rank = declaration->type.rank;
  for (size_t i = 0; i < target.rank; ++i)
    target.dims[i] = declaration->type.sizes[i];
  return add_stated_mutation(graph, mutation, spec, &target);
}

static etx_status read_input_mutation(etx_pt2_graph* graph,
                                      const etx_json* spec) {
  etx_text name;
  uint32_t value = 0;
  etx_ir_mutation mutation = {0};
  ETX_TRY(etx_pt2_text(graph, spec, "user_input_name", &name));
  etx_pt2_set_context(graph, "mutation of input '%t'", name);
  ETX_TRY(etx_pt2_use_tensor(graph, name, &value));
  const etx_ir_value* const target = &graph->method->values[value];
  if (target->origin != ETX_IR_FROM_INPUT) {
    return etx_pt2_fail_malformed(graph, "it is not a user input");
  }
  mutation.is_input = true;
  mutation.target = target->index;
  graph->method->inputs[target->index].is_mutable = true;
  const etx_shape shape = target->shape;
  return add_stated_mutation(graph, mutation, spec, &shape);
}

// A float that item() reads, or that is computed from such floats or from
// sizes.
static etx_status read_float_output(etx_pt2_graph* graph,
                                    const etx_json* argument,
                                    etx_ir_output* output) {
  const etx_json* const real = etx_json_member(argument, "as_sym_float");
  uint32_t number = ETX_IR_NONE;
  if (real == NULL) return ETX_UNSUPPORTED;
  if (etx_pt2_find_number(graph, argument, &number)) {
    output->arg = etx_ir_value_arg(number);
  } else {
    ETX_TRY(etx_pt2_sym_float(graph, real, ETX_DTYPE_FLOAT64, &output->arg));
  }
  output->is_number = output->arg.kind == ETX_IR_ARG_VALUE;
  return ETX_OK;
}

static etx_status read_user_output(etx_pt2_graph* graph, const etx_json* spec) {
  etx_ir_method* const method = graph->method;
  const etx_json* const argument = etx_json_member(spec, "arg");
  etx_ir_output output = {0};
  const etx_status status = read_float_output(graph, argument, &output);
  if (status == ETX_UNSUPPORTED) {
    ETX_TRY(etx_pt2_argument(graph, argument, &output.arg));
  } else {
    ETX_TRY(status);
  }
  if (output.arg.kind == ETX_IR_ARG_LIST ||
      output.arg.kind == ETX_IR_ARG_DTYPE) {
    return etx_pt2_fail_unsupported(graph,
                                    "an output should be a tensor or a number");
  }
  ETX_TRY(etx_pool_grow(graph->pool, &method->outputs, method->output_count,
                        &method->output_capacity, sizeof *method->outputs));
  method->outputs[method->output_count++] = output;
  return ETX_OK;
}

static etx_status read_output_spec(etx_pt2_graph* graph, size_t index) {
  etx_text tag;
  const etx_json* spec = NULL;
  etx_pt2_set_context(graph, "output spec %z", index);
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
  etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->place,
                     "%s: an output of kind '%t' is not supported",
                     graph->context, tag);
  return ETX_OK;
}

// ---------------------------------------------------------------- names

typedef struct namer {
  etx_pt2_graph* graph;
  size_t next;  // the next output to name
} namer;

// Names the outputs under one value of a dictionary: the key itself, or the key
// and a number if the value is a container.
static etx_status name_leaves(namer* n, const etx_json* tree, etx_text name,
                              size_t depth) {
  const etx_json* const children = etx_json_member(tree, "children_spec");
  const etx_json* const type = etx_json_member(tree, "type");
  etx_ir_method* const method = n->graph->method;
  if (type == NULL || children == NULL || children->kind != ETX_JSON_ARRAY ||
      depth > ETX_JSON_MAX_DEPTH) {
    return etx_pt2_fail_malformed(n->graph, "'out_spec' is malformed");
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

// The keys of a dictionary, which are JSON text within a JSON string.
static etx_status read_keys(etx_pt2_graph* graph, const etx_json* tree,
                            etx_json* out_keys) {
  etx_text text;
  ETX_TRY(etx_pt2_text(graph, tree, "context", &text));
  const etx_status status = etx_json_read(graph->pool, text, out_keys, NULL);
  if (status == ETX_OUT_OF_MEMORY) return status;
  if (status != ETX_OK || out_keys->kind != ETX_JSON_ARRAY) {
    return etx_pt2_fail_malformed(graph,
                                  "the keys in 'out_spec' are malformed");
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
    return etx_pt2_fail_malformed(graph, "'out_spec' has %z keys for %z values",
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

// The tree (torch.utils._pytree) of the values that the method returns; NULL if
// the program has none.
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
  const etx_status status =
      etx_json_read(graph->pool, text->string, storage, NULL);
  if (status == ETX_OUT_OF_MEMORY) return status;
  if (status != ETX_OK || storage->kind != ETX_JSON_ARRAY ||
      storage->count != 2) {
    return etx_pt2_fail_malformed(graph, "'out_spec' is malformed");
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
  etx_pt2_set_context(graph, "signature");
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
  ETX_TRY(etx_pt2_check_pairs(graph, "outputs", graph->output_specs));
  for (size_t i = 0; i < graph->output_specs->count; ++i) {
    ETX_TRY(read_output_spec(graph, i));
  }
  ETX_TRY(add_write_mutations(graph));
  return name_outputs(graph);
}
