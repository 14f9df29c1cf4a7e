// Graphs that a node wraps only to say how PyTorch works while they run:
//
//   with torch.no_grad(): ..               wrap_with_set_grad_enabled
//   with torch.autocast(enabled=False): .. wrap_with_autocast
//
// Nothing of that changes what they compute, so their nodes take the place of
// the node that wraps them before anything is read, under names that no other
// tensor has. What the node gives is an alias of what its graph gives.

#include "exporter/read_pt2/pt2_internal.h"

enum { MAX_DEPTH = 16 };

// What names stand for, each in a table of its own.
enum { TENSORS, INTS, BOOLS, FLOATS, TABLES };

typedef struct table {
  etx_json* items;
  etx_text* keys;
  size_t count, item_capacity, key_capacity;
} table;

typedef struct node_list {
  etx_json* items;
  size_t count, capacity;
} node_list;

// A graph whose nodes are being taken over; the outermost keeps its names.
typedef struct frame {
  const etx_json* nodes;
  size_t next;
  const etx_json* wrapped;         // its node; NULL: outermost
  const etx_json* outputs;         // of its graph
  const etx_json* tables[TABLES];  // NULL: no such names
  etx_text* names[TABLES];         // what they are called from now on
} frame;

typedef struct unwrapping {
  etx_pt2_graph* graph;
  frame frames[MAX_DEPTH];
  size_t depth;  // frames in use
  size_t count;  // graphs so far
  node_list nodes;
  table tables[TABLES];
} unwrapping;

static bool is_wrapper(const etx_json* node) {
  const etx_json* const target = etx_json_member(node, "target");
  if (target == NULL || target->kind != ETX_JSON_STRING) return false;
  return etx_text_is(target->string,
                     "torch.ops.higher_order.wrap_with_set_grad_enabled") ||
         etx_text_is(target->string,
                     "torch.ops.higher_order.wrap_with_autocast");
}

// ---------------------------------------------------------------- names

// The new name of `name` in a frame; `name` itself where it has none.
static etx_text renamed(const frame* f, etx_text name) {
  for (size_t t = 0; t < TABLES; ++t) {
    const etx_json* const item = etx_json_find(f->tables[t], name);
    if (item == NULL || f->names[t] == NULL) continue;
    const etx_text own = f->names[t][item - f->tables[t]->items];
    if (own.data != NULL) return own;
  }
  return name;
}

// `from` with the names of the frame replaced. Graphs within it have names of
// their own.
static etx_status copy_renamed(unwrapping* u, const frame* f,
                               const etx_json* from, etx_json* to) {
  etx_json** open = NULL;
  size_t count = 0, capacity = 0;
  etx_pool* const pool = u->graph->pool;
  *to = *from;
  ETX_TRY(etx_pool_grow(pool, &open, count, &capacity, sizeof *open));
  open[count++] = to;
  while (count > 0) {
    etx_json* const at = open[--count];
    if (at->count == 0) continue;
    etx_json* const items = etx_pool_take(pool, at->count * sizeof *items);
    if (items == NULL) return ETX_OUT_OF_MEMORY;
    memcpy(items, at->items, at->count * sizeof *items);
    at->items = items;
    for (size_t i = 0; i < at->count; ++i) {
      const bool has_key = at->kind == ETX_JSON_OBJECT;
      if (has_key && etx_text_is(at->keys[i], "as_graph")) continue;
      if (has_key && items[i].kind == ETX_JSON_STRING &&
          (etx_text_is(at->keys[i], "name") ||
           etx_text_is(at->keys[i], "as_name"))) {
        items[i].string = renamed(f, items[i].string);
      }
      ETX_TRY(etx_pool_grow(pool, &open, count, &capacity, sizeof *open));
      open[count++] = &items[i];
    }
  }
  return ETX_OK;
}

// Replaces the member `key` of the object `object`, whose items are its own.
static void put_member(etx_json* object, const char* key, etx_json value) {
  etx_json* const items = (etx_json*)object->items;
  const etx_json* const member = etx_json_member(object, key);
  if (member != NULL) items[member - object->items] = value;
}

