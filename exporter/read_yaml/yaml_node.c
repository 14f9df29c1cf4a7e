// Nodes of a method in YAML. The schema of the operator decides what a plain
// word means: a dtype, memory format, layout or device where the argument has
// that type, else the name of a value.

#include "exporter/ir/own_operators.h"
#include "exporter/ir/ir_late.h"
#include "exporter/host/nearest_name.h"
#include "exporter/lower/nearest_operator.h"
#include "exporter/read_yaml/yaml_internal.h"

typedef struct word_code {
  const char* word;
  int64_t code;
} word_code;

static const word_code memory_formats[] = {{"contiguous_format", 0},
                                           {"preserve_format", 1},
                                           {"channels_last", 2},
                                           {"channels_last_3d", 3},
                                           {NULL, 0}};
static const word_code layouts[] = {{"strided", 0}, {NULL, 0}};

static etx_status read_word(const etx_yaml* node, const word_code* words,
                            const char* what, etx_ir_arg* out, etx_diag* diag) {
  etx_nearest_name nearest = etx_nearest_start(node->text);
  for (; words->word != NULL; ++words) {
    etx_nearest_offer(&nearest, etx_text_of(words->word));
    if (!etx_text_is(node->text, words->word)) continue;
    *out = etx_ir_int(words->code);
    return ETX_OK;
  }
  char hint[96];
  return etx_yaml_fail(node, diag, "unknown %s '%t'%s", what, node->text,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}

static etx_status read_dtype(const etx_yaml* node, etx_ir_arg* out,
                             etx_diag* diag) {
  out->kind = ETX_IR_ARG_DTYPE;
  if (etx_dtype_find(node->text, &out->as.dtype)) return ETX_OK;
  return etx_yaml_fail(node, diag, "unknown dtype '%t'", node->text);
}

static etx_status read_text(etx_yaml_method* m, const etx_argument* argument,
                            const etx_yaml* node, etx_ir_arg* out,
                            etx_diag* diag) {
  uint32_t value = 0;
  switch (argument->type) {
    case ETX_ARGUMENT_SCALAR_TYPE:
      return read_dtype(node, out, diag);
    case ETX_ARGUMENT_MEMORY_FORMAT:
      return read_word(node, memory_formats, "memory format", out, diag);
    case ETX_ARGUMENT_LAYOUT:
      return read_word(node, layouts, "layout", out, diag);
    case ETX_ARGUMENT_DEVICE:
      if (!etx_text_is(node->text, "cpu")) {
        return etx_yaml_fail(node, diag,
                             "device '%t' is not supported, expected 'cpu'",
                             node->text);
      }
      out->kind = ETX_IR_ARG_STRING;
      out->as.string = node->text;
      return ETX_OK;
    case ETX_ARGUMENT_STRING:
      return etx_yaml_fail(node, diag,
                           "'%t' names a value: write a string as {str: %t}",
                           node->text, node->text);
    default:
      ETX_TRY(etx_yaml_value_named(m, node, &value, diag));
      *out = etx_ir_value_arg(value);
      return ETX_OK;
  }
}

static etx_status read_scalar(etx_yaml_method* m, const etx_argument* argument,
                              const etx_yaml* node, etx_ir_arg* out,
                              etx_diag* diag) {
  etx_yaml_value value;
  ETX_TRY(etx_yaml_scalar(node, &value, diag));
  if (value.type == ETX_YAML_TEXT) {
    return read_text(m, argument, node, out, diag);
  }
  return etx_yaml_literal(node, out, diag);
}

static etx_status read_item(etx_yaml_method* m, const etx_argument* argument,
                            const etx_yaml* node, etx_ir_arg* out,
                            etx_diag* diag) {
  if (node->kind == ETX_YAML_SCALAR) {
    return read_scalar(m, argument, node, out, diag);
  }
  const etx_yaml* const size = etx_yaml_find(node, "sym");
  if (size != NULL) {
    etx_dim dim = 0;
    ETX_TRY(etx_yaml_check_keys(node, "sym", diag));
    ETX_TRY(etx_yaml_size(m, size, &dim, diag));
    *out = etx_ir_int(dim);
    return ETX_OK;
  }
  if (node->kind == ETX_YAML_MAP) return etx_yaml_literal(node, out, diag);
  return etx_yaml_fail(node, diag, "nested lists are not supported");
}

static etx_status read_argument(etx_yaml_method* m,
                                const etx_argument* argument,
                                const etx_yaml* node, etx_ir_arg* out,
                                etx_diag* diag) {
  if (node->kind != ETX_YAML_LIST) {
    return read_item(m, argument, node, out, diag);
  }
  etx_ir_arg* const items = etx_pool_take(&m->tree, node->count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < node->count; ++i) {
    ETX_TRY(read_item(m, argument, &node->items[i], &items[i], diag));
  }
  out->kind = ETX_IR_ARG_LIST;
  out->as.list.items = items;
  out->as.list.count = node->count;
  return ETX_OK;
}

// Finds the argument of the schema with the name of `key`.
static etx_status find_argument(const etx_aten_schema* schema,
                                const etx_yaml* key, etx_argument* out,
                                etx_diag* diag) {
  etx_argument_cursor cursor = etx_argument_first(schema->arguments);
  etx_nearest_name nearest = etx_nearest_start(key->text);
  while (etx_argument_next(&cursor, out)) {
    if (etx_text_equal(out->name, key->text)) return ETX_OK;
    etx_nearest_offer(&nearest, out->name);
  }
  char hint[96];
  return etx_yaml_fail(key, diag, "'%s' has no argument '%t'%s", schema->name,
                       key->text,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}

typedef struct argument_list {
  etx_ir_arg* args;
  etx_text* names;
  size_t count;
} argument_list;

static etx_status read_positional(etx_yaml_method* m,
                                  const etx_aten_schema* schema,
                                  const etx_yaml* args, argument_list* list,
                                  etx_diag* diag) {
  etx_argument_cursor cursor = etx_argument_first(schema->arguments);
  for (size_t i = 0; i < args->count; ++i) {
    etx_argument argument;
    if (!etx_argument_next(&cursor, &argument) || argument.keyword_only) {
      return etx_yaml_fail(&args->items[i], diag,
                           "too many positional arguments (%z) for %s(%s)",
                           args->count, schema->name, schema->arguments);
    }
    ETX_TRY(read_argument(m, &argument, &args->items[i],
                          &list->args[list->count++], diag));
  }
  return ETX_OK;
}

static etx_status read_keywords(etx_yaml_method* m,
                                const etx_aten_schema* schema,
                                const etx_yaml* kwargs, argument_list* list,
                                etx_diag* diag) {
  for (size_t i = 0; i < kwargs->count; ++i) {
    etx_argument argument;
    ETX_TRY(find_argument(schema, &kwargs->keys[i], &argument, diag));
    list->names[list->count] = argument.name;
    ETX_TRY(read_argument(m, &argument, &kwargs->items[i],
                          &list->args[list->count++], diag));
  }
  return ETX_OK;
}

static etx_status read_arguments(etx_yaml_method* m, const etx_yaml* yaml,
                                 const etx_aten_schema* schema,
                                 etx_ir_node* node, etx_diag* diag) {
  const etx_yaml* const args = etx_yaml_find(yaml, "args");
  const etx_yaml* const kwargs = etx_yaml_find(yaml, "kwargs");
  size_t count = 0;
  if (args != NULL) {
    ETX_TRY(etx_yaml_expect(args, ETX_YAML_LIST, "args", diag));
    count += args->count;
  }
  if (kwargs != NULL) {
    ETX_TRY(etx_yaml_expect(kwargs, ETX_YAML_MAP, "kwargs", diag));
    count += kwargs->count;
  }
  argument_list list = {etx_pool_take(&m->tree, count * sizeof *list.args),
                        etx_pool_take(&m->tree, count * sizeof *list.names), 0};
  if (list.args == NULL || list.names == NULL) return ETX_OUT_OF_MEMORY;
  if (args != NULL) ETX_TRY(read_positional(m, schema, args, &list, diag));
  if (kwargs != NULL) ETX_TRY(read_keywords(m, schema, kwargs, &list, diag));
  etx_diag inner;
  etx_diag_init(&inner);
  const etx_aten_arguments given = {list.args, list.names, list.count};
  const etx_status status =
      etx_aten_complete(&m->tree, schema, &given, node, &inner);
  if (status == ETX_BAD_FILE)
    return etx_yaml_fail(yaml, diag, "%s", inner.text);
  return status;
}

// ---------------------------------------------------------------- outputs

static etx_status define_output(etx_yaml_method* m, const etx_yaml* name,
                                const etx_yaml* type, uint32_t node,
                                uint32_t* out_value) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_ir_value value = {0};
  value.name = name->text;
  value.origin = ETX_IR_FROM_NODE;
  value.index = node;
  *out_value = ETX_IR_NONE;
  if (type != NULL) {
    const etx_status status = etx_yaml_shape(m, type, &value.shape, &diag);
    ETX_TRY(etx_yaml_report(m, status, type, &diag));
    value.has_shape = status == ETX_OK;
    etx_diag_init(&diag);
  }
  const etx_status status =
      etx_yaml_add_value(m, name, &value, out_value, &diag);
  return etx_yaml_report(m, status, name, &diag);
}

// `out` is a name, or a list of names and nulls; `type` has the same form.
static etx_status read_outputs(etx_yaml_method* m, const etx_yaml* yaml,
                               etx_ir_node* node) {
  const etx_yaml* const out = etx_yaml_find(yaml, "out");
  const etx_yaml* const type = etx_yaml_find(yaml, "type");
  if (out == NULL) return ETX_OK;
  const bool is_list = out->kind == ETX_YAML_LIST;
  const etx_yaml* const names = is_list ? out->items : out;
  const bool has_types = type != NULL &&
                         (type->kind == ETX_YAML_LIST) == is_list &&
                         (!is_list || type->count == out->count);
  node->output_count = is_list ? out->count : 1;
  node->outputs =
      etx_pool_take(&m->tree, node->output_count * sizeof *node->outputs);
  if (node->outputs == NULL) return ETX_OUT_OF_MEMORY;
  if (type != NULL && !has_types) {
    etx_source_location place = m->place;
    place.line = type->line;
    place.column = type->column;
    etx_import_problem(m->import, ETX_BAD_FILE, &place,
                       "'type' should have one type for each name in 'out'");
  }
  for (size_t i = 0; i < node->output_count; ++i) {
    node->outputs[i] = ETX_IR_NONE;
    if (names[i].kind != ETX_YAML_SCALAR || etx_yaml_is_null(&names[i]))
      continue;
    const etx_yaml* own = NULL;
    if (has_types) own = is_list ? &type->items[i] : type;
    if (own != NULL && etx_yaml_is_null(own)) own = NULL;
    ETX_TRY(define_output(m, &names[i], own, (uint32_t)m->method->node_count,
                          &node->outputs[i]));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- nodes

static etx_status check_outputs(const etx_yaml* yaml,
                                const etx_aten_schema* schema, etx_diag* diag) {
  const etx_yaml* const out = etx_yaml_find(yaml, "out");
  if (out == NULL && schema->results == 0) return ETX_OK;
  if (out == NULL) return etx_yaml_fail(yaml, diag, "'out' is missing");
  const bool is_list = out->kind == ETX_YAML_LIST;
  if (out->kind == ETX_YAML_MAP) {
    return etx_yaml_fail(out, diag, "'out' should be a name or a list");
  }
  if (schema->results == ETX_ATEN_LIST) {
    return is_list ? ETX_OK
                   : etx_yaml_fail(out, diag,
                                   "'out' should be a list of names, since "
                                   "'%s' returns a list",
                                   schema->name);
  }
  const size_t count = is_list ? out->count : 1;
  if (count == (size_t)schema->results) return ETX_OK;
  return etx_yaml_fail(
      out, diag, "'%s' has %i result%s, but 'out' has %z names", schema->name,
      (int64_t)schema->results, schema->results == 1 ? "" : "s", count);
}

static etx_status find_schema(const etx_ir_module* module, const etx_yaml* op,
                              const etx_aten_schema** out_schema,
                              etx_diag* diag) {
  *out_schema = etx_ir_schema_find(module, op->text);
  if (*out_schema != NULL) return ETX_OK;
  if (etx_text_starts_with(op->text, etx_text_of("higher_order.")) ||
      etx_text_starts_with(op->text, etx_text_of("torch.ops.higher_order."))) {
    return etx_yaml_fail(op, diag,
                         "control flow operator '%t' is not supported: write a "
                         "node with 'if', 'while' or 'scan'",
                         op->text);
  }
  char hint[ETX_NEAREST_OPERATOR_BYTES];
  return etx_yaml_fail(op, diag, "operator '%t' is not supported%s", op->text,
                       etx_nearest_operator_hint(op->text, hint, sizeof hint));
}

// True if the symbol is, or is a part of, a size of an input.
static bool is_input_size(const etx_yaml_method* m, uint32_t symbol) {
  const etx_ir_method* const method = m->method;
  const uint64_t bit = UINT64_C(1) << symbol;
  for (size_t i = 0; i < method->input_count; ++i) {
    const etx_ir_arg* const arg = &method->inputs[i].arg;
    if (arg->kind == ETX_IR_ARG_INT &&
        (etx_symbols_late_in(&method->symbols, arg->as.integer) & bit) != 0) {
      return true;
    }
    if (arg->kind != ETX_IR_ARG_VALUE) continue;
    const etx_shape* const shape = &method->values[arg->as.value].shape;
    for (size_t d = 0; d < shape->rank; ++d) {
      if (etx_symbols_late_in(&method->symbols, shape->dims[d]) & bit) {
        return true;
      }
    }
  }
  return false;
}

// `sets` names the dimension that the node sets from the data of a tensor.
static etx_status read_sets(etx_yaml_method* m, const etx_yaml* yaml,
                            etx_ir_node* node, etx_diag* diag) {
  const etx_yaml* const sets = etx_yaml_find(yaml, "sets");
  etx_symbols* const symbols = &m->method->symbols;
  uint32_t symbol = 0;
  if (sets == NULL) return ETX_OK;
  ETX_TRY(etx_yaml_expect(sets, ETX_YAML_SCALAR, "sets", diag));
  if (!etx_symbols_find(symbols, sets->text, &symbol)) {
    return etx_yaml_fail(sets, diag, "'%t' is not a dimension of 'dims'",
                         sets->text);
  }
  if (symbols->symbols[symbol].is_late) {
    return etx_yaml_fail(sets, diag, "another node sets '%t' already",
                         sets->text);
  }
  etx_symbols_make_late(symbols, symbol);
  if (is_input_size(m, symbol)) {
    return etx_yaml_fail(sets, diag,
                         "'%t' is a size of an input, so no node can set it",
                         sets->text);
  }
  node->late = symbol + 1;
  for (size_t i = 0; i < m->method->node_count; ++i) {
    const uint64_t late = etx_ir_late_needed(m->method, &m->method->nodes[i]);
    if (((late >> symbol) & 1) == 0) continue;
    return etx_yaml_fail(sets, diag, "'%t' is needed before this node sets it",
                         sets->text);
  }
  return ETX_OK;
}

static etx_status read_call(etx_yaml_method* m, const etx_yaml* yaml,
                            etx_ir_node* node, etx_diag* diag) {
  const etx_aten_schema* schema = NULL;
  ETX_TRY(etx_yaml_expect(yaml, ETX_YAML_MAP, "node", diag));
  ETX_TRY(etx_yaml_check_keys(yaml, "out type op args kwargs sets", diag));
  ETX_TRY(etx_yaml_text(yaml, "op", &node->aten, diag));
  ETX_TRY(find_schema(m->module, etx_yaml_find(yaml, "op"), &schema, diag));
  ETX_TRY(check_outputs(yaml, schema, diag));
  ETX_TRY(read_sets(m, yaml, node, diag));
  return read_arguments(m, yaml, schema, node, diag);
}

etx_status etx_yaml_read_node(etx_yaml_method* m, const etx_yaml* yaml) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_ir_node node = {0};
  node.place = m->place;
  node.place.line = yaml->line;
  node.place.column = yaml->column;
  node.branch = m->branch;
  if (yaml->kind == ETX_YAML_MAP && (etx_yaml_find(yaml, "if") != NULL ||
                                     etx_yaml_find(yaml, "while") != NULL)) {
    return etx_yaml_read_cond(m, yaml, etx_yaml_read_node);
  }
  if (yaml->kind == ETX_YAML_MAP && etx_yaml_find(yaml, "scan") != NULL) {
    return etx_yaml_read_scan(m, yaml, etx_yaml_read_node);
  }
  const etx_status status = read_call(m, yaml, &node, &diag);
  ETX_TRY(etx_yaml_report(m, status, yaml, &diag));
  ETX_TRY(read_outputs(m, yaml, &node));
  uint32_t unused = 0;
  return etx_ir_add_node(m->module, m->method, &node, &unused);
}
