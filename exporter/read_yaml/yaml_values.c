// Types, sizes, names and numbers, for the readers of all sections.

#include "exporter/ir/ir_cond.h"
#include "exporter/host/nearest_name.h"
#include "exporter/read_yaml/yaml_internal.h"

etx_status etx_yaml_report(etx_yaml_method* m, etx_status status,
                           const etx_yaml* node, const etx_diag* diag) {
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY) return status;
  etx_source_location place = m->place;
  if (diag->line == 0) {
    place.line = node->line;
    place.column = node->column;
  }
  etx_import_problem_of(m->import, &place, status, diag);
  return ETX_OK;
}

static etx_status parse_size(etx_yaml_method* m, const etx_yaml* node,
                             etx_text text, etx_dim* out, etx_diag* diag) {
  etx_diag inner;
  etx_diag_init(&inner);
  const etx_status status =
      etx_symbols_parse(&m->method->symbols, text, out, &inner);
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY) return status;
  return etx_yaml_fail(node, diag, "%s", inner.text);
}

etx_status etx_yaml_size(etx_yaml_method* m, const etx_yaml* node, etx_dim* out,
                         etx_diag* diag) {
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "size", diag));
  return parse_size(m, node, node->text, out, diag);
}

static etx_status parse_dim(etx_yaml_method* m, const etx_yaml* node,
                            etx_text text, etx_shape* shape, etx_diag* diag) {
  etx_dim dim = 0;
  int64_t low = 0, high = 0;
  if (shape->rank >= ETX_MAX_RANK) {
    return etx_yaml_fail(node, diag, "more than %i dimensions",
                         (int64_t)ETX_MAX_RANK);
  }
  ETX_TRY(parse_size(m, node, text, &dim, diag));
  etx_symbols_bounds(&m->method->symbols, dim, &low, &high);
  if (low < 0) {
    return etx_yaml_fail(node, diag, "size '%t' can be negative (%i)", text,
                         low);
  }
  shape->dims[shape->rank++] = dim;
  return ETX_OK;
}

// Splits "float32[b, min(t, 4)]" at commas outside parentheses.
etx_status etx_yaml_shape(etx_yaml_method* m, const etx_yaml* node,
                          etx_shape* out_shape, etx_diag* diag) {
  etx_shape shape = {0};
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "type", diag));
  const etx_text text = node->text;
  size_t at = 0;
  while (at < text.size && text.data[at] != '[') ++at;
  const etx_text dtype = {text.data, at};
  if (at == text.size || text.data[text.size - 1] != ']') {
    return etx_yaml_fail(
        node, diag, "expected a type such as \"float32[4, n]\", found '%t'",
        text);
  }
  if (!etx_dtype_find(dtype, &shape.dtype)) {
    return etx_yaml_fail(node, diag, "unknown dtype '%t'", dtype);
  }
  const size_t end = text.size - 1;
  size_t start = ++at, depth = 0;
  bool is_empty = true;
  for (; at <= end; ++at) {
    const char c = text.data[at];
    if (c == '(') ++depth;
    if (c == ')' && depth > 0) --depth;
    if (c != ' ' && at < end) is_empty = false;
    if (at < end && (c != ',' || depth > 0)) continue;
    if (at == end && is_empty) break;
    const etx_text part = {text.data + start, at - start};
    ETX_TRY(parse_dim(m, node, part, &shape, diag));
    start = at + 1;
  }
  *out_shape = shape;
  return ETX_OK;
}

// ---------------------------------------------------------------- values

bool etx_yaml_is_null(const etx_yaml* node) {
  etx_yaml_value value;
  return node->kind == ETX_YAML_SCALAR &&
         etx_yaml_scalar(node, &value, NULL) == ETX_OK &&
         value.type == ETX_YAML_NULL;
}

// True if nodes of the present branch may read the value: the value of a node
// is visible in the branch of that node and in branches within it; a carried
// value of a loop in the body only.
static bool is_visible(const etx_yaml_method* m, uint32_t value) {
  const etx_ir_value* const v = &m->method->values[value];
  if (v->origin != ETX_IR_FROM_NODE || v->index >= m->method->node_count) {
    return true;
  }
  const etx_ir_node* const node = &m->method->nodes[v->index];
  return etx_ir_branch_is_within(m->method, m->branch,
                                 node->op != NULL && etx_ir_is_carry(node)
                                     ? etx_ir_then_branch(node->cond)
                                     : node->branch);
}

