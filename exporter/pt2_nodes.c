// Nodes of an archive as nodes of the IR. Arithmetic on sizes and assertions
// are left out: the archive states every result of such arithmetic as an
// expression of the inputs' sizes, and bounds are checked before a method
// runs.

#include "exporter/aten_schema.h"
#include "exporter/pt2_internal.h"

// ---------------------------------------------------------------- names

etx_status etx_pt2_find_tensor(etx_pt2_graph* graph, etx_text name,
                               size_t* out_position) {
  const etx_json* const meta = etx_json_find(graph->tensor_values, name);
  if (meta == NULL) {
    return etx_pt2_refuse(graph, "tensor '%t' has no entry in tensor_values",
                          name);
  }
  *out_position = (size_t)(meta - graph->tensor_values->items);
  return ETX_OK;
}

etx_status etx_pt2_use_tensor(etx_pt2_graph* graph, etx_text name,
                              uint32_t* out_value) {
  size_t position = 0;
  ETX_TRY(etx_pt2_find_tensor(graph, name, &position));
  if (graph->states[position] != ETX_PT2_DEFINED) {
    return etx_pt2_refuse(graph, "tensor '%t' is read before it is defined",
                          name);
  }
  *out_value = graph->values[position];
  return ETX_OK;
}

static bool starts_with(etx_text text, const char* prefix) {
  return etx_text_starts_with(text, etx_text_of(prefix));
}

// What is done with a node.
typedef enum node_class {
  NODE_KEPT,
  NODE_DROPPED,   // sizes and assertions
  NODE_DECLINED,  // control flow and the like
} node_class;

static node_class class_of(etx_text target) {
  static const char* const dropped[] = {
      "_operator.",
      "torch.sym_",
      "torch._sym_",
      "math.",
      "torch.ops.aten.sym_size.",
      "torch.ops.aten.sym_numel.",
      "torch.ops.aten.sym_stride.",
      "torch.ops.aten.sym_storage_offset.",
      "torch.ops.aten._assert_scalar.",
      "torch.ops.aten._assert_tensor_metadata.",
      "torch.ops.aten.sym_constrain_range",
  };
  for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; ++i) {
    if (starts_with(target, dropped[i])) return NODE_DROPPED;
  }
  return starts_with(target, "torch.ops.aten.") ? NODE_KEPT : NODE_DECLINED;
}

// ---------------------------------------------------------------- uses

