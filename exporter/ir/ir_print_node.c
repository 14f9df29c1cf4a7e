// Prints a node as a line of YAML. Imported nodes omit arguments that have
// their default; lowered nodes show every argument.

#include "exporter/ir/aten_schema.h"
#include "exporter/ir/own_operators.h"
#include "exporter/ir/ir_print_internal.h"

void etx_ir_put_string(etx_ir_printer* p, const char* string) {
  etx_text_put_string(p->out, string);
}

void etx_ir_put_size(etx_ir_printer* p, etx_dim dim) {
  if (etx_dim_is_number(dim)) {
    etx_text_put_format(p->out, "%i", dim);
    return;
  }
  etx_text text = {NULL, 0};
  const etx_status status =
      etx_symbols_print(&p->method->symbols, dim, p->out->pool, &text);
  if (status != ETX_OK) p->status = status;
  etx_text_put_text(p->out, text);
}

void etx_ir_put_type(etx_ir_printer* p, const etx_shape* shape) {
  etx_ir_put_string(p, "\"");
  etx_ir_put_string(p, etx_dtype_name(shape->dtype));
  etx_ir_put_string(p, "[");
  for (size_t i = 0; i < shape->rank; ++i) {
    if (i != 0) etx_ir_put_string(p, ", ");
    etx_ir_put_size(p, shape->dims[i]);
  }
  etx_ir_put_string(p, "]\"");
}

void etx_ir_put_value(etx_ir_printer* p, uint32_t value) {
  if (value == ETX_IR_NONE) {
    etx_ir_put_string(p, "null");
  } else {
    etx_ir_print_literal(p->out, p->method->values[value].name);
  }
}

void etx_ir_put_symbolic(etx_ir_printer* p, etx_dim dim) {
  etx_ir_put_string(p, "{sym: \"");
  etx_ir_put_size(p, dim);
  etx_ir_put_string(p, "\"}");
}

// ---------------------------------------------------------------- arguments

static void put_memory_format(etx_ir_printer* p, int64_t code) {
  static const char* const names[] = {"contiguous_format", "preserve_format",
                                      "channels_last", "channels_last_3d"};
  etx_ir_put_string(p, names[code & 3]);
}

static void put_item(etx_ir_printer* p, etx_argument_type type,
                     const etx_ir_arg* arg) {
  switch (arg->kind) {
    case ETX_IR_ARG_VALUE:
      etx_ir_put_value(p, arg->as.value);
      return;
    case ETX_IR_ARG_DTYPE:
      etx_ir_put_string(p, etx_dtype_name(arg->as.dtype));
      return;
    case ETX_IR_ARG_INT:
      if (!etx_dim_is_number(arg->as.integer)) {
        etx_ir_put_symbolic(p, arg->as.integer);
      } else if (type == ETX_ARGUMENT_MEMORY_FORMAT) {
        put_memory_format(p, arg->as.integer);
      } else if (type == ETX_ARGUMENT_LAYOUT) {
        etx_ir_put_string(p, "strided");
      } else {
        etx_ir_print_fixed(p->out, arg);
      }
      return;
    case ETX_IR_ARG_STRING:
      if (type == ETX_ARGUMENT_DEVICE) {
        etx_ir_print_literal(p->out, arg->as.string);
        return;
      }
      etx_ir_print_fixed(p->out, arg);
      return;
    default:
      etx_ir_print_fixed(p->out, arg);
      return;
  }
}

static void put_arg(etx_ir_printer* p, etx_argument_type type,
                    const etx_ir_arg* arg) {
  if (arg->kind != ETX_IR_ARG_LIST) {
    put_item(p, type, arg);
    return;
  }
  etx_ir_put_string(p, "[");
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    if (i != 0) etx_ir_put_string(p, ", ");
    put_item(p, type, &arg->as.list.items[i]);
  }
  etx_ir_put_string(p, "]");
}

static bool is_default(etx_ir_printer* p, const etx_argument* argument,
                       const etx_ir_arg* arg) {
  etx_ir_arg value = {ETX_IR_ARG_NONE, {0}};
  if (argument->default_text.size == 0) return false;
  const etx_status status =
      etx_aten_default(p->out->pool, argument, &value, NULL);
  if (status != ETX_OK) p->status = status;
  return etx_ir_args_equal(&value, arg);
}

