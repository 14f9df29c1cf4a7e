// torch.associative_scan with combine_mode="pointwise", which is a node of the
// archive (with "generic" it is a torch.vmap for each level, see pt2_vmap.c):
//
//   y = associative_scan(combine, xs, others)
//       y[0] = xs[0], y[t] = combine(y[t - 1], xs[t], others)
//
// The combine function is associative, so it may be applied in the order of the
// rows. The node is replaced by a scan that starts with the first row:
//
//   first = slice(x, 0, 0, 1)          start = select(x, 0, 0)
//   rest = slice(x, 0, 1)
//   last, rows = scan(combine, [start], [rest], others)
//   y = cat([first, rows])
//
// There is one of each for each tensor of xs. The sub-graph returns each result
// twice: as the carried value and as a row.

#include "exporter/read_pt2/pt2_internal.h"

#define TARGET "torch.ops.higher_order.associative_scan"

enum { GRAPH, XS, OTHERS, ARGUMENTS };
enum { MAX_GIVEN = 4 };

// The tensors that are added for each tensor of xs.
enum { FIRST, START, REST, LAST, ROWS, ADDED };

typedef struct associative_replacer {
  etx_pt2_graph* graph;
  etx_pt2_json_items nodes;    // of the graph, with scans
  etx_pt2_json_items tensors;  // tensor_values of the graph, with new names
  size_t count;                // nodes that were replaced
} associative_replacer;

// An associative_scan node while it is replaced.
typedef struct associative_call {
  const etx_json* node;
  const etx_json* graph;    // {"name": .., "graph": ..}
  const etx_json* xs;       // a list of {"name": ..}
  const etx_json* others;   // an Argument
  const etx_json* outputs;  // a list of Arguments
  etx_pt2_json_items starts, rests;
  etx_pt2_json_items results;  // of the scan
} associative_call;

typedef struct given_argument {
  const char* name;
  etx_json value;  // an Argument
} given_argument;

static const etx_text no_key = {NULL, 0};

static bool is_associative_scan(const etx_json* node) {
  const etx_json* const target = etx_json_member(node, "target");
  return target != NULL && target->kind == ETX_JSON_STRING &&
         etx_text_is(target->string, TARGET);
}

// ---------------------------------------------------------------- JSON

static etx_status integer_of(etx_pool* pool, int64_t value, etx_json* out) {
  const etx_json number = {.kind = ETX_JSON_INT, .integer = value};
  return etx_pt2_json_member_of(pool, "as_int", number, out);
}

static etx_status add_named(etx_pool* pool, etx_pt2_json_items* list,
                            etx_text name) {
  etx_json item;
  ETX_TRY(etx_pt2_json_named(pool, name, &item));
  return etx_pt2_add_json(pool, list, no_key, &item);
}

// Appends a node. `outputs` is a list of Arguments.
static etx_status add_call(associative_replacer* g, const associative_call* c,
                           const char* target, const given_argument* given,
                           size_t count, const etx_json* outputs) {
  static const char* const input_keys[] = {"name", "arg"};
  static const char* const node_keys[] = {"target", "inputs", "outputs", "name",
                                          "metadata"};
  etx_pool* const pool = g->graph->pool;
  etx_pt2_json_items inputs = {0};
  etx_json node;
  for (size_t i = 0; i < count; ++i) {
    const etx_json parts[] = {etx_pt2_json_string(etx_text_of(given[i].name)),
                              given[i].value};
    etx_json input;
    ETX_TRY(etx_pt2_json_object(pool, input_keys, parts, 2, &input));
    ETX_TRY(etx_pt2_add_json(pool, &inputs, no_key, &input));
  }
  const etx_json none = {.kind = ETX_JSON_OBJECT};
  const etx_json* const name = etx_json_member(c->node, "name");
  const etx_json* const metadata = etx_json_member(c->node, "metadata");
  const etx_json parts[] = {
      etx_pt2_json_string(etx_text_of(target)), etx_pt2_json_array(&inputs),
      *outputs,
      name == NULL ? etx_pt2_json_string(etx_text_of("associative_scan"))
                   : *name,
      metadata == NULL ? none : *metadata};
  ETX_TRY(etx_pt2_json_object(pool, node_keys, parts, 5, &node));
  return etx_pt2_add_json(pool, &g->nodes, no_key, &node);
}

// The same with one result.
static etx_status add_function(associative_replacer* g,
                               const associative_call* c, const char* target,
                               const given_argument* given, size_t count,
                               etx_text result) {
  etx_json output, outputs;
  ETX_TRY(etx_pt2_json_tensor(g->graph->pool, result, &output));
  ETX_TRY(etx_pt2_json_list(g->graph->pool, &output, &outputs));
  return add_call(g, c, target, given, count, &outputs);
}

