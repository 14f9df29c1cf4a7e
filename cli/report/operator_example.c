#include "cli/report/operator_example.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tensors/element.h"

typedef struct operator_example {
  const char* aten;
  int results;            // number of results that are outputs; 0: all
  const char* arguments;  // see the .def
} operator_example;

static const operator_example examples[] = {
#define EXAMPLE(aten, results, arguments) {aten, results, arguments},
#include "cli/report/operator_examples.def"
#undef EXAMPLE
};

static const operator_example* find_example(const char* aten) {
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; ++i) {
    if (strcmp(examples[i].aten, aten) == 0) return &examples[i];
  }
  return NULL;
}

// Parses the arguments of an example one after the other.
typedef struct example_parser {
  etx_ir_module* module;
  etx_ir_method* method;
  const char* at;
  etx_dtype from, to;  // tensors of type `from` get type `to`
  etx_diag* diag;
} example_parser;

static etx_status refuse(const example_parser* p) {
  return etx_diag_fail(p->diag, ETX_BAD_ARGUMENT,
                       "the example cannot be parsed at '%s'", p->at);
}

static bool skip(example_parser* p, char symbol) {
  while (*p->at == ' ') ++p->at;
  if (*p->at != symbol) return false;
  ++p->at;
  return true;
}

static etx_text read_word(example_parser* p) {
  (void)skip(p, ' ');
  const size_t size = strcspn(p->at, " ,[]");
  const etx_text word = {p->at, size};
  p->at += size;
  return word;
}

// ------------------------------------------------ tensors