// Positional arguments up to the last one without its default, then the
// keyword-only arguments without their defaults.
static void put_imported_args(etx_ir_printer* p, const etx_ir_node* node,
                              const etx_aten_schema* schema) {
  size_t positional = 0, keywords = 0;
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_argument argument = etx_aten_schema_argument(schema, i);
    if (is_default(p, &argument, &node->args[i])) continue;
    if (argument.keyword_only) {
      ++keywords;
    } else {
      positional = i + 1;
    }
  }
  etx_ir_put_string(p, ", args: [");
  for (size_t i = 0; i < positional; ++i) {
    if (i != 0) etx_ir_put_string(p, ", ");
    put_arg(p, etx_aten_schema_argument(schema, i).type, &node->args[i]);
  }
  etx_ir_put_string(p, "]");
  if (keywords == 0) return;
  const char* separator = ", kwargs: {";
  for (size_t i = positional; i < node->arg_count; ++i) {
    const etx_argument argument = etx_aten_schema_argument(schema, i);
    if (!argument.keyword_only || is_default(p, &argument, &node->args[i])) {
      continue;
    }
    etx_ir_put_string(p, separator);
    etx_text_put_text(p->out, argument.name);
    etx_ir_put_string(p, ": ");
    put_arg(p, argument.type, &node->args[i]);
    separator = ", ";
  }
  etx_ir_put_string(p, "}");
}

static void put_all_args(etx_ir_printer* p, const etx_ir_node* node) {
  etx_argument_cursor cursor =
      etx_argument_first(node->op == NULL ? "" : node->op->arguments);
  etx_ir_put_string(p, ", args: [");
  for (size_t i = 0; i < node->arg_count; ++i) {
    etx_argument argument = {0};
    (void)etx_argument_next(&cursor, &argument);
    if (i != 0) etx_ir_put_string(p, ", ");
    put_arg(p, argument.type, &node->args[i]);
  }
  etx_ir_put_string(p, "]");
}

// ---------------------------------------------------------------- nodes

// "out: y, type: ..." of a node.
static void put_results(etx_ir_printer* p, const etx_ir_node* node,
                        bool is_list) {
  bool has_type = false;
  etx_ir_put_string(p, is_list ? "out: [" : "out: ");
  for (size_t i = 0; i < node->output_count; ++i) {
    if (i != 0) etx_ir_put_string(p, ", ");
    etx_ir_put_value(p, node->outputs[i]);
    if (node->outputs[i] != ETX_IR_NONE) {
      has_type = has_type || p->method->values[node->outputs[i]].has_shape;
    }
  }
  etx_ir_put_string(p, is_list ? "]" : "");
  if (!has_type) return;
  etx_ir_put_string(p, is_list ? ", type: [" : ", type: ");
  for (size_t i = 0; i < node->output_count; ++i) {
    const etx_ir_value* const value =
        node->outputs[i] == ETX_IR_NONE ? NULL
                                        : &p->method->values[node->outputs[i]];
    if (i != 0) etx_ir_put_string(p, ", ");
    if (value != NULL && value->has_shape) {
      etx_ir_put_type(p, &value->shape);
    } else {
      etx_ir_put_string(p, "null");
    }
  }
  etx_ir_put_string(p, is_list ? "]" : "");
}

void etx_ir_put_node(etx_ir_printer* p, const etx_ir_node* node) {
  const etx_aten_schema* const schema =
      node->op == NULL ? etx_ir_schema_find(p->module, node->aten) : NULL;
  const bool is_list = node->output_count != 1 ||
                       node->outputs[0] == ETX_IR_NONE ||
                       (schema != NULL && schema->results == ETX_ATEN_LIST);
  etx_ir_put_string(p, "{");
  put_results(p, node, is_list);
  etx_ir_put_string(p, ", op: ");
  if (node->op == NULL) {
    etx_ir_print_literal(p->out, node->aten);
  } else {
    etx_text_put_format(p->out,
                        node->op->overload[0] == '\0' ? "\"%s\"" : "\"%s.%s\"",
                        node->op->name, node->op->overload);
  }
  if (schema != NULL &&
      node->arg_count == etx_aten_schema_argument_count(schema)) {
    put_imported_args(p, node, schema);
  } else {
    put_all_args(p, node);
  }
  if (node->late != 0) {
    etx_ir_put_string(p, ", sets: ");
    etx_ir_print_literal(p->out,
                         p->method->symbols.symbols[node->late - 1].name);
  }
  etx_ir_put_string(p, "}\n");
}
