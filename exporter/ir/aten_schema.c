// The schemas of aten_operators.def as a sorted table, and how the arguments of
// a node are checked and completed with them.

#include "exporter/ir/aten_schema.h"

#include <stdlib.h>

#include "exporter/host/nearest_name.h"

static const etx_aten_schema schemas[] = {
#define ATEN(name, arguments, results, lowering) {name, arguments, results},
#include "exporter/ir/aten_operators.def"
#undef ATEN
};

size_t etx_aten_schema_count(void) {
  return sizeof schemas / sizeof schemas[0];
}

const etx_aten_schema* etx_aten_schema_at(size_t index) {
  return &schemas[index];
}

const etx_aten_schema* etx_aten_schema_find(etx_text name) {
  size_t low = 0, high = etx_aten_schema_count();
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = etx_text_compare(etx_text_of(schemas[middle].name), name);
    if (order == 0) return &schemas[middle];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

bool etx_aten_may_alias(const etx_aten_schema* schema) {
  return strstr(schema->arguments, "(a)") != NULL;
}

size_t etx_aten_schema_argument_count(const etx_aten_schema* schema) {
  etx_argument_cursor cursor = etx_argument_first(schema->arguments);
  etx_argument argument;
  size_t count = 0;
  while (etx_argument_next(&cursor, &argument)) ++count;
  return count;
}

etx_argument etx_aten_schema_argument(const etx_aten_schema* schema,
                                      size_t index) {
  etx_argument_cursor cursor = etx_argument_first(schema->arguments);
  etx_argument argument = {0};
  for (size_t i = 0; i <= index; ++i) {
    if (!etx_argument_next(&cursor, &argument)) break;
  }
  return argument;
}

// ---------------------------------------------------------------- defaults

static bool is_list(etx_argument_type type) {
  return type == ETX_ARGUMENT_TENSORS ||
         type == ETX_ARGUMENT_OPTIONAL_TENSORS || type == ETX_ARGUMENT_INTS ||
         type == ETX_ARGUMENT_FLOATS || type == ETX_ARGUMENT_BOOLS;
}

// Parses a number of a default value. Rows are trusted, so there is no error.
static etx_ir_arg number_default(etx_text text, bool is_real) {
  char buffer[40] = {0};
  memcpy(buffer, text.data,
         text.size < sizeof buffer ? text.size : sizeof buffer - 1);
  etx_ir_arg arg = {ETX_IR_ARG_DOUBLE, {0}};
  if (is_real || strpbrk(buffer, ".e") != NULL) {
    arg.as.real = strtod(buffer, NULL);
    return arg;
  }
  return etx_ir_int(strtoll(buffer, NULL, 10));
}

static etx_ir_arg item_default(const etx_argument* argument, etx_text text) {
  etx_ir_arg arg = {ETX_IR_ARG_NONE, {0}};
  if (etx_text_is(text, "None")) return arg;
  if (etx_text_is(text, "True") || etx_text_is(text, "False")) {
    arg.kind = ETX_IR_ARG_BOOL;
    arg.as.boolean = etx_text_is(text, "True");
    return arg;
  }
  switch (argument->type) {
    case ETX_ARGUMENT_STRING:  // in quotes
      arg.kind = ETX_IR_ARG_STRING;
      arg.as.string.data = text.data + 1;
      arg.as.string.size = text.size - 2;
      return arg;
    case ETX_ARGUMENT_SCALAR_TYPE:  // PyTorch's codes are those of etx_dtype
      arg.kind = ETX_IR_ARG_DTYPE;
      arg.as.dtype = (etx_dtype)number_default(text, false).as.integer;
      return arg;
    case ETX_ARGUMENT_FLOAT:
    case ETX_ARGUMENT_FLOATS:
      return number_default(text, true);
    default:
      return number_default(text, false);
  }
}

// "[0, 1]", "[]", or one number, which is repeated fixed_count times.
static etx_status list_default(etx_pool* pool, const etx_argument* argument,
                               etx_text text, etx_ir_arg* out_arg) {
  etx_ir_arg* const items =
      etx_pool_take(pool, ETX_MAX_ARGUMENTS * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  size_t count = 0;
  if (text.data[0] != '[') {
    do {
      items[count++] = item_default(argument, text);
    } while (count < argument->fixed_count);
  } else {
    size_t at = 1;
    while (text.data[at] != ']' && count < ETX_MAX_ARGUMENTS) {
      size_t end = at;
      while (text.data[end] != ',' && text.data[end] != ']') ++end;
      const etx_text item = {text.data + at, end - at};
      items[count++] = item_default(argument, item);
      at = end;
      while (text.data[at] == ',' || text.data[at] == ' ') ++at;
    }
  }
  out_arg->kind = ETX_IR_ARG_LIST;
  out_arg->as.list.items = items;
  out_arg->as.list.count = count;
  return ETX_OK;
}

etx_status etx_aten_default(etx_pool* pool, const etx_argument* argument,
                            etx_ir_arg* out_arg, etx_diag* diag) {
  if (argument->default_text.size == 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "argument '%t' is missing",
                         argument->name);
  }
  if (is_list(argument->type) && !etx_text_is(argument->default_text, "None")) {
    return list_default(pool, argument, argument->default_text, out_arg);
  }
  *out_arg = item_default(argument, argument->default_text);
  return ETX_OK;
}

// ---------------------------------------------------------------- kinds

static bool is_number(const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_INT || arg->kind == ETX_IR_ARG_DOUBLE ||
         arg->kind == ETX_IR_ARG_BOOL;
}

static bool accepts_item(etx_argument_type type, const etx_ir_arg* arg) {
  switch (type) {
    case ETX_ARGUMENT_TENSOR:
      return arg->kind == ETX_IR_ARG_VALUE || is_number(arg);
    case ETX_ARGUMENT_TENSORS:
      return arg->kind == ETX_IR_ARG_VALUE;
    case ETX_ARGUMENT_OPTIONAL_TENSORS:
      return arg->kind == ETX_IR_ARG_VALUE || arg->kind == ETX_IR_ARG_NONE;
    case ETX_ARGUMENT_SCALAR:
      // Some exports pass a tensor of rank 0 for a number.
      return is_number(arg) || arg->kind == ETX_IR_ARG_VALUE;
    case ETX_ARGUMENT_INT:
    case ETX_ARGUMENT_INTS:
      return arg->kind == ETX_IR_ARG_INT;
    case ETX_ARGUMENT_FLOAT:
    case ETX_ARGUMENT_FLOATS:
      return arg->kind == ETX_IR_ARG_DOUBLE || arg->kind == ETX_IR_ARG_INT;
    case ETX_ARGUMENT_BOOL:
    case ETX_ARGUMENT_BOOLS:
      return arg->kind == ETX_IR_ARG_BOOL;
    case ETX_ARGUMENT_STRING:
    case ETX_ARGUMENT_DEVICE:
      return arg->kind == ETX_IR_ARG_STRING;
    case ETX_ARGUMENT_SCALAR_TYPE:
      return arg->kind == ETX_IR_ARG_DTYPE;
    case ETX_ARGUMENT_MEMORY_FORMAT:
    case ETX_ARGUMENT_LAYOUT:
      return arg->kind == ETX_IR_ARG_INT;
  }
  return false;
}

bool etx_aten_accepts(const etx_argument* argument, const etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_NONE && argument->optional) return true;
  if (!is_list(argument->type)) return accepts_item(argument->type, arg);
  if (arg->kind != ETX_IR_ARG_LIST) return false;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    if (!accepts_item(argument->type, &arg->as.list.items[i])) return false;
  }
  return true;
}

