// Appending lowered nodes: defaults, inferred types, names.

#include "exporter/ir/aten_schema.h"
#include "exporter/lower/builder/builder.h"

// The declared type of the node's first output if its sizes depend on data,
// else NULL.
static const etx_shape* late_shape(const etx_builder* builder) {
  const etx_ir_node* const node = builder->node;
  if (node->op != NULL || node->output_count == 0 ||
      node->outputs[0] == ETX_IR_NONE) {
    return NULL;
  }
  const etx_ir_value* const value = &builder->method->values[node->outputs[0]];
  for (size_t i = 0; value->has_shape && i < value->shape.rank; ++i) {
    if (etx_symbols_late_in(&builder->method->symbols, value->shape.dims[i])) {
      return &value->shape;
    }
  }
  return NULL;
}

// True if a first output of this type sets the late symbol of the node: it is
// the first one that has the symbol as a size.
static bool sets_late(const etx_builder* builder, const etx_shape* shape) {
  const uint32_t late = builder->node->late;
  etx_dim symbol = 0;
  if (late == 0 || builder->node->op != NULL || builder->has_late ||
      etx_symbols_dim(&builder->method->symbols, late - 1, &symbol) != ETX_OK) {
    return false;
  }
  for (size_t i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] == symbol) return true;
  }
  return false;
}

// All arguments of `op` except its out arguments: those given, then defaults.
static etx_status complete_args(etx_builder* builder, const etx_op* op,
                                const etx_ir_arg* args, size_t arg_count,
                                etx_ir_arg all[ETX_MAX_ARGUMENTS],
                                size_t* out_count) {
  etx_pool* const pool = builder->module->pool;
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  etx_argument argument;
  size_t count = 0;
  while (etx_argument_next(&cursor, &argument) && !argument.written) {
    if (count < arg_count) {
      all[count] = args[count];
    } else {
      ETX_TRY(etx_aten_default(pool, &argument, &all[count], builder->diag));
    }
    if (argument.type == ETX_ARGUMENT_SCALAR &&
        all[count].kind == ETX_IR_ARG_VALUE) {
      return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                           "argument '%t' of '%t' is a tensor, expected a "
                           "number",
                           argument.name, builder->node->aten);
    }
    ++count;
  }
  if (arg_count > count) {
    return etx_diag_fail(builder->diag, ETX_INTERNAL,
                         "'%s' was given %z arguments, expected at most %z",
                         op->name, arg_count, count);
  }
  *out_count = count;
  return ETX_OK;
}

static etx_status add_output(etx_builder* builder, const etx_shape* shape,
                             uint32_t* out_value) {
  etx_ir_value value = {{NULL, 0}, true, *shape, ETX_IR_FROM_NODE, 0};
  value.index = (uint32_t)builder->method->node_count;
  value.name = etx_pool_format(builder->module->pool, "%t.%u", builder->name,
                               (uint64_t)++builder->name_count);
  if (value.name.data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_ir_add_value(builder->module, builder->method, &value, out_value);
}

etx_status etx_build_row_outputs(etx_builder* builder, const etx_op* row,
                                 const etx_ir_arg* args, size_t arg_count,
                                 const etx_dtype* dtype, uint32_t* out_values) {
  etx_ir_arg all[ETX_MAX_ARGUMENTS];
  etx_ir_node node = {.aten = {NULL, 0}};
  node.aten = builder->node->aten;
  node.op = row;
  node.args = all;
  node.place = builder->node->place;
  node.branch = builder->node->branch;
  ETX_TRY(complete_args(builder, row, args, arg_count, all, &node.arg_count));
  etx_shape shapes[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const etx_operator_call call = {row, node.args, node.arg_count, dtype,
                                  late_shape(builder)};
  ETX_TRY(etx_type_inference_outputs(builder->method, &call, shapes,
                                     builder->diag));
  node.output_count = etx_type_inference_output_count(row);
  for (size_t i = 0; i < node.output_count; ++i) {
    ETX_TRY(add_output(builder, &shapes[i], &out_values[i]));
  }
  node.outputs = out_values;
  if (sets_late(builder, &shapes[0])) {
    node.late = builder->node->late;
    builder->has_late = true;
  }
  uint32_t index = 0;
  return etx_ir_add_node(builder->module, builder->method, &node, &index);
}

etx_status etx_build_op_outputs(etx_builder* builder, etx_op_id op,
                                const etx_ir_arg* args, size_t arg_count,
                                const etx_dtype* dtype, uint32_t* out_values) {
  return etx_build_row_outputs(builder, etx_op_at(op), args, arg_count, dtype,
                               out_values);
}

// A node of an operator whose result is an integer. Its value has no elements.
static etx_status add_scalar_node(etx_builder* builder, etx_op_id op,
                                  etx_ir_arg* args, size_t arg_count,
                                  uint32_t* out_value) {
  const etx_shape none = {.dtype = ETX_DTYPE_UINT8, .rank = 1, .dims = {0}};
  ETX_TRY(add_output(builder, &none, out_value));
  const etx_ir_node node = {.aten = builder->node->aten,
                            .op = etx_op_at(op),
                            .args = args,
                            .arg_count = arg_count,
                            .outputs = out_value,
                            .output_count = 1,
                            .place = builder->node->place,
                            .branch = builder->node->branch,
                            .late = builder->node->late};
  uint32_t index = 0;
  return etx_ir_add_node(builder->module, builder->method, &node, &index);
}

etx_status etx_build_item(etx_builder* builder, uint32_t self,
                          uint32_t* out_value) {
  etx_ir_arg args[] = {etx_ir_value_arg(self)};
  return add_scalar_node(builder, ETX_OP_local_scalar_dense, args, 1,
                         out_value);
}

etx_status etx_build_check(etx_builder* builder, const etx_ir_arg* condition,
                           const etx_ir_arg* text, uint32_t* out_value) {
  etx_ir_arg args[] = {*condition, etx_ir_int(1), etx_ir_int(1), *text};
  return add_scalar_node(builder, ETX_OP_check_range, args, 4, out_value);
}

// True if a lower bound of a symbol in `size` is not final: the pass `lower`
// raises it if a node refuses its smallest sizes.
static bool may_rise(const etx_symbols* symbols, etx_dim size) {
  const uint64_t used = etx_symbols_in(symbols, size);
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    const etx_symbol* const symbol = &symbols->symbols[i];
    if (((used >> i) & 1) != 0 && symbol->fallback > symbol->minimum) {
      return true;
    }
  }
  return false;
}

etx_status etx_build_at_least(etx_builder* builder, etx_dim size, int64_t least,
                              const char* text) {
  const etx_symbols* const symbols = &builder->method->symbols;
  etx_ir_arg condition = etx_ir_int(0);
  const etx_ir_arg words = {ETX_IR_ARG_STRING, {.string = etx_text_of(text)}};
  uint32_t unread = 0;
  ETX_TRY(etx_symbols_compare(&builder->method->symbols, ETX_SYMBOL_AT_MOST,
                              least, size, &condition.as.integer));
  const bool is_open = !etx_dim_is_number(condition.as.integer);
  if (is_open && builder->target == ETX_TARGET_ETX) {
    return etx_build_check(builder, &condition, &words, &unread);
  }
  if (condition.as.integer == 1) return ETX_OK;
  if (is_open && !may_rise(symbols, size)) return ETX_OK;
  return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT, "'%t': %s",
                       builder->node->aten, text);
}