static void mark_tensor(etx_pt2_graph* graph, const etx_json* tensor) {
  const etx_json* const name = etx_json_member(tensor, "name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return;
  const etx_json* const meta =
      etx_json_find(graph->tensor_values, name->string);
  if (meta != NULL) graph->is_used[meta - graph->tensor_values->items] = 1;
}

// Marks what an Argument reads. Malformed ones are refused later, when they
// are read.
static void mark_argument(etx_pt2_graph* graph, const etx_json* argument) {
  if (argument == NULL || argument->kind != ETX_JSON_OBJECT) return;
  for (size_t i = 0; i < argument->count; ++i) {
    const etx_json* const payload = &argument->items[i];
    if (etx_text_is(argument->keys[i], "as_tensor")) {
      mark_tensor(graph, payload);
    } else if (payload->kind == ETX_JSON_ARRAY) {
      for (size_t j = 0; j < payload->count; ++j) {
        mark_tensor(graph, &payload->items[j]);    // as_tensors
        mark_argument(graph, &payload->items[j]);  // as_optional_tensors
      }
    }
  }
}

etx_status etx_pt2_mark_uses(etx_pt2_graph* graph) {
  for (size_t i = 0; i < graph->nodes->count; ++i) {
    const etx_json* const node = &graph->nodes->items[i];
    const etx_json* inputs = NULL;
    etx_text target;
    etx_pt2_set_place(graph, "node %z", i);
    ETX_TRY(etx_pt2_text(graph, node, "target", &target));
    ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
    if (class_of(target) == NODE_DROPPED) continue;
    for (size_t j = 0; j < inputs->count; ++j) {
      mark_argument(graph, etx_json_member(&inputs->items[j], "arg"));
    }
  }
  for (size_t i = 0; i < graph->output_specs->count; ++i) {
    const etx_json* const spec = &graph->output_specs->items[i];
    if (spec->kind != ETX_JSON_OBJECT || spec->count != 1) continue;
    const etx_json* const arg = etx_json_member(&spec->items[0], "arg");
    mark_tensor(graph, arg);
    mark_argument(graph, arg);
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- arguments

static void unsupported(etx_pt2_graph* graph, const char* what, etx_text name) {
  etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->where,
                     "%s: %s '%t' is not supported", graph->place, what, name);
}

static etx_status read_integer(etx_pt2_graph* graph, const etx_json* payload,
                               etx_ir_arg* out) {
  ETX_TRY(etx_pt2_want(graph, payload, ETX_JSON_INT, "as_int"));
  // Symbolic sizes are told from numbers by their value, so the lowest
  // quarter of the range is not available; the only use seen for it is "from
  // the very beginning".
  int64_t integer = payload->integer;
  if (!etx_dim_is_number(integer)) {
    if (integer != INT64_MIN) {
      return etx_pt2_decline(graph, "the integer %i is too small", integer);
    }
    integer = ETX_DIM_HANDLE + 1;
  }
  *out = etx_ir_int(integer);
  return ETX_OK;
}

// {"as_name": ...} or the plain number.
static etx_status read_sym_int(etx_pt2_graph* graph, const etx_json* payload,
                               etx_ir_arg* out) {
  etx_text tag;
  const etx_json* inner = NULL;
  ETX_TRY(etx_pt2_union(graph, payload, &tag, &inner));
  if (etx_text_is(tag, "as_int")) return read_integer(graph, inner, out);
  ETX_TRY(etx_pt2_want(graph, inner, ETX_JSON_STRING, "as_name"));
  etx_dim size = 0;
  ETX_TRY(etx_pt2_named_size(graph, inner->string, &size));
  *out = etx_ir_int(size);
  return ETX_OK;
}

// A bool or float that may be computed from sizes; only known ones are
// supported. The value map holds {"as_bool": true} or {"as_expr": ...}.
static etx_status read_sym_other(etx_pt2_graph* graph, const etx_json* payload,
                                 bool is_bool, etx_ir_arg* out) {
  etx_text tag;
  const etx_json* inner = NULL;
  ETX_TRY(etx_pt2_union(graph, payload, &tag, &inner));
  etx_text name = etx_text_of("");
  if (etx_text_is(tag, "as_name")) {
    ETX_TRY(etx_pt2_want(graph, inner, ETX_JSON_STRING, "as_name"));
    name = inner->string;
    const etx_json* const known =
        etx_json_find(is_bool ? graph->sym_bools : graph->sym_floats, name);
    if (known == NULL) {
      return etx_pt2_refuse(graph, "'%t' is not defined", name);
    }
    ETX_TRY(etx_pt2_union(graph, known, &tag, &inner));
  }
  if (is_bool && etx_text_is(tag, "as_bool")) {
    ETX_TRY(etx_pt2_want(graph, inner, ETX_JSON_BOOL, "as_bool"));
    out->kind = ETX_IR_ARG_BOOL;
    out->as.boolean = inner->boolean;
    return ETX_OK;
  }
  if (!is_bool && etx_text_is(tag, "as_float")) {
    out->kind = ETX_IR_ARG_DOUBLE;
    return etx_pt2_double(graph, inner, &out->as.real);
  }
  unsupported(graph,
              is_bool ? "a condition on sizes used as a value,"
                      : "a float computed from sizes,",
              name);
  out->kind = ETX_IR_ARG_BOOL;
  return ETX_OK;
}

static etx_status read_tensor(etx_pt2_graph* graph, const etx_json* payload,
                              etx_ir_arg* out) {
  etx_text name;
  uint32_t value = 0;
  ETX_TRY(etx_pt2_text(graph, payload, "name", &name));
  ETX_TRY(etx_pt2_use_tensor(graph, name, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

static etx_status read_bool(etx_pt2_graph* graph, const etx_json* payload,
                            etx_ir_arg* out) {
  ETX_TRY(etx_pt2_want(graph, payload, ETX_JSON_BOOL, "as_bool"));
  out->kind = ETX_IR_ARG_BOOL;
  out->as.boolean = payload->boolean;
  return ETX_OK;
}

static etx_status read_double(etx_pt2_graph* graph, const etx_json* payload,
                              etx_ir_arg* out) {
  out->kind = ETX_IR_ARG_DOUBLE;
  return etx_pt2_double(graph, payload, &out->as.real);
}

static etx_status read_string(etx_pt2_graph* graph, const etx_json* payload,
                              etx_ir_arg* out) {
  ETX_TRY(etx_pt2_want(graph, payload, ETX_JSON_STRING, "as_string"));
  out->kind = ETX_IR_ARG_STRING;
  out->as.string = payload->string;
  return ETX_OK;
}

static etx_status read_none(etx_pt2_graph* graph, const etx_json* payload,
                            etx_ir_arg* out) {
  (void)graph;
  (void)payload;
  out->kind = ETX_IR_ARG_NONE;
  return ETX_OK;
}

static etx_status read_dtype(etx_pt2_graph* graph, const etx_json* payload,
                             etx_ir_arg* out) {
  out->kind = ETX_IR_ARG_DTYPE;
  return etx_pt2_dtype(graph, payload, &out->as.dtype);
}

// The archive's codes: contiguous 1, channels-last 2, 3-D channels-last 3,
// preserve 4. Ours are ATen's: contiguous 0, preserve 1, 2, 3.
static etx_status read_memory_format(etx_pt2_graph* graph,
                                     const etx_json* payload, etx_ir_arg* out) {
  static const int64_t codes[] = {-1, 0, 2, 3, 1};
  ETX_TRY(etx_pt2_want(graph, payload, ETX_JSON_INT, "as_memory_format"));
  if (payload->integer < 1 || payload->integer > 4) {
    return etx_pt2_refuse(graph, "memory format %i is not known",
                          payload->integer);
  }
  *out = etx_ir_int(codes[payload->integer]);
  return ETX_OK;
}

static etx_status read_layout(etx_pt2_graph* graph, const etx_json* payload,
                              etx_ir_arg* out) {
  ETX_TRY(etx_pt2_want(graph, payload, ETX_JSON_INT, "as_layout"));
  if (payload->integer != 7) {
    return etx_pt2_decline(graph, "layout %i is not supported, only strided",
                           payload->integer);
  }
  *out = etx_ir_int(0);
  return ETX_OK;
}

static etx_status read_device(etx_pt2_graph* graph, const etx_json* payload,
                              etx_ir_arg* out) {
  ETX_TRY(etx_pt2_text(graph, payload, "type", &out->as.string));
  out->kind = ETX_IR_ARG_STRING;
  if (etx_text_is(out->as.string, "cpu")) return ETX_OK;
  return etx_pt2_decline(
      graph, "device '%t' is not supported: export the model on the CPU",
      out->as.string);
}

static etx_status read_sym_bool(etx_pt2_graph* graph, const etx_json* payload,
                                etx_ir_arg* out) {
  return read_sym_other(graph, payload, true, out);
}

static etx_status read_sym_float(etx_pt2_graph* graph, const etx_json* payload,
                                 etx_ir_arg* out) {
  return read_sym_other(graph, payload, false, out);
}

// OptionalTensorArgument: {"as_tensor": ...} or {"as_none": true}.
static etx_status read_optional(etx_pt2_graph* graph, const etx_json* payload,
                                etx_ir_arg* out) {
  etx_text tag;
  const etx_json* inner = NULL;
  ETX_TRY(etx_pt2_union(graph, payload, &tag, &inner));
  if (etx_text_is(tag, "as_tensor")) return read_tensor(graph, inner, out);
  return read_none(graph, inner, out);
}

typedef etx_status read_payload(etx_pt2_graph* graph, const etx_json* payload,
                                etx_ir_arg* out);

typedef struct tag_reader {
  const char* tag;
  read_payload* read;
  bool is_list;  // the payload is an array of what `read` reads
} tag_reader;

static const tag_reader tag_readers[] = {
    {"as_none", read_none, false},
    {"as_tensor", read_tensor, false},
    {"as_tensors", read_tensor, true},
    {"as_optional_tensor", read_optional, false},
    {"as_optional_tensors", read_optional, true},
    {"as_int", read_integer, false},
    {"as_ints", read_integer, true},
    {"as_float", read_double, false},
    {"as_floats", read_double, true},
    {"as_bool", read_bool, false},
    {"as_bools", read_bool, true},
    {"as_string", read_string, false},
    {"as_sym_int", read_sym_int, false},
    {"as_sym_ints", read_sym_int, true},
    {"as_sym_bool", read_sym_bool, false},
    {"as_sym_bools", read_sym_bool, true},
    {"as_sym_float", read_sym_float, false},
    {"as_sym_floats", read_sym_float, true},
    {"as_scalar_type", read_dtype, false},
    {"as_memory_format", read_memory_format, false},
    {"as_layout", read_layout, false},
    {"as_device", read_device, false},
};

static etx_status read_list(etx_pt2_graph* graph, const etx_json* payload,
                            read_payload* read, etx_ir_arg* out) {
  ETX_TRY(etx_pt2_want(graph, payload, ETX_JSON_ARRAY, "list"));
  etx_ir_arg* const items =
      etx_pool_take(graph->pool, payload->count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < payload->count; ++i) {
    ETX_TRY(read(graph, &payload->items[i], &items[i]));
  }
  out->kind = ETX_IR_ARG_LIST;
  out->as.list.items = items;
  out->as.list.count = payload->count;
  return ETX_OK;
}

etx_status etx_pt2_argument(etx_pt2_graph* graph, const etx_json* argument,
                            etx_ir_arg* out_arg) {
  etx_text tag;
  const etx_json* payload = NULL;
  etx_ir_arg arg = {ETX_IR_ARG_NONE, {0}};
  ETX_TRY(etx_pt2_union(graph, argument, &tag, &payload));
  for (size_t i = 0; i < sizeof tag_readers / sizeof tag_readers[0]; ++i) {
    const tag_reader* const reader = &tag_readers[i];
    if (!etx_text_is(tag, reader->tag)) continue;
    ETX_TRY(reader->is_list ? read_list(graph, payload, reader->read, &arg)
                            : reader->read(graph, payload, &arg));
    *out_arg = arg;
    return ETX_OK;
  }
  unsupported(graph, "an argument of kind", tag);
  *out_arg = arg;
  return ETX_OK;
}

// ---------------------------------------------------------------- outputs

static etx_status define_tensor(etx_pt2_graph* graph, const etx_json* tensor,
                                uint32_t node, uint32_t* out_value) {
  etx_text name;
  size_t position = 0;
  etx_ir_value value = {0};
  ETX_TRY(etx_pt2_text(graph, tensor, "name", &name));
  ETX_TRY(etx_pt2_find_tensor(graph, name, &position));
  if (graph->states[position] != ETX_PT2_UNDEFINED) {
    return etx_pt2_refuse(graph, "tensor '%t' is defined twice", name);
  }
  ETX_TRY(etx_pt2_shape(graph, &graph->tensor_values->items[position],
                        &value.shape));
  value.name = name;
  value.has_shape = true;
  value.origin = ETX_IR_FROM_NODE;
  value.index = node;
  ETX_TRY(etx_ir_add_value(graph->import->module, graph->method, &value,
                           out_value));
  graph->states[position] = ETX_PT2_DEFINED;
  graph->values[position] = *out_value;
  return ETX_OK;
}

typedef struct output_list {
  uint32_t* values;
  size_t count, capacity;
} output_list;

static etx_status add_output(etx_pt2_graph* graph, output_list* list,
                             uint32_t value) {
  ETX_TRY(etx_pool_grow(graph->pool, &list->values, list->count,
                        &list->capacity, sizeof *list->values));
  list->values[list->count++] = value;
  return ETX_OK;
}

static etx_status read_output(etx_pt2_graph* graph, const etx_json* output,
                              uint32_t node, output_list* list) {
  etx_text tag;
  const etx_json* payload = NULL;
  uint32_t value = ETX_IR_NONE;
  ETX_TRY(etx_pt2_union(graph, output, &tag, &payload));
  if (etx_text_is(tag, "as_none")) return add_output(graph, list, ETX_IR_NONE);
  if (etx_text_is(tag, "as_tensor")) {
    ETX_TRY(define_tensor(graph, payload, node, &value));
    return add_output(graph, list, value);
  }
  if (etx_text_is(tag, "as_tensors")) {
    ETX_TRY(etx_pt2_want(graph, payload, ETX_JSON_ARRAY, "as_tensors"));
    for (size_t i = 0; i < payload->count; ++i) {
      ETX_TRY(define_tensor(graph, &payload->items[i], node, &value));
      ETX_TRY(add_output(graph, list, value));
    }
    return ETX_OK;
  }
  unsupported(graph, "a result of kind", tag);
  return ETX_OK;
}

// ---------------------------------------------------------------- nodes

// "model.py:12 return x @ w", from the last frame of a stack trace.
static etx_text source_line(etx_pt2_graph* graph, const etx_json* node) {
  const etx_json* const trace =
      etx_json_member(etx_json_member(node, "metadata"), "stack_trace");
  const etx_text none = {NULL, 0};
  if (trace == NULL || trace->kind != ETX_JSON_STRING) return none;
  const etx_text text = trace->string;
  const etx_text mark = etx_text_of("File \"");
  size_t at = text.size;
  for (size_t i = 0; i + mark.size <= text.size; ++i) {
    const etx_text rest = {text.data + i, text.size - i};
    if (etx_text_starts_with(rest, mark)) at = i + mark.size;
  }
  if (at >= text.size) return none;
  etx_text file = {text.data + at, 0}, line = {NULL, 0}, code = {NULL, 0};
  while (at < text.size && text.data[at] != '"') ++at, ++file.size;
  while (at < text.size && (text.data[at] < '0' || text.data[at] > '9')) ++at;
  line.data = text.data + at;
  while (at < text.size && text.data[at] >= '0' && text.data[at] <= '9') {
    ++at, ++line.size;
  }
  while (at < text.size && text.data[at] != '\n') ++at;
  while (at < text.size && (text.data[at] == '\n' || text.data[at] == ' ')) {
    ++at;
  }
  code.data = text.data + at;
  while (at < text.size && text.data[at] != '\n') ++at, ++code.size;
  return etx_pool_format(graph->pool, code.size == 0 ? "%t:%t" : "%t:%t %t",
                         file, line, code);
}

// Something between the node's inputs and outputs is not for us: its results
// are defined all the same, so that later nodes can be read.
static etx_status read_arguments(etx_pt2_graph* graph, const etx_json* inputs,
                                 const etx_aten_schema* schema,
                                 etx_ir_node* node) {
  etx_ir_arg* const args =
      etx_pool_take(graph->pool, inputs->count * sizeof *args);
  etx_text* const names =
      etx_pool_take(graph->pool, inputs->count * sizeof *names);
  if (args == NULL || names == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < inputs->count; ++i) {
    ETX_TRY(etx_pt2_text(graph, &inputs->items[i], "name", &names[i]));
    ETX_TRY(etx_pt2_argument(graph, etx_json_member(&inputs->items[i], "arg"),
                             &args[i]));
  }
  if (schema == NULL) return ETX_OK;
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status status = etx_aten_complete(graph->pool, schema, args, names,
                                              inputs->count, node, &diag);
  if (status == ETX_BAD_FILE) {
    etx_import_problem(graph->import, status, &graph->where, "%s: %s",
                       graph->place, diag.text);
    return ETX_OK;
  }
  return status;
}

static void report_operator(etx_pt2_graph* graph, etx_text target,
                            etx_text aten) {
  if (starts_with(target, "torch.ops.higher_order.")) {
    unsupported(graph, "control flow or a higher-order operator,", target);
    return;
  }
  if (starts_with(target, "torch.ops.aten.item.") ||
      starts_with(target, "torch.ops.aten._local_scalar_dense.")) {
    unsupported(graph, "a number read from a tensor's data,", target);
    return;
  }
  const char* const nearest = etx_aten_schema_nearest(aten);
  if (starts_with(target, "torch.ops.aten.") && nearest != NULL) {
    etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->where,
                       "%s: operator '%t' is not supported; the nearest known "
                       "one is '%s'",
                       graph->place, aten, nearest);
    return;
  }
  unsupported(graph, "operator", target);
}

static etx_status read_node(etx_pt2_graph* graph, const etx_json* json,
                            etx_text target) {
  const etx_json *inputs = NULL, *outputs = NULL;
  etx_ir_node node = {0};
  output_list list = {NULL, 0, 0};
  ETX_TRY(etx_pt2_field(graph, json, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, json, "outputs", ETX_JSON_ARRAY, &outputs));
  const size_t prefix = strlen("torch.ops.");
  node.aten.data = target.data + prefix;
  node.aten.size = target.size - prefix;
  const etx_aten_schema* const schema =
      class_of(target) == NODE_KEPT ? etx_aten_schema_find(node.aten) : NULL;
  if (schema == NULL) {
    report_operator(graph, target, node.aten);
  } else {
    ETX_TRY(read_arguments(graph, inputs, schema, &node));
  }
  const uint32_t index = (uint32_t)graph->method->node_count;
  for (size_t i = 0; i < outputs->count; ++i) {
    // Results of what was declined may be of any kind.
    const etx_json* const output = &outputs->items[i];
    if (schema == NULL && etx_json_member(output, "as_tensor") == NULL &&
        etx_json_member(output, "as_tensors") == NULL) {
      continue;
    }
    ETX_TRY(read_output(graph, output, index, &list));
  }
  if (schema != NULL && schema->results != ETX_ATEN_LIST &&
      list.count != (size_t)schema->results) {
    return etx_pt2_refuse(graph, "'%t' has %i results, found %z", node.aten,
                          (int64_t)schema->results, list.count);
  }
  node.outputs = list.values;
  node.output_count = list.count;
  node.place = graph->where;
  uint32_t unused = 0;
  return etx_ir_add_node(graph->import->module, graph->method, &node, &unused);
}

etx_status etx_pt2_read_nodes(etx_pt2_graph* graph) {
  for (size_t i = 0; i < graph->nodes->count; ++i) {
    const etx_json* const json = &graph->nodes->items[i];
    etx_text target;
    etx_pt2_set_place(graph, "node %z", i);
    ETX_TRY(etx_pt2_text(graph, json, "target", &target));
    if (class_of(target) == NODE_DROPPED) continue;
    const etx_json* const name = etx_json_member(json, "name");
    if (name != NULL && name->kind == ETX_JSON_STRING) {
      graph->where.node = name->string;
      etx_pt2_set_place(graph, "node '%t'", name->string);
    }
    graph->where.trace = source_line(graph, json);
    if (!starts_with(target, "torch.ops.")) {
      return etx_pt2_decline(graph, "target '%t' is not supported", target);
    }
    ETX_TRY(read_node(graph, json, target));
  }
  graph->where.node.size = graph->where.trace.size = 0;
  return ETX_OK;
}
