// scan and map: an entry of `nodes` with `scan` and `do`. `scan` gives names to
// the rows of some tensors, `carry` initial values of names that change from
// one row to the next, and the `outputs` of `do` are the values of these names
// for the next row, followed by results that are stacked. `out` has the carried
// values behind the last row, and then the stacked results.
//
// Such an entry is rewritten as a loop over an index, which yaml_cond.c reads:
//
//   row = squeeze(index_select(xs, 0, i), 0)
//   ys' = index_put(ys, [i], unsqueeze(y, 0))     ys is carried, at first zeros
//
// A map is a scan without `carry`. Results whose type is stated are known
// before the loop runs, so the types of the stacked ones have to be.

#include "exporter/read_yaml/yaml_internal.h"

typedef struct yaml_items {
  etx_yaml* keys;  // of a map
  etx_yaml* items;
  size_t count, key_capacity, item_capacity;
} yaml_items;

typedef struct yaml_scan_reader {
  etx_yaml_method* method;
  const etx_yaml* yaml;     // the entry of `nodes`
  const etx_yaml* rows;     // the map under `scan`
  const etx_yaml* carry;    // may be NULL
  const etx_yaml* body;     // the map under `do`
  const etx_yaml* outputs;  // of the body
  yaml_items names;         // of all results, as a list
  yaml_items types;
  etx_yaml steps;  // the number of rows
  etx_diag* diag;
} yaml_scan_reader;

// ---------------------------------------------------------------- trees

// A scalar at the place of the entry.
static etx_yaml scalar(const yaml_scan_reader* r, etx_text text,
                       bool is_quoted) {
  return (etx_yaml){.kind = ETX_YAML_SCALAR,
                    .is_quoted = is_quoted,
                    .line = r->yaml->line,
                    .column = r->yaml->column,
                    .text = text};
}

static etx_status append(const yaml_scan_reader* r, yaml_items* list,
                         const etx_yaml* key, const etx_yaml* item) {
  etx_pool* const pool = r->method->pool;
  ETX_TRY(etx_pool_grow(pool, &list->keys, list->count, &list->key_capacity,
                        sizeof *list->keys));
  ETX_TRY(etx_pool_grow(pool, &list->items, list->count, &list->item_capacity,
                        sizeof *list->items));
  list->keys[list->count] = key == NULL ? (etx_yaml){0} : *key;
  list->items[list->count++] = *item;
  return ETX_OK;
}

static etx_yaml tree_of(const yaml_scan_reader* r, etx_yaml_kind kind,
                        const yaml_items* list) {
  return (etx_yaml){.kind = kind,
                    .line = r->yaml->line,
                    .column = r->yaml->column,
                    .items = list->items,
                    .keys = list->keys,
                    .count = list->count};
}

static etx_status put(const yaml_scan_reader* r, yaml_items* map,
                      const char* key, const etx_yaml* item) {
  const etx_yaml name = scalar(r, etx_text_of(key), false);
  return append(r, map, &name, item);
}

// The text of a name that the loop uses: "<first result>.<part>".
static etx_status name_of(const yaml_scan_reader* r, const char* part,
                          size_t index, etx_yaml* out) {
  const etx_text text = etx_pool_format(
      r->method->pool, "%t.%s%z",
      r->names.count == 0 ? etx_text_of("scan") : r->names.items[0].text, part,
      index);
  if (text.data == NULL) return ETX_OUT_OF_MEMORY;
  *out = scalar(r, text, true);
  return ETX_OK;
}

// {sym: text}
static etx_status size_of(const yaml_scan_reader* r, etx_text text,
                          etx_yaml* out) {
  yaml_items map = {0};
  const etx_yaml size = scalar(r, text, true);
  ETX_TRY(put(r, &map, "sym", &size));
  *out = tree_of(r, ETX_YAML_MAP, &map);
  return ETX_OK;
}

static etx_yaml list_of(const yaml_scan_reader* r, const etx_yaml* items,
                        size_t count) {
  return (etx_yaml){.kind = ETX_YAML_LIST,
                    .line = r->yaml->line,
                    .column = r->yaml->column,
                    .items = items,
                    .count = count};
}

