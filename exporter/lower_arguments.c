// Binding a node's arguments to the ATen schema of its row: positional ones in
// order, keywords by name, defaults for the rest, kinds checked. Archives and
// hand-written graphs come out alike.

#include <stdlib.h>

#include "exporter/lower_internal.h"

static bool text_to_number(etx_text text, etx_ir_arg* out) {
  char buffer[48];
  if (text.size == 0 || text.size >= sizeof buffer) return false;
  memcpy(buffer, text.data, text.size);
  buffer[text.size] = '\0';
  bool is_integer = true;
  for (size_t i = 0; i < text.size; ++i) {
    const char c = text.data[i];
    if (!((c >= '0' && c <= '9') || (c == '-' && i == 0))) is_integer = false;
  }
  char* end = NULL;
  *out = is_integer ? etx_ir_int((etx_dim)strtoll(buffer, &end, 10))
                    : etx_ir_double(strtod(buffer, &end));
  return end != NULL && *end == '\0';
}

static bool is_list_type(etx_argument_type type) {
  return type == ETX_ARGUMENT_INTS || type == ETX_ARGUMENT_FLOATS ||
         type == ETX_ARGUMENT_BOOLS || type == ETX_ARGUMENT_TENSORS ||
         type == ETX_ARGUMENT_OPTIONAL_TENSORS;
}

// One item `count` times: what int[2] makes of a single number.
static etx_status repeat_item(etx_pool* pool, etx_ir_arg item, size_t count,
                              etx_ir_arg* out) {
  etx_ir_arg* const items = etx_pool_take(pool, count * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) items[i] = item;
  *out = etx_ir_list(items, count);
  return ETX_OK;
}

// Items of "[0,1]", without brackets in `text`.
static etx_status list_default(etx_pool* pool, etx_text text,
                               etx_ir_arg* out) {
  etx_ir_arg items[ETX_MAX_RANK];
  size_t count = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size && count < ETX_MAX_RANK; ++i) {
    if (i < text.size && text.data[i] != ',') continue;
    while (start < i && text.data[start] == ' ') ++start;
    const etx_text item = {text.data + start, i - start};
    if (item.size != 0 && text_to_number(item, &items[count])) ++count;
    start = i + 1;
  }
  ETX_TRY(repeat_item(pool, etx_ir_none(), count, out));
  if (count != 0) memcpy(out->as.list.items, items, count * sizeof items[0]);
  return ETX_OK;
}

etx_status etx_lower_default(etx_pool* pool, const etx_argument* argument,
                             etx_ir_arg* out) {
  const etx_text text = argument->default_text;
  *out = etx_ir_none();
  if (text.size == 0 || etx_text_is(text, "None")) return ETX_OK;
  if (etx_text_is(text, "True") || etx_text_is(text, "False")) {
    *out = etx_ir_bool(text.data[0] == 'T');
    return ETX_OK;
  }
  if (text.data[0] == '[') {
    const etx_text inner = {text.data + 1, text.size - 2};
    return list_default(pool, inner, out);
  }
  if (text.data[0] == '\'' || text.data[0] == '"') {
    out->kind = ETX_IR_ARG_STRING;
    out->as.string = (etx_text){text.data + 1, text.size - 2};
    return ETX_OK;
  }
  etx_ir_arg number;
  if (!text_to_number(text, &number)) return ETX_INTERNAL;
  if (!is_list_type(argument->type)) {
    *out = number;
    return ETX_OK;
  }
  const size_t count = argument->fixed_count == 0 ? 1 : argument->fixed_count;
  return repeat_item(pool, number, count, out);
}

static const char* kind_name(etx_ir_arg_kind kind) {
  switch (kind) {
    case ETX_IR_ARG_NONE: return "none";
    case ETX_IR_ARG_VALUE: return "a tensor";
    case ETX_IR_ARG_INT: return "an integer";
    case ETX_IR_ARG_DOUBLE: return "a float";
    case ETX_IR_ARG_BOOL: return "a bool";
    case ETX_IR_ARG_STRING: return "a string";
    case ETX_IR_ARG_DTYPE: return "a dtype";
    case ETX_IR_ARG_LIST: return "a list";
  }
  return "something else";
}

static const char* type_name(etx_argument_type type) {
  switch (type) {
    case ETX_ARGUMENT_TENSOR: return "a tensor";
    case ETX_ARGUMENT_TENSORS: return "a list of tensors";
    case ETX_ARGUMENT_OPTIONAL_TENSORS: return "a list of tensors or none";
    case ETX_ARGUMENT_SCALAR: return "a number";
    case ETX_ARGUMENT_INT: return "an integer";
    case ETX_ARGUMENT_INTS: return "a list of integers";
    case ETX_ARGUMENT_FLOAT: return "a float";
    case ETX_ARGUMENT_FLOATS: return "a list of floats";
    case ETX_ARGUMENT_BOOL: return "a bool";
    case ETX_ARGUMENT_BOOLS: return "a list of bools";
    case ETX_ARGUMENT_STRING: return "a string";
    case ETX_ARGUMENT_SCALAR_TYPE: return "a dtype";
    case ETX_ARGUMENT_MEMORY_FORMAT:
    case ETX_ARGUMENT_LAYOUT:
    case ETX_ARGUMENT_DEVICE: return "anything";
  }
  return "something else";
}

static bool is_number(const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_INT || arg->kind == ETX_IR_ARG_DOUBLE ||
         arg->kind == ETX_IR_ARG_BOOL;
}

// Does every item fit? `kind` NONE in the list is allowed if `none_fits`.
static bool items_are(const etx_ir_arg* list, etx_ir_arg_kind kind,
                      bool none_fits) {
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const etx_ir_arg_kind item = list->as.list.items[i].kind;
    if (item != kind && !(none_fits && item == ETX_IR_ARG_NONE)) return false;
  }
  return true;
}