// ---------------------------------------------------------------- types

// The size `from`, a SymInt, less one.
static etx_status one_less(associative_replacer* g, const etx_json* from,
                           etx_json* out) {
  static const char* const keys[] = {"expr_str", "hint"};
  etx_pool* const pool = g->graph->pool;
  const etx_json* const number = etx_json_member(from, "as_int");
  if (number != NULL && number->kind == ETX_JSON_INT && number->integer > 0) {
    return integer_of(pool, number->integer - 1, out);
  }
  const etx_json* expression = NULL;
  etx_text text;
  ETX_TRY(
      etx_pt2_field(g->graph, from, "as_expr", ETX_JSON_OBJECT, &expression));
  ETX_TRY(etx_pt2_text(g->graph, expression, "expr_str", &text));
  text = etx_pool_format(pool, "Add(%t, Integer(-1))", text);
  if (text.data == NULL) return ETX_OUT_OF_MEMORY;
  const etx_json parts[] = {etx_pt2_json_string(text), {0}};
  etx_json object;
  ETX_TRY(etx_pt2_json_object(pool, keys, parts, 2, &object));
  return etx_pt2_json_member_of(pool, "as_expr", object, out);
}

// Replaces dimension 0 in the member `key` of a TensorMeta by `size`, or leaves
// it out if `size` is NULL.
static etx_status change_first(associative_replacer* g, etx_json* meta,
                               const char* key, const etx_json* size) {
  const etx_json* list = NULL;
  ETX_TRY(etx_pt2_field(g->graph, meta, key, ETX_JSON_ARRAY, &list));
  if (list->count == 0) {
    return etx_pt2_fail_malformed(g->graph,
                                  "a tensor without dimensions has no rows");
  }
  etx_json changed = *list;
  ETX_TRY(etx_pt2_copy_items(g->graph->pool, &changed));
  if (size == NULL) {
    ++changed.items;
    --changed.count;
  } else {
    *(etx_json*)changed.items = *size;
  }
  etx_pt2_put_member(meta, key, changed);
  return ETX_OK;
}

// Adds a name for a tensor of the type of `meta` with another first dimension.
static etx_status add_tensor(associative_replacer* g, const etx_json* meta,
                             const etx_json* rows, etx_text name) {
  etx_json changed = *meta;
  const etx_json* strides = NULL;
  ETX_TRY(etx_pt2_copy_items(g->graph->pool, &changed));
  ETX_TRY(change_first(g, &changed, "sizes", rows));
  ETX_TRY(etx_pt2_field(g->graph, meta, "strides", ETX_JSON_ARRAY, &strides));
  if (rows == NULL) ETX_TRY(change_first(g, &changed, "strides", NULL));
  return etx_pt2_add_json(g->graph->pool, &g->tensors, name, &changed);
}

static etx_status add_names(associative_replacer* g, etx_text x,
                            const etx_json* meta, etx_text names[ADDED]) {
  static const char* const endings[ADDED] = {"first", "start", "rest", "last",
                                             "rows"};
  const etx_json* sizes = NULL;
  etx_json one, rest;
  ETX_TRY(etx_pt2_field(g->graph, meta, "sizes", ETX_JSON_ARRAY, &sizes));
  if (sizes->count == 0) {
    return etx_pt2_fail_malformed(
        g->graph, "'%t', which has no dimension, has no rows", x);
  }
  ETX_TRY(integer_of(g->graph->pool, 1, &one));
  ETX_TRY(one_less(g, &sizes->items[0], &rest));
  const etx_json* const rows[ADDED] = {&one, NULL, &rest, NULL, &rest};
  for (size_t i = 0; i < ADDED; ++i) {
    names[i] =
        etx_pool_format(g->graph->pool, "%t.%s%z", x, endings[i], g->count);
    if (names[i].data == NULL) return ETX_OUT_OF_MEMORY;
    ETX_TRY(add_tensor(g, meta, rows[i], names[i]));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- the call

static etx_status read_call(associative_replacer* g, const etx_json* node,
                            associative_call* out) {
  etx_pt2_graph* const graph = g->graph;
  const etx_json* inputs = NULL;
  const etx_json* argument = NULL;
  out->node = node;
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, node, "outputs", ETX_JSON_ARRAY, &out->outputs));
  if (inputs->count != ARGUMENTS) {
    return etx_pt2_fail_malformed(
        graph, "associative_scan should have 3 arguments, found %z",
        inputs->count);
  }
  ETX_TRY(etx_pt2_field(graph, &inputs->items[GRAPH], "arg", ETX_JSON_OBJECT,
                        &argument));
  ETX_TRY(
      etx_pt2_field(graph, argument, "as_graph", ETX_JSON_OBJECT, &out->graph));
  ETX_TRY(etx_pt2_field(graph, &inputs->items[XS], "arg", ETX_JSON_OBJECT,
                        &argument));
  ETX_TRY(
      etx_pt2_field(graph, argument, "as_tensors", ETX_JSON_ARRAY, &out->xs));
  ETX_TRY(etx_pt2_field(graph, &inputs->items[OTHERS], "arg", ETX_JSON_OBJECT,
                        &out->others));
  if (out->outputs->count == out->xs->count) return ETX_OK;
  return etx_pt2_fail_malformed(
      graph, "associative_scan has %z results for %z tensors",
      out->outputs->count, out->xs->count);
}