// Appends {out: out, op: op, args: args}.
static etx_status add_node(const yaml_scan_reader* r, yaml_items* nodes,
                           const etx_yaml* out, const char* op,
                           const etx_yaml* args, size_t arg_count) {
  etx_pool* const pool = r->method->pool;
  yaml_items map = {0};
  const etx_yaml name = scalar(r, etx_text_of(op), false);
  etx_yaml* const items = etx_pool_take(pool, arg_count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(items, args, arg_count * sizeof *items);
  const etx_yaml list = list_of(r, items, arg_count);
  ETX_TRY(put(r, &map, "out", out));
  ETX_TRY(put(r, &map, "op", &name));
  ETX_TRY(put(r, &map, "args", &list));
  const etx_yaml node = tree_of(r, ETX_YAML_MAP, &map);
  return append(r, nodes, NULL, &node);
}

// A list of one item.
static etx_status single(const yaml_scan_reader* r, const etx_yaml* item,
                         etx_yaml* out) {
  etx_yaml* const copy = etx_pool_take(r->method->pool, sizeof *copy);
  if (copy == NULL) return ETX_OUT_OF_MEMORY;
  *copy = *item;
  *out = list_of(r, copy, 1);
  return ETX_OK;
}

// ---------------------------------------------------------------- types

// The sizes of a type's text, such as "float32[t, min(a, b)]", as a list.
static etx_status read_sizes(const yaml_scan_reader* r, const etx_yaml* type,
                             yaml_items* sizes, etx_text* out_dtype) {
  size_t at = 0;
  size_t depth = 0;
  etx_shape shape;
  ETX_TRY(etx_yaml_shape(r->method, type, &shape, r->diag));
  while (at < type->text.size && type->text.data[at] != '[') ++at;
  *out_dtype = (etx_text){type->text.data, at};
  size_t first = ++at;
  for (; at < type->text.size && sizes->count < shape.rank; ++at) {
    const char c = type->text.data[at];
    const bool ends = depth == 0 && (c == ',' || c == ']');
    depth += c == '(';
    depth -= c == ')';
    if (!ends) continue;
    etx_yaml size;
    ETX_TRY(size_of(r, (etx_text){type->text.data + first, at - first}, &size));
    ETX_TRY(append(r, sizes, NULL, &size));
    first = at + 1;
  }
  return ETX_OK;
}

// Adds zeros with the type of stacked result `index`, and its row of `carry`.
static etx_status add_stacked(yaml_scan_reader* r, size_t index,
                              yaml_items* nodes, yaml_items* carry) {
  const etx_yaml* const type = &r->types.items[index];
  yaml_items sizes = {0}, map = {0}, keywords = {0};
  etx_yaml zeros, carried;
  etx_text dtype;
  if (etx_yaml_is_null(type)) {
    return etx_yaml_fail(r->yaml, r->diag,
                         "'type' should state the type of the stacked result "
                         "'%t', whose rows the loop writes one by one",
                         r->names.items[index].text);
  }
  ETX_TRY(read_sizes(r, type, &sizes, &dtype));
  if (sizes.count == 0) {
    return etx_yaml_fail(type, r->diag,
                         "the stacked result '%t' should have a dimension for "
                         "the rows",
                         r->names.items[index].text);
  }
  if (r->steps.kind == ETX_YAML_LIST) r->steps = sizes.items[0];
  ETX_TRY(name_of(r, "zeros", index, &zeros));
  ETX_TRY(name_of(r, "rows", index, &carried));
  const etx_yaml op = scalar(r, etx_text_of("aten.zeros.default"), false);
  const etx_yaml element = scalar(r, dtype, false);
  const etx_yaml list = tree_of(r, ETX_YAML_LIST, &sizes);
  etx_yaml args;
  ETX_TRY(single(r, &list, &args));
  ETX_TRY(put(r, &keywords, "dtype", &element));
  const etx_yaml kwargs = tree_of(r, ETX_YAML_MAP, &keywords);
  ETX_TRY(put(r, &map, "out", &zeros));
  ETX_TRY(put(r, &map, "op", &op));
  ETX_TRY(put(r, &map, "args", &args));
  ETX_TRY(put(r, &map, "kwargs", &kwargs));
  const etx_yaml node = tree_of(r, ETX_YAML_MAP, &map);
  ETX_TRY(append(r, nodes, NULL, &node));
  return append(r, carry, &carried, &zeros);
}

// ---------------------------------------------------------------- the loop

// Refuses tensors that are known to have another number of rows.
static etx_status check_rows(const yaml_scan_reader* r) {
  const etx_yaml* const text = etx_yaml_find(&r->steps, "sym");
  const etx_ir_method* const method = r->method->method;
  etx_dim steps = 0;
  ETX_TRY(etx_yaml_size(r->method, text, &steps, r->diag));
  for (size_t i = 0; i < r->rows->count; ++i) {
    const etx_yaml* const name = &r->rows->items[i];
    uint32_t value = 0;
    ETX_TRY(etx_yaml_expect(name, ETX_YAML_SCALAR, "scan", r->diag));
    ETX_TRY(etx_yaml_value_named(r->method, name, &value, r->diag));
    const etx_ir_value* const v = &method->values[value];
    if (!v->has_shape) continue;
    if (v->shape.rank == 0 ||
        !etx_symbols_equal(&method->symbols, steps, v->shape.dims[0])) {
      return etx_yaml_fail(name, r->diag,
                           "'%t' should have as many rows as the results, "
                           "which is '%t'",
                           name->text, text->text);
    }
  }
  return ETX_OK;
}

// Adds the index and the condition, with their values for the first row.
static etx_status add_index(yaml_scan_reader* r, yaml_items* nodes,
                            yaml_items* carry, etx_yaml* index,
                            etx_yaml* more) {
  etx_yaml names[2], args[2];
  const etx_yaml one = scalar(r, etx_text_of("1"), false);
  const etx_yaml zero = scalar(r, etx_text_of("0"), false);
  ETX_TRY(name_of(r, "start", 0, &names[0]));
  ETX_TRY(name_of(r, "start", 1, &names[1]));
  ETX_TRY(name_of(r, "index", 0, index));
  ETX_TRY(name_of(r, "more", 0, more));
  ETX_TRY(single(r, &one, &args[0]));
  args[1] = zero;
  ETX_TRY(add_node(r, nodes, &names[0], "aten.full.default", args, 2));
  args[0] = names[0];
  args[1] = r->steps;
  ETX_TRY(add_node(r, nodes, &names[1], "aten.lt.Scalar", args, 2));
  ETX_TRY(append(r, carry, index, &names[0]));
  return append(r, carry, more, &names[1]);
}

static etx_status add_rows(const yaml_scan_reader* r, yaml_items* nodes,
                           const etx_yaml* index) {
  for (size_t i = 0; i < r->rows->count; ++i) {
    etx_yaml selected;
    etx_yaml args[3] = {r->rows->items[i], scalar(r, etx_text_of("0"), false),
                        *index};
    ETX_TRY(name_of(r, "row", i, &selected));
    ETX_TRY(
        add_node(r, nodes, &selected, "aten.index_select.default", args, 3));
    args[0] = selected;
    ETX_TRY(add_node(r, nodes, &r->rows->keys[i], "aten.squeeze.dim", args, 2));
  }
  return ETX_OK;
}

// Adds what ends the body: the rows of the stacked results, the next index and
// condition.
static etx_status add_next(const yaml_scan_reader* r, yaml_items* nodes,
                           const yaml_items* carry, yaml_items* outputs) {
  const etx_yaml zero = scalar(r, etx_text_of("0"), false);
  const etx_yaml* const index = &carry->keys[carry->count - 2];
  const size_t carried = r->carry == NULL ? 0 : r->carry->count;
  etx_yaml args[3], name;
  for (size_t i = 0; i < r->outputs->count; ++i) {
    etx_yaml output = r->outputs->items[i];
    if (i >= carried) {
      ETX_TRY(name_of(r, "result", i, &name));
      args[0] = output;
      args[1] = zero;
      ETX_TRY(add_node(r, nodes, &name, "aten.unsqueeze.default", args, 2));
      args[0] = carry->keys[i];
      ETX_TRY(single(r, index, &args[1]));
      args[2] = name;
      ETX_TRY(name_of(r, "stacked", i, &output));
      ETX_TRY(add_node(r, nodes, &output, "aten.index_put.default", args, 3));
    }
    ETX_TRY(append(r, outputs, NULL, &output));
  }
  args[0] = *index;
  args[1] = scalar(r, etx_text_of("1"), false);
  ETX_TRY(name_of(r, "index", 1, &name));
  ETX_TRY(add_node(r, nodes, &name, "aten.add.Scalar", args, 2));
  ETX_TRY(append(r, outputs, NULL, &name));
  args[0] = name;
  args[1] = r->steps;
  ETX_TRY(name_of(r, "more", 1, &name));
  ETX_TRY(add_node(r, nodes, &name, "aten.lt.Scalar", args, 2));
  return append(r, outputs, NULL, &name);
}

// The entry as a loop: nodes in front of it, and {out, type, while, carry, do}.
static etx_status make_loop(yaml_scan_reader* r, yaml_items* before,
                            etx_yaml* out) {
  const size_t carried = r->carry == NULL ? 0 : r->carry->count;
  const etx_yaml* const own = etx_yaml_find(r->body, "nodes");
  const etx_yaml none = scalar(r, etx_text_of("null"), false);
  yaml_items carry = {0}, nodes = {0}, outputs = {0}, body = {0}, loop = {0};
  etx_yaml index, more, name;
  for (size_t i = 0; i < carried; ++i) {
    ETX_TRY(append(r, &carry, &r->carry->keys[i], &r->carry->items[i]));
  }
  for (size_t i = carried; i < r->outputs->count; ++i) {
    ETX_TRY(add_stacked(r, i, before, &carry));
  }
  ETX_TRY(check_rows(r));
  ETX_TRY(add_index(r, before, &carry, &index, &more));
  ETX_TRY(add_rows(r, &nodes, &index));
  for (size_t i = 0; own != NULL && i < own->count; ++i) {
    ETX_TRY(append(r, &nodes, NULL, &own->items[i]));
  }
  ETX_TRY(add_next(r, &nodes, &carry, &outputs));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(name_of(r, "last", i, &name));
    ETX_TRY(append(r, &r->names, NULL, &name));
    ETX_TRY(append(r, &r->types, NULL, &none));
  }
  const etx_yaml trees[] = {tree_of(r, ETX_YAML_LIST, &nodes),
                            tree_of(r, ETX_YAML_LIST, &outputs)};
  ETX_TRY(put(r, &body, "nodes", &trees[0]));
  ETX_TRY(put(r, &body, "outputs", &trees[1]));
  const etx_yaml parts[] = {tree_of(r, ETX_YAML_LIST, &r->names),
                            tree_of(r, ETX_YAML_LIST, &r->types), more,
                            tree_of(r, ETX_YAML_MAP, &carry),
                            tree_of(r, ETX_YAML_MAP, &body)};
  static const char* const keys[] = {"out", "type", "while", "carry", "do"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
    ETX_TRY(put(r, &loop, keys[i], &parts[i]));
  }
  *out = tree_of(r, ETX_YAML_MAP, &loop);
  return ETX_OK;
}

