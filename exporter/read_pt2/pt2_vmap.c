// torch.vmap: in an archive without decompositions, its function is part of the
// graph, between nodes that say which dimension is the batch:
//
//   _vmap_increment_nesting(batch_size, ..)
//   row = _add_batch_dim(xs, dimension, level)
//   ..                                  the function, for one row
//   ys = _remove_batch_dim(y, level, batch_size, dimension)
//   _vmap_decrement_nesting()
//
// The function becomes the sub-graph of a map over the rows, which pt2_scan.c
// reads. torch.associative_scan is a vmap for each of its levels, so results
// are combined in the same order as in PyTorch.

#include "exporter/read_pt2/pt2_internal.h"

#define PREFIX "torch._functorch.predispatch."

// How a region uses a tensor's name.
enum { UNUSED, INSIDE, OUTSIDE };

typedef struct vmap_grouper {
  etx_pt2_graph* graph;
  etx_pt2_json_items nodes;    // of the graph, with maps
  etx_pt2_json_items tensors;  // tensor_values of the graph, with new names
  size_t moved_count;          // names that were added
} vmap_grouper;

// One vmap while it is read.
typedef struct vmap_region {
  const etx_json* first_node;
  uint8_t* uses;                 // by position in tensor_values
  etx_pt2_json_items rows;       // what the map goes through: {"name": ..}
  etx_pt2_json_items read;       // what the function reads besides
  etx_pt2_json_items inputs[2];  // of the sub-graph, for rows and for read
  etx_pt2_json_items nodes;      // of the sub-graph
  etx_pt2_json_items outputs;    // of the sub-graph
  etx_pt2_json_items results;    // of the map
  etx_pt2_json_items behind;     // nodes to be added behind the map
} vmap_region;

static const etx_text no_key = {NULL, 0};

static bool is_call(const etx_json* node, const char* target) {
  const etx_json* const found = etx_json_member(node, "target");
  return found != NULL && found->kind == ETX_JSON_STRING &&
         etx_text_is(found->string, target);
}

static bool is_vmap_part(const etx_json* node) {
  const etx_json* const found = etx_json_member(node, "target");
  return found != NULL && found->kind == ETX_JSON_STRING &&
         etx_text_starts_with(found->string, etx_text_of(PREFIX));
}

// ---------------------------------------------------------------- arguments

static const etx_json* argument_of(const etx_json* node, size_t index) {
  const etx_json* const inputs = etx_json_member(node, "inputs");
  if (inputs == NULL || inputs->kind != ETX_JSON_ARRAY ||
      index >= inputs->count) {
    return NULL;
  }
  return etx_json_member(&inputs->items[index], "arg");
}

static etx_status tensor_argument(vmap_grouper* g, const etx_json* node,
                                  etx_text* out_name) {
  const etx_json* const tensor =
      etx_json_member(argument_of(node, 0), "as_tensor");
  ETX_TRY(etx_pt2_expect(g->graph, tensor, ETX_JSON_OBJECT, "as_tensor"));
  return etx_pt2_text(g->graph, tensor, "name", out_name);
}

static etx_status dimension_argument(vmap_grouper* g, const etx_json* node,
                                     size_t index, int64_t* out) {
  const etx_json* const number =
      etx_json_member(argument_of(node, index), "as_int");
  ETX_TRY(etx_pt2_expect(g->graph, number, ETX_JSON_INT, "as_int"));
  *out = number->integer;
  return ETX_OK;
}

static etx_status result_of(vmap_grouper* g, const etx_json* node,
                            etx_text* out_name) {
  const etx_json* outputs = NULL;
  ETX_TRY(etx_pt2_field(g->graph, node, "outputs", ETX_JSON_ARRAY, &outputs));
  const etx_json* const tensor =
      outputs->count == 1 ? etx_json_member(&outputs->items[0], "as_tensor")
                          : NULL;
  ETX_TRY(etx_pt2_expect(g->graph, tensor, ETX_JSON_OBJECT, "as_tensor"));
  return etx_pt2_text(g->graph, tensor, "name", out_name);
}

static etx_status add(vmap_grouper* g, etx_pt2_json_items* list,
                      const etx_json* item) {
  return etx_pt2_add_json(g->graph->pool, list, no_key, item);
}

