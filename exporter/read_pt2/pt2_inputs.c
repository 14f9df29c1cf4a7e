// Reads the inputs of a program; input i of the graph belongs to input spec i
// of the signature. Values are added in a fixed order (user inputs, named
// buffers, constants), and only for buffers and constants that the graph uses,
// so that an archive and its dump give the same method.

#include <stdlib.h>

#include "exporter/read_pt2/pt2_internal.h"

// A parameter, buffer or constant among the graph's inputs.
typedef struct stored_input {
  etx_text name;          // fully qualified
  etx_text value_name;    // in the graph
  const etx_json* entry;  // of a payload config
  size_t position;        // in tensor_values
  size_t order;           // among the specs
  bool is_constant;
  bool is_parameter;
} stored_input;

typedef struct stored_list {
  stored_input* items;
  size_t count, capacity;
} stored_list;

// ---------------------------------------------------------------- inputs

// Declares the name of a graph input.
static etx_status declare_tensor(etx_pt2_graph* graph, etx_text name,
                                 size_t* out_position) {
  ETX_TRY(etx_pt2_find_tensor(graph, name, out_position));
  if (graph->states[*out_position] != ETX_PT2_UNDEFINED) {
    return etx_pt2_fail_malformed(graph, "input '%t' is defined twice", name);
  }
  graph->states[*out_position] = ETX_PT2_DECLARED;
  return ETX_OK;
}

static etx_status define_input(etx_pt2_graph* graph, size_t position,
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
      return etx_pt2_fail_malformed(graph, "two inputs are named '%t'",
                                    input->name);
    }
  }
  method->inputs[method->input_count] = *input;
  method->inputs[method->input_count++].place = graph->place;
  return ETX_OK;
}

static etx_status read_tensor_input(etx_pt2_graph* graph, etx_text name) {
  size_t position = 0;
  etx_ir_value value = {0};
  etx_pt2_set_context(graph, "input '%t'", name);
  ETX_TRY(declare_tensor(graph, name, &position));
  ETX_TRY(etx_pt2_shape(graph, &graph->tensor_values->items[position],
                        &value.shape));
  value.name = name;
  value.has_shape = true;
  value.origin = ETX_IR_FROM_INPUT;
  value.index = (uint32_t)graph->method->input_count;
  ETX_TRY(define_input(graph, position, &value));
  etx_ir_input input = {0};
  input.name = name;
  input.arg = etx_ir_value_arg(graph->values[position]);
  return add_input(graph, &input);
}

// A user input: a tensor or a dynamic integer.
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
    etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->place,
                       "%s: an input of kind '%t' is not supported",
                       graph->context, tag);
    return ETX_OK;
  }
  etx_ir_input input = {0};
  etx_dim size = 0;
  ETX_TRY(etx_pt2_text(graph, payload, "as_name", &input.name));
  etx_pt2_set_context(graph, "input '%t'", input.name);
  ETX_TRY(etx_pt2_named_size(graph, input.name, &size));
  input.arg = etx_ir_int(size);
  return add_input(graph, &input);
}

// An input whose value was fixed at export; the caller must pass that value.
static etx_status read_constant_input(etx_pt2_graph* graph,
                                      const etx_json* spec) {
  etx_ir_input input = {0};
  const etx_json* value = NULL;
  ETX_TRY(etx_pt2_text(graph, spec, "name", &input.name));
  etx_pt2_set_context(graph, "input '%t'", input.name);
  ETX_TRY(etx_pt2_field(graph, spec, "value", ETX_JSON_OBJECT, &value));
  ETX_TRY(etx_pt2_argument(graph, value, &input.arg));
  return add_input(graph, &input);
}

// ---------------------------------------------------------------- stored

static etx_status read_stored(etx_pt2_graph* graph, const etx_json* spec,
                              const char* name_key, stored_input item,
                              stored_list* list) {
  const etx_json* arg = NULL;
  ETX_TRY(etx_pt2_text(graph, spec, name_key, &item.name));
  etx_pt2_set_context(graph, "'%t'", item.name);
  ETX_TRY(etx_pt2_field(graph, spec, "arg", ETX_JSON_OBJECT, &arg));
  ETX_TRY(etx_pt2_text(graph, arg, "name", &item.value_name));
  ETX_TRY(declare_tensor(graph, item.value_name, &item.position));
  item.order = list->count;
  item.entry = etx_json_find(graph->weights, item.name);
  if (item.entry == NULL) {
    item.entry = etx_json_find(graph->constants, item.name);
  }
  if (item.entry == NULL) {
    return etx_pt2_fail_malformed(graph,
                                  "the archive has no tensor of that name");
  }
  ETX_TRY(etx_pool_grow(graph->pool, &list->items, list->count, &list->capacity,
                        sizeof *list->items));
  list->items[list->count++] = item;
  return ETX_OK;
}

