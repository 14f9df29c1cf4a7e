#include "exporter/report/source_lines.h"

// A node of the imported graph.
typedef struct source_node {
  uint32_t row;      // its line, or ETX_IR_NONE
  uint32_t* inputs;  // values
  size_t input_count;
  bool is_fixed;  // depends on constants only
} source_node;

typedef struct etx_source_graph {
  etx_text name;  // of the method
  // Holds only the values, the table of their names, and the mutations.
  etx_ir_method values;
  uint32_t* producers;  // by value: its node, or ETX_IR_NONE
  source_node* nodes;
  size_t node_count;
} etx_source_graph;

// ---------------------------------------------------------------- reading

// A copy of a name without control characters, which could break a line of
// output.
static etx_text plain_name(etx_pool* pool, etx_text name) {
  const etx_text copy = etx_pool_copy_text(pool, name);
  char* const bytes = (char*)(uintptr_t)copy.data;
  for (size_t i = 0; bytes != NULL && i < copy.size; ++i) {
    if ((uint8_t)bytes[i] < 0x20 || bytes[i] == 0x7f) bytes[i] = '?';
  }
  return copy;
}

// Position of a name in a list, to which it is added if it is not there. The
// search starts at the end, because names often repeat.
static etx_status name_position(etx_pool* pool, etx_text name, etx_text** list,
                                size_t* count, size_t* capacity,
                                int32_t* out_position) {
  *out_position = -1;
  if (name.size == 0) return ETX_OK;
  const etx_text plain = plain_name(pool, name);
  if (plain.data == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = *count; i-- > 0;) {
    if (!etx_text_equal((*list)[i], plain)) continue;
    *out_position = (int32_t)i;
    return ETX_OK;
  }
  ETX_TRY(etx_pool_grow(pool, list, *count, capacity, sizeof **list));
  *out_position = (int32_t)*count;
  (*list)[(*count)++] = plain;
  return ETX_OK;
}

// The row of a node's source location. Nodes of handwritten YAML have a line in
// that file; others have one in the author's Python file.
static etx_status row_of(etx_source_lines* lines,
                         const etx_source_location* location,
                         uint32_t* out_row) {
  const bool is_handwritten = location->line != 0;
  etx_source_map_row row = {
      .line =
          (int32_t)(is_handwritten ? location->line : location->source_line)};
  ETX_TRY(name_position(
      lines->pool, is_handwritten ? location->file : location->source_file,
      &lines->files, &lines->file_count, &lines->file_capacity, &row.file));
  ETX_TRY(name_position(lines->pool, location->module, &lines->modules,
                        &lines->module_count, &lines->module_capacity,
                        &row.module));
  *out_row = ETX_IR_NONE;
  if (row.file < 0 && row.module < 0) return ETX_OK;
  for (size_t i = lines->row_count; i-- > 0;) {
    const etx_source_map_row* const known = &lines->rows[i];
    if (known->file != row.file || known->line != row.line ||
        known->module != row.module) {
      continue;
    }
    *out_row = (uint32_t)i;
    return ETX_OK;
  }
  ETX_TRY(etx_pool_grow(lines->pool, &lines->rows, lines->row_count,
                        &lines->row_capacity, sizeof *lines->rows));
  *out_row = (uint32_t)lines->row_count;
  lines->rows[lines->row_count++] = row;
  return ETX_OK;
}

static size_t count_inputs(const etx_ir_node* node) {
  size_t count = 0;
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    count += arg->kind == ETX_IR_ARG_LIST ? arg->as.list.count : 1;
  }
  return count;
}

static void add_input(source_node* to, const etx_ir_arg* arg) {
  if (arg->kind != ETX_IR_ARG_VALUE) return;
  to->inputs[to->input_count++] = arg->as.value;
}

static bool is_constant(const etx_source_graph* graph, const bool* is_state,
                        uint32_t value) {
  const etx_ir_value* const v = &graph->values.values[value];
  if (v->origin == ETX_IR_FROM_CONSTANT) return true;
  if (v->origin == ETX_IR_FROM_BUFFER) return !is_state[v->index];
  const uint32_t producer = graph->producers[value];
  return producer != ETX_IR_NONE && graph->nodes[producer].is_fixed;
}

static etx_status take_node(etx_source_lines* lines, etx_source_graph* graph,
                            const bool* is_state, const etx_ir_node* node) {
  source_node* const to = &graph->nodes[graph->node_count];
  to->inputs =
      etx_pool_take(lines->pool, (count_inputs(node) + 1) * sizeof(uint32_t));
  if (to->inputs == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    const size_t items = arg->kind == ETX_IR_ARG_LIST ? arg->as.list.count : 0;
    add_input(to, arg);
    for (size_t k = 0; k < items; ++k) add_input(to, &arg->as.list.items[k]);
  }
  to->is_fixed = true;
  for (size_t i = 0; i < to->input_count; ++i) {
    if (!is_constant(graph, is_state, to->inputs[i])) to->is_fixed = false;
  }
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] == ETX_IR_NONE) continue;
    graph->producers[node->outputs[i]] = (uint32_t)graph->node_count;
  }
  ++graph->node_count;
  return row_of(lines, &node->place, &to->row);
}

