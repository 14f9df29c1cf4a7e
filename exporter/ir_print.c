// One line for each input, buffer and node. Imported nodes leave out what
// their schema supplies; lowered ones show every argument.

#include "exporter/ir_print.h"

#include "exporter/aten_schema.h"
#include "exporter/uniform_value.h"

typedef struct printer {
  const etx_ir_module* module;
  const etx_ir_method* method;
  const etx_ir_print_options* options;
  etx_text_buffer* out;
  etx_status status;
} printer;

static void put(printer* p, const char* string) {
  etx_text_put_string(p->out, string);
}

// ---------------------------------------------------------------- words

static bool is_plain_word(etx_text word) {
  static const char* const taken[] = {"null", "Null",  "NULL",  "true", "True",
                                      "TRUE", "false", "False", "FALSE"};
  if (word.size == 0) return false;
  for (size_t i = 0; i < word.size; ++i) {
    const char c = word.data[i];
    const bool is_letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool is_inner = (c >= '0' && c <= '9') || c == '.';
    if (!is_letter && !(i > 0 && is_inner)) return false;
  }
  for (size_t i = 0; i < sizeof taken / sizeof taken[0]; ++i) {
    if (etx_text_is(word, taken[i])) return false;
  }
  return true;
}

// Reads one code point of UTF-8; 0 bytes if the text is not UTF-8 here.
static size_t read_code_point(etx_text text, size_t at, uint32_t* out) {
  const unsigned char first = (unsigned char)text.data[at];
  const size_t count = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + count > text.size) return 0;
  uint32_t point = first & (0xffu >> (count + 1));
  for (size_t i = 1; i < count; ++i) {
    const unsigned char c = (unsigned char)text.data[at + i];
    if ((c & 0xc0) != 0x80) return 0;
    point = point << 6 | (c & 0x3fu);
  }
  *out = point;
  return count;
}

// As in "\x07", "\u00e9", "\U0001f600".
static void put_escape(etx_text_buffer* out, uint32_t point) {
  static const char hex[] = "0123456789abcdef";
  const unsigned digits = point < 0x100 ? 2 : point < 0x10000 ? 4 : 8;
  char text[10] = {'\\', digits == 2 ? 'x' : digits == 4 ? 'u' : 'U'};
  for (unsigned i = 0; i < digits; ++i) {
    text[2 + i] = hex[point >> 4 * (digits - 1 - i) & 15];
  }
  etx_text_put(out, text, 2 + digits);
}

void etx_ir_print_word(etx_text_buffer* out, etx_text word) {
  if (is_plain_word(word)) {
    etx_text_put_text(out, word);
    return;
  }
  etx_text_put_string(out, "\"");
  for (size_t i = 0; i < word.size; ++i) {
    const unsigned char c = (unsigned char)word.data[i];
    uint32_t point = c;
    if (c == '"' || c == '\\') {
      const char pair[2] = {'\\', (char)c};
      etx_text_put(out, pair, 2);
    } else if (c >= 0x20 && c < 0x7f) {
      etx_text_put(out, &word.data[i], 1);
    } else {
      const size_t count = read_code_point(word, i, &point);
      if (count > 1) i += count - 1;
      put_escape(out, point);
    }
  }
  etx_text_put_string(out, "\"");
}

void etx_ir_print_fixed(etx_text_buffer* out, const etx_ir_arg* arg) {
  char text[48];
  switch (arg->kind) {
    case ETX_IR_ARG_INT:
      etx_text_put_format(out, "%i", arg->as.integer);
      return;
    case ETX_IR_ARG_DOUBLE:
      etx_double_text(arg->as.real, text, sizeof text);
      etx_text_put_string(out, text);
      return;
    case ETX_IR_ARG_BOOL:
      etx_text_put_string(out, arg->as.boolean ? "true" : "false");
      return;
    case ETX_IR_ARG_STRING:
      etx_text_put_string(out, "{str: ");
      etx_ir_print_word(out, arg->as.string);
      etx_text_put_string(out, "}");
      return;
    default:
      etx_text_put_string(out, "null");
      return;
  }
}