static etx_status own_items(etx_pool* pool, etx_json* json) {
  etx_json* const items = etx_pool_take(pool, json->count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  if (json->count > 0) memcpy(items, json->items, json->count * sizeof *items);
  json->items = items;
  return ETX_OK;
}

// Keywords of arguments are no names, and stay.
static etx_status copy_node(unwrapping* u, const frame* f, const etx_json* from,
                            etx_json* to) {
  etx_pt2_graph* const graph = u->graph;
  const etx_json *inputs = NULL, *outputs = NULL;
  *to = *from;
  if (f->wrapped == NULL) return ETX_OK;
  ETX_TRY(etx_pt2_field(graph, from, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, from, "outputs", ETX_JSON_ARRAY, &outputs));
  etx_json copy = *inputs;
  ETX_TRY(own_items(graph->pool, &copy));
  for (size_t i = 0; i < copy.count; ++i) {
    etx_json* const input = (etx_json*)&copy.items[i];
    const etx_json* const argument = etx_json_member(input, "arg");
    etx_json own;
    if (argument == NULL) continue;
    ETX_TRY(copy_renamed(u, f, argument, &own));
    ETX_TRY(own_items(graph->pool, input));
    put_member(input, "arg", own);
  }
  ETX_TRY(own_items(graph->pool, to));
  put_member(to, "inputs", copy);
  ETX_TRY(copy_renamed(u, f, outputs, &copy));
  put_member(to, "outputs", copy);
  return ETX_OK;
}

static etx_status add_node(unwrapping* u, const etx_json* node) {
  ETX_TRY(etx_pool_grow(u->graph->pool, &u->nodes.items, u->nodes.count,
                        &u->nodes.capacity, sizeof *u->nodes.items));
  u->nodes.items[u->nodes.count++] = *node;
  return ETX_OK;
}

static etx_status add_name(unwrapping* u, size_t kind, etx_text key,
                           const etx_json* item) {
  table* const t = &u->tables[kind];
  ETX_TRY(etx_pool_grow(u->graph->pool, &t->items, t->count, &t->item_capacity,
                        sizeof *t->items));
  ETX_TRY(etx_pool_grow(u->graph->pool, &t->keys, t->count, &t->key_capacity,
                        sizeof *t->keys));
  t->items[t->count] = *item;
  t->keys[t->count++] = key;
  return ETX_OK;
}

// ---------------------------------------------------------------- graphs

// The name that an Argument is of, or none: it is a list or a number.
static etx_text name_of(const etx_json* argument) {
  const etx_text none = {NULL, 0};
  if (argument == NULL || argument->kind != ETX_JSON_OBJECT ||
      argument->count != 1) {
    return none;
  }
  const bool is_tensor = etx_text_is(argument->keys[0], "as_tensor");
  const etx_json* const name =
      etx_json_member(&argument->items[0], is_tensor ? "name" : "as_name");
  return name == NULL || name->kind != ETX_JSON_STRING ? none : name->string;
}

// Operands, which follow the graph, are what its inputs stand for.
static etx_status name_inputs(unwrapping* u, const frame* outer, frame* inner,
                              const etx_json* inputs, const etx_json* operands,
                              size_t first) {
  if (inputs->count != operands->count - first) {
    return etx_pt2_refuse(u->graph,
                          "its graph has %z inputs, but the node %z operands",
                          inputs->count, operands->count - first);
  }
  for (size_t i = 0; i < inputs->count; ++i) {
    const etx_text inside = name_of(&inputs->items[i]);
    const etx_text outside =
        name_of(etx_json_member(&operands->items[first + i], "arg"));
    if (inside.data == NULL) continue;
    for (size_t t = 0; t < TABLES; ++t) {
      const etx_json* const item = etx_json_find(inner->tables[t], inside);
      if (item == NULL) continue;
      if (outside.data == NULL) {
        return etx_pt2_decline(u->graph, "operand %z of its graph has no name",
                               i);
      }
      inner->names[t][item - inner->tables[t]->items] = renamed(outer, outside);
    }
  }
  return ETX_OK;
}

static bool is_taken(const unwrapping* u, etx_text name) {
  for (size_t t = 0; t < TABLES; ++t) {
    if (etx_json_find(u->frames[0].tables[t], name) != NULL) return true;
  }
  return false;
}

// What the graph computes itself gets names that nothing else has.
static etx_status name_values(unwrapping* u, frame* inner) {
  etx_pool* const pool = u->graph->pool;
  for (size_t t = 0; t < TABLES; ++t) {
    for (size_t i = 0; i < inner->tables[t]->count; ++i) {
      etx_text* const name = &inner->names[t][i];
      if (name->data != NULL) continue;
      *name = etx_pool_format(pool, "%t_in_%z", inner->tables[t]->keys[i],
                              u->count);
      while (name->data != NULL && is_taken(u, *name)) {
        *name = etx_pool_format(pool, "%t_", *name);
      }
      if (name->data == NULL) return ETX_OUT_OF_MEMORY;
      ETX_TRY(add_name(u, t, *name, &inner->tables[t]->items[i]));
    }
  }
  return ETX_OK;
}

static etx_status find_tables(etx_pt2_graph* graph, const etx_json* json,
                              frame* f) {
  static const etx_json nothing = {.kind = ETX_JSON_OBJECT};
  ETX_TRY(etx_pt2_field(graph, json, "nodes", ETX_JSON_ARRAY, &f->nodes));
  ETX_TRY(etx_pt2_field(graph, json, "outputs", ETX_JSON_ARRAY, &f->outputs));
  ETX_TRY(etx_pt2_field(graph, json, "tensor_values", ETX_JSON_OBJECT,
                        &f->tables[TENSORS]));
  ETX_TRY(etx_pt2_field(graph, json, "sym_int_values", ETX_JSON_OBJECT,
                        &f->tables[INTS]));
  ETX_TRY(etx_pt2_field(graph, json, "sym_bool_values", ETX_JSON_OBJECT,
                        &f->tables[BOOLS]));
  const etx_json* const floats = etx_json_member(json, "sym_float_values");
  f->tables[FLOATS] =
      floats != NULL && floats->kind == ETX_JSON_OBJECT ? floats : &nothing;
  return ETX_OK;
}

// Types within a graph would be others.
static bool changes_types(const etx_json* inputs, size_t graph_at) {
  for (size_t i = 0; i + 1 < graph_at; ++i) {
    const etx_json* const type = etx_json_member(
        etx_json_member(&inputs->items[i], "arg"), "as_scalar_type");
    const etx_json* const is_on = etx_json_member(
        etx_json_member(&inputs->items[i + 1], "arg"), "as_bool");
    if (type != NULL && (is_on == NULL || is_on->boolean)) return true;
  }
  return false;
}

static etx_status open_frame(unwrapping* u, const frame* outer,
                             const etx_json* node) {
  etx_pt2_graph* const graph = u->graph;
  const etx_json *operands = NULL, *json = NULL, *inputs = NULL;
  size_t at = 0;
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &operands));
  while (at < operands->count &&
         (json = etx_json_member(etx_json_member(&operands->items[at], "arg"),
                                 "as_graph")) == NULL) {
    ++at;
  }
  if (json == NULL) return etx_pt2_refuse(graph, "it wraps no graph");
  if (changes_types(operands, at)) {
    return etx_pt2_decline(graph,
                           "torch.autocast gives a graph other types: save the "
                           "program that .run_decompositions({}) gives");
  }
  if (u->depth == MAX_DEPTH) {
    return etx_pt2_decline(graph, "more than %i graphs within each other",
                           (int64_t)MAX_DEPTH - 1);
  }
  frame* const inner = &u->frames[u->depth];
  *inner = (frame){.wrapped = node};
  ETX_TRY(etx_pt2_field(graph, json, "graph", ETX_JSON_OBJECT, &json));
  ETX_TRY(find_tables(graph, json, inner));
  ETX_TRY(etx_pt2_field(graph, json, "inputs", ETX_JSON_ARRAY, &inputs));
  for (size_t t = 0; t < TABLES; ++t) {
    inner->names[t] =
        etx_pool_take(graph->pool, inner->tables[t]->count * sizeof(etx_text));
    if (inner->names[t] == NULL) return ETX_OUT_OF_MEMORY;
  }
  ETX_TRY(name_inputs(u, outer, inner, inputs, operands, at + 1));
  ETX_TRY(name_values(u, inner));
  ++u->depth;
  ++u->count;
  return ETX_OK;
}