etx_status etx_build_op(etx_builder* builder, etx_op_id op,
                        const etx_ir_arg* args, size_t arg_count,
                        uint32_t* out_value) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  ETX_TRY(etx_build_op_outputs(builder, op, args, arg_count, NULL, values));
  *out_value = values[0];
  return ETX_OK;
}

etx_status etx_build_unary(etx_builder* builder, etx_op_id op, uint32_t self,
                           uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(self)};
  return etx_build_op(builder, op, args, 1, out_value);
}

etx_status etx_build_binary(etx_builder* builder, etx_op_id op, uint32_t self,
                            uint32_t other, uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_value_arg(other)};
  return etx_build_op(builder, op, args, 2, out_value);
}

etx_status etx_build_binary_number(etx_builder* builder, etx_op_id op,
                                   uint32_t self, double number,
                                   uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_double(number)};
  return etx_build_op(builder, op, args, 2, out_value);
}

etx_status etx_build_int_list(etx_builder* builder, const etx_dim* dims,
                              size_t count, etx_ir_arg* out) {
  etx_ir_arg* const items =
      etx_pool_take(builder->module->pool, count * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) items[i] = etx_ir_int(dims[i]);
  *out = etx_ir_list(items, count);
  return ETX_OK;
}

const etx_shape* etx_builder_shape(const etx_builder* builder, uint32_t value) {
  return &builder->method->values[value].shape;
}

etx_status etx_builder_axis(etx_builder* builder, etx_dim dim, size_t rank,
                            size_t* out_axis) {
  const int64_t count = rank == 0 ? 1 : (int64_t)rank;
  if (!etx_dim_is_number(dim) || dim < -count || dim >= count) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "dimension %i is out of range for a tensor of rank %z",
                         dim, rank);
  }
  *out_axis = (size_t)(dim < 0 ? dim + count : dim);
  return ETX_OK;
}

etx_status etx_builder_product(etx_builder* builder, const etx_dim* dims,
                               size_t first, size_t end, etx_dim* out) {
  etx_dim product = 1;
  for (size_t i = first; i < end; ++i) {
    ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_MULTIPLY,
                              product, dims[i], &product));
  }
  *out = product;
  return ETX_OK;
}

bool etx_builder_same_dims(const etx_builder* builder, const etx_dim* a,
                           const etx_dim* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!etx_symbols_equal(&builder->method->symbols, a[i], b[i])) return false;
  }
  return true;
}

// Dimension `i` from the right; 1 if the shape has fewer dimensions.
static etx_dim dim_from_right(const etx_shape* shape, size_t i) {
  return i < shape->rank ? shape->dims[shape->rank - 1 - i] : 1;
}

etx_status etx_builder_broadcast(etx_builder* builder, const etx_shape* a,
                                 const etx_shape* b, etx_shape* out) {
  etx_shape result = {a->dtype, a->rank > b->rank ? a->rank : b->rank, {0}};
  for (size_t i = 0; i < result.rank; ++i) {
    const etx_dim x = dim_from_right(a, i);
    const etx_dim y = dim_from_right(b, i);
    const bool fits =
        x == 1 || y == 1 || etx_symbols_equal(&builder->method->symbols, x, y);
    if (!fits) {
      return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                           "sizes do not broadcast in dimension -%z", i + 1);
    }
    result.dims[result.rank - 1 - i] = x == 1 ? y : x;
  }
  *out = result;
  return ETX_OK;
}

etx_status etx_builder_refuse_target(const etx_builder* builder) {
  return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                       "'%t' runs only in etx's runtime: plan for target "
                       "'etx'",
                       builder->node->aten);
}