void etx_ir_print_constant(const etx_ir_module* module, uint32_t constant,
                           const etx_ir_print_options* options,
                           etx_text_buffer* out) {
  char text[48];
  if (etx_uniform_text(&module->constants[constant], text, sizeof text)) {
    etx_text_put_string(out, text);
    return;
  }
  const bool is_named = options != NULL && options->tensor_names != NULL;
  const etx_text file =
      is_named ? options->weights_file : etx_text_of("constants");
  etx_text reference =
      etx_pool_format(out->pool, "%t#%u", file, (uint64_t)constant);
  if (is_named) {
    const etx_text name = options->tensor_names[constant];
    char* const joined = etx_pool_take(out->pool, file.size + 1 + name.size);
    if (joined == NULL) {
      out->status = ETX_OUT_OF_MEMORY;
      return;
    }
    memcpy(joined, file.data, file.size);
    joined[file.size] = '#';
    if (name.size != 0) memcpy(joined + file.size + 1, name.data, name.size);
    reference.data = joined;
    reference.size = file.size + 1 + name.size;
  }
  etx_text_put_string(out, "{tensor: ");
  etx_ir_print_word(out, reference);
  etx_text_put_string(out, "}");
}

// ---------------------------------------------------------------- types

static void put_size(printer* p, etx_dim dim) {
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

static void put_type(printer* p, const etx_shape* shape) {
  put(p, "\"");
  put(p, etx_dtype_name(shape->dtype));
  put(p, "[");
  for (size_t i = 0; i < shape->rank; ++i) {
    if (i != 0) put(p, ", ");
    put_size(p, shape->dims[i]);
  }
  put(p, "]\"");
}

static void put_static_type(printer* p, etx_dtype dtype, uint8_t rank,
                            const int64_t* sizes) {
  etx_shape shape = {0};
  shape.dtype = dtype;
  shape.rank = rank;
  for (size_t i = 0; i < rank; ++i) shape.dims[i] = sizes[i];
  put_type(p, &shape);
}

static void put_value(printer* p, uint32_t value) {
  if (value == ETX_IR_NONE) {
    put(p, "null");
  } else {
    etx_ir_print_word(p->out, p->method->values[value].name);
  }
}

static void put_symbolic(printer* p, etx_dim dim) {
  put(p, "{sym: \"");
  put_size(p, dim);
  put(p, "\"}");
}

// ---------------------------------------------------------------- arguments

static void put_memory_format(printer* p, int64_t code) {
  static const char* const names[] = {"contiguous_format", "preserve_format",
                                      "channels_last", "channels_last_3d"};
  put(p, names[code & 3]);
}

static void put_item(printer* p, etx_argument_type type,
                     const etx_ir_arg* arg) {
  switch (arg->kind) {
    case ETX_IR_ARG_VALUE:
      put_value(p, arg->as.value);
      return;
    case ETX_IR_ARG_DTYPE:
      put(p, etx_dtype_name(arg->as.dtype));
      return;
    case ETX_IR_ARG_INT:
      if (!etx_dim_is_number(arg->as.integer)) {
        put_symbolic(p, arg->as.integer);
      } else if (type == ETX_ARGUMENT_MEMORY_FORMAT) {
        put_memory_format(p, arg->as.integer);
      } else if (type == ETX_ARGUMENT_LAYOUT) {
        put(p, "strided");
      } else {
        etx_ir_print_fixed(p->out, arg);
      }
      return;
    case ETX_IR_ARG_STRING:
      if (type == ETX_ARGUMENT_DEVICE) {
        etx_ir_print_word(p->out, arg->as.string);
        return;
      }
      etx_ir_print_fixed(p->out, arg);
      return;
    default:
      etx_ir_print_fixed(p->out, arg);
      return;
  }
}

static void put_arg(printer* p, etx_argument_type type, const etx_ir_arg* arg) {
  if (arg->kind != ETX_IR_ARG_LIST) {
    put_item(p, type, arg);
    return;
  }
  put(p, "[");
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    if (i != 0) put(p, ", ");
    put_item(p, type, &arg->as.list.items[i]);
  }
  put(p, "]");
}