etx_status etx_yaml_value_named(etx_yaml_method* m, const etx_yaml* node,
                                uint32_t* out_value, etx_diag* diag) {
  if (etx_ir_find_value(m->method, node->text, out_value)) {
    if (is_visible(m, *out_value)) return ETX_OK;
    return etx_yaml_fail(
        node, diag,
        "'%t' is defined in a branch or loop and not visible here: "
        "add it to the 'outputs' there",
        node->text);
  }
  etx_nearest_name nearest = etx_nearest_start(node->text);
  for (size_t i = 0; i < m->method->value_count; ++i) {
    etx_nearest_offer(&nearest, m->method->values[i].name);
  }
  char hint[96];
  return etx_yaml_fail(node, diag, "value '%t' is not defined before its use%s",
                       node->text,
                       etx_nearest_hint(&nearest, hint, sizeof hint));
}

etx_status etx_yaml_add_value(etx_yaml_method* m, const etx_yaml* node,
                              const etx_ir_value* value, uint32_t* out_value,
                              etx_diag* diag) {
  uint32_t taken = 0;
  if (value->name.size == 0) {
    return etx_yaml_fail(node, diag, "a value needs a name");
  }
  if (etx_ir_find_value(m->method, value->name, &taken)) {
    return etx_yaml_fail(node, diag, "the name '%t' is already in use",
                         value->name);
  }
  return etx_ir_add_value(m->module, m->method, value, out_value);
}

etx_status etx_yaml_define_despite_error(etx_yaml_method* m,
                                         const etx_yaml* node,
                                         etx_status status) {
  etx_ir_value value = {.origin = ETX_IR_FROM_NODE};
  uint32_t unused = 0;
  const bool is_named =
      node->kind == ETX_YAML_MAP &&
      (etx_yaml_text(node, "value", &value.name, NULL) == ETX_OK ||
       etx_yaml_text(node, "name", &value.name, NULL) == ETX_OK);
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY || !is_named ||
      etx_ir_find_value(m->method, value.name, &unused)) {
    return status;
  }
  const etx_status added =
      etx_ir_add_value(m->module, m->method, &value, &unused);
  return added == ETX_OK ? status : added;
}

etx_status etx_yaml_literal(const etx_yaml* node, etx_ir_arg* out_arg,
                            etx_diag* diag) {
  etx_yaml_value value;
  etx_ir_arg arg = {ETX_IR_ARG_NONE, {0}};
  if (node->kind == ETX_YAML_MAP) {
    ETX_TRY(etx_yaml_check_keys(node, "str", diag));
    const etx_yaml* const text = etx_yaml_find(node, "str");
    if (text == NULL || text->kind != ETX_YAML_SCALAR) {
      return etx_yaml_fail(node, diag, "expected {str: TEXT}");
    }
    arg.kind = ETX_IR_ARG_STRING;
    arg.as.string = text->text;
    *out_arg = arg;
    return ETX_OK;
  }
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "value", diag));
  ETX_TRY(etx_yaml_scalar(node, &value, diag));
  switch (value.type) {
    case ETX_YAML_NULL:
      break;
    case ETX_YAML_BOOL:
      arg.kind = ETX_IR_ARG_BOOL;
      arg.as.boolean = value.boolean;
      break;
    case ETX_YAML_INT:
      if (!etx_dim_is_number(value.integer)) {
        return etx_yaml_fail(node, diag, "the integer '%t' is too small",
                             node->text);
      }
      arg = etx_ir_int(value.integer);
      break;
    case ETX_YAML_DOUBLE:
      arg.kind = ETX_IR_ARG_DOUBLE;
      arg.as.real = value.real;
      break;
    case ETX_YAML_TEXT:
      return etx_yaml_fail(
          node, diag, "'%t' should be a number, true, false, null or {str: %t}",
          node->text, node->text);
  }
  *out_arg = arg;
  return ETX_OK;
}