// ---------------------------------------------------------------- results

// {key: value}
static etx_status object_of(etx_pool* pool, const char* const* keys,
                            const etx_json* values, size_t count,
                            etx_json* out) {
  etx_json* const items = etx_pool_take(pool, count * sizeof *items);
  etx_text* const texts = etx_pool_take(pool, count * sizeof *texts);
  if (items == NULL || texts == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    items[i] = values[i];
    texts[i] = etx_text_of(keys[i]);
  }
  *out = (etx_json){
      .kind = ETX_JSON_OBJECT, .items = items, .keys = texts, .count = count};
  return etx_json_sort_keys(pool, out);
}

static etx_json string_of(etx_text text) {
  return (etx_json){.kind = ETX_JSON_STRING, .string = text};
}

static etx_status list_of(etx_pool* pool, const etx_json* item, etx_json* out) {
  *out = (etx_json){.kind = ETX_JSON_ARRAY, .items = item, .count = 1};
  return own_items(pool, out);
}

// result = alias(value), both Arguments, as a node called as `wrapper`.
static etx_status add_alias(unwrapping* u, const etx_json* wrapper,
                            const etx_json* value, const etx_json* result) {
  static const char* const input_keys[] = {"name", "arg"};
  static const char* const node_keys[] = {"target", "inputs", "outputs",
                                          "name"};
  etx_pool* const pool = u->graph->pool;
  const etx_json* const name = etx_json_member(wrapper, "name");
  const etx_json input_parts[] = {string_of(etx_text_of("self")), *value};
  etx_json input, node;
  etx_json parts[] = {string_of(etx_text_of("torch.ops.aten.alias.default")),
                      {0},
                      {0},
                      name != NULL ? *name : string_of(etx_text_of("alias"))};
  ETX_TRY(object_of(pool, input_keys, input_parts, 2, &input));
  ETX_TRY(list_of(pool, &input, &parts[1]));
  ETX_TRY(list_of(pool, result, &parts[2]));
  ETX_TRY(object_of(pool, node_keys, parts, 4, &node));
  return add_node(u, &node);
}

