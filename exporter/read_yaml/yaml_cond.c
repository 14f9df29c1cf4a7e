// A node with `if`, `then` and `else`: nodes of which one branch or the other
// runs. What a branch defines can be read in it alone; its `outputs` say what
// the names under `out` stand for.

#include "exporter/ir/ir_cond.h"
#include "exporter/read_yaml/yaml_internal.h"

// ---------------------------------------------------------------- condition

static etx_status check_bool(const etx_yaml_method* m, const etx_yaml* node,
                             uint32_t value, etx_diag* diag) {
  const etx_ir_value* const v = &m->method->values[value];
  if (!v->has_shape) return ETX_OK;  // the pass `lower` will know
  bool is_one = v->shape.dtype == ETX_DTYPE_BOOL;
  for (size_t i = 0; i < v->shape.rank; ++i) {
    is_one = is_one && v->shape.dims[i] == 1;
  }
  if (is_one) return ETX_OK;
  return etx_yaml_refuse(node, diag, "'if' should name one bool, not '%t'",
                         node->text);
}

static etx_status read_condition(etx_yaml_method* m, const etx_yaml* node,
                                 etx_ir_arg* out, etx_diag* diag) {
  const etx_yaml* const size = etx_yaml_find(node, "sym");
  if (node->kind == ETX_YAML_MAP && size != NULL) {
    etx_dim dim = 0;
    ETX_TRY(etx_yaml_check_keys(node, "sym", diag));
    ETX_TRY(etx_yaml_size(m, size, &dim, diag));
    *out = etx_ir_int(dim);
    return ETX_OK;
  }
  uint32_t value = 0;
  ETX_TRY(etx_yaml_want(node, ETX_YAML_SCALAR, "if", diag));
  ETX_TRY(etx_yaml_value_named(m, node, &value, diag));
  ETX_TRY(check_bool(m, node, value, diag));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

// ---------------------------------------------------------------- branches

// The names of `out`: one, or a list.
static size_t count_of(const etx_yaml* names) {
  return names->kind == ETX_YAML_LIST ? names->count : 1;
}

static const etx_yaml* name_at(const etx_yaml* names, size_t index) {
  return names->kind == ETX_YAML_LIST ? &names->items[index] : names;
}

static etx_status read_results(etx_yaml_method* m, const etx_yaml* branch,
                               size_t count, uint32_t* results,
                               etx_diag* diag) {
  const etx_yaml* const outputs = etx_yaml_find(branch, "outputs");
  if (outputs == NULL) {
    return etx_yaml_refuse(branch, diag, "'outputs' is missing");
  }
  ETX_TRY(etx_yaml_want(outputs, ETX_YAML_LIST, "outputs", diag));
  if (outputs->count != count) {
    return etx_yaml_refuse(outputs, diag,
                           "'out' names %z results, the branch gives %z", count,
                           outputs->count);
  }
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(etx_yaml_want(&outputs->items[i], ETX_YAML_SCALAR, "output", diag));
    ETX_TRY(etx_yaml_value_named(m, &outputs->items[i], &results[i], diag));
  }
  return ETX_OK;
}

// Reads `then` or `else`; depth is bounded by the tree.
static etx_status read_branch(etx_yaml_method* m, const etx_yaml* json,
                              const char* key, uint32_t branch, size_t count,
                              uint32_t* results,
                              etx_yaml_read_function* read_node,
                              etx_diag* diag) {
  const etx_yaml* const map = etx_yaml_find(json, key);
  if (map == NULL) return etx_yaml_refuse(json, diag, "'%s' is missing", key);
  ETX_TRY(etx_yaml_want(map, ETX_YAML_MAP, key, diag));
  ETX_TRY(etx_yaml_check_keys(map, "nodes outputs", diag));
  const etx_yaml* const nodes = etx_yaml_find(map, "nodes");
  const uint32_t outer = m->branch;
  m->branch = branch;
  if (nodes != NULL) {
    const etx_status status =
        etx_yaml_want(nodes, ETX_YAML_LIST, "nodes", diag);
    if (status != ETX_OK) return status;
    for (size_t i = 0; i < nodes->count; ++i) {
      ETX_TRY(read_node(m, &nodes->items[i]));
    }
  }
  const etx_status status = read_results(m, map, count, results, diag);
  m->branch = outer;
  return status;
}

// ---------------------------------------------------------------- results

