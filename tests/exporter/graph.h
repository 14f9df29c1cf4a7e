// Builds lowered graphs for tests.
//
//   graph_open(&g);
//   const uint32_t cache = graph_state(&g, "cache", 2, SIZES(4, 3), 0);
//   graph_method(&g, "step");
//   const uint32_t sum = graph_node(&g, ETX_OP_add_out,
//       ARGS(VALUE(graph_buffer(&g, cache)), VALUE(x), INT(1)));
//   graph_mutate(&g, cache, sum);
//
// All functions assert: a graph that cannot be built fails the test.

#ifndef ETX_TESTS_EXPORTER_GRAPH_H
#define ETX_TESTS_EXPORTER_GRAPH_H

#include "exporter/export.h"
#include "exporter/pass_list.h"
#include "format/pte/pte_program.h"

typedef struct graph {
  etx_pool pool;
  etx_ir_module module;
  uint32_t method;  // the method that is being built
  uint32_t branch;  // the branch of that method
  etx_diag diag;
  etx_pass_context context;  // after graph_place
  etx_export_options options;
  etx_problems problems;
  uint8_t* file;  // after graph_plan
  size_t file_size, file_capacity;
  etx_export_report report;
} graph;

#define SIZES(...) \
  (const int64_t[]) { __VA_ARGS__ }
#define ARGS(...)                    \
  (const etx_ir_arg[]){__VA_ARGS__}, \
      sizeof((const etx_ir_arg[]){__VA_ARGS__}) / sizeof(etx_ir_arg)
#define VALUE(v) etx_ir_value_arg(v)
#define INT(i) etx_ir_int(i)
#define NO                 \
  {                        \
    ETX_IR_ARG_BOOL, { 0 } \
  }
#define NOTHING            \
  {                        \
    ETX_IR_ARG_NONE, { 0 } \
  }
#define LIST(...)                                              \
  {                                                            \
    ETX_IR_ARG_LIST, .as.list = {                              \
      (etx_ir_arg[]){__VA_ARGS__},                             \
      sizeof((etx_ir_arg[]){__VA_ARGS__}) / sizeof(etx_ir_arg) \
    }                                                          \
  }

// For graph_place and options.passes: leave the graph as the test wrote it.
#define AS_WRITTEN                                                             \
  "-simplify,-fold_constants,-fold_matmul_transposes,-recompose_slice_scatter" \
  ",-narrow_linear,-recompose_norms,-recompose_softmax,-fuse_attention"        \
  ",-fuse_elementwise,-fuse_linear_epilogue,-fuse_convolution_epilogue"        \
  ",-split_convolution_channels,-fuse_parallel_linear"

void graph_open(graph* g);
void graph_close(graph* g);

// A cmocka test with a graph that is opened before it and closed after it.
#define GRAPH_TEST(name, graph)                                \
  cmocka_unit_test_prestate_setup_teardown(name, graph_set_up, \
                                           graph_tear_down, graph)
int graph_set_up(void** state);
int graph_tear_down(void** state);

// Starts a method; the functions below add to it.
void graph_method(graph* g, const char* name);
etx_ir_method* graph_current(graph* g);

// A float32 buffer whose elements all start as `initial`.
uint32_t graph_state(graph* g, const char* name, uint8_t rank,
                     const int64_t* sizes, float initial);
// The same with one initial value for each element.
uint32_t graph_state_of(graph* g, const char* name, uint8_t rank,
                        const int64_t* sizes, const float* initial);
uint32_t graph_buffer(graph* g, uint32_t buffer);
// A float32 constant of the module as a value.
uint32_t graph_constant(graph* g, uint8_t rank, const int64_t* sizes,
                        const float* elements);
uint32_t graph_input(graph* g, const char* name, uint8_t rank,
                     const int64_t* sizes);
etx_dim graph_symbol(graph* g, const char* name, int64_t minimum,
                     int64_t maximum);

// Adds a node and returns the value of its first output; the others follow it.
uint32_t graph_node(graph* g, etx_op_id op, const etx_ir_arg* args,
                    size_t count);
// Common ones.
uint32_t graph_add(graph* g, uint32_t a, uint32_t b);
uint32_t graph_clone(graph* g, uint32_t a);
uint32_t graph_select(graph* g, uint32_t a, int64_t dim, int64_t index);
uint32_t graph_slice(graph* g, uint32_t a, int64_t dim, int64_t start,
                     int64_t end);
uint32_t graph_select_scatter(graph* g, uint32_t self, uint32_t source,
                              int64_t dim, int64_t index);
uint32_t graph_slice_scatter(graph* g, uint32_t self, uint32_t source,
                             int64_t dim, int64_t start, int64_t end);
uint32_t graph_view(graph* g, uint32_t a, uint8_t rank, const int64_t* sizes);
uint32_t graph_cat(graph* g, const uint32_t* parts, size_t count, int64_t dim);

// Adds a branch head and returns its conditional. Nodes are added to the branch
// that graph_branch has set last.
uint32_t graph_cond(graph* g, const etx_ir_arg* condition, uint32_t* out_token);
void graph_branch(graph* g, uint32_t branch);
uint32_t graph_join(graph* g, uint32_t cond, uint32_t token, uint32_t a,
                    uint32_t b);

void graph_output(graph* g, const char* name, uint32_t value);
void graph_mutate(graph* g, uint32_t buffer, uint32_t value);
void graph_mutate_input(graph* g, uint32_t input_value, uint32_t value);

// Runs all passes (`passes` switches some off) and leaves the placements in
// `context`.
void graph_place(graph* g, const char* passes);
const etx_placement* graph_placement(const graph* g, uint32_t method);
// The number of nodes of a method that become instructions.
size_t graph_count_running(const graph* g, uint32_t method);
uint32_t graph_find_method(const graph* g, const char* name);

// Plans the module into `file`, aligned to 64.
etx_status graph_try_plan(graph* g);
void graph_plan(graph* g);
// The plan of a method in `file`; `pte` must live as long as the result.
etx_pte_plan graph_read_plan(const graph* g, const char* method, etx_pte* pte);
// The number of calls of an operator ("aten::add.out") in a plan.
size_t graph_count_calls(const etx_pte_plan* plan, const char* op);

#endif