static etx_status add_tensor(vmap_grouper* g, etx_pt2_json_items* list,
                             etx_text name) {
  etx_json tensor;
  ETX_TRY(etx_pt2_json_tensor(g->graph->pool, name, &tensor));
  return add(g, list, &tensor);
}

// ---------------------------------------------------------------- names

static uint8_t* use_of(vmap_grouper* g, const vmap_region* r, etx_text name) {
  const etx_json* const table = g->graph->tensor_values;
  const etx_json* const found = etx_json_find(table, name);
  return found == NULL ? NULL : &r->uses[found - table->items];
}

static void define(vmap_grouper* g, const vmap_region* r,
                   const etx_json* tensor) {
  const etx_json* const name = etx_json_member(tensor, "name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return;
  uint8_t* const use = use_of(g, r, name->string);
  if (use != NULL) *use = INSIDE;
}

// Makes a tensor that is defined outside of the region an input of the
// sub-graph.
static etx_status read_name(vmap_grouper* g, vmap_region* r, etx_text name) {
  uint8_t* const use = use_of(g, r, name);
  etx_json item;
  if (use == NULL || *use != UNUSED) return ETX_OK;
  *use = OUTSIDE;
  ETX_TRY(etx_pt2_json_named(g->graph->pool, name, &item));
  ETX_TRY(add(g, &r->read, &item));
  return add_tensor(g, &r->inputs[1], name);
}

static etx_status read_tensor(vmap_grouper* g, vmap_region* r,
                              const etx_json* tensor) {
  const etx_json* const name = etx_json_member(tensor, "name");
  if (name == NULL || name->kind != ETX_JSON_STRING) return ETX_OK;
  return read_name(g, r, name->string);
}

// The tensors that an argument names: as_tensor, as_tensors,
// as_optional_tensors.
static etx_status read_argument(vmap_grouper* g, vmap_region* r,
                                const etx_json* argument) {
  ETX_TRY(read_tensor(g, r, etx_json_member(argument, "as_tensor")));
  if (argument == NULL || argument->kind != ETX_JSON_OBJECT ||
      argument->count != 1 || argument->items[0].kind != ETX_JSON_ARRAY) {
    return ETX_OK;
  }
  const etx_json* const list = &argument->items[0];
  for (size_t i = 0; i < list->count; ++i) {
    ETX_TRY(read_tensor(g, r, &list->items[i]));
    ETX_TRY(read_tensor(g, r, etx_json_member(&list->items[i], "as_tensor")));
  }
  return ETX_OK;
}

static etx_status add_body_node(vmap_grouper* g, vmap_region* r,
                                const etx_json* node) {
  const etx_json *inputs = NULL, *outputs = NULL;
  ETX_TRY(etx_pt2_field(g->graph, node, "inputs", ETX_JSON_ARRAY, &inputs));
  ETX_TRY(etx_pt2_field(g->graph, node, "outputs", ETX_JSON_ARRAY, &outputs));
  for (size_t i = 0; i < inputs->count; ++i) {
    ETX_TRY(read_argument(g, r, etx_json_member(&inputs->items[i], "arg")));
  }
  for (size_t i = 0; i < outputs->count; ++i) {
    const etx_json* const list =
        etx_json_member(&outputs->items[i], "as_tensors");
    define(g, r, etx_json_member(&outputs->items[i], "as_tensor"));
    for (size_t j = 0; list != NULL && j < list->count; ++j) {
      define(g, r, &list->items[j]);
    }
  }
  return add(g, &r->nodes, node);
}

// ---------------------------------------------------------------- dimensions

// A list of sizes or strides with dimension `from` moved to `to`.
static etx_status move_item(vmap_grouper* g, etx_json* meta, const char* key,
                            size_t from, size_t to) {
  const etx_json* list = NULL;
  ETX_TRY(etx_pt2_field(g->graph, meta, key, ETX_JSON_ARRAY, &list));
  if (from >= list->count || to >= list->count) {
    return etx_pt2_fail_malformed(g->graph,
                                  "the batch dimension of a vmap is not one of "
                                  "the tensor's %z",
                                  list->count);
  }
  etx_json moved = *list;
  ETX_TRY(etx_pt2_copy_items(g->graph->pool, &moved));
  etx_json* const items = (etx_json*)moved.items;
  const etx_json item = items[from];
  for (size_t i = from; i < to; ++i) items[i] = items[i + 1];
  for (size_t i = from; i > to; --i) items[i] = items[i - 1];
  items[to] = item;
  etx_pt2_put_member(meta, key, moved);
  return ETX_OK;
}

// Adds a name for `name` with dimension `from` moved to `to`.
static etx_status add_moved_name(vmap_grouper* g, etx_text name, size_t from,
                                 size_t to, etx_text* out_name) {
  etx_pool* const pool = g->graph->pool;
  const etx_json* const found = etx_json_find(g->graph->tensor_values, name);
  ETX_TRY(
      etx_pt2_expect(g->graph, found, ETX_JSON_OBJECT, "the tensor's type"));
  etx_json meta = *found;
  ETX_TRY(etx_pt2_copy_items(pool, &meta));
  ETX_TRY(move_item(g, &meta, "sizes", from, to));
  ETX_TRY(move_item(g, &meta, "strides", from, to));
  *out_name = etx_pool_format(pool, "%t.batch%z", name, g->moved_count++);
  if (out_name->data == NULL) return ETX_OUT_OF_MEMORY;
  return etx_pt2_add_json(pool, &g->tensors, *out_name, &meta);
}

// Appends result = movedim(self, from, to).
static etx_status add_movedim(vmap_grouper* g, etx_pt2_json_items* list,
                              const etx_text names[2], const int64_t dims[2]) {
  static const char* const input_names[] = {"self", "source", "destination"};
  static const char* const input_keys[] = {"name", "arg"};
  static const char* const node_keys[] = {"target", "inputs", "outputs",
                                          "name"};
  etx_pool* const pool = g->graph->pool;
  etx_pt2_json_items inputs = {0}, outputs = {0};
  for (size_t i = 0; i < 3; ++i) {
    etx_json parts[] = {etx_pt2_json_string(etx_text_of(input_names[i])), {0}};
    etx_json input;
    if (i == 0) {
      ETX_TRY(etx_pt2_json_tensor(g->graph->pool, names[0], &parts[1]));
    } else {
      const etx_json number = {.kind = ETX_JSON_INT, .integer = dims[i - 1]};
      ETX_TRY(etx_pt2_json_member_of(pool, "as_int", number, &parts[1]));
    }
    ETX_TRY(etx_pt2_json_object(pool, input_keys, parts, 2, &input));
    ETX_TRY(add(g, &inputs, &input));
  }
  ETX_TRY(add_tensor(g, &outputs, names[1]));
  const etx_json parts[] = {
      etx_pt2_json_string(etx_text_of("torch.ops.aten.movedim.int")),
      etx_pt2_json_array(&inputs), etx_pt2_json_array(&outputs),
      etx_pt2_json_string(names[1])};
  etx_json node;
  ETX_TRY(etx_pt2_json_object(pool, node_keys, parts, 4, &node));
  return add(g, list, &node);
}

// ---------------------------------------------------------------- regions

// row = _add_batch_dim(xs, dimension, level)
static etx_status add_row(vmap_grouper* g, vmap_region* r,
                          const etx_json* node) {
  etx_text names[2], row;
  int64_t dims[2] = {0, 0};
  etx_json item;
  ETX_TRY(tensor_argument(g, node, &names[0]));
  ETX_TRY(dimension_argument(g, node, 1, &dims[0]));
  ETX_TRY(result_of(g, node, &row));
  if (dims[0] != 0) {
    if (dims[0] < 0 || dims[0] > ETX_MAX_RANK) {
      return etx_pt2_fail_malformed(g->graph, "dimension %i of a vmap",
                                    dims[0]);
    }
    ETX_TRY(add_moved_name(g, names[0], (size_t)dims[0], 0, &names[1]));
    ETX_TRY(add_movedim(g, &g->nodes, names, dims));
    names[0] = names[1];
  }
  ETX_TRY(etx_pt2_json_named(g->graph->pool, names[0], &item));
  ETX_TRY(add(g, &r->rows, &item));
  ETX_TRY(etx_pt2_json_named(g->graph->pool, row, &item));
  define(g, r, &item);
  return add_tensor(g, &r->inputs[0], row);
}

// ys = _remove_batch_dim(y, level, batch_size, dimension)
static etx_status add_result(vmap_grouper* g, vmap_region* r,
                             const etx_json* node) {
  etx_text value, names[2];
  int64_t dims[2] = {0, 0};
  ETX_TRY(tensor_argument(g, node, &value));
  ETX_TRY(dimension_argument(g, node, 3, &dims[1]));
  ETX_TRY(result_of(g, node, &names[1]));
  names[0] = names[1];
  if (dims[1] != 0) {
    const etx_json* const meta =
        etx_json_find(g->graph->tensor_values, names[1]);
    const etx_json* const sizes = etx_json_member(meta, "sizes");
    if (dims[1] < 0 && sizes != NULL) dims[1] += (int64_t)sizes->count;
    if (dims[1] < 0 || dims[1] > ETX_MAX_RANK) {
      return etx_pt2_fail_malformed(g->graph, "dimension %i of a vmap",
                                    dims[1]);
    }
    ETX_TRY(add_moved_name(g, names[1], (size_t)dims[1], 0, &names[0]));
    ETX_TRY(add_movedim(g, &r->behind, names, dims));
  }
  ETX_TRY(read_name(g, r, value));
  ETX_TRY(add_tensor(g, &r->outputs, value));
  return add_tensor(g, &r->results, names[0]);
}

static etx_status read_region(vmap_grouper* g, vmap_region* r,
                              const etx_json* nodes, size_t count) {
  size_t depth = 0;
  for (size_t i = 0; i < count; ++i) {
    const etx_json* const node = &nodes[i];
    depth += is_call(node, PREFIX "_vmap_increment_nesting");
    if (depth == 0 && is_call(node, PREFIX "_add_batch_dim")) {
      ETX_TRY(add_row(g, r, node));
    } else if (depth == 0 && is_call(node, PREFIX "_remove_batch_dim")) {
      ETX_TRY(add_result(g, r, node));
    } else {
      ETX_TRY(add_body_node(g, r, node));
    }
    depth -= is_call(node, PREFIX "_vmap_decrement_nesting");
  }
  return ETX_OK;
}

// The names that the sub-graph uses, with their types.
static etx_status add_tensor_values(vmap_grouper* g, const vmap_region* r,
                                    etx_json* out) {
  const etx_json* const table = g->graph->tensor_values;
  const etx_json* joined = NULL;
  etx_pt2_json_items used = {0};
  for (size_t i = 0; i < table->count; ++i) {
    if (r->uses[i] == UNUSED) continue;
    ETX_TRY(etx_pt2_add_json(g->graph->pool, &used, table->keys[i],
                             &table->items[i]));
  }
  ETX_TRY(etx_pt2_json_table(g->graph->pool, &used, &joined));
  *out = *joined;
  return ETX_OK;
}

static etx_status make_subgraph(vmap_grouper* g, vmap_region* r,
                                etx_json* out) {
  static const char* const graph_keys[] = {
      "inputs",         "outputs",         "nodes",           "tensor_values",
      "sym_int_values", "sym_bool_values", "sym_float_values"};
  static const char* const named_keys[] = {"name", "graph"};
  etx_pool* const pool = g->graph->pool;
  const etx_json none = {.kind = ETX_JSON_OBJECT};
  etx_json tensors;
  for (size_t i = 0; i < r->inputs[1].count; ++i) {
    ETX_TRY(add(g, &r->inputs[0], &r->inputs[1].items[i]));
  }
  ETX_TRY(add_tensor_values(g, r, &tensors));
  const etx_json parts[] = {
      etx_pt2_json_array(&r->inputs[0]),
      etx_pt2_json_array(&r->outputs),
      etx_pt2_json_array(&r->nodes),
      tensors,
      *g->graph->sym_ints,
      *g->graph->sym_bools,
      g->graph->sym_floats == NULL ? none : *g->graph->sym_floats};
  etx_json named_parts[] = {etx_pt2_json_string(etx_text_of("vmap")), {0}};
  ETX_TRY(etx_pt2_json_object(pool, graph_keys, parts, 7, &named_parts[1]));
  etx_json graph;
  ETX_TRY(etx_pt2_json_object(pool, named_keys, named_parts, 2, &graph));
  return etx_pt2_json_member_of(pool, "as_graph", graph, out);
}

// Appends results = map(sub-graph, rows, read).
static etx_status add_map(vmap_grouper* g, vmap_region* r) {
  static const char* const keys[] = {"target", "inputs", "outputs", "name",
                                     "metadata"};
  etx_pool* const pool = g->graph->pool;
  const etx_json none = {.kind = ETX_JSON_OBJECT};
  etx_pt2_json_items inputs = {0};
  etx_json arguments[3], node;
  ETX_TRY(make_subgraph(g, r, &arguments[0]));
  ETX_TRY(etx_pt2_json_member_of(pool, "as_tensors",
                                 etx_pt2_json_array(&r->rows), &arguments[1]));
  ETX_TRY(etx_pt2_json_member_of(pool, "as_tensors",
                                 etx_pt2_json_array(&r->read), &arguments[2]));
  for (size_t i = 0; i < 3; ++i) {
    etx_json input;
    ETX_TRY(etx_pt2_json_member_of(pool, "arg", arguments[i], &input));
    ETX_TRY(add(g, &inputs, &input));
  }
  const etx_json* const name = etx_json_member(r->first_node, "name");
  const etx_json* const metadata = etx_json_member(r->first_node, "metadata");
  const etx_json parts[] = {
      etx_pt2_json_string(etx_text_of("torch.ops.higher_order.map_impl")),
      etx_pt2_json_array(&inputs), etx_pt2_json_array(&r->results),
      name == NULL ? etx_pt2_json_string(etx_text_of("vmap")) : *name,
      metadata == NULL ? none : *metadata};
  ETX_TRY(etx_pt2_json_object(pool, keys, parts, 5, &node));
  ETX_TRY(add(g, &g->nodes, &node));
  for (size_t i = 0; i < r->behind.count; ++i) {
    ETX_TRY(add(g, &g->nodes, &r->behind.items[i]));
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- the graph

// The node that ends the region which starts at node `first`.
static etx_status find_end(vmap_grouper* g, size_t first, size_t* out_end) {
  const etx_json* const nodes = g->graph->nodes;
  size_t depth = 0;
  for (size_t i = first; i < nodes->count; ++i) {
    const etx_json* const node = &nodes->items[i];
    depth += is_call(node, PREFIX "_vmap_increment_nesting");
    if (is_call(node, PREFIX "_vmap_decrement_nesting") && --depth == 0) {
      *out_end = i;
      return ETX_OK;
    }
  }
  return etx_pt2_fail_malformed(g->graph, "a vmap does not end");
}

static etx_status group_region(vmap_grouper* g, size_t first, size_t end) {
  etx_pt2_graph* const graph = g->graph;
  const etx_json* const node = &graph->nodes->items[first];
  const etx_json* const name = etx_json_member(node, "name");
  vmap_region r = {
      .first_node = node,
      .uses = etx_pool_take(graph->pool, graph->tensor_values->count)};
  if (r.uses == NULL) return ETX_OUT_OF_MEMORY;
  if (name != NULL && name->kind == ETX_JSON_STRING) {
    graph->place.node = name->string;
    etx_pt2_set_context(graph, "node '%t'", name->string);
  }
  ETX_TRY(read_region(g, &r, node + 1, end - first - 1));
  return add_map(g, &r);
}

etx_status etx_pt2_group_vmaps(etx_pt2_graph* graph) {
  vmap_grouper g = {.graph = graph};
  const etx_json* const nodes = graph->nodes;
  bool is_found = false;
  for (size_t i = 0; i < nodes->count && !is_found; ++i) {
    is_found = is_vmap_part(&nodes->items[i]);
  }
  if (!is_found) return ETX_OK;
  for (size_t i = 0; i < graph->tensor_values->count; ++i) {
    ETX_TRY(etx_pt2_add_json(graph->pool, &g.tensors,
                             graph->tensor_values->keys[i],
                             &graph->tensor_values->items[i]));
  }
  for (size_t i = 0; i < nodes->count; ++i) {
    const etx_json* const node = &nodes->items[i];
    if (is_call(node, PREFIX "lazy_load_decompositions")) continue;
    if (!is_call(node, PREFIX "_vmap_increment_nesting")) {
      ETX_TRY(add(&g, &g.nodes, node));
      continue;
    }
    const size_t first = i;
    ETX_TRY(find_end(&g, first, &i));
    ETX_TRY(group_region(&g, first, i));
  }
  graph->place.node.size = 0;
  etx_json* const grouped = etx_pool_take(graph->pool, sizeof *grouped);
  if (grouped == NULL) return ETX_OUT_OF_MEMORY;
  *grouped = etx_pt2_json_array(&g.nodes);
  graph->nodes = grouped;
  return etx_pt2_json_table(graph->pool, &g.tensors, &graph->tensor_values);
}