// The sub-graph with each result twice.
static etx_status double_results(associative_replacer* g,
                                 const associative_call* c, etx_json* out) {
  etx_pool* const pool = g->graph->pool;
  const etx_json *graph = NULL, *outputs = NULL;
  etx_pt2_json_items doubled = {0};
  ETX_TRY(etx_pt2_field(g->graph, c->graph, "graph", ETX_JSON_OBJECT, &graph));
  ETX_TRY(etx_pt2_field(g->graph, graph, "outputs", ETX_JSON_ARRAY, &outputs));
  for (size_t i = 0; i < 2 * outputs->count; ++i) {
    ETX_TRY(etx_pt2_add_json(pool, &doubled, no_key,
                             &outputs->items[i % outputs->count]));
  }
  etx_json changed = *graph, holder = *c->graph;
  ETX_TRY(etx_pt2_copy_items(pool, &changed));
  ETX_TRY(etx_pt2_copy_items(pool, &holder));
  etx_pt2_put_member(&changed, "outputs", etx_pt2_json_array(&doubled));
  etx_pt2_put_member(&holder, "graph", changed);
  return etx_pt2_json_member_of(pool, "as_graph", holder, out);
}

// ---------------------------------------------------------------- nodes

// Appends the slices and the row of `x` in front of the scan.
static etx_status add_parts(associative_replacer* g, associative_call* c,
                            etx_text x, const etx_text names[ADDED]) {
  etx_pool* const pool = g->graph->pool;
  given_argument given[MAX_GIVEN] = {
      {"self", {0}}, {"dim", {0}}, {"start", {0}}, {"end", {0}}};
  ETX_TRY(etx_pt2_json_tensor(pool, x, &given[0].value));
  ETX_TRY(integer_of(pool, 0, &given[1].value));
  ETX_TRY(integer_of(pool, 0, &given[2].value));
  ETX_TRY(integer_of(pool, 1, &given[3].value));
  ETX_TRY(add_function(g, c, "torch.ops.aten.slice.Tensor", given, 4,
                       names[FIRST]));
  ETX_TRY(integer_of(pool, 1, &given[2].value));
  ETX_TRY(integer_of(pool, INT64_MAX, &given[3].value));
  ETX_TRY(
      add_function(g, c, "torch.ops.aten.slice.Tensor", given, 4, names[REST]));
  given[2].name = "index";
  ETX_TRY(integer_of(pool, 0, &given[2].value));
  ETX_TRY(
      add_function(g, c, "torch.ops.aten.select.int", given, 3, names[START]));
  ETX_TRY(add_named(pool, &c->starts, names[START]));
  return add_named(pool, &c->rests, names[REST]);
}

static etx_status add_scan(associative_replacer* g, const associative_call* c) {
  etx_pool* const pool = g->graph->pool;
  given_argument given[MAX_GIVEN] = {
      {"", {0}}, {"", {0}}, {"", {0}}, {"", *c->others}};
  const etx_json results = etx_pt2_json_array(&c->results);
  ETX_TRY(double_results(g, c, &given[0].value));
  ETX_TRY(etx_pt2_json_member_of(
      pool, "as_tensors", etx_pt2_json_array(&c->starts), &given[1].value));
  ETX_TRY(etx_pt2_json_member_of(
      pool, "as_tensors", etx_pt2_json_array(&c->rests), &given[2].value));
  return add_call(g, c, "torch.ops.higher_order.scan", given, 4, &results);
}

// Appends y = cat([first, rows]).
static etx_status add_result(associative_replacer* g, const associative_call* c,
                             etx_text y, const etx_text names[ADDED]) {
  etx_pool* const pool = g->graph->pool;
  given_argument given[2] = {{"tensors", {0}}, {"dim", {0}}};
  etx_pt2_json_items parts = {0};
  ETX_TRY(add_named(pool, &parts, names[FIRST]));
  ETX_TRY(add_named(pool, &parts, names[ROWS]));
  ETX_TRY(etx_pt2_json_member_of(pool, "as_tensors", etx_pt2_json_array(&parts),
                                 &given[0].value));
  ETX_TRY(integer_of(pool, 0, &given[1].value));
  return add_function(g, c, "torch.ops.aten.cat.default", given, 2, y);
}