// ---------------------------------------------------------------- the entry

// The names under `out` and the types under `type`, one of each for each output
// of the body.
static etx_status read_results(yaml_scan_reader* r) {
  const etx_yaml* const out = etx_yaml_find(r->yaml, "out");
  const etx_yaml* const type = etx_yaml_find(r->yaml, "type");
  const etx_yaml none = scalar(r, etx_text_of("null"), false);
  if (out == NULL || out->kind == ETX_YAML_MAP) {
    return etx_yaml_fail(r->yaml, r->diag,
                         "'out' should be a name or a list of names");
  }
  const bool is_list = out->kind == ETX_YAML_LIST;
  const size_t count = is_list ? out->count : 1;
  if (count != r->outputs->count) {
    return etx_yaml_fail(r->outputs, r->diag,
                         "'outputs' should have one name for each name in "
                         "'out' (%z), found %z",
                         count, r->outputs->count);
  }
  if (type != NULL && ((type->kind == ETX_YAML_LIST) != is_list ||
                       (is_list && type->count != count))) {
    return etx_yaml_fail(type, r->diag,
                         "'type' should have one type for each name in 'out'");
  }
  for (size_t i = 0; i < count; ++i) {
    const etx_yaml* own = type == NULL ? &none : type;
    if (type != NULL && is_list) own = &type->items[i];
    ETX_TRY(append(r, &r->names, NULL, is_list ? &out->items[i] : out));
    ETX_TRY(append(r, &r->types, NULL, own));
  }
  return ETX_OK;
}

