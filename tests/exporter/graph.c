#include "tests/exporter/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "exporter/ir/type_inference.h"
#include "exporter/ir/ir_cond.h"

#define ASSERT_OK(g, call)                                                \
  do {                                                                    \
    const etx_status assert_status = (call);                              \
    if (assert_status != ETX_OK) {                                        \
      fail_msg("%s: %s", etx_status_name(assert_status), (g)->diag.text); \
    }                                                                     \
  } while (0)

void graph_open(graph* g) {
  memset(g, 0, sizeof *g);
  etx_pool_init(&g->pool);
  etx_ir_module_init(&g->module, &g->pool);
  etx_diag_init(&g->diag);
}

void graph_close(graph* g) {
  free(g->file);
  etx_pool_close(&g->pool);
}

int graph_set_up(void** state) {
  graph_open(*state);
  return 0;
}

int graph_tear_down(void** state) {
  graph_close(*state);
  return 0;
}

void graph_method(graph* g, const char* name) {
  ASSERT_OK(g, etx_ir_add_method(&g->module, etx_text_of(name), &g->method));
  g->branch = 0;
}

etx_ir_method* graph_current(graph* g) { return &g->module.methods[g->method]; }

static size_t element_count(uint8_t rank, const int64_t* sizes) {
  size_t count = 1;
  for (size_t i = 0; i < rank; ++i) count *= (size_t)sizes[i];
  return count;
}

static uint32_t add_constant(graph* g, uint8_t rank, const int64_t* sizes,
                             const float* elements) {
  const size_t bytes = element_count(rank, sizes) * sizeof *elements;
  etx_ir_constant constant = {.dtype = ETX_DTYPE_FLOAT32, .rank = rank};
  uint8_t* const data = etx_pool_take(&g->pool, bytes);
  assert_non_null(data);
  memcpy(data, elements, bytes);
  constant.data = (etx_bytes){data, bytes};
  for (size_t i = 0; i < rank; ++i) constant.sizes[i] = sizes[i];
  uint32_t index = 0;
  ASSERT_OK(g, etx_ir_add_constant(&g->module, &constant, &index));
  return index;
}

uint32_t graph_state_of(graph* g, const char* name, uint8_t rank,
                        const int64_t* sizes, const float* initial) {
  etx_ir_buffer buffer = {.name = etx_text_of(name),
                          .dtype = ETX_DTYPE_FLOAT32,
                          .rank = rank,
                          .is_state = true};
  for (size_t i = 0; i < rank; ++i) buffer.sizes[i] = sizes[i];
  buffer.initial = add_constant(g, rank, sizes, initial);
  uint32_t index = 0;
  ASSERT_OK(g, etx_ir_add_buffer(&g->module, &buffer, &index));
  return index;
}

uint32_t graph_state(graph* g, const char* name, uint8_t rank,
                     const int64_t* sizes, float initial) {
  const size_t count = element_count(rank, sizes);
  float* const elements = etx_pool_take(&g->pool, count * sizeof *elements);
  assert_non_null(elements);
  for (size_t i = 0; i < count; ++i) elements[i] = initial;
  return graph_state_of(g, name, rank, sizes, elements);
}

uint32_t graph_buffer(graph* g, uint32_t buffer) {
  uint32_t value = 0;
  ASSERT_OK(g,
            etx_ir_buffer_value(&g->module, graph_current(g), buffer, &value));
  return value;
}

uint32_t graph_constant(graph* g, uint8_t rank, const int64_t* sizes,
                        const float* elements) {
  uint32_t value = 0;
  ASSERT_OK(
      g, etx_ir_constant_value(&g->module, graph_current(g),
                               add_constant(g, rank, sizes, elements), &value));
  return value;
}

uint32_t graph_input(graph* g, const char* name, uint8_t rank,
                     const int64_t* sizes) {
  etx_ir_method* const method = graph_current(g);
  etx_ir_value value = {.name = etx_text_of(name),
                        .has_shape = true,
                        .origin = ETX_IR_FROM_INPUT,
                        .index = (uint32_t)method->input_count};
  value.shape.dtype = ETX_DTYPE_FLOAT32;
  value.shape.rank = rank;
  for (size_t i = 0; i < rank; ++i) value.shape.dims[i] = sizes[i];
  uint32_t index = 0;
  ASSERT_OK(g, etx_ir_add_value(&g->module, method, &value, &index));
  ASSERT_OK(g, etx_pool_grow(&g->pool, &method->inputs, method->input_count,
                             &method->input_capacity, sizeof(etx_ir_input)));
  method->inputs[method->input_count++] = (etx_ir_input){
      .name = method->values[index].name, .arg = etx_ir_value_arg(index)};
  return index;
}

etx_dim graph_symbol(graph* g, const char* name, int64_t minimum,
                     int64_t maximum) {
  etx_symbols* const symbols = &graph_current(g)->symbols;
  uint32_t index = 0;
  etx_dim dim = 0;
  ASSERT_OK(
      g, etx_symbols_add(symbols, etx_text_of(name), minimum, maximum, &index));
  ASSERT_OK(g, etx_symbols_dim(symbols, index, &dim));
  return dim;
}