static bool items_equal(const etx_ir_arg* a, const etx_ir_arg* b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case ETX_IR_ARG_NONE:
      return true;
    case ETX_IR_ARG_VALUE:
      return a->as.value == b->as.value;
    case ETX_IR_ARG_INT:
      return a->as.integer == b->as.integer;
    case ETX_IR_ARG_DOUBLE:
      return memcmp(&a->as.real, &b->as.real, sizeof a->as.real) == 0;
    case ETX_IR_ARG_BOOL:
      return a->as.boolean == b->as.boolean;
    case ETX_IR_ARG_STRING:
      return etx_text_equal(a->as.string, b->as.string);
    case ETX_IR_ARG_DTYPE:
      return a->as.dtype == b->as.dtype;
    case ETX_IR_ARG_LIST:
      break;
  }
  return false;
}

static bool args_equal(const etx_ir_arg* a, const etx_ir_arg* b) {
  if (a->kind != ETX_IR_ARG_LIST || b->kind != ETX_IR_ARG_LIST) {
    return items_equal(a, b);
  }
  if (a->as.list.count != b->as.list.count) return false;
  for (size_t i = 0; i < a->as.list.count; ++i) {
    if (!items_equal(&a->as.list.items[i], &b->as.list.items[i])) return false;
  }
  return true;
}

static bool is_default(printer* p, const etx_argument* argument,
                       const etx_ir_arg* arg) {
  etx_ir_arg value = {ETX_IR_ARG_NONE, {0}};
  if (argument->default_text.size == 0) return false;
  const etx_status status =
      etx_aten_default(p->out->pool, argument, &value, NULL);
  if (status != ETX_OK) p->status = status;
  return args_equal(&value, arg);
}

// Positional arguments up to the last that is not its default, then those
// keyword-only ones that are not.
static void put_imported_args(printer* p, const etx_ir_node* node,
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
  put(p, ", args: [");
  for (size_t i = 0; i < positional; ++i) {
    if (i != 0) put(p, ", ");
    put_arg(p, etx_aten_schema_argument(schema, i).type, &node->args[i]);
  }
  put(p, "]");
  if (keywords == 0) return;
  const char* separator = ", kwargs: {";
  for (size_t i = positional; i < node->arg_count; ++i) {
    const etx_argument argument = etx_aten_schema_argument(schema, i);
    if (!argument.keyword_only || is_default(p, &argument, &node->args[i])) {
      continue;
    }
    put(p, separator);
    etx_text_put_text(p->out, argument.name);
    put(p, ": ");
    put_arg(p, argument.type, &node->args[i]);
    separator = ", ";
  }
  put(p, "}");
}

static void put_all_args(printer* p, const etx_ir_node* node) {
  etx_argument_cursor cursor =
      etx_argument_first(node->op == NULL ? "" : node->op->arguments);
  put(p, ", args: [");
  for (size_t i = 0; i < node->arg_count; ++i) {
    etx_argument argument = {0};
    (void)etx_argument_next(&cursor, &argument);
    if (i != 0) put(p, ", ");
    put_arg(p, argument.type, &node->args[i]);
  }
  put(p, "]");
}

// ---------------------------------------------------------------- nodes

static void put_results(printer* p, const etx_ir_node* node, bool is_list) {
  bool has_type = false;
  put(p, is_list ? "out: [" : "out: ");
  for (size_t i = 0; i < node->output_count; ++i) {
    if (i != 0) put(p, ", ");
    put_value(p, node->outputs[i]);
    if (node->outputs[i] != ETX_IR_NONE) {
      has_type = has_type || p->method->values[node->outputs[i]].has_shape;
    }
  }
  put(p, is_list ? "]" : "");
  if (!has_type) return;
  put(p, is_list ? ", type: [" : ", type: ");
  for (size_t i = 0; i < node->output_count; ++i) {
    const etx_ir_value* const value =
        node->outputs[i] == ETX_IR_NONE ? NULL
                                        : &p->method->values[node->outputs[i]];
    if (i != 0) put(p, ", ");
    if (value != NULL && value->has_shape) {
      put_type(p, &value->shape);
    } else {
      put(p, "null");
    }
  }
  put(p, is_list ? "]" : "");
}

