// Inlines sub-graphs that only set a mode of PyTorch:
//
//   with torch.no_grad(): ..               wrap_with_set_grad_enabled
//   with torch.autocast(enabled=False): .. wrap_with_autocast
//
// These modes do not change results. Before anything else is read, the wrapper
// node is replaced by the nodes of its sub-graph, whose tensors get names that
// are unique in the program. Each result of the wrapper becomes an aten.alias
// node of the result of the sub-graph.
//
// Also before, calls whose order PyTorch keeps by a token are unwrapped:
//
//   token_1, .. = with_effects(token, op, a, b)     .. = op(a, b)
//
// Nodes are read in their order anyway. The check that run_decompositions()
// makes of functions of linear algebra becomes an argument of the node whose
// result it reads:
//
//   _linalg_check_errors(info)      linalg_inv_ex(.., check_errors=True)

#include "exporter/read_pt2/pt2_internal.h"

enum { MAX_DEPTH = 16 };

// The kinds of names; a graph has one table for each.
enum { TENSORS, INTS, BOOLS, FLOATS, TABLES };

// A graph whose nodes are being copied. The outermost graph keeps its names.
typedef struct inline_frame {
  const etx_json* nodes;
  size_t next;                     // the next node to copy
  const etx_json* wrapper;         // the wrapper node; NULL: outermost graph
  const etx_json* outputs;         // of the graph
  const etx_json* tables[TABLES];  // NULL: the graph has no such names
  etx_text* names[TABLES];         // the new names, by position in the tables
} inline_frame;

typedef struct inliner {
  etx_pt2_graph* graph;
  inline_frame frames[MAX_DEPTH];
  size_t depth;              // frames in use
  size_t count;              // graphs inlined so far
  etx_pt2_json_items nodes;  // the nodes of the result
  etx_pt2_json_items tables[TABLES];
} inliner;

static bool is_wrapper(const etx_json* node) {
  const etx_json* const target = etx_json_member(node, "target");
  if (target == NULL || target->kind != ETX_JSON_STRING) return false;
  return etx_text_is(target->string,
                     "torch.ops.higher_order.wrap_with_set_grad_enabled") ||
         etx_text_is(target->string,
                     "torch.ops.higher_order.wrap_with_autocast");
}

// ---------------------------------------------------------------- names

// The new name for `name` of a frame; `name` itself if it has no new name.
static etx_text new_name(const inline_frame* f, etx_text name) {
  for (size_t t = 0; t < TABLES; ++t) {
    const etx_json* const item = etx_json_find(f->tables[t], name);
    if (item == NULL || f->names[t] == NULL) continue;
    const etx_text own = f->names[t][item - f->tables[t]->items];
    if (own.data != NULL) return own;
  }
  return name;
}

// Copies `from` and replaces the names of the frame. Nested graphs are not
// changed, since they have names of their own.
static etx_status copy_renamed(inliner* u, const inline_frame* f,
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
        items[i].string = new_name(f, items[i].string);
      }
      ETX_TRY(etx_pool_grow(pool, &open, count, &capacity, sizeof *open));
      open[count++] = &items[i];
    }
  }
  return ETX_OK;
}

// Copies a node with the names of the frame replaced. The "name" of an input is
// the keyword of an argument, so only "arg" is renamed.
static etx_status copy_node(inliner* u, const inline_frame* f,
                            const etx_json* from, etx_json* to) {
  etx_pt2_graph* const graph = u->graph;
  const etx_json *inputs = NULL, *outputs = NULL;
  *to = *from;
  if (f->wrapper == NULL) return ETX_OK;
  ETX_TRY(etx_pt2_field(graph, from, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, from, "outputs", ETX_JSON_ARRAY, &outputs));
  etx_json copy = *inputs;
  ETX_TRY(etx_pt2_copy_items(graph->pool, &copy));
  for (size_t i = 0; i < copy.count; ++i) {
    etx_json* const input = (etx_json*)&copy.items[i];
    const etx_json* const argument = etx_json_member(input, "arg");
    etx_json own;
    if (argument == NULL) continue;
    ETX_TRY(copy_renamed(u, f, argument, &own));
    ETX_TRY(etx_pt2_copy_items(graph->pool, input));
    etx_pt2_put_member(input, "arg", own);
  }
  ETX_TRY(etx_pt2_copy_items(graph->pool, to));
  etx_pt2_put_member(to, "inputs", copy);
  ETX_TRY(copy_renamed(u, f, outputs, &copy));
  etx_pt2_put_member(to, "outputs", copy);
  return ETX_OK;
}

