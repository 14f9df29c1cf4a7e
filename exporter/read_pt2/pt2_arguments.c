// Arguments of nodes and outputs. In the archive an Argument is a union of
// about thirty tags; the supported ones become arguments of the IR.

#include "exporter/read_pt2/pt2_internal.h"

// ---------------------------------------------------------------- tensors

etx_status etx_pt2_alloc_names(etx_pt2_graph* graph) {
  const size_t count = graph->tensor_values->count;
  const size_t bytes = count * sizeof(uint32_t);
  graph->states = etx_pool_take(graph->pool, count);
  graph->values = etx_pool_take(graph->pool, bytes);
  graph->last_reads = etx_pool_take(graph->pool, bytes);
  graph->has_last_reads = false;
  graph->aliases = etx_pool_take(graph->pool, count * sizeof *graph->aliases);
  return graph->states == NULL || graph->values == NULL ||
                 graph->last_reads == NULL || graph->aliases == NULL
             ? ETX_OUT_OF_MEMORY
             : ETX_OK;
}

etx_status etx_pt2_find_tensor(etx_pt2_graph* graph, etx_text name,
                               size_t* out_position) {
  const etx_json* const meta = etx_json_find(graph->tensor_values, name);
  if (meta == NULL) {
    return etx_pt2_fail_malformed(
        graph, "tensor '%t' has no entry in tensor_values", name);
  }
  *out_position = (size_t)(meta - graph->tensor_values->items);
  return ETX_OK;
}

etx_status etx_pt2_use_tensor(etx_pt2_graph* graph, etx_text name,
                              uint32_t* out_value) {
  size_t position = 0;
  ETX_TRY(etx_pt2_find_tensor(graph, name, &position));
  if (graph->states[position] != ETX_PT2_DEFINED) {
    return etx_pt2_fail_malformed(
        graph, "tensor '%t' is read before it is defined", name);
  }
  *out_value = graph->values[position];
  return ETX_OK;
}

// ---------------------------------------------------------------- tags

void etx_pt2_report_unsupported(etx_pt2_graph* graph, const char* what,
                                etx_text name) {
  etx_import_problem(graph->import, ETX_UNSUPPORTED, &graph->place,
                     "%s: %s '%t' is not supported", graph->context, what,
                     name);
}

static etx_status read_integer(etx_pt2_graph* graph, const etx_json* payload,
                               etx_ir_arg* out) {
  ETX_TRY(etx_pt2_expect(graph, payload, ETX_JSON_INT, "as_int"));
  // An etx_dim below ETX_DIM_HANDLE is a symbolic size, so these integers are
  // not available. PyTorch uses INT64_MIN as "from the start" of a slice: the
  // smallest available number means the same.
  int64_t integer = payload->integer;
  if (!etx_dim_is_number(integer)) {
    if (integer != INT64_MIN) {
      return etx_pt2_fail_unsupported(
          graph, "the integer %i is too small: at least %i is supported",
          integer, (int64_t)ETX_DIM_HANDLE + 1);
    }
    integer = ETX_DIM_HANDLE + 1;
  }
  *out = etx_ir_int(integer);
  return ETX_OK;
}

// A SymIntArgument: {"as_name": ...} or {"as_int": ...}.
static etx_status read_sym_int(etx_pt2_graph* graph, const etx_json* payload,
                               etx_ir_arg* out) {
  etx_text tag;
  const etx_json* inner = NULL;
  ETX_TRY(etx_pt2_union(graph, payload, &tag, &inner));
  if (etx_text_is(tag, "as_int")) return read_integer(graph, inner, out);
  ETX_TRY(etx_pt2_expect(graph, inner, ETX_JSON_STRING, "as_name"));
  etx_dim size = 0;
  ETX_TRY(etx_pt2_named_size(graph, inner->string, &size));
  *out = etx_ir_int(size);
  return ETX_OK;
}

// A SymBoolArgument or SymFloatArgument. Its value may be a constant, which is
// supported, or an expression over sizes, which is not.
static etx_status read_sym_other(etx_pt2_graph* graph, const etx_json* payload,
                                 bool is_bool, etx_ir_arg* out) {
  etx_text tag;
  const etx_json* inner = NULL;
  ETX_TRY(etx_pt2_union(graph, payload, &tag, &inner));
  etx_text name = etx_text_of("");
  if (etx_text_is(tag, "as_name")) {
    ETX_TRY(etx_pt2_expect(graph, inner, ETX_JSON_STRING, "as_name"));
    name = inner->string;
    const etx_json* const known =
        etx_json_find(is_bool ? graph->sym_bools : graph->sym_floats, name);
    if (known == NULL) {
      return etx_pt2_fail_malformed(graph, "'%t' is not defined", name);
    }
    ETX_TRY(etx_pt2_union(graph, known, &tag, &inner));
  }
  if (is_bool && etx_text_is(tag, "as_bool")) {
    ETX_TRY(etx_pt2_expect(graph, inner, ETX_JSON_BOOL, "as_bool"));
    out->kind = ETX_IR_ARG_BOOL;
    out->as.boolean = inner->boolean;
    return ETX_OK;
  }
  if (!is_bool && etx_text_is(tag, "as_float")) {
    out->kind = ETX_IR_ARG_DOUBLE;
    return etx_pt2_double(graph, inner, &out->as.real);
  }
  etx_pt2_report_unsupported(
      graph,
      is_bool ? "a bool computed from sizes," : "a float computed from sizes,",
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
  ETX_TRY(etx_pt2_expect(graph, payload, ETX_JSON_BOOL, "as_bool"));
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
  ETX_TRY(etx_pt2_expect(graph, payload, ETX_JSON_STRING, "as_string"));
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

// Codes of the archive: contiguous 1, channels-last 2, 3-D channels-last 3,
// preserve 4. The IR has the codes of ATen: contiguous 0, preserve 1,
// channels-last 2, 3-D channels-last 3.
static etx_status read_memory_format(etx_pt2_graph* graph,
                                     const etx_json* payload, etx_ir_arg* out) {
  static const int64_t codes[] = {-1, 0, 2, 3, 1};
  ETX_TRY(etx_pt2_expect(graph, payload, ETX_JSON_INT, "as_memory_format"));
  if (payload->integer < 1 || payload->integer > 4) {
    return etx_pt2_fail_malformed(graph, "unknown memory format %i",
                                  payload->integer);
  }
  *out = etx_ir_int(codes[payload->integer]);
  return ETX_OK;
}

static etx_status read_layout(etx_pt2_graph* graph, const etx_json* payload,
                              etx_ir_arg* out) {
  ETX_TRY(etx_pt2_expect(graph, payload, ETX_JSON_INT, "as_layout"));
  if (payload->integer != 7) {
    return etx_pt2_fail_unsupported(
        graph, "layout %i is not supported, expected strided",
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
  return etx_pt2_fail_unsupported(
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
  bool is_list;  // the payload is an array, `read` reads one item
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
  ETX_TRY(etx_pt2_expect(graph, payload, ETX_JSON_ARRAY, "list"));
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
  etx_pt2_report_unsupported(graph, "an argument of kind", tag);
  *out_arg = arg;
  return ETX_OK;
}