// Numbers that the node gives stand in the outer tables as expressions.
static etx_status close_frame(unwrapping* u) {
  const frame* const inner = &u->frames[--u->depth];
  const frame* const outer = &u->frames[u->depth - 1];
  const etx_json* results = NULL;
  ETX_TRY(etx_pt2_field(u->graph, inner->wrapped, "outputs", ETX_JSON_ARRAY,
                        &results));
  if (results->count != inner->outputs->count) {
    return etx_pt2_refuse(u->graph,
                          "its graph gives %z values, but the node %z",
                          inner->outputs->count, results->count);
  }
  for (size_t i = 0; i < results->count; ++i) {
    etx_json value, result;
    ETX_TRY(copy_renamed(u, inner, &inner->outputs->items[i], &value));
    ETX_TRY(copy_renamed(u, outer, &results->items[i], &result));
    if (etx_json_member(&result, "as_tensor") == NULL) {
      if (etx_json_member(&result, "as_tensors") == NULL) continue;
      return etx_pt2_decline(u->graph, "its graph gives a list of tensors");
    }
    ETX_TRY(add_alias(u, inner->wrapped, &value, &result));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- all

static void set_place(etx_pt2_graph* graph, const etx_json* node) {
  const etx_json* const name = etx_json_member(node, "name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return;
  graph->where.node = name->string;
  etx_pt2_set_place(graph, "node '%t'", name->string);
}

static etx_status take_nodes(unwrapping* u) {
  while (u->depth > 0) {
    frame* const f = &u->frames[u->depth - 1];
    if (f->next == f->nodes->count) {
      if (f->wrapped == NULL) return ETX_OK;
      set_place(u->graph, f->wrapped);
      ETX_TRY(close_frame(u));
      continue;
    }
    const etx_json* const node = &f->nodes->items[f->next++];
    if (is_wrapper(node)) {
      set_place(u->graph, node);
      ETX_TRY(open_frame(u, f, node));
      continue;
    }
    etx_json copy;
    ETX_TRY(copy_node(u, f, node, &copy));
    ETX_TRY(add_node(u, &copy));
  }
  return ETX_OK;
}

// The names of the outermost graph and those that were added to them.
static etx_status join_table(unwrapping* u, size_t kind,
                             const etx_json** out_table) {
  etx_pool* const pool = u->graph->pool;
  const etx_json* const outer = u->frames[0].tables[kind];
  table* const t = &u->tables[kind];
  for (size_t i = 0; i < outer->count; ++i) {
    ETX_TRY(add_name(u, kind, outer->keys[i], &outer->items[i]));
  }
  etx_json* const joined = etx_pool_take(pool, sizeof *joined);
  if (joined == NULL) return ETX_OUT_OF_MEMORY;
  *joined = (etx_json){.kind = ETX_JSON_OBJECT,
                       .items = t->items,
                       .keys = t->keys,
                       .count = t->count};
  *out_table = joined;
  return etx_json_sort_keys(pool, joined);
}

etx_status etx_pt2_inline_wrapped(etx_pt2_graph* graph) {
  unwrapping u = {.graph = graph, .depth = 1};
  bool wraps = false;
  for (size_t i = 0; i < graph->nodes->count && !wraps; ++i) {
    wraps = is_wrapper(&graph->nodes->items[i]);
  }
  if (!wraps) return ETX_OK;
  ETX_TRY(find_tables(graph, graph->graph, &u.frames[0]));
  ETX_TRY(take_nodes(&u));
  graph->where.node.size = 0;
  etx_json* const nodes = etx_pool_take(graph->pool, sizeof *nodes);
  if (nodes == NULL) return ETX_OUT_OF_MEMORY;
  *nodes = (etx_json){
      .kind = ETX_JSON_ARRAY, .items = u.nodes.items, .count = u.nodes.count};
  graph->nodes = nodes;
  ETX_TRY(join_table(&u, TENSORS, &graph->tensor_values));
  ETX_TRY(join_table(&u, INTS, &graph->sym_ints));
  ETX_TRY(join_table(&u, BOOLS, &graph->sym_bools));
  return join_table(&u, FLOATS, &graph->sym_floats);
}