static bool list_fits(const etx_ir_arg* arg, etx_argument_type type) {
  switch (type) {
    case ETX_ARGUMENT_INTS: return items_are(arg, ETX_IR_ARG_INT, false);
    case ETX_ARGUMENT_BOOLS: return items_are(arg, ETX_IR_ARG_BOOL, false);
    case ETX_ARGUMENT_TENSORS: return items_are(arg, ETX_IR_ARG_VALUE, false);
    case ETX_ARGUMENT_OPTIONAL_TENSORS:
      return items_are(arg, ETX_IR_ARG_VALUE, true);
    default: return true;
  }
}

// Fits as it is, or after the conversions that Python's binding makes: an
// integer for a float, one number for a list.
static bool fits(const etx_ir_arg* arg, const etx_argument* argument) {
  if (arg->kind == ETX_IR_ARG_LIST && is_list_type(argument->type)) {
    return list_fits(arg, argument->type);
  }
  switch (argument->type) {
    case ETX_ARGUMENT_TENSOR:
      return arg->kind == ETX_IR_ARG_VALUE || is_number(arg);
    case ETX_ARGUMENT_SCALAR: return is_number(arg);
    case ETX_ARGUMENT_INT:
    case ETX_ARGUMENT_INTS: return arg->kind == ETX_IR_ARG_INT;
    case ETX_ARGUMENT_FLOAT:
    case ETX_ARGUMENT_FLOATS:
      return arg->kind == ETX_IR_ARG_DOUBLE || arg->kind == ETX_IR_ARG_INT;
    case ETX_ARGUMENT_BOOL:
    case ETX_ARGUMENT_BOOLS: return arg->kind == ETX_IR_ARG_BOOL;
    case ETX_ARGUMENT_STRING: return arg->kind == ETX_IR_ARG_STRING;
    case ETX_ARGUMENT_SCALAR_TYPE: return arg->kind == ETX_IR_ARG_DTYPE;
    case ETX_ARGUMENT_MEMORY_FORMAT:
    case ETX_ARGUMENT_LAYOUT:
    case ETX_ARGUMENT_DEVICE: return true;
    default: return false;
  }
}

static etx_status convert(etx_lower* lower, const etx_argument* argument,
                          etx_ir_arg* arg) {
  const bool whole = arg->kind == ETX_IR_ARG_INT &&
                     etx_dim_is_number(arg->as.integer);
  if (argument->type == ETX_ARGUMENT_FLOAT && whole) {
    *arg = etx_ir_double((double)arg->as.integer);
  }
  if (is_list_type(argument->type) && arg->kind != ETX_IR_ARG_LIST &&
      arg->kind != ETX_IR_ARG_NONE) {
    const size_t count = argument->fixed_count == 0 ? 1 : argument->fixed_count;
    return repeat_item(lower->module->pool, *arg, count, arg);
  }
  return ETX_OK;
}

static etx_status bind_one(etx_lower* lower, const etx_argument* argument,
                           const etx_ir_arg* given, etx_ir_arg* out) {
  const bool missing = given == NULL || given->kind == ETX_IR_ARG_NONE;
  if (missing && given != NULL && argument->optional) {
    *out = etx_ir_none();
    return ETX_OK;
  }
  if (missing) {
    if (argument->default_text.size == 0 && !argument->optional) {
      return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                           "'%t' wants an argument '%t'", lower->node->aten,
                           argument->name);
    }
    return etx_lower_default(lower->module->pool, argument, out);
  }
  if (!fits(given, argument)) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "argument '%t' of '%t' is %s, expected %s",
                         argument->name, lower->node->aten,
                         kind_name(given->kind), type_name(argument->type));
  }
  *out = *given;
  return convert(lower, argument, out);
}

static etx_text keyword_of(const etx_ir_node* node, size_t i) {
  const etx_text none = {NULL, 0};
  return node->arg_names == NULL ? none : node->arg_names[i];
}

// The node's argument for schema position `position`; NULL if left out.
static const etx_ir_arg* find_given(const etx_ir_node* node, size_t position,
                                    const etx_argument* argument) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_text keyword = keyword_of(node, i);
    const bool here = keyword.size == 0 ? i == position
                                        : etx_text_equal(keyword,
                                                         argument->name);
    if (here) return &node->args[i];
  }
  return NULL;
}

// Every argument of the node must have found a place in the schema.
static etx_status check_surplus(const etx_lower* lower, size_t schema_count) {
  const etx_ir_node* const node = lower->node;
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_text keyword = keyword_of(node, i);
    bool known = keyword.size == 0 && i < schema_count;
    etx_argument_cursor cursor = etx_argument_first(lower->row->arguments);
    etx_argument argument;
    while (!known && keyword.size != 0 && etx_argument_next(&cursor, &argument)) {
      known = etx_text_equal(keyword, argument.name);
    }
    if (known) continue;
    if (keyword.size != 0) {
      return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                           "'%t' has no argument '%t'", node->aten, keyword);
    }
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' takes %z arguments, found %z", node->aten,
                         schema_count, node->arg_count);
  }
  return ETX_OK;
}

etx_status etx_lower_bind(etx_lower* lower) {
  etx_argument_cursor cursor = etx_argument_first(lower->row->arguments);
  etx_argument argument;
  size_t count = 0;
  while (count < ETX_MAX_ARGUMENTS && etx_argument_next(&cursor, &argument)) {
    const etx_ir_arg* const given = find_given(lower->node, count, &argument);
    ETX_TRY(bind_one(lower, &argument, given, &lower->args[count]));
    ++count;
  }
  lower->arg_count = count;
  return check_surplus(lower, count);
}
