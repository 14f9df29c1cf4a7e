// Floats and truth values that item() reads from tensors. Each is a tensor of
// rank 0, which takes part in type promotion like a number, and so is what the
// graph computes from them: x.item() * 2 > y.item(). As in Python, floats are
// doubles; an operator gets float32 unless it computes with doubles.
//
// Integers are symbols instead, because sizes may depend on them.

#include "exporter/read_pt2/pt2_internal.h"

// Functions of numbers, and the operators that compute them.
static const struct {
  const char* target;
  const char* aten;
  size_t operands;
  bool is_truth;  // the result is a truth value
} functions[] = {
    {"_operator.add", "aten.add.Tensor", 2, false},
    {"_operator.sub", "aten.sub.Tensor", 2, false},
    {"_operator.mul", "aten.mul.Tensor", 2, false},
    {"_operator.truediv", "aten.div.Tensor", 2, false},
    {"_operator.pow", "aten.pow.Tensor_Tensor", 2, false},
    {"_operator.neg", "aten.neg.default", 1, false},
    {"torch._sym_sqrt", "aten.sqrt.default", 1, false},
    {"torch.sym_max", "aten.maximum.default", 2, false},
    {"torch.sym_min", "aten.minimum.default", 2, false},
    {"_operator.gt", "aten.gt.Tensor", 2, true},
    {"_operator.ge", "aten.ge.Tensor", 2, true},
    {"_operator.lt", "aten.lt.Tensor", 2, true},
    {"_operator.le", "aten.le.Tensor", 2, true},
    {"_operator.eq", "aten.eq.Tensor", 2, true},
    {"_operator.ne", "aten.ne.Tensor", 2, true},
    {"_operator.and_", "aten.logical_and.default", 2, true},
    {"_operator.or_", "aten.logical_or.default", 2, true},
    {"torch.sym_not", "aten.logical_not.default", 1, true},
};

static const etx_text unnamed[2] = {{"", 0}, {"", 0}};

// ---------------------------------------------------------------- names

// The name in an Argument that is a float or a truth value.
static const etx_json* name_of(const etx_json* argument) {
  const etx_json* number = etx_json_member(argument, "as_sym_float");
  if (number == NULL) number = etx_json_member(argument, "as_sym_bool");
  const etx_json* const name = etx_json_member(number, "as_name");
  return name == NULL || name->kind != ETX_JSON_STRING ? NULL : name;
}

bool etx_pt2_find_number(const etx_pt2_graph* graph, const etx_json* argument,
                         uint32_t* out_value) {
  const etx_json* const name = name_of(argument);
  for (size_t i = 0; name != NULL && i < graph->number_count; ++i) {
    if (!etx_text_equal(graph->numbers[i].name, name->string)) continue;
    *out_value = graph->numbers[i].value;
    return true;
  }
  return false;
}

static etx_status add_number(etx_pt2_graph* graph, etx_text name,
                             uint32_t value) {
  ETX_TRY(etx_pool_grow(graph->pool, &graph->numbers, graph->number_count,
                        &graph->number_capacity, sizeof *graph->numbers));
  graph->numbers[graph->number_count++] =
      (etx_pt2_number){.name = name, .value = value};
  return ETX_OK;
}

// ---------------------------------------------------------------- types

static etx_status cast(etx_pt2_graph* graph, uint32_t from, etx_dtype dtype,
                       uint32_t* out_value) {
  const etx_ir_value* const value = &graph->method->values[from];
  if (value->shape.dtype == dtype) {
    *out_value = from;
    return ETX_OK;
  }
  const etx_ir_arg args[2] = {etx_ir_value_arg(from),
                              {ETX_IR_ARG_DTYPE, {.dtype = dtype}}};
  const etx_text names[2] = {etx_text_of(""), etx_text_of("dtype")};
  const etx_aten_arguments given = {args, names, 2};
  const etx_ir_value result = {.shape = {.dtype = dtype}};
  return etx_pt2_add_node(graph, "aten._to_copy.default", &given, &result,
                          out_value);
}