// Buffers sorted by name, then constants in the order of the specs.
static int by_kind_and_name(const void* a, const void* b) {
  const stored_input* const x = a;
  const stored_input* const y = b;
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

// The type of a stored tensor, which must be that of the graph.
static etx_status stored_type(etx_pt2_graph* graph, const stored_input* item,
                              etx_ir_constant* out_type, etx_shape* out_shape) {
  ETX_TRY(etx_pt2_payload_type(graph, item->entry, out_type));
  ETX_TRY(etx_pt2_shape(graph, &graph->tensor_values->items[item->position],
                        out_shape));
  if (same_type(out_shape, out_type)) return ETX_OK;
  return etx_pt2_fail_malformed(
      graph, "the stored tensor is %t, but the graph states another type",
      etx_import_type_text(graph->pool, out_type));
}

static etx_status define_constant(etx_pt2_graph* graph,
                                  const stored_input* item,
                                  const etx_initial_source* source,
                                  const etx_ir_constant* type,
                                  const etx_shape* shape) {
  uint32_t constant = 0, found = 0;
  if (graph->last_reads[item->position] == 0) return ETX_OK;
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
  return define_input(graph, item->position, &value);
}

static etx_status define_buffer(etx_pt2_graph* graph, const stored_input* item,
                                const etx_initial_source* source,
                                const etx_ir_constant* type,
                                const etx_shape* shape) {
  etx_buffer_declaration declaration = {0};
  uint32_t buffer = 0;
  declaration.method = graph->method_index;
  declaration.type = *type;
  declaration.is_used = graph->last_reads[item->position] != 0;
  declaration.is_parameter = item->is_parameter;
  declaration.source = *source;
  declaration.place = graph->place;
  ETX_TRY(etx_import_declare_buffer(graph->import, item->name, &declaration,
                                    &buffer));
  if (!declaration.is_used) return ETX_OK;
  const etx_ir_value value = {item->name, true, *shape, ETX_IR_FROM_BUFFER,
                              buffer};
  return define_input(graph, item->position, &value);
}

static etx_status define_stored(etx_pt2_graph* graph, const stored_list* list) {
  if (list->count > 1) {
    qsort(list->items, list->count, sizeof *list->items, by_kind_and_name);
  }
  for (size_t i = 0; i < list->count; ++i) {
    const stored_input* const item = &list->items[i];
    etx_ir_constant type;
    etx_shape shape;
    etx_pt2_set_context(graph, "'%t'", item->name);
    if (i > 0 && !item->is_constant &&
        etx_text_equal(item->name, list->items[i - 1].name)) {
      return etx_pt2_fail_malformed(graph,
                                    "two input specs refer to this tensor");
    }
    ETX_TRY(stored_type(graph, item, &type, &shape));
    const etx_initial_source source = {etx_pt2_load, graph, item->entry,
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
  const stored_input parameter = {.is_parameter = true};
  const stored_input buffer = {0};
  const stored_input constant = {.is_constant = true};
  etx_text tag;
  const etx_json* spec = NULL;
  etx_pt2_set_context(graph, "input spec %z", index);
  ETX_TRY(etx_pt2_union(graph, &graph->input_specs->items[index], &tag, &spec));
  if (etx_text_is(tag, "parameter")) {
    return read_stored(graph, spec, "parameter_name", parameter, list);
  }
  if (etx_text_is(tag, "buffer")) {
    return read_stored(graph, spec, "buffer_name", buffer, list);
  }
  if (etx_text_is(tag, "tensor_constant")) {
    return read_stored(graph, spec, "tensor_constant_name", constant, list);
  }
  if (etx_text_is(tag, "user_input")) {
    return read_user_input(graph, etx_json_member(spec, "arg"));
  }
  if (etx_text_is(tag, "constant_input")) {
    return read_constant_input(graph, spec);
  }
  etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->place,
                     "%s: an input of kind '%t' is not supported",
                     graph->context, tag);
  return ETX_OK;
}

etx_status etx_pt2_read_inputs(etx_pt2_graph* graph) {
  stored_list list = {NULL, 0, 0};
  ETX_TRY(etx_pt2_check_pairs(graph, "inputs", graph->input_specs));
  for (size_t i = 0; i < graph->input_specs->count; ++i) {
    ETX_TRY(read_input_spec(graph, i, &list));
  }
  return define_stored(graph, &list);
}