// True if a tensor is stated to have at most one row: it is its own result.
static bool has_one_row(const etx_json* meta) {
  const etx_json* const sizes = etx_json_member(meta, "sizes");
  const etx_json* const rows =
      sizes != NULL && sizes->kind == ETX_JSON_ARRAY && sizes->count > 0
          ? etx_json_member(&sizes->items[0], "as_int")
          : NULL;
  return rows != NULL && rows->kind == ETX_JSON_INT && rows->integer <= 1;
}

static etx_status tensor_at(associative_replacer* g, const etx_json* tensor,
                            etx_text* out_name, const etx_json** out_meta) {
  ETX_TRY(etx_pt2_expect(g->graph, tensor, ETX_JSON_OBJECT, "as_tensor"));
  ETX_TRY(etx_pt2_text(g->graph, tensor, "name", out_name));
  *out_meta = etx_json_find(g->graph->tensor_values, *out_name);
  return etx_pt2_expect(g->graph, *out_meta, ETX_JSON_OBJECT,
                        "the tensor's type");
}

static etx_status replace_node(associative_replacer* g, const etx_json* node) {
  etx_pool* const pool = g->graph->pool;
  associative_call c = {0};
  bool is_done = false;
  ETX_TRY(read_call(g, node, &c));
  const size_t count = c.xs->count;
  etx_text* const names = etx_pool_take(pool, count * ADDED * sizeof *names);
  if (names == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    const etx_json* meta = NULL;
    etx_text x;
    ETX_TRY(tensor_at(g, &c.xs->items[i], &x, &meta));
    if (i > 0 && has_one_row(meta) != is_done) {
      return etx_pt2_fail_malformed(
          g->graph, "the tensors of associative_scan differ in their rows");
    }
    is_done = has_one_row(meta);
    if (is_done) continue;
    ETX_TRY(add_names(g, x, meta, &names[i * ADDED]));
    ETX_TRY(add_parts(g, &c, x, &names[i * ADDED]));
  }
  for (size_t i = 0; i < 2 * count && !is_done; ++i) {
    const size_t kind = i < count ? LAST : ROWS;
    etx_json result;
    ETX_TRY(
        etx_pt2_json_tensor(pool, names[i % count * ADDED + kind], &result));
    ETX_TRY(etx_pt2_add_json(pool, &c.results, no_key, &result));
  }
  if (!is_done) ETX_TRY(add_scan(g, &c));
  for (size_t i = 0; i < count; ++i) {
    const etx_json* meta = NULL;
    etx_text x, y;
    ETX_TRY(tensor_at(g, &c.xs->items[i], &x, &meta));
    ETX_TRY(tensor_at(g, etx_json_member(&c.outputs->items[i], "as_tensor"), &y,
                      &meta));
    if (!is_done) {
      ETX_TRY(add_result(g, &c, y, &names[i * ADDED]));
      continue;
    }
    given_argument self = {"self", {0}};
    ETX_TRY(etx_pt2_json_tensor(pool, x, &self.value));
    ETX_TRY(add_function(g, &c, "torch.ops.aten.alias.default", &self, 1, y));
  }
  ++g->count;
  return ETX_OK;
}

etx_status etx_pt2_replace_associative_scans(etx_pt2_graph* graph) {
  associative_replacer g = {.graph = graph};
  const etx_json* const nodes = graph->nodes;
  const etx_json* const table = graph->tensor_values;
  bool is_found = false;
  for (size_t i = 0; i < nodes->count && !is_found; ++i) {
    is_found = is_associative_scan(&nodes->items[i]);
  }
  if (!is_found) return ETX_OK;
  for (size_t i = 0; i < table->count; ++i) {
    ETX_TRY(etx_pt2_add_json(graph->pool, &g.tensors, table->keys[i],
                             &table->items[i]));
  }
  for (size_t i = 0; i < nodes->count; ++i) {
    const etx_json* const node = &nodes->items[i];
    if (!is_associative_scan(node)) {
      ETX_TRY(etx_pt2_add_json(graph->pool, &g.nodes, no_key, node));
      continue;
    }
    const etx_json* const name = etx_json_member(node, "name");
    if (name != NULL && name->kind == ETX_JSON_STRING) {
      graph->place.node = name->string;
      etx_pt2_set_context(graph, "node '%t'", name->string);
    }
    ETX_TRY(replace_node(&g, node));
  }
  graph->place.node.size = 0;
  etx_json* const replaced = etx_pool_take(graph->pool, sizeof *replaced);
  if (replaced == NULL) return ETX_OUT_OF_MEMORY;
  *replaced = etx_pt2_json_array(&g.nodes);
  graph->nodes = replaced;
  return etx_pt2_json_table(graph->pool, &g.tensors, &graph->tensor_values);
}