// Copies the values and names, because passes change them in place.
static etx_status take_values(etx_pool* pool, const etx_ir_method* method,
                              etx_source_graph* graph) {
  etx_ir_method* const to = &graph->values;
  const size_t count = method->value_count;
  to->values = etx_pool_take(pool, (count + 1) * sizeof *to->values);
  to->mutations =
      etx_pool_take(pool, (method->mutation_count + 1) * sizeof *to->mutations);
  graph->producers =
      etx_pool_take(pool, (count + 1) * sizeof *graph->producers);
  if (to->values == NULL || to->mutations == NULL || graph->producers == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  to->mutation_count = method->mutation_count;
  if (method->mutation_count != 0) {
    memcpy(to->mutations, method->mutations,
           method->mutation_count * sizeof *to->mutations);
  }
  if (count != 0)
    memcpy(to->values, method->values, count * sizeof *to->values);
  to->value_count = count;
  const etx_named_items named = {to->values, count, sizeof *to->values};
  ETX_TRY(etx_name_index_rebuild(&to->value_names, pool, &named));
  for (size_t i = 0; i < count; ++i) graph->producers[i] = ETX_IR_NONE;
  return ETX_OK;
}

static etx_status take_method(etx_source_lines* lines, const bool* is_state,
                              etx_ir_method* method, etx_source_graph* graph) {
  graph->name = method->name;
  graph->nodes = etx_pool_take(lines->pool,
                               (method->node_count + 1) * sizeof *graph->nodes);
  if (graph->nodes == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(take_values(lines->pool, method, graph));
  for (size_t i = 0; i < method->node_count; ++i) {
    method->nodes[i].place.imported = (uint32_t)i + 1;
    ETX_TRY(take_node(lines, graph, is_state, &method->nodes[i]));
  }
  return ETX_OK;
}

// The states, as the pass classify_state will find them.
static bool* find_states(const etx_ir_module* module) {
  const size_t count = module->buffer_count;
  bool* const is_state = etx_pool_take(module->pool, count + 1);
  for (size_t i = 0; is_state != NULL && i < count; ++i) {
    is_state[i] = module->buffers[i].is_state;
  }
  for (size_t m = 0; is_state != NULL && m < module->method_count; ++m) {
    const etx_ir_method* const method = &module->methods[m];
    for (size_t i = 0; i < method->mutation_count; ++i) {
      const etx_ir_mutation* const mutation = &method->mutations[i];
      if (!mutation->is_input) is_state[mutation->target] = true;
    }
  }
  return is_state;
}

etx_status etx_source_lines_take(etx_ir_module* module,
                                 etx_source_lines* out_lines) {
  const bool* const is_state = find_states(module);
  etx_source_lines lines = {.pool = module->pool};
  lines.graphs = etx_pool_take(
      module->pool, (module->method_count + 1) * sizeof *lines.graphs);
  if (is_state == NULL || lines.graphs == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < module->method_count; ++i) {
    ETX_TRY(take_method(&lines, is_state, &module->methods[i],
                        &lines.graphs[lines.graph_count++]));
  }
  *out_lines = lines;
  return ETX_OK;
}

// ---------------------------------------------------------------- searching

typedef struct line_search {
  const etx_source_graph* graph;
  const etx_ir_method* method;  // after all passes
  uint32_t* seen;               // by imported node: the last search that saw it
  uint32_t mark;                // number of the present search
  uint32_t* stack;              // imported nodes to visit
  size_t depth;
  const etx_source_lines* lines;
  int32_t* found;  // rows, for all instructions
  size_t count, capacity;
} line_search;

static void visit(line_search* a, uint32_t node) {
  if (node == ETX_IR_NONE || a->seen[node] == a->mark) return;
  a->seen[node] = a->mark;
  a->stack[a->depth++] = node;
}

// Starts at the imported nodes that a final node replaces: those whose results
// have the names of its results, and the one with its number.
static void start_from(line_search* a, const etx_ir_node* node) {
  if (node->place.imported != 0) visit(a, node->place.imported - 1);
  for (size_t i = 0; i < node->output_count; ++i) {
    uint32_t value = 0;
    if (node->outputs[i] == ETX_IR_NONE) continue;
    if (!etx_ir_find_value(&a->graph->values,
                           a->method->values[node->outputs[i]].name, &value)) {
      continue;
    }
    visit(a, a->graph->producers[value]);
  }
}

static bool reads(const etx_ir_node* node, uint32_t value) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (node->args[i].kind == ETX_IR_ARG_VALUE &&
        node->args[i].as.value == value) {
      return true;
    }
  }
  return false;
}