static etx_status add_result(etx_yaml_method* m, const etx_yaml* json,
                             size_t index, uint32_t choice, uint32_t token,
                             const uint32_t ways[2],
                             const etx_source_location* place, etx_diag* diag) {
  const etx_yaml* const out = etx_yaml_find(json, "out");
  const etx_yaml* const name = name_at(out, index);
  const etx_yaml* type = etx_yaml_find(json, "type");
  if (type != NULL && type->kind == ETX_YAML_LIST) {
    type = index < type->count ? &type->items[index] : NULL;
  }
  etx_ir_value value = {.name = name->text,
                        .origin = ETX_IR_FROM_NODE,
                        .index = (uint32_t)m->method->node_count};
  uint32_t output = 0;
  if (type != NULL && !etx_yaml_is_null(type)) {
    ETX_TRY(etx_yaml_shape(m, type, &value.shape, diag));
    value.has_shape = true;
  }
  ETX_TRY(etx_yaml_want(name, ETX_YAML_SCALAR, "out", diag));
  ETX_TRY(etx_yaml_add_value(m, name, &value, &output, diag));
  return etx_ir_add_join(m->module, m->method, choice, token, ways[0], ways[1],
                         output, place);
}

static etx_status read_choice(etx_yaml_method* m, const etx_yaml* json,
                              const etx_source_location* place,
                              etx_yaml_read_function* read_node,
                              etx_diag* diag) {
  etx_ir_arg condition;
  uint32_t choice = 0;
  uint32_t token = 0;
  ETX_TRY(etx_yaml_check_keys(json, "out type if then else", diag));
  const etx_yaml* const out = etx_yaml_find(json, "out");
  if (out == NULL || out->kind == ETX_YAML_MAP) {
    return etx_yaml_refuse(json, diag, "'out' should be a name or a list");
  }
  const size_t count = count_of(out);
  ETX_TRY(read_condition(m, etx_yaml_find(json, "if"), &condition, diag));
  uint32_t* results[2];
  for (size_t i = 0; i < 2; ++i) {
    results[i] = etx_pool_take(m->pool, count * sizeof(uint32_t));
    if (results[i] == NULL) return ETX_OUT_OF_MEMORY;
  }
  ETX_TRY(etx_ir_add_cond(m->module, m->method, m->branch, &choice));
  ETX_TRY(
      etx_ir_add_head(m->module, m->method, choice, &condition, place, &token));
  ETX_TRY(read_branch(m, json, "then", etx_ir_then_branch(choice), count,
                      results[0], read_node, diag));
  ETX_TRY(read_branch(m, json, "else", etx_ir_else_branch(choice), count,
                      results[1], read_node, diag));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t ways[2] = {results[0][i], results[1][i]};
    ETX_TRY(add_result(m, json, i, choice, token, ways, place, diag));
  }
  return ETX_OK;
}

// The names that a refused choice would have defined, so that what follows is
// still looked at.
static etx_status define_anyway(etx_yaml_method* m, const etx_yaml* json,
                                const etx_source_location* place) {
  const etx_yaml* const out = etx_yaml_find(json, "out");
  const size_t count =
      out == NULL || out->kind == ETX_YAML_MAP ? 0 : count_of(out);
  for (size_t i = 0; i < count; ++i) {
    const etx_yaml* const name = name_at(out, i);
    uint32_t value = 0;
    if (name->kind != ETX_YAML_SCALAR || name->text.size == 0 ||
        etx_ir_find_value(m->method, name->text, &value)) {
      continue;
    }
    const etx_ir_value missing = {.name = name->text,
                                  .origin = ETX_IR_FROM_NODE,
                                  .index = (uint32_t)m->method->node_count};
    ETX_TRY(etx_ir_add_value(m->module, m->method, &missing, &value));
    const etx_ir_node node = {.aten = etx_text_of("torch.cond"),
                              .outputs = &value,
                              .output_count = 1,
                              .place = *place,
                              .branch = m->branch};
    uint32_t unused = 0;
    ETX_TRY(etx_ir_add_node(m->module, m->method, &node, &unused));
  }
  return ETX_OK;
}

etx_status etx_yaml_read_cond(etx_yaml_method* m, const etx_yaml* json,
                              etx_yaml_read_function* read_node) {
  etx_diag diag;
  etx_diag_init(&diag);
  etx_source_location place = m->place;
  place.line = json->line;
  place.column = json->column;
  const uint32_t branch = m->branch;
  const etx_status status = read_choice(m, json, &place, read_node, &diag);
  m->branch = branch;
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY) return status;
  ETX_TRY(etx_yaml_report(m, status, json, &diag));
  return define_anyway(m, json, &place);
}