static bool is_double(const etx_pt2_graph* graph, const etx_json* tensor) {
  const etx_json* const name = etx_json_member(tensor, "name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return false;
  const etx_json* const code = etx_json_member(
      etx_json_find(graph->tensor_values, name->string), "dtype");
  etx_pt2_graph silent = *graph;
  etx_dtype dtype = ETX_DTYPE_FLOAT32;
  silent.diag = NULL;
  return code != NULL && etx_pt2_dtype(&silent, code, &dtype) == ETX_OK &&
         dtype == ETX_DTYPE_FLOAT64;
}

bool etx_pt2_has_doubles(const etx_pt2_graph* graph, const etx_json* node) {
  const etx_json* const inputs = etx_json_member(node, "inputs");
  const etx_json* const outputs = etx_json_member(node, "outputs");
  bool found = false;
  for (size_t i = 0; inputs != NULL && i < inputs->count; ++i) {
    const etx_json* const argument = etx_json_member(&inputs->items[i], "arg");
    found |= is_double(graph, etx_json_member(argument, "as_tensor"));
  }
  for (size_t i = 0; outputs != NULL && i < outputs->count; ++i) {
    found |= is_double(graph, etx_json_member(&outputs->items[i], "as_tensor"));
  }
  return found;
}

// ---------------------------------------------------------------- uses

bool etx_pt2_reads_number(const etx_pt2_graph* graph, const etx_json* node) {
  const etx_json* const inputs = etx_json_member(node, "inputs");
  uint32_t value = 0;
  for (size_t i = 0; inputs != NULL && i < inputs->count; ++i) {
    if (etx_pt2_find_number(graph, etx_json_member(&inputs->items[i], "arg"),
                            &value)) {
      return true;
    }
  }
  return false;
}

etx_status etx_pt2_use_number(etx_pt2_graph* graph, const etx_json* node,
                              const etx_json* argument, uint32_t* out_value) {
  uint32_t value = 0;
  *out_value = ETX_IR_NONE;
  if (!etx_pt2_find_number(graph, argument, &value)) return ETX_OK;
  if (graph->method->values[value].shape.dtype != ETX_DTYPE_FLOAT64 ||
      etx_pt2_has_doubles(graph, node)) {
    *out_value = value;
    return ETX_OK;
  }
  return cast(graph, value, ETX_DTYPE_FLOAT32, out_value);
}

const etx_aten_schema* etx_pt2_tensor_form(etx_pt2_graph* graph,
                                           etx_text aten) {
  static const char* const others[][2] = {
      {"aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor"},
      {"aten.pow.Scalar", "aten.pow.Tensor_Tensor"},
      {"aten.floor_divide.Scalar", "aten.floor_divide.default"},
      {"aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor"},
      {"aten.where.ScalarOther", "aten.where.self"},
      {"aten.where.ScalarSelf", "aten.where.self"},
      {"aten.where.Scalar", "aten.where.self"},
      {"aten.clamp.default", "aten.clamp.Tensor"},
      {"aten.clamp_min.default", "aten.clamp_min.Tensor"},
      {"aten.clamp_max.default", "aten.clamp_max.Tensor"},
  };
  static const char scalar[] = ".Scalar";
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    if (etx_text_is(aten, others[i][0])) {
      return etx_aten_schema_find(etx_text_of(others[i][1]));
    }
  }
  const size_t suffix = sizeof scalar - 1;
  if (aten.size <= suffix ||
      memcmp(aten.data + aten.size - suffix, scalar, suffix) != 0) {
    return NULL;
  }
  const etx_text stem = {aten.data, aten.size - suffix};
  const etx_text tensor = etx_pool_format(graph->pool, "%t.Tensor", stem);
  return tensor.data == NULL ? NULL : etx_aten_schema_find(tensor);
}

// True for new tensors that are filled with a number: argument `out_number`.
static bool is_filled(etx_text aten, size_t* out_number) {
  static const struct {
    const char* aten;
    size_t number;
  } operators[] = {{"aten.scalar_tensor.default", 0},
                   {"aten.full.default", 1},
                   {"aten.full_like.default", 1},
                   {"aten.new_full.default", 2}};
  for (size_t i = 0; i < sizeof operators / sizeof *operators; ++i) {
    *out_number = operators[i].number;
    if (etx_text_is(aten, operators[i].aten)) return true;
  }
  return false;
}

// A tensor of the sizes of `result` whose elements are all the number.
static etx_status fill(etx_pt2_graph* graph, const etx_ir_value* result,
                       uint32_t* value) {
  etx_ir_arg sizes[ETX_MAX_RANK];
  if (result->shape.rank == 0) return ETX_OK;
  for (size_t i = 0; i < result->shape.rank; ++i) {
    sizes[i] = etx_ir_int(result->shape.dims[i]);
  }
  const etx_ir_arg args[2] = {
      etx_ir_value_arg(*value),
      {ETX_IR_ARG_LIST, {.list = {sizes, result->shape.rank}}}};
  const etx_aten_arguments given = {args, unnamed, 2};
  return etx_pt2_add_node(graph, "aten.expand.default", &given, result, value);
}

etx_status etx_pt2_read_filled(etx_pt2_graph* graph, const etx_json* node,
                               etx_text aten, bool* out_is_read) {
  const etx_json *inputs = NULL, *outputs = NULL;
  etx_text name;
  size_t number = 0, position = 0;
  etx_ir_value result = {0};
  uint32_t value = ETX_IR_NONE;
  *out_is_read = false;
  if (!is_filled(aten, &number)) return ETX_OK;
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, node, "outputs", ETX_JSON_ARRAY, &outputs));
  if (inputs->count <= number || outputs->count != 1) return ETX_OK;
  const etx_json* const filled =
      etx_json_member(&outputs->items[0], "as_tensor");
  if (filled == NULL ||
      !etx_pt2_find_number(
          graph, etx_json_member(&inputs->items[number], "arg"), &value)) {
    return ETX_OK;
  }
  ETX_TRY(etx_pt2_text(graph, filled, "name", &name));
  ETX_TRY(etx_pt2_find_tensor(graph, name, &position));
  ETX_TRY(etx_pt2_shape(graph, &graph->tensor_values->items[position],
                        &result.shape));
  ETX_TRY(cast(graph, value, result.shape.dtype, &value));
  result.name = name;
  ETX_TRY(fill(graph, &result, &value));
  *out_is_read = true;
  return etx_pt2_bind_name(graph, position, ETX_PT2_DEFINED, value);
}