// A constant of ones.
static etx_status add_tensor(example_parser* p, etx_ir_constant* constant,
                             etx_ir_arg* out) {
  size_t count = 1;
  for (size_t i = 0; i < constant->rank; ++i) {
    count *= (size_t)constant->sizes[i];
  }
  const size_t bytes = count * etx_dtype_bytes(constant->dtype);
  uint8_t* const data = etx_pool_take(p->module->pool, bytes);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    (void)etx_element_parse(constant->dtype, etx_text_of("1"), data, i);
  }
  constant->data = (etx_bytes){data, bytes};
  uint32_t index = 0, value = 0;
  ETX_TRY(etx_ir_add_constant(p->module, constant, &index));
  ETX_TRY(etx_ir_constant_value(p->module, p->method, index, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

// "-> int64[u, 2]" at the end: the type of the result, whose size u the node
// sets from data. "-> u" sets a number.
static etx_status read_late(example_parser* p, etx_ir_node* node) {
  enum { MOST = 6 };  // elements of a 2 x 3 tensor
  etx_symbols* const symbols = &p->method->symbols;
  etx_dtype dtype = ETX_DTYPE_UINT8;
  uint32_t symbol = 0;
  if (p->at == NULL || !skip(p, '-')) return ETX_OK;
  if (!skip(p, '>')) return refuse(p);
  etx_ir_value* const value = &p->method->values[node->outputs[0]];
  ETX_TRY(etx_symbols_add(symbols, etx_text_of("u"), 0, MOST, &symbol));
  etx_symbols_make_late(symbols, symbol);
  node->late = symbol + 1;
  if (!etx_dtype_find(read_word(p), &dtype)) return ETX_OK;
  value->has_shape = true;
  value->shape.dtype = dtype == p->from ? p->to : dtype;
  if (!skip(p, '[')) return refuse(p);
  while (!skip(p, ']')) {
    etx_dim* const dim = &value->shape.dims[value->shape.rank];
    if (value->shape.rank == ETX_MAX_RANK || *p->at == '\0') return refuse(p);
    ETX_TRY(etx_symbols_parse(symbols, read_word(p), dim, p->diag));
    ++value->shape.rank;
    (void)skip(p, ',');
  }
  return ETX_OK;
}

// "[2, 3]" after the type.
static etx_status read_tensor(example_parser* p, etx_dtype dtype,
                              etx_ir_arg* out) {
  etx_ir_constant constant = {.dtype = dtype == p->from ? p->to : dtype};
  if (!skip(p, '[')) return refuse(p);
  while (!skip(p, ']')) {
    if (constant.rank == ETX_MAX_RANK || *p->at == '\0') return refuse(p);
    const etx_text size = read_word(p);
    constant.sizes[constant.rank++] = strtol(size.data, NULL, 10);
    (void)skip(p, ',');
  }
  return add_tensor(p, &constant, out);
}

static etx_status make_tensor(example_parser* p, etx_ir_arg* out) {
  etx_ir_constant constant = {.dtype = p->to, .rank = 2, .sizes = {2, 3}};
  return add_tensor(p, &constant, out);
}

// ------------------------------------------------ other arguments

static bool is_number(etx_text word) {
  const char first = word.size == 0 ? '\0' : word.data[0];
  return (first >= '0' && first <= '9') || first == '-';
}

static etx_ir_arg number_of(etx_text word) {
  etx_ir_arg number = {ETX_IR_ARG_DOUBLE, {0}};
  number.as.real = strtod(word.data, NULL);
  return memchr(word.data, '.', word.size) != NULL
             ? number
             : etx_ir_int((etx_dim)strtol(word.data, NULL, 10));
}

// 'ij,jk->ik'
static etx_status read_quoted(example_parser* p, etx_ir_arg* out) {
  const char* const end = strchr(p->at, '\'');
  if (end == NULL) return refuse(p);
  *out = (etx_ir_arg){ETX_IR_ARG_STRING, {0}};
  out->as.string = (etx_text){p->at, (size_t)(end - p->at)};
  p->at = end + 1;
  return ETX_OK;
}

static etx_status read_item(example_parser* p, etx_ir_arg* out) {
  etx_dtype dtype;
  if (skip(p, '\'')) return read_quoted(p, out);
  const etx_text word = read_word(p);
  const bool is_dtype = etx_dtype_find(word, &dtype);
  *out = (etx_ir_arg){ETX_IR_ARG_NONE, {0}};
  if (is_dtype && *p->at == '[') return read_tensor(p, dtype, out);
  if (is_dtype) {
    out->kind = ETX_IR_ARG_DTYPE;
    out->as.dtype = dtype;
  } else if (is_number(word)) {
    *out = number_of(word);
  } else if (etx_text_is(word, "true") || etx_text_is(word, "false")) {
    out->kind = ETX_IR_ARG_BOOL;
    out->as.boolean = word.data[0] == 't';
  } else if (!etx_text_is(word, "none")) {
    return refuse(p);
  }
  return ETX_OK;
}

static etx_status read_list(example_parser* p, etx_ir_arg* out) {
  enum { MAX_ITEMS = 16 };
  etx_ir_arg* const items =
      etx_pool_take(p->module->pool, MAX_ITEMS * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  size_t count = 0;
  while (!skip(p, ']')) {
    if (count == MAX_ITEMS || *p->at == '\0') return refuse(p);
    ETX_TRY(read_item(p, &items[count++]));
    (void)skip(p, ',');
  }
  *out = (etx_ir_arg){ETX_IR_ARG_LIST, {0}};
  out->as.list.items = items;
  out->as.list.count = count;
  return ETX_OK;
}

static etx_status read_argument(example_parser* p, etx_ir_arg* out) {
  ETX_TRY(skip(p, '[') ? read_list(p, out) : read_item(p, out));
  (void)skip(p, ',');
  return ETX_OK;
}

// A value for an argument that has neither a default nor an example.
static etx_status make_argument(example_parser* p, const etx_argument* argument,
                                etx_ir_arg* out) {
  *out = (etx_ir_arg){ETX_IR_ARG_NONE, {0}};
  switch (argument->type) {
    case ETX_ARGUMENT_TENSOR:
      return argument->optional ? ETX_OK : make_tensor(p, out);
    case ETX_ARGUMENT_BOOL:
      out->kind = ETX_IR_ARG_BOOL;
      return ETX_OK;
    case ETX_ARGUMENT_INT:
    case ETX_ARGUMENT_SCALAR:
    case ETX_ARGUMENT_FLOAT:
      *out = etx_ir_int(1);
      return ETX_OK;
    default:
      return ETX_OK;
  }
}

// ------------------------------------------------ the call

// The main type of the example: float32, or that of the first tensor.
static etx_dtype main_type(const operator_example* e) {
  etx_dtype dtype;
  if (e == NULL || strstr(e->arguments, "float32[") != NULL) {
    return ETX_DTYPE_FLOAT32;
  }
  const char* const end = strchr(e->arguments, '[');
  const char* start = end;
  while (start != NULL && start > e->arguments && start[-1] != ' ' &&
         start[-1] != '[') {
    --start;
  }
  if (start == NULL) return ETX_DTYPE_COUNT;
  const etx_text word = {start, (size_t)(end - start)};
  return etx_dtype_find(word, &dtype) ? dtype : ETX_DTYPE_COUNT;
}

static etx_status read_arguments(example_parser* p,
                                 const etx_aten_schema* schema,
                                 etx_ir_node* node) {
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  etx_text names[ETX_MAX_ARGUMENTS];
  etx_argument_cursor cursor = etx_argument_first(schema->arguments);
  etx_argument argument;
  size_t count = 0;
  while (etx_argument_next(&cursor, &argument)) {
    const bool is_given =
        p->at != NULL && *p->at != '\0' && strncmp(p->at, "->", 2) != 0;
    if (!is_given && argument.default_text.size != 0) break;
    names[count] = argument.name;
    ETX_TRY(is_given ? read_argument(p, &args[count])
                     : make_argument(p, &argument, &args[count]));
    ++count;
  }
  const etx_aten_arguments given = {args, names, count};
  return etx_aten_complete(p->module->pool, schema, &given, node, p->diag);
}

// Adds the results of the node. The first `read` are outputs of the method.
static etx_status add_outputs(example_parser* p, etx_ir_node* node,
                              size_t count, size_t read) {
  etx_ir_method* const method = p->method;
  node->output_count = count;
  node->outputs = etx_pool_take(p->module->pool, count * sizeof(uint32_t));
  if (node->outputs == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_value value = {.origin = ETX_IR_FROM_NODE};
    ETX_TRY(etx_ir_add_value(p->module, method, &value, &node->outputs[i]));
    if (i >= read) continue;
    ETX_TRY(etx_pool_grow(p->module->pool, &method->outputs,
                          method->output_count, &method->output_capacity,
                          sizeof(etx_ir_output)));
    method->outputs[method->output_count++] =
        (etx_ir_output){.name = method->values[node->outputs[i]].name,
                        .arg = etx_ir_value_arg(node->outputs[i])};
  }
  return ETX_OK;
}

etx_status etx_operator_example(const etx_aten_schema* schema, etx_dtype dtype,
                                etx_ir_module* module, etx_diag* diag) {
  const operator_example* const e = find_example(schema->name);
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_method(module, etx_text_of("forward"), &index));
  const etx_dtype from = main_type(e);
  example_parser parser = {module,
                           &module->methods[index],
                           e == NULL ? NULL : e->arguments,
                           from,
                           dtype == ETX_DTYPE_COUNT ? from : dtype,
                           diag};
  etx_ir_node node = {.aten = etx_text_of(schema->name)};
  ETX_TRY(read_arguments(&parser, schema, &node));
  const bool is_list = schema->results == ETX_ATEN_LIST;
  const size_t read = e == NULL ? 0 : (size_t)e->results;
  const size_t count = is_list ? read : (size_t)schema->results;
  ETX_TRY(add_outputs(&parser, &node, count, read == 0 ? count : read));
  ETX_TRY(read_late(&parser, &node));
  return etx_ir_add_node(module, parser.method, &node, &index);
}
