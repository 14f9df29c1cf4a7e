// A loop: an entry of `nodes` with `while`, `carry` and `do`. `carry` gives the
// initial values of names that `do` reads; the `outputs` of `do` are their
// values in the next iteration, and after the last one the values under `out`.
// `while` is the carried value that says whether there is another iteration.
//
// A conditional: an entry of `nodes` with `if`, `then` and `else`. Values that
// a branch defines are visible in that branch only; the `outputs` of the branch
// that runs become the values under `out`.

#include "exporter/ir/ir_cond.h"
#include "exporter/read_yaml/yaml_internal.h"

// A conditional being read.
typedef struct cond_reader {
  etx_yaml_method* method;
  const etx_yaml* yaml;       // the entry of `nodes`
  const etx_yaml* out;        // its key `out`: a name or a list of names
  etx_source_location place;  // of the entry
  etx_yaml_read_function* read_node;
  size_t result_count;
  uint32_t* results[2];  // the values under `outputs` of `then` and `else`
  etx_diag* diag;
} cond_reader;

// ---------------------------------------------------------------- condition

static etx_status check_bool(const etx_yaml_method* m, const char* key,
                             const etx_yaml* node, uint32_t value,
                             etx_diag* diag) {
  const etx_ir_value* const v = &m->method->values[value];
  if (!v->has_shape) return ETX_OK;  // the pass `lower` checks it
  bool is_one = v->shape.dtype == ETX_DTYPE_BOOL;
  for (size_t i = 0; i < v->shape.rank; ++i) {
    is_one = is_one && v->shape.dims[i] == 1;
  }
  if (is_one) return ETX_OK;
  return etx_yaml_fail(
      node, diag,
      "'%s' should name a bool tensor of one element, which '%t' is not", key,
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
  ETX_TRY(etx_yaml_expect(node, ETX_YAML_SCALAR, "if", diag));
  ETX_TRY(etx_yaml_value_named(m, node, &value, diag));
  ETX_TRY(check_bool(m, "if", node, value, diag));
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

static etx_status read_results(const cond_reader* r, const etx_yaml* branch,
                               uint32_t* results) {
  etx_diag* const diag = r->diag;
  const etx_yaml* const outputs = etx_yaml_find(branch, "outputs");
  if (outputs == NULL) {
    return etx_yaml_fail(branch, diag, "'outputs' is missing");
  }
  ETX_TRY(etx_yaml_expect(outputs, ETX_YAML_LIST, "outputs", diag));
  if (outputs->count != r->result_count) {
    return etx_yaml_fail(outputs, diag,
                         "'outputs' should have one name for each name in "
                         "'out' (%z), found %z",
                         r->result_count, outputs->count);
  }
  for (size_t i = 0; i < r->result_count; ++i) {
    ETX_TRY(
        etx_yaml_expect(&outputs->items[i], ETX_YAML_SCALAR, "output", diag));
    ETX_TRY(
        etx_yaml_value_named(r->method, &outputs->items[i], &results[i], diag));
  }
  return ETX_OK;
}

// Reads `then` or `else` into `branch`. The recursion over nested conditionals
// is bounded by ETX_YAML_MAX_DEPTH.
static etx_status read_branch(const cond_reader* r, const char* key,
                              uint32_t branch, uint32_t* results) {
  etx_yaml_method* const m = r->method;
  etx_diag* const diag = r->diag;
  const etx_yaml* const map = etx_yaml_find(r->yaml, key);
  if (map == NULL) {
    return etx_yaml_fail(r->yaml, diag, "'%s' is missing", key);
  }
  ETX_TRY(etx_yaml_expect(map, ETX_YAML_MAP, key, diag));
  ETX_TRY(etx_yaml_check_keys(map, "nodes outputs", diag));
  const etx_yaml* const nodes = etx_yaml_find(map, "nodes");
  const uint32_t outer = m->branch;
  m->branch = branch;
  if (nodes != NULL) {
    const etx_status status =
        etx_yaml_expect(nodes, ETX_YAML_LIST, "nodes", diag);
    if (status != ETX_OK) return status;
    for (size_t i = 0; i < nodes->count; ++i) {
      ETX_TRY(r->read_node(m, &nodes->items[i]));
    }
  }
  const etx_status status = read_results(r, map, results);
  m->branch = outer;
  return status;
}

// ---------------------------------------------------------------- loops

// Adds the carries; r->results[1] are the carried values.
static etx_status read_carried(const cond_reader* r, uint32_t loop) {
  etx_yaml_method* const m = r->method;
  etx_diag* const diag = r->diag;
  const etx_yaml* const map = etx_yaml_find(r->yaml, "carry");
  if (map == NULL) {
    return etx_yaml_fail(r->yaml, diag, "'carry' is missing");
  }
  ETX_TRY(etx_yaml_expect(map, ETX_YAML_MAP, "carry", diag));
  if (map->count != r->result_count) {
    return etx_yaml_fail(map, diag,
                         "'carry' should have one value for each name in "
                         "'out' (%z), found %z",
                         r->result_count, map->count);
  }
  for (size_t i = 0; i < map->count; ++i) {
    etx_ir_carry carry = {.cond = loop, .name = map->keys[i].text};
    uint32_t other = 0;
    ETX_TRY(etx_yaml_expect(&map->items[i], ETX_YAML_SCALAR, "carry", diag));
    ETX_TRY(etx_yaml_value_named(m, &map->items[i], &carry.init, diag));
    if (carry.name.size == 0 ||
        etx_ir_find_value(m->method, carry.name, &other)) {
      return etx_yaml_fail(&map->keys[i], diag,
                           "a carried value needs a name of its own, which "
                           "'%t' is not",
                           carry.name);
    }
    ETX_TRY(etx_ir_add_carry(m->module, m->method, &carry, &r->place,
                             &r->results[1][i]));
  }
  return ETX_OK;
}

// The value under `while`, which must be one of the carried ones.
static etx_status read_while(const cond_reader* r, etx_ir_arg* out) {
  const etx_yaml* const name = etx_yaml_find(r->yaml, "while");
  ETX_TRY(etx_yaml_expect(name, ETX_YAML_SCALAR, "while", r->diag));
  for (size_t i = 0; i < r->result_count; ++i) {
    const uint32_t carried = r->results[1][i];
    if (!etx_text_equal(r->method->method->values[carried].name, name->text)) {
      continue;
    }
    ETX_TRY(check_bool(r->method, "while", name, carried, r->diag));
    *out = etx_ir_value_arg(carried);
    return ETX_OK;
  }
  return etx_yaml_fail(name, r->diag,
                       "'while' should name a value under 'carry', which '%t' "
                       "is not",
                       name->text);
}

static etx_status read_loop(const cond_reader* r, uint32_t* out_loop,
                            uint32_t* out_token) {
  etx_yaml_method* const m = r->method;
  etx_ir_arg condition;
  ETX_TRY(etx_yaml_check_keys(r->yaml, "out type while carry do", r->diag));
  ETX_TRY(etx_ir_add_cond(m->module, m->method, m->branch, out_loop));
  m->method->conds[*out_loop - 1].is_loop = true;
  ETX_TRY(read_carried(r, *out_loop));
  ETX_TRY(read_while(r, &condition));
  ETX_TRY(etx_ir_add_head(m->module, m->method, *out_loop, &condition,
                          &r->place, out_token));
  return read_branch(r, "do", etx_ir_then_branch(*out_loop), r->results[0]);
}

static etx_status read_choice(const cond_reader* r, uint32_t* out_cond,
                              uint32_t* out_token) {
  etx_yaml_method* const m = r->method;
  etx_ir_arg condition;
  ETX_TRY(etx_yaml_check_keys(r->yaml, "out type if then else", r->diag));
  ETX_TRY(read_condition(m, etx_yaml_find(r->yaml, "if"), &condition, r->diag));
  ETX_TRY(etx_ir_add_cond(m->module, m->method, m->branch, out_cond));
  ETX_TRY(etx_ir_add_head(m->module, m->method, *out_cond, &condition,
                          &r->place, out_token));
  ETX_TRY(read_branch(r, "then", etx_ir_then_branch(*out_cond), r->results[0]));
  return read_branch(r, "else", etx_ir_else_branch(*out_cond), r->results[1]);
}

// ---------------------------------------------------------------- results

// Defines result `index` of the conditional as the output of a join.
static etx_status add_result(const cond_reader* r, size_t index, uint32_t cond,
                             uint32_t token) {
  etx_yaml_method* const m = r->method;
  etx_diag* const diag = r->diag;
  const etx_yaml* const name = name_at(r->out, index);
  const etx_yaml* type = etx_yaml_find(r->yaml, "type");
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
  ETX_TRY(etx_yaml_expect(name, ETX_YAML_SCALAR, "out", diag));
  ETX_TRY(etx_yaml_add_value(m, name, &value, &output, diag));
  const etx_ir_join join = {cond, token, r->results[0][index],
                            r->results[1][index], output};
  return etx_ir_add_join(m->module, m->method, &join, &r->place);
}

static etx_status read_cond(cond_reader* r) {
  etx_yaml_method* const m = r->method;
  etx_diag* const diag = r->diag;
  const bool is_loop = etx_yaml_find(r->yaml, "while") != NULL;
  uint32_t cond = 0;
  uint32_t token = 0;
  if (r->out == NULL || r->out->kind == ETX_YAML_MAP) {
    return etx_yaml_fail(r->yaml, diag,
                         "'out' should be a name or a list of names");
  }
  r->result_count = count_of(r->out);
  for (size_t i = 0; i < 2; ++i) {
    r->results[i] =
        etx_pool_take(&m->tree, r->result_count * sizeof *r->results[i]);
    if (r->results[i] == NULL) return ETX_OUT_OF_MEMORY;
  }
  ETX_TRY(is_loop ? read_loop(r, &cond, &token)
                  : read_choice(r, &cond, &token));
  for (size_t i = 0; i < r->result_count; ++i) {
    ETX_TRY(add_result(r, i, cond, token));
  }
  return ETX_OK;
}

etx_status etx_yaml_define_outputs(etx_yaml_method* m, const etx_yaml* yaml) {
  const etx_yaml* const out = etx_yaml_find(yaml, "out");
  etx_source_location place = m->place;
  place.line = yaml->line;
  place.column = yaml->column;
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
                              .place = place,
                              .branch = m->branch};
    uint32_t unused = 0;
    ETX_TRY(etx_ir_add_node(m->module, m->method, &node, &unused));
  }
  return ETX_OK;
}

etx_status etx_yaml_read_cond(etx_yaml_method* m, const etx_yaml* yaml,
                              etx_yaml_read_function* read_node) {
  etx_diag diag;
  etx_diag_init(&diag);
  cond_reader r = {.method = m,
                   .yaml = yaml,
                   .out = etx_yaml_find(yaml, "out"),
                   .place = m->place,
                   .read_node = read_node,
                   .diag = &diag};
  r.place.line = yaml->line;
  r.place.column = yaml->column;
  const uint32_t branch = m->branch;
  const etx_status status = read_cond(&r);
  m->branch = branch;
  if (status == ETX_OK || status == ETX_OUT_OF_MEMORY) return status;
  ETX_TRY(etx_yaml_report(m, status, yaml, &diag));
  return etx_yaml_define_outputs(m, yaml);
}