static etx_status add_node(inliner* u, const etx_json* node) {
  const etx_text no_key = {NULL, 0};
  return etx_pt2_add_json(u->graph->pool, &u->nodes, no_key, node);
}

// ---------------------------------------------------------------- graphs

// The name in an Argument; empty for a list or a number.
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

// Binds the inputs of the sub-graph to the operands of the wrapper, which
// follow the graph among its arguments, from position `first` on.
static etx_status name_inputs(inliner* u, const inline_frame* outer,
                              inline_frame* inner, const etx_json* inputs,
                              const etx_json* operands, size_t first) {
  if (inputs->count != operands->count - first) {
    return etx_pt2_fail_malformed(
        u->graph,
        "the sub-graph has %z inputs, but the node passes %z operands",
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
        return etx_pt2_fail_unsupported(
            u->graph, "operand %z of the sub-graph should be a name", i);
      }
      inner->names[t][item - inner->tables[t]->items] =
          new_name(outer, outside);
    }
  }
  return ETX_OK;
}

static bool is_taken(const inliner* u, etx_text name) {
  for (size_t t = 0; t < TABLES; ++t) {
    if (etx_json_find(u->frames[0].tables[t], name) != NULL) return true;
  }
  return false;
}

// Gives unique names to the values that the sub-graph computes.
static etx_status name_values(inliner* u, inline_frame* inner) {
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
      ETX_TRY(etx_pt2_add_json(pool, &u->tables[t], *name,
                               &inner->tables[t]->items[i]));
    }
  }
  return ETX_OK;
}