// Repeats a single number for a list of fixed length: int[2] accepts 3 as
// [3, 3].
static etx_status repeat_number(etx_pool* pool, const etx_argument* argument,
                                etx_ir_arg* arg) {
  if (!is_list(argument->type) || argument->fixed_count == 0 ||
      !is_number(arg)) {
    return ETX_OK;
  }
  etx_ir_arg* const items =
      etx_pool_take(pool, argument->fixed_count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < argument->fixed_count; ++i) items[i] = *arg;
  arg->kind = ETX_IR_ARG_LIST;
  arg->as.list.items = items;
  arg->as.list.count = argument->fixed_count;
  return ETX_OK;
}

// ---------------------------------------------------------------- completion

// Finds the position in the schema of the written argument `index`, whose
// keyword is `name`.
static etx_status find_position(const etx_aten_schema* schema, etx_text name,
                                size_t index, size_t argument_count,
                                size_t* out_position, etx_diag* diag) {
  if (name.size == 0) {
    if (index < argument_count &&
        !etx_aten_schema_argument(schema, index).keyword_only) {
      *out_position = index;
      return ETX_OK;
    }
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "too many positional arguments for %s(%s)",
                         schema->name, schema->arguments);
  }
  etx_nearest_name nearest = etx_nearest_start(name);
  for (size_t i = 0; i < argument_count; ++i) {
    const etx_argument argument = etx_aten_schema_argument(schema, i);
    etx_nearest_offer(&nearest, argument.name);
    if (!etx_text_equal(argument.name, name)) continue;
    *out_position = i;
    return ETX_OK;
  }
  char hint[96];
  return etx_diag_fail(diag, ETX_BAD_FILE, "'%s' has no argument '%t'%s",
                       schema->name, name,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}

etx_status etx_aten_complete(etx_pool* pool, const etx_aten_schema* schema,
                             const etx_aten_arguments* given, etx_ir_node* node,
                             etx_diag* diag) {
  const size_t argument_count = etx_aten_schema_argument_count(schema);
  etx_ir_arg* const full = etx_pool_take(pool, argument_count * sizeof *full);
  bool* const is_given = etx_pool_take(pool, argument_count * sizeof *is_given);
  if (full == NULL || is_given == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < given->count; ++i) {
    size_t position = 0;
    ETX_TRY(find_position(schema, given->names[i], i, argument_count, &position,
                          diag));
    const etx_argument argument = etx_aten_schema_argument(schema, position);
    if (is_given[position]) {
      return etx_diag_fail(diag, ETX_BAD_FILE, "argument '%t' is given twice",
                           argument.name);
    }
    is_given[position] = true;
    full[position] = given->items[i];
    ETX_TRY(repeat_number(pool, &argument, &full[position]));
    if (!etx_aten_accepts(&argument, &full[position])) {
      return etx_diag_fail(diag, ETX_BAD_FILE,
                           "argument '%t' has the wrong type for %s(%s)",
                           argument.name, schema->name, schema->arguments);
    }
  }
  for (size_t i = 0; i < argument_count; ++i) {
    if (is_given[i]) continue;
    const etx_argument argument = etx_aten_schema_argument(schema, i);
    ETX_TRY(etx_aten_default(pool, &argument, &full[i], diag));
  }
  node->args = full;
  node->arg_count = argument_count;
  node->arg_names = NULL;
  return ETX_OK;
}