static void put_node(printer* p, const etx_ir_node* node) {
  const etx_aten_schema* const schema =
      node->op == NULL ? etx_aten_schema_find(node->aten) : NULL;
  const bool is_list = node->output_count != 1 ||
                       node->outputs[0] == ETX_IR_NONE ||
                       (schema != NULL && schema->results == ETX_ATEN_LIST);
  put(p, "  - {");
  put_results(p, node, is_list);
  put(p, ", op: ");
  if (node->op == NULL) {
    etx_ir_print_word(p->out, node->aten);
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
  put(p, "}\n");
}

// ---------------------------------------------------------------- sections

static void put_dims(printer* p) {
  const etx_symbols* const symbols = &p->method->symbols;
  if (symbols->symbol_count == 0) return;
  put(p, "dims: {");
  for (size_t i = 0; i < symbols->symbol_count; ++i) {
    const etx_symbol* const symbol = &symbols->symbols[i];
    if (i != 0) put(p, ", ");
    etx_ir_print_word(p->out, symbol->name);
    etx_text_put_format(p->out, ": {min: %i, max: %i}", symbol->minimum,
                        symbol->maximum);
  }
  put(p, "}\n");
}

static void put_alias(printer* p, etx_text name, etx_text value_name) {
  if (etx_text_equal(name, value_name)) return;
  put(p, ", value: ");
  etx_ir_print_word(p->out, value_name);
}

static void put_input(printer* p, const etx_ir_input* input) {
  put(p, "  - {name: ");
  etx_ir_print_word(p->out, input->name);
  if (input->arg.kind == ETX_IR_ARG_VALUE) {
    const etx_ir_value* const value = &p->method->values[input->arg.as.value];
    put_alias(p, input->name, value->name);
    put(p, ", type: ");
    put_type(p, &value->shape);
    if (input->is_mutable) put(p, ", mutable: true");
  } else if (input->arg.kind == ETX_IR_ARG_INT &&
             !etx_dim_is_number(input->arg.as.integer)) {
    put(p, ", sym: \"");
    put_size(p, input->arg.as.integer);
    put(p, "\"");
  } else {
    put(p, ", fixed: ");
    etx_ir_print_fixed(p->out, &input->arg);
  }
  put(p, "}\n");
}

static void put_inputs(printer* p) {
  if (p->method->input_count == 0) return;
  put(p, "inputs:\n");
  for (size_t i = 0; i < p->method->input_count; ++i) {
    put_input(p, &p->method->inputs[i]);
  }
}

static void put_buffer(printer* p, uint32_t index, etx_text value_name,
                       const char** heading) {
  const etx_ir_buffer* const buffer = &p->module->buffers[index];
  put(p, *heading);
  *heading = "";
  put(p, "  - {name: ");
  etx_ir_print_word(p->out, buffer->name);
  put_alias(p, buffer->name, value_name);
  put(p, ", type: ");
  put_static_type(p, buffer->dtype, buffer->rank, buffer->sizes);
  put(p, ", init: ");
  if (buffer->initial == ETX_IR_NONE) {
    put(p, "0");
  } else {
    etx_ir_print_constant(p->module, buffer->initial, p->options, p->out);
  }
  put(p, "}\n");
}

static bool has_buffer_value(const etx_ir_method* method, uint32_t buffer) {
  for (size_t i = 0; i < method->value_count; ++i) {
    if (method->values[i].origin == ETX_IR_FROM_BUFFER &&
        method->values[i].index == buffer) {
      return true;
    }
  }
  return false;
}

// The word that stands for a buffer in this method: its value's name, or its
// own, made different from every value, where the method does not read it.
static etx_text buffer_word(printer* p, uint32_t buffer) {
  const etx_ir_method* const method = p->method;
  for (size_t i = 0; i < method->value_count; ++i) {
    if (method->values[i].origin == ETX_IR_FROM_BUFFER &&
        method->values[i].index == buffer) {
      return method->values[i].name;
    }
  }
  etx_text word = p->module->buffers[buffer].name;
  uint32_t taken = 0;
  while (etx_ir_find_value(method, word, &taken)) {
    char* const longer = etx_pool_take(p->out->pool, word.size + 6);
    if (longer == NULL) {
      p->status = ETX_OUT_OF_MEMORY;
      break;
    }
    memcpy(longer, word.data, word.size);
    memcpy(longer + word.size, "_state", 6);
    word.data = longer;
    word.size += 6;
  }
  return word;
}

// Used ones in the order of their values, then those that are only written,
// then those that are listed for another reason.
static void put_buffers(printer* p) {
  const char* heading = "buffers:\n";
  const etx_ir_method* const method = p->method;
  for (size_t i = 0; i < method->value_count; ++i) {
    const etx_ir_value* const value = &method->values[i];
    if (value->origin != ETX_IR_FROM_BUFFER) continue;
    put_buffer(p, value->index, value->name, &heading);
  }
  for (uint32_t i = 0; i < p->module->buffer_count; ++i) {
    const bool is_listed = p->options != NULL && p->options->listed != NULL &&
                           p->options->listed[i];
    if (has_buffer_value(method, i) ||
        !(is_listed || etx_ir_mutation_of_buffer(method, i) != ETX_IR_NONE)) {
      continue;
    }
    put_buffer(p, i, buffer_word(p, i), &heading);
  }
}

static void put_constants(printer* p) {
  const char* heading = "constants:\n";
  for (size_t i = 0; i < p->method->value_count; ++i) {
    const etx_ir_value* const value = &p->method->values[i];
    if (value->origin != ETX_IR_FROM_CONSTANT) continue;
    put(p, heading);
    heading = "";
    put(p, "  - {name: ");
    etx_ir_print_word(p->out, value->name);
    put(p, ", type: ");
    put_type(p, &value->shape);
    put(p, ", init: ");
    etx_ir_print_constant(p->module, value->index, p->options, p->out);
    put(p, "}\n");
  }
}

static void put_outputs(printer* p) {
  if (p->method->output_count == 0) {
    put(p, "outputs: []\n");
    return;
  }
  put(p, "outputs:\n");
  for (size_t i = 0; i < p->method->output_count; ++i) {
    const etx_ir_output* const output = &p->method->outputs[i];
    put(p, "  - {name: ");
    etx_ir_print_word(p->out, output->name);
    if (output->arg.kind == ETX_IR_ARG_VALUE) {
      put(p, ", value: ");
      put_value(p, output->arg.as.value);
    } else if (output->arg.kind == ETX_IR_ARG_INT &&
               !etx_dim_is_number(output->arg.as.integer)) {
      put(p, ", sym: \"");
      put_size(p, output->arg.as.integer);
      put(p, "\"");
    } else {
      put(p, ", fixed: ");
      etx_ir_print_fixed(p->out, &output->arg);
    }
    put(p, "}\n");
  }
}

static etx_text target_word(printer* p, const etx_ir_mutation* mutation) {
  if (!mutation->is_input) return buffer_word(p, mutation->target);
  const etx_ir_input* const input = &p->method->inputs[mutation->target];
  return p->method->values[input->arg.as.value].name;
}

static void put_mutations(printer* p) {
  if (p->method->mutation_count == 0) return;
  put(p, "mutates:\n");
  for (size_t i = 0; i < p->method->mutation_count; ++i) {
    const etx_ir_mutation* const mutation = &p->method->mutations[i];
    put(p, "  ");
    etx_ir_print_word(p->out, target_word(p, mutation));
    put(p, ": ");
    put_value(p, mutation->value);
    put(p, "\n");
  }
}

etx_status etx_ir_print_method(const etx_ir_module* module,
                               const etx_ir_method* method,
                               const etx_ir_print_options* options,
                               etx_text_buffer* out) {
  printer p = {module, method, options, out, ETX_OK};
  put(&p, "etx: 1\nmethod: ");
  etx_ir_print_word(out, method->name);
  put(&p, "\n");
  put_dims(&p);
  put_inputs(&p);
  put_buffers(&p);
  put_constants(&p);
  if (method->node_count != 0) put(&p, "nodes:\n");
  for (size_t i = 0; i < method->node_count; ++i) {
    put_node(&p, &method->nodes[i]);
  }
  put_outputs(&p);
  put_mutations(&p);
  return p.status != ETX_OK ? p.status : out->status;
}

etx_status etx_ir_print(const etx_ir_module* module, const etx_sink* sink) {
  for (size_t i = 0; i < module->method_count; ++i) {
    etx_pool scratch;
    etx_text_buffer out;
    etx_pool_init(&scratch);
    etx_text_buffer_init(&out, &scratch);
    if (i != 0) etx_text_put_string(&out, "---\n");
    etx_status status =
        etx_ir_print_method(module, &module->methods[i], NULL, &out);
    if (status == ETX_OK) status = etx_sink_write(sink, out.data, out.size);
    etx_pool_close(&scratch);
    ETX_TRY(status);
  }
  return ETX_OK;
}