static etx_status read_parts(yaml_scan_reader* r) {
  r->rows = etx_yaml_find(r->yaml, "scan");
  r->carry = etx_yaml_find(r->yaml, "carry");
  r->body = etx_yaml_find(r->yaml, "do");
  const etx_yaml* const steps = etx_yaml_find(r->yaml, "steps");
  ETX_TRY(
      etx_yaml_check_keys(r->yaml, "out type scan carry steps do", r->diag));
  ETX_TRY(etx_yaml_expect(r->rows, ETX_YAML_MAP, "scan", r->diag));
  if (r->carry != NULL) {
    ETX_TRY(etx_yaml_expect(r->carry, ETX_YAML_MAP, "carry", r->diag));
  }
  if (r->body == NULL) {
    return etx_yaml_fail(r->yaml, r->diag, "'do' is missing");
  }
  ETX_TRY(etx_yaml_expect(r->body, ETX_YAML_MAP, "do", r->diag));
  ETX_TRY(etx_yaml_check_keys(r->body, "nodes outputs", r->diag));
  const etx_yaml* const nodes = etx_yaml_find(r->body, "nodes");
  if (nodes != NULL) {
    ETX_TRY(etx_yaml_expect(nodes, ETX_YAML_LIST, "nodes", r->diag));
  }
  r->outputs = etx_yaml_find(r->body, "outputs");
  if (r->outputs == NULL) {
    return etx_yaml_fail(r->body, r->diag, "'outputs' is missing");
  }
  ETX_TRY(etx_yaml_expect(r->outputs, ETX_YAML_LIST, "outputs", r->diag));
  const size_t carried = r->carry == NULL ? 0 : r->carry->count;
  if (r->outputs->count < carried) {
    return etx_yaml_fail(r->outputs, r->diag,
                         "'outputs' should start with a value for each name "
                         "in 'carry' (%z), found %z",
                         carried, r->outputs->count);
  }
  r->steps = (etx_yaml){.kind = ETX_YAML_LIST};  // not known yet
  if (steps != NULL) {
    ETX_TRY(etx_yaml_expect(steps, ETX_YAML_SCALAR, "steps", r->diag));
    ETX_TRY(size_of(r, steps->text, &r->steps));
  } else if (r->outputs->count == carried) {
    return etx_yaml_fail(r->yaml, r->diag,
                         "'steps' should state the number of rows, since no "
                         "result is stacked");
  }
  return read_results(r);
}

etx_status etx_yaml_read_scan(etx_yaml_method* m, const etx_yaml* yaml,
                              etx_yaml_read_function* read_node) {
  etx_diag diag;
  etx_diag_init(&diag);
  yaml_scan_reader r = {.method = m, .yaml = yaml, .diag = &diag};
  yaml_items before = {0};
  etx_yaml* const loop = etx_pool_take(&m->tree, sizeof *loop);
  if (loop == NULL) return ETX_OUT_OF_MEMORY;
  etx_status status = read_parts(&r);
  if (status == ETX_OK) status = make_loop(&r, &before, loop);
  if (status != ETX_OK) {
    ETX_TRY(etx_yaml_report(m, status, yaml, &diag));
    return etx_yaml_define_outputs(m, yaml);
  }
  for (size_t i = 0; i < before.count; ++i) {
    ETX_TRY(read_node(m, &before.items[i]));
  }
  return read_node(m, loop);
}