uint32_t graph_node(graph* g, etx_op_id id, const etx_ir_arg* args,
                    size_t count) {
  const etx_op* const op = etx_op_at(id);
  etx_ir_method* const method = graph_current(g);
  etx_shape shapes[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const etx_dtype dtype =
      id == ETX_OP_gt_scalar_out ? ETX_DTYPE_BOOL : ETX_DTYPE_FLOAT32;
  const etx_operator_call call = {
      .op = op, .args = args, .arg_count = count, .out_dtype = &dtype};
  ASSERT_OK(g, etx_type_inference_outputs(method, &call, shapes, &g->diag));
  uint32_t outputs[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const size_t output_count = etx_type_inference_output_count(op);
  for (size_t i = 0; i < output_count; ++i) {
    const etx_ir_value value = {.has_shape = true,
                                .shape = shapes[i],
                                .origin = ETX_IR_FROM_NODE,
                                .index = (uint32_t)method->node_count};
    ASSERT_OK(g, etx_ir_add_value(&g->module, method, &value, &outputs[i]));
  }
  const etx_ir_node node = {.aten = etx_text_of(op->name),
                            .op = op,
                            .args = (etx_ir_arg*)(uintptr_t)args,
                            .arg_count = count,
                            .outputs = outputs,
                            .output_count = output_count,
                            .branch = g->branch};
  uint32_t index = 0;
  ASSERT_OK(g, etx_ir_add_node(&g->module, method, &node, &index));
  return outputs[0];
}

uint32_t graph_add(graph* g, uint32_t a, uint32_t b) {
  return graph_node(g, ETX_OP_add_out, ARGS(VALUE(a), VALUE(b), INT(1)));
}

uint32_t graph_clone(graph* g, uint32_t a) {
  return graph_node(g, ETX_OP_clone_out, ARGS(VALUE(a), NOTHING));
}

uint32_t graph_select(graph* g, uint32_t a, int64_t dim, int64_t index) {
  return graph_node(g, ETX_OP_select_copy_int_out,
                    ARGS(VALUE(a), INT(dim), INT(index)));
}

uint32_t graph_slice(graph* g, uint32_t a, int64_t dim, int64_t start,
                     int64_t end) {
  return graph_node(g, ETX_OP_slice_copy_tensor_out,
                    ARGS(VALUE(a), INT(dim), INT(start), INT(end), INT(1)));
}

uint32_t graph_select_scatter(graph* g, uint32_t self, uint32_t source,
                              int64_t dim, int64_t index) {
  return graph_node(g, ETX_OP_select_scatter_out,
                    ARGS(VALUE(self), VALUE(source), INT(dim), INT(index)));
}

uint32_t graph_slice_scatter(graph* g, uint32_t self, uint32_t source,
                             int64_t dim, int64_t start, int64_t end) {
  return graph_node(
      g, ETX_OP_slice_scatter_out,
      ARGS(VALUE(self), VALUE(source), INT(dim), INT(start), INT(end), INT(1)));
}

uint32_t graph_view(graph* g, uint32_t a, uint8_t rank, const int64_t* sizes) {
  etx_ir_arg items[ETX_MAX_RANK];
  for (size_t i = 0; i < rank; ++i) items[i] = etx_ir_int(sizes[i]);
  const etx_ir_arg args[2] = {VALUE(a),
                              {ETX_IR_ARG_LIST, .as.list = {items, rank}}};
  return graph_node(g, ETX_OP_view_copy_out, args, 2);
}

uint32_t graph_cat(graph* g, const uint32_t* parts, size_t count, int64_t dim) {
  etx_ir_arg items[8];
  assert_true(count <= 8);
  for (size_t i = 0; i < count; ++i) items[i] = etx_ir_value_arg(parts[i]);
  const etx_ir_arg args[2] = {{ETX_IR_ARG_LIST, .as.list = {items, count}},
                              INT(dim)};
  return graph_node(g, ETX_OP_cat_out, args, 2);
}

uint32_t graph_cond(graph* g, const etx_ir_arg* condition,
                    uint32_t* out_token) {
  const etx_source_location nowhere = {.line = 0};
  uint32_t cond = 0;
  ASSERT_OK(g, etx_ir_add_cond(&g->module, graph_current(g), g->branch, &cond));
  ASSERT_OK(g, etx_ir_add_head(&g->module, graph_current(g), cond, condition,
                               &nowhere, out_token));
  return cond;
}

void graph_branch(graph* g, uint32_t branch) { g->branch = branch; }

uint32_t graph_join(graph* g, uint32_t cond, uint32_t token, uint32_t a,
                    uint32_t b) {
  const etx_source_location nowhere = {.line = 0};
  etx_ir_method* const method = graph_current(g);
  const etx_ir_value value = {.has_shape = true,
                              .shape = method->values[a].shape,
                              .origin = ETX_IR_FROM_NODE,
                              .index = (uint32_t)method->node_count};
  uint32_t output = 0;
  ASSERT_OK(g, etx_ir_add_value(&g->module, method, &value, &output));
  const etx_ir_join join = {cond, token, a, b, output};
  ASSERT_OK(g, etx_ir_add_join(&g->module, method, &join, &nowhere));
  return output;
}

void graph_output(graph* g, const char* name, uint32_t value) {
  etx_ir_method* const method = graph_current(g);
  ASSERT_OK(g, etx_pool_grow(&g->pool, &method->outputs, method->output_count,
                             &method->output_capacity, sizeof(etx_ir_output)));
  method->outputs[method->output_count++] = (etx_ir_output){
      .name = etx_text_of(name), .arg = etx_ir_value_arg(value)};
}

static void add_mutation(graph* g, etx_ir_mutation mutation) {
  etx_ir_method* const method = graph_current(g);
  ASSERT_OK(g,
            etx_pool_grow(&g->pool, &method->mutations, method->mutation_count,
                          &method->mutation_capacity, sizeof mutation));
  method->mutations[method->mutation_count++] = mutation;
}

void graph_mutate(graph* g, uint32_t buffer, uint32_t value) {
  add_mutation(g, (etx_ir_mutation){.target = buffer, .value = value});
}

void graph_mutate_input(graph* g, uint32_t input_value, uint32_t value) {
  etx_ir_method* const method = graph_current(g);
  const uint32_t input = method->values[input_value].index;
  method->inputs[input].is_mutable = true;
  add_mutation(
      g, (etx_ir_mutation){.is_input = true, .target = input, .value = value});
}

static void print_problem(void* context, const etx_source_location* place,
                          etx_text message) {
  (void)context;
  (void)place;
  print_message("%.*s\n", (int)message.size, message.data);
}

void graph_place(graph* g, const char* passes) {
  g->options.passes = passes;
  g->problems.report = print_problem;
  g->context = (etx_pass_context){.module = &g->module,
                                  .options = &g->options,
                                  .problems = &g->problems,
                                  .diag = &g->diag};
  ASSERT_OK(g, etx_passes_run(&g->context));
}

const etx_placement* graph_placement(const graph* g, uint32_t method) {
  return &g->context.placements[method];
}

size_t graph_count_running(const graph* g, uint32_t method) {
  const etx_ir_method* const m = &g->module.methods[method];
  size_t count = 0;
  for (size_t n = 0; n < m->node_count; ++n) {
    count +=
        etx_placement_has_instruction(graph_placement(g, method), &m->nodes[n]);
  }
  return count;
}

uint32_t graph_find_method(const graph* g, const char* name) {
  uint32_t index = 0;
  assert_true(etx_ir_find_method(&g->module, etx_text_of(name), &index));
  return index;
}

static etx_status append(void* context, etx_bytes bytes) {
  graph* const g = context;
  if (g->file_size + bytes.size > g->file_capacity) {
    const size_t capacity =
        (2 * (g->file_size + bytes.size) + 63) & ~(size_t)63;
    uint8_t* const bigger = aligned_alloc(64, capacity);
    assert_non_null(bigger);
    if (g->file_size != 0) memcpy(bigger, g->file, g->file_size);
    free(g->file);
    g->file = bigger;
    g->file_capacity = capacity;
  }
  memcpy(g->file + g->file_size, bytes.data, bytes.size);
  g->file_size += bytes.size;
  return ETX_OK;
}

etx_status graph_try_plan(graph* g) {
  const etx_sink sink = {append, g};
  g->problems.report = print_problem;
  g->file_size = 0;
  return etx_export_plan(&g->module, &g->options, &sink, &g->report,
                         &g->problems, &g->diag);
}

void graph_plan(graph* g) { ASSERT_OK(g, graph_try_plan(g)); }

etx_pte_plan graph_read_plan(const graph* g, const char* method, etx_pte* pte) {
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_bytes file = {g->file, g->file_size};
  if (etx_pte_open(pte, file, NULL, &diag) != ETX_OK) {
    fail_msg("%s", diag.text);
  }
  etx_pte_plan plan;
  if (!etx_pte_plan_find(pte, etx_text_of(method), &plan)) {
    fail_msg("there is no method '%s'", method);
  }
  return plan;
}

size_t graph_count_calls(const etx_pte_plan* plan, const char* op) {
  size_t count = 0;
  for (size_t i = 0; i < etx_pte_instruction_count(plan, 0); ++i) {
    const etx_pte_instruction call = etx_pte_instruction_at(plan, 0, i);
    if (call.kind != ETX_PTE_KERNEL_CALL) continue;
    const etx_pte_operator name = etx_pte_operator_at(plan, (size_t)call.index);
    char text[128];
    etx_format_text(text, sizeof text, name.overload.size == 0 ? "%t" : "%t.%t",
                    name.name, name.overload);
    count += strcmp(text, op) == 0;
  }
  return count;
}