// A result whose name is new and that is only sliced replaces what the slices
// replace: linear layers that were fused into one product.
static void start_from_parts(line_search* a, size_t position) {
  const etx_ir_node* const whole = &a->method->nodes[position];
  uint32_t value = 0;
  if (whole->output_count != 1 || whole->outputs[0] == ETX_IR_NONE) return;
  const uint32_t result = whole->outputs[0];
  if (etx_ir_find_value(&a->graph->values, a->method->values[result].name,
                        &value)) {
    return;
  }
  for (size_t i = position + 1; i < a->method->node_count; ++i) {
    const etx_ir_node* const part = &a->method->nodes[i];
    if (part->op->id == ETX_OP_slice_copy_tensor_out && reads(part, result)) {
      start_from(a, part);
    }
  }
}

// A copy of new content to its buffer or input gets the lines of the node that
// computed the content.
static void start_from_mutation(line_search* a, const etx_ir_node* node) {
  const etx_ir_method* const read = &a->graph->values;
  for (size_t i = 0; i < a->method->mutation_count; ++i) {
    const etx_ir_mutation* const now = &a->method->mutations[i];
    if (node->output_count == 0 || now->value != node->outputs[0]) continue;
    for (size_t k = 0; k < read->mutation_count; ++k) {
      const etx_ir_mutation* const then = &read->mutations[k];
      if (then->is_input == now->is_input && then->target == now->target) {
        visit(a, a->graph->producers[then->value]);
      }
    }
  }
}

static etx_status add_row(line_search* a, uint32_t row, size_t first) {
  if (row == ETX_IR_NONE) return ETX_OK;
  for (size_t i = first; i < a->count; ++i) {
    if (a->found[i] == (int32_t)row) return ETX_OK;
  }
  ETX_TRY(etx_pool_grow(a->lines->pool, &a->found, a->count, &a->capacity,
                        sizeof *a->found));
  a->found[a->count++] = (int32_t)row;
  return ETX_OK;
}

static void sort_rows(int32_t* rows, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    const int32_t row = rows[i];
    size_t at = i;
    for (; at > 0 && rows[at - 1] > row; --at) rows[at] = rows[at - 1];
    rows[at] = row;
  }
}

// Adds the lines of a node, sorted in the order of the imported graph.
static etx_status find_lines(line_search* a, size_t position) {
  const size_t first = a->count;
  ++a->mark;
  start_from(a, &a->method->nodes[position]);
  start_from_parts(a, position);
  if (a->depth == 0) start_from_mutation(a, &a->method->nodes[position]);
  while (a->depth > 0) {
    const source_node* const node = &a->graph->nodes[a->stack[--a->depth]];
    ETX_TRY(add_row(a, node->row, first));
    for (size_t i = 0; i < node->input_count; ++i) {
      uint32_t present_value = 0;
      const uint32_t input = node->inputs[i];
      const uint32_t producer = a->graph->producers[input];
      if (producer == ETX_IR_NONE || a->graph->nodes[producer].is_fixed ||
          etx_ir_find_value(a->method, a->graph->values.values[input].name,
                            &present_value)) {
        continue;
      }
      visit(a, producer);
    }
  }
  if (a->count > first) sort_rows(a->found + first, a->count - first);
  return ETX_OK;
}

// Every instruction of a node gets all lines of the node.
static etx_status find_all_lines(line_search* a, const int32_t* node_starts,
                                 size_t instruction_count, int32_t* starts) {
  const size_t node_count = a->method->node_count;
  size_t next = 0;
  for (size_t n = 0; n < node_count; ++n) {
    const size_t end =
        n + 1 < node_count ? (size_t)node_starts[n + 1] : instruction_count;
    for (; next < end; ++next) {
      starts[next] = (int32_t)a->count;
      ETX_TRY(find_lines(a, n));
    }
  }
  for (; next <= instruction_count; ++next) starts[next] = (int32_t)a->count;
  return ETX_OK;
}

static const etx_source_graph* find_graph(const etx_source_lines* lines,
                                          etx_text name) {
  for (size_t i = 0; i < lines->graph_count; ++i) {
    if (etx_text_equal(lines->graphs[i].name, name)) return &lines->graphs[i];
  }
  return NULL;
}

etx_status etx_source_lines_of(const etx_source_lines* lines,
                               const etx_ir_method* method,
                               const int32_t* node_starts,
                               size_t instruction_count,
                               etx_source_map_method* out_method) {
  const etx_source_graph* const graph = find_graph(lines, method->name);
  int32_t* const starts =
      etx_pool_take(lines->pool, (instruction_count + 1) * sizeof *starts);
  if (starts == NULL) return ETX_OUT_OF_MEMORY;
  *out_method =
      (etx_source_map_method){method->name, starts, instruction_count, NULL};
  if (graph == NULL) return ETX_OK;
  line_search a = {.graph = graph, .method = method, .lines = lines};
  a.seen = etx_pool_take(lines->pool, (graph->node_count + 1) * sizeof *a.seen);
  a.stack =
      etx_pool_take(lines->pool, (graph->node_count + 1) * sizeof *a.stack);
  if (a.seen == NULL || a.stack == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(find_all_lines(&a, node_starts, instruction_count, starts));
  out_method->lines = a.found;
  return ETX_OK;
}