static etx_status find_tables(etx_pt2_graph* graph, const etx_json* json,
                              inline_frame* f) {
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

// True for torch.autocast that is enabled: it would change the dtypes within
// the sub-graph.
static bool changes_dtypes(const etx_json* inputs, size_t graph_at) {
  for (size_t i = 0; i + 1 < graph_at; ++i) {
    const etx_json* const type = etx_json_member(
        etx_json_member(&inputs->items[i], "arg"), "as_scalar_type");
    const etx_json* const is_on = etx_json_member(
        etx_json_member(&inputs->items[i + 1], "arg"), "as_bool");
    if (type != NULL && (is_on == NULL || is_on->boolean)) return true;
  }
  return false;
}

static etx_status open_frame(inliner* u, const inline_frame* outer,
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
  if (json == NULL) {
    return etx_pt2_fail_malformed(
        graph, "the node has no sub-graph among its arguments");
  }
  if (changes_dtypes(operands, at)) {
    return etx_pt2_fail_unsupported(
        graph,
        "torch.autocast changes the dtypes of the sub-graph: call "
        ".run_decompositions({}) before torch.export.save");
  }
  if (u->depth == MAX_DEPTH) {
    return etx_pt2_fail_unsupported(
        graph, "sub-graphs are nested deeper than %i levels",
        (int64_t)MAX_DEPTH - 1);
  }
  inline_frame* const inner = &u->frames[u->depth];
  *inner = (inline_frame){.wrapper = node};
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

// Adds the node result = aten.alias(value), where both are Arguments. It has
// the name of the wrapper node.
static etx_status add_alias(inliner* u, const etx_json* wrapper,
                            const etx_json* value, const etx_json* result) {
  static const char* const input_keys[] = {"name", "arg"};
  static const char* const node_keys[] = {"target", "inputs", "outputs",
                                          "name"};
  etx_pool* const pool = u->graph->pool;
  const etx_json* const name = etx_json_member(wrapper, "name");
  const etx_json input_parts[] = {etx_pt2_json_string(etx_text_of("self")),
                                  *value};
  etx_json input, node;
  etx_json parts[] = {
      etx_pt2_json_string(etx_text_of("torch.ops.aten.alias.default")),
      {0},
      {0},
      name != NULL ? *name : etx_pt2_json_string(etx_text_of("alias"))};
  ETX_TRY(etx_pt2_json_object(pool, input_keys, input_parts, 2, &input));
  ETX_TRY(etx_pt2_json_list(pool, &input, &parts[1]));
  ETX_TRY(etx_pt2_json_list(pool, result, &parts[2]));
  ETX_TRY(etx_pt2_json_object(pool, node_keys, parts, 4, &node));
  return add_node(u, &node);
}

// Ends a sub-graph: adds alias nodes for the results of the wrapper. Results
// that are numbers need no node, since the outer tables have their expressions.
static etx_status close_frame(inliner* u) {
  const inline_frame* const inner = &u->frames[--u->depth];
  const inline_frame* const outer = &u->frames[u->depth - 1];
  const etx_json* results = NULL;
  ETX_TRY(etx_pt2_field(u->graph, inner->wrapper, "outputs", ETX_JSON_ARRAY,
                        &results));
  if (results->count != inner->outputs->count) {
    return etx_pt2_fail_malformed(
        u->graph, "the sub-graph returns %z values, but the node %z",
        inner->outputs->count, results->count);
  }
  for (size_t i = 0; i < results->count; ++i) {
    etx_json value, result;
    ETX_TRY(copy_renamed(u, inner, &inner->outputs->items[i], &value));
    ETX_TRY(copy_renamed(u, outer, &results->items[i], &result));
    if (etx_json_member(&result, "as_tensor") == NULL) {
      if (etx_json_member(&result, "as_tensors") == NULL) continue;
      return etx_pt2_fail_unsupported(
          u->graph,
          "a sub-graph that returns a list of tensors is not supported");
    }
    ETX_TRY(add_alias(u, inner->wrapper, &value, &result));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- inlining

static void set_place(etx_pt2_graph* graph, const etx_json* node) {
  const etx_json* const name = etx_json_member(node, "name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return;
  graph->place.node = name->string;
  etx_pt2_set_context(graph, "node '%t'", name->string);
}

// Copies the nodes of all graphs into u->nodes, without recursion.
static etx_status copy_nodes(inliner* u) {
  while (u->depth > 0) {
    inline_frame* const f = &u->frames[u->depth - 1];
    if (f->next == f->nodes->count) {
      if (f->wrapper == NULL) return ETX_OK;
      set_place(u->graph, f->wrapper);
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

// The table of the outermost graph with the names of inlined graphs added.
static etx_status join_table(inliner* u, size_t kind,
                             const etx_json** out_table) {
  etx_pool* const pool = u->graph->pool;
  const etx_json* const outer = u->frames[0].tables[kind];
  etx_pt2_json_items* const t = &u->tables[kind];
  for (size_t i = 0; i < outer->count; ++i) {
    ETX_TRY(etx_pt2_add_json(pool, t, outer->keys[i], &outer->items[i]));
  }
  return etx_pt2_json_table(pool, t, out_table);
}

etx_status etx_pt2_inline_wrappers(etx_pt2_graph* graph) {
  inliner u = {.graph = graph, .depth = 1};
  bool wraps = false;
  for (size_t i = 0; i < graph->nodes->count && !wraps; ++i) {
    wraps = is_wrapper(&graph->nodes->items[i]);
  }
  if (!wraps) return ETX_OK;
  ETX_TRY(find_tables(graph, graph->graph, &u.frames[0]));
  ETX_TRY(copy_nodes(&u));
  graph->place.node.size = 0;
  etx_json* const nodes = etx_pool_take(graph->pool, sizeof *nodes);
  if (nodes == NULL) return ETX_OUT_OF_MEMORY;
  *nodes = etx_pt2_json_array(&u.nodes);
  graph->nodes = nodes;
  ETX_TRY(join_table(&u, TENSORS, &graph->tensor_values));
  ETX_TRY(join_table(&u, INTS, &graph->sym_ints));
  ETX_TRY(join_table(&u, BOOLS, &graph->sym_bools));
  return join_table(&u, FLOATS, &graph->sym_floats);
}

// ---------------------------------------------------------------- tokens

static bool is_target(const etx_json* node, const char* name) {
  const etx_json* const target = etx_json_member(node, "target");
  return target != NULL && target->kind == ETX_JSON_STRING &&
         etx_text_is(target->string, name);
}

static bool has_effect(const etx_json* node) {
  return is_target(node, "torch.ops.higher_order.with_effects");
}

// Items of an array from `first` on.
static etx_json items_from(const etx_json* array, size_t first) {
  etx_json rest = *array;
  const size_t dropped = first < array->count ? first : array->count;
  rest.items = array->items + dropped;
  rest.count -= dropped;
  return rest;
}

// op(a, b) of with_effects(token, op, a, b); its results follow the token.
static etx_status unwrap_effect(etx_pt2_graph* graph, const etx_json* node,
                                etx_json* out) {
  const etx_json *inputs = NULL, *outputs = NULL;
  etx_json results;
  ETX_TRY(etx_pt2_field(graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(graph, node, "outputs", ETX_JSON_ARRAY, &outputs));
  const etx_json* const op =
      inputs->count < 2
          ? NULL
          : etx_json_member(etx_json_member(&inputs->items[1], "arg"),
                            "as_operator");
  ETX_TRY(etx_pt2_expect(graph, op, ETX_JSON_STRING, "the operator"));
  results = items_from(outputs, 1);
  if (results.count == 1 &&
      etx_json_member(&results.items[0], "as_none") != NULL) {
    results.count = 0;
  }
  *out = *node;
  ETX_TRY(etx_pt2_copy_items(graph->pool, out));
  etx_pt2_put_member(out, "target", *op);
  etx_pt2_put_member(out, "inputs", items_from(inputs, 2));
  etx_pt2_put_member(out, "outputs", results);
  return ETX_OK;
}

// The node among `nodes` that has a result of this name, or NULL.
static etx_json* node_of(const etx_pt2_json_items* nodes, etx_text name) {
  for (size_t i = nodes->count; i-- > 0;) {
    const etx_json* const outputs =
        etx_json_member(&nodes->items[i], "outputs");
    for (size_t k = 0; outputs != NULL && k < outputs->count; ++k) {
      const etx_text own = name_of(&outputs->items[k]);
      if (own.data != NULL && etx_text_equal(own, name)) {
        return &nodes->items[i];
      }
    }
  }
  return NULL;
}

static bool ends_with(etx_text text, const char* end) {
  const size_t size = strlen(end);
  if (text.size < size) return false;
  const etx_text tail = {text.data + text.size - size, size};
  return etx_text_is(tail, end);
}

// Lets the node that made the argument of `check` refuse; false if it is not
// such a node.
static etx_status move_check(etx_pt2_graph* graph,
                             const etx_pt2_json_items* nodes,
                             const etx_json* check, bool* out_moved) {
  static const char* const keys[] = {"name", "arg"};
  const etx_json* const given = etx_json_member(check, "inputs");
  etx_json* const made =
      given == NULL || given->count == 0
          ? NULL
          : node_of(nodes, name_of(etx_json_member(&given->items[0], "arg")));
  const etx_json* const target = etx_json_member(made, "target");
  *out_moved = target != NULL && target->kind == ETX_JSON_STRING &&
               ends_with(target->string, "_ex.default");
  if (!*out_moved) return ETX_OK;
  const etx_json* inputs = NULL;
  etx_pt2_json_items kept = {0};
  const etx_text no_key = {NULL, 0};
  const etx_json yes = {.kind = ETX_JSON_BOOL, .boolean = true};
  etx_json parts[] = {etx_pt2_json_string(etx_text_of("check_errors")), {0}};
  etx_json input;
  ETX_TRY(etx_pt2_field(graph, made, "inputs", ETX_JSON_ARRAY, &inputs));
  for (size_t i = 0; i < inputs->count; ++i) {
    const etx_json* const name = etx_json_member(&inputs->items[i], "name");
    if (name != NULL && name->kind == ETX_JSON_STRING &&
        etx_text_is(name->string, "check_errors")) {
      continue;
    }
    ETX_TRY(etx_pt2_add_json(graph->pool, &kept, no_key, &inputs->items[i]));
  }
  ETX_TRY(etx_pt2_json_member_of(graph->pool, "as_bool", yes, &parts[1]));
  ETX_TRY(etx_pt2_json_object(graph->pool, keys, parts, 2, &input));
  ETX_TRY(etx_pt2_add_json(graph->pool, &kept, no_key, &input));
  ETX_TRY(etx_pt2_copy_items(graph->pool, made));
  etx_pt2_put_member(made, "inputs", etx_pt2_json_array(&kept));
  return ETX_OK;
}

// Drops tokens from a list of specs, and the items beside them.
static etx_status drop_tokens(etx_pt2_graph* graph, const etx_json** specs,
                              const char* key, etx_json* json) {
  const etx_text no_key = {NULL, 0};
  const etx_json* const list = etx_json_member(json, key);
  etx_pt2_json_items kept_specs = {0}, kept = {0};
  if (list == NULL || list->kind != ETX_JSON_ARRAY ||
      list->count != (*specs)->count) {
    return ETX_OK;
  }
  for (size_t i = 0; i < list->count; ++i) {
    const etx_json* const spec = &(*specs)->items[i];
    if (etx_json_member(spec, "token") != NULL) continue;
    ETX_TRY(etx_pt2_add_json(graph->pool, &kept_specs, no_key, spec));
    ETX_TRY(etx_pt2_add_json(graph->pool, &kept, no_key, &list->items[i]));
  }
  etx_json* const own = etx_pool_take(graph->pool, sizeof *own);
  if (own == NULL) return ETX_OUT_OF_MEMORY;
  *own = etx_pt2_json_array(&kept_specs);
  *specs = own;
  etx_pt2_put_member(json, key, etx_pt2_json_array(&kept));
  return ETX_OK;
}

static etx_status unwrap_nodes(etx_pt2_graph* graph,
                               etx_pt2_json_items* nodes) {
  const etx_text no_key = {NULL, 0};
  for (size_t i = 0; i < graph->nodes->count; ++i) {
    etx_json node = graph->nodes->items[i];
    bool is_moved = false;
    set_place(graph, &node);
    if (has_effect(&node)) ETX_TRY(unwrap_effect(graph, &node, &node));
    if (is_target(&node, "torch.ops.aten._linalg_check_errors.default")) {
      ETX_TRY(move_check(graph, nodes, &node, &is_moved));
    }
    if (is_moved) continue;
    ETX_TRY(etx_pt2_add_json(graph->pool, nodes, no_key, &node));
  }
  graph->place.node.size = 0;
  return ETX_OK;
}

etx_status etx_pt2_unwrap_effects(etx_pt2_graph* graph) {
  etx_pt2_json_items nodes = {0};
  size_t count = 0;
  for (size_t i = 0; i < graph->nodes->count; ++i) {
    count += has_effect(&graph->nodes->items[i]);
  }
  if (count == 0) return ETX_OK;
  ETX_TRY(unwrap_nodes(graph, &nodes));
  etx_json* const own = etx_pool_take(graph->pool, 2 * sizeof *own);
  if (own == NULL) return ETX_OUT_OF_MEMORY;
  own[0] = etx_pt2_json_array(&nodes);
  own[1] = *graph->graph;
  ETX_TRY(etx_pt2_copy_items(graph->pool, &own[1]));
  etx_pt2_put_member(&own[1], "nodes", own[0]);
  ETX_TRY(drop_tokens(graph, &graph->input_specs, "inputs", &own[1]));
  ETX_TRY(drop_tokens(graph, &graph->output_specs, "outputs", &own[1]));
  graph->nodes = &own[0];
  graph->graph = &own[1];
  return ETX_OK;
}
