// The lowerings of aten_operators.def as a sorted table, and how a lowering
// function gets the arguments of a node.

#include "exporter/ir/own_operators.h"
#include "exporter/lower/builder/lowering_functions.h"
#include "exporter/lower/lowering_table.h"

static const etx_lowering rows[] = {
#define ATEN(name, arguments, results, lowering) {name, lowering},
#define LOWER(function) etx_lowering_##function, NULL, ETX_OP_COUNT
#define LOWER_OP(function, op) etx_lowering_##function, NULL, ETX_OP_##op
#define LOWER_ETX(function, etx_function, op) \
  etx_lowering_##function, etx_lowering_##etx_function, ETX_OP_##op
#define REFUSED NULL, NULL, ETX_OP_COUNT
#include "exporter/ir/aten_operators.def"
#undef ATEN
#undef LOWER
#undef LOWER_OP
#undef LOWER_ETX
#undef REFUSED
};

const etx_lowering* etx_lowering_find(etx_text aten) {
  size_t low = 0, high = sizeof rows / sizeof rows[0];
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = etx_text_compare(etx_text_of(rows[middle].aten), aten);
    if (order == 0) return rows[middle].function == NULL ? NULL : &rows[middle];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

// Functions that accept a number or a tensor for each of their operands.
static bool takes_numbers(const etx_lowering* row) {
  static etx_status (*const functions[])(etx_builder*) = {
      etx_lowering_promoted,
      etx_lowering_divide,
      etx_lowering_float_promoted,
      etx_lowering_divide_mode,
      etx_lowering_floor_divide,
      etx_lowering_reverse_subtract,
      etx_lowering_tensor_and_number,
      etx_lowering_power,
      etx_lowering_power_of_scalar,
      etx_lowering_where,
      etx_lowering_addcmul,
      etx_lowering_addcdiv,
      etx_lowering_lerp,
      etx_lowering_clamp_tensor};
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    if (row->function == functions[i]) return true;
  }
  return false;
}

// Functions that accept a 0-d tensor as the number to fill with.
static bool takes_fill_tensor(const etx_lowering* row) {
  return row->function == etx_lowering_scalar_tensor ||
         row->function == etx_lowering_full ||
         row->function == etx_lowering_full_like ||
         row->function == etx_lowering_fill ||
         row->function == etx_lowering_new_full;
}

static etx_status bind_item(etx_builder* builder, etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_NONE || arg->kind == ETX_IR_ARG_VALUE) {
    return ETX_OK;
  }
  uint32_t value = 0;
  ETX_TRY(etx_build_tensor(builder, arg, &value));
  *arg = etx_ir_value_arg(value);
  return ETX_OK;
}

// Copies a list of tensors, so that the lowering function may change it.
static etx_status bind_items(etx_builder* builder, etx_ir_arg* arg) {
  const size_t count = arg->as.list.count;
  etx_ir_arg* const items =
      etx_pool_take(builder->module->pool, count * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  if (count != 0) memcpy(items, arg->as.list.items, count * sizeof *items);
  arg->as.list.items = items;
  for (size_t i = 0; i < count; ++i) ETX_TRY(bind_item(builder, &items[i]));
  return ETX_OK;
}

// As in PyTorch, a graph may have a number where the schema has a tensor, and a
// tensor where it has a number. For functions that do not accept both, numbers
// become 0-d tensors, and tensors in place of numbers are refused.
static etx_status bind_one(etx_builder* builder, const etx_argument* argument,
                           etx_ir_arg* arg) {
  const bool any = takes_numbers(builder->row);
  if (argument->type == ETX_ARGUMENT_TENSOR && !any) {
    return bind_item(builder, arg);
  }
  if (arg->kind == ETX_IR_ARG_LIST && argument->type == ETX_ARGUMENT_TENSORS) {
    return bind_items(builder, arg);
  }
  if (argument->type == ETX_ARGUMENT_SCALAR && arg->kind == ETX_IR_ARG_VALUE &&
      !any && !takes_fill_tensor(builder->row)) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "argument '%t' of '%t' is a tensor, expected a number",
                         argument->name, builder->node->aten);
  }
  return ETX_OK;
}

etx_status etx_lowering_bind(etx_builder* builder) {
  const etx_ir_node* const node = builder->node;
  const etx_aten_schema* const schema =
      etx_ir_schema_find(builder->module, node->aten);
  const size_t count =
      schema == NULL ? 0 : etx_aten_schema_argument_count(schema);
  if (count != node->arg_count || count > ETX_MAX_ARGUMENTS) {
    return etx_diag_fail(builder->diag, ETX_INTERNAL,
                         "'%t' has %z arguments, its schema %z", node->aten,
                         node->arg_count, count);
  }
  etx_argument_cursor cursor = etx_argument_first(schema->arguments);
  etx_argument argument;
  for (size_t i = 0; i < count && etx_argument_next(&cursor, &argument); ++i) {
    etx_ir_arg* const arg = &builder->args[i];
    *arg = node->args[i];
    const bool whole =
        arg->kind == ETX_IR_ARG_INT && etx_dim_is_number(arg->as.integer);
    if (argument.type == ETX_ARGUMENT_FLOAT && whole) {
      *arg = etx_ir_double((double)arg->as.integer);
    }
    ETX_TRY(bind_one(builder, &argument, arg));
  }
  builder->arg_count = count;
  return ETX_OK;
}