// ---------------------------------------------------------------- item()

etx_status etx_pt2_read_number_item(etx_pt2_graph* graph, uint32_t tensor,
                                    const etx_json* result, bool* out_is_read) {
  const etx_json* const name = name_of(result);
  const etx_dtype dtype = graph->method->values[tensor].shape.dtype;
  const bool is_float = etx_dtype_category_of(dtype) == ETX_CATEGORY_FLOATING;
  *out_is_read = name != NULL && (is_float || dtype == ETX_DTYPE_BOOL);
  if (!*out_is_read) return ETX_OK;
  const etx_ir_arg args[2] = {etx_ir_value_arg(tensor),
                              {.kind = ETX_IR_ARG_LIST}};
  const etx_aten_arguments given = {args, unnamed, 2};
  const etx_ir_value number = {.name = name->string, .shape = {.dtype = dtype}};
  uint32_t value = 0;
  ETX_TRY(
      etx_pt2_add_node(graph, "aten.view.default", &given, &number, &value));
  if (is_float && dtype != ETX_DTYPE_FLOAT64) {
    ETX_TRY(cast(graph, value, ETX_DTYPE_FLOAT32, &value));
  }
  return add_number(graph, name->string, value);
}

// ---------------------------------------------------------------- functions

// An operand as a double or a truth value; ETX_IR_NONE if it is something else.
static etx_status read_operand(etx_pt2_graph* graph, const etx_json* argument,
                               uint32_t* out_value) {
  const etx_json* const integer = etx_json_member(argument, "as_int");
  const etx_json* const real = etx_json_member(argument, "as_float");
  const etx_json* const size =
      etx_json_member(etx_json_member(argument, "as_sym_int"), "as_name");
  etx_ir_arg args[2] = {{0}, {ETX_IR_ARG_DTYPE, {.dtype = ETX_DTYPE_FLOAT64}}};
  if (etx_pt2_find_number(graph, argument, out_value)) {
    if (graph->method->values[*out_value].shape.dtype == ETX_DTYPE_BOOL) {
      return ETX_OK;
    }
    return cast(graph, *out_value, ETX_DTYPE_FLOAT64, out_value);
  }
  *out_value = ETX_IR_NONE;
  if (integer != NULL && integer->kind == ETX_JSON_INT) {
    args[0] = etx_ir_int(integer->integer);
  } else if (real != NULL) {
    args[0].kind = ETX_IR_ARG_DOUBLE;
    ETX_TRY(etx_pt2_double(graph, real, &args[0].as.real));
  } else if (size != NULL && size->kind == ETX_JSON_STRING) {
    etx_dim dim = 0;
    ETX_TRY(etx_pt2_named_size(graph, size->string, &dim));
    args[0] = etx_ir_int(dim);
  } else {
    return ETX_OK;
  }
  const etx_text names[2] = {etx_text_of(""), etx_text_of("dtype")};
  const etx_aten_arguments given = {args, names, 2};
  const etx_ir_value result = {.shape = {.dtype = ETX_DTYPE_FLOAT64}};
  return etx_pt2_add_node(graph, "aten.scalar_tensor.default", &given, &result,
                          out_value);
}

etx_status etx_pt2_compute_number(etx_pt2_graph* graph, const etx_json* node,
                                  etx_text target) {
  const etx_json *inputs = NULL, *outputs = NULL;
  size_t f = 0;
  while (f < sizeof functions / sizeof *functions &&
         !etx_text_is(target, functions[f].target)) {
    ++f;
  }
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, node, "outputs", ETX_JSON_ARRAY, &outputs));
  if (f == sizeof functions / sizeof *functions || outputs->count != 1 ||
      name_of(&outputs->items[0]) == NULL ||
      inputs->count != functions[f].operands) {
    return ETX_OK;
  }
  etx_ir_arg args[2];
  for (size_t i = 0; i < inputs->count; ++i) {
    uint32_t value = 0;
    ETX_TRY(
        read_operand(graph, etx_json_member(&inputs->items[i], "arg"), &value));
    if (value == ETX_IR_NONE) return ETX_OK;
    args[i] = etx_ir_value_arg(value);
  }
  const etx_aten_arguments given = {args, unnamed, inputs->count};
  const etx_text name = name_of(&outputs->items[0])->string;
  const etx_ir_value result = {
      .name = name,
      .shape = {.dtype = functions[f].is_truth ? ETX_DTYPE_BOOL
                                               : ETX_DTYPE_FLOAT64}};
  uint32_t value = 0;
  ETX_TRY(etx_pt2_add_node(graph, functions[f].aten, &given, &result, &value));
  return add_number(graph, name, value);
}
