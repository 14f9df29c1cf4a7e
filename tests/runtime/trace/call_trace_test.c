// Traces of methods: which instructions count as used, and the YAML.

#include "runtime/trace/call_trace.h"

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/test_program.h"

static etx_diag diag;

enum { MARK_BYTES = 16, MOST_BYTES = 4096 };

typedef struct trace_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  etx_call_trace trace;
  uint8_t marks[MARK_BYTES];
  char text[MOST_BYTES];  // what was written last, terminated
  size_t size;
} trace_fixture;

static void start(trace_fixture* f, const char* method) {
  const etx_planned_memory no_state = {NULL, 0, NULL};
  assert_ok(etx_program_open(&f->program, test_file(f->p), &test_few_kernels,
                             NULL, &diag));
  assert_ok(test_load(&f->loaded, &f->program, method, &no_state, &diag));
  assert_ok(etx_call_trace_start(&f->trace, &f->loaded.method,
                                 (etx_bytes_mut){f->marks, MARK_BYTES}, &diag));
}

static void end(trace_fixture* f) {
  etx_call_trace_stop(&f->trace);
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static etx_status append(void* context, etx_bytes bytes) {
  trace_fixture* const f = context;
  assert_true(f->size + bytes.size < MOST_BYTES);
  memcpy(f->text + f->size, bytes.data, bytes.size);
  f->size += bytes.size;
  f->text[f->size] = '\0';
  return ETX_OK;
}

static void assert_written(trace_fixture* f, const char* file,
                           const char* expected) {
  const etx_call_trace* const all[] = {&f->trace};
  const etx_sink sink = {append, f};
  f->size = 0;
  assert_ok(etx_call_trace_write(all, 1, etx_text_of(file), &sink));
  assert_string_equal(f->text, expected);
}

static void run(trace_fixture* f) {
  assert_ok(etx_method_run(&f->loaded.method, &diag));
}

static void set(trace_fixture* f, size_t index, void* data, etx_dtype dtype) {
  const etx_tensor tensor = TEST_TENSOR(data, dtype, 2);
  assert_ok(etx_method_set_input(&f->loaded.method, index, &tensor, &diag));
}

#define FLAGS_OF_FILE                      \
  "include_all_non_op_selectives: false\n" \
  "include_all_operators: false\n"         \
  "kernel_metadata: {}\n"
#define FLAGS_OF_OPERATOR              \
  "    include_all_overloads: false\n" \
  "    is_root_operator: true\n"       \
  "    is_used_for_training: true\n"

static const char nothing[] =
    "build_features: []\n"
    "custom_classes: []\n"
    "et_kernel_metadata: {}\n" FLAGS_OF_FILE "operators: {}\n";

// y = relu(x + x), in two chains.
static void start_chains(trace_fixture* f) {
  test_program* const p = f->p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int z = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 16);
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_next_chain(p);
  test_call(p, "aten::relu", "out", ARGS(y, z, z));
  test_output(p, z, "");
  start(f, "forward");
}

static void a_trace_has_what_ran(void** state) {
  (void)state;
  trace_fixture f;
  float x[2] = {1, -1};
  start_chains(&f);
  assert_written(&f, "a.pte", nothing);
  set(&f, 0, x, ETX_DTYPE_FLOAT32);
  run(&f);
  assert_written(
      &f, "it's \"b\"\n.pte",
      "build_features: []\n"
      "custom_classes: []\n"
      "debug_info:\n"
      "- \"it's \\\"b\\\"\\x0A.pte:forward\"\n"
      "et_kernel_metadata:\n"
      "  \"aten::add.out\":\n"
      "  - \"v1/6;0|6;0|6;0|6;0\"\n"
      "  \"aten::relu.out\":\n"
      "  - \"v1/6;0|6;0|6;0\"\n" FLAGS_OF_FILE
      "operators:\n"
      "  \"aten::add.out\":\n"
      "    debug_info:\n"
      "    - \"it's \\\"b\\\"\\x0A.pte:forward\"\n" FLAGS_OF_OPERATOR
      "  \"aten::relu.out\":\n"
      "    debug_info:\n"
      "    - \"it's \\\"b\\\"\\x0A.pte:forward\"\n" FLAGS_OF_OPERATOR);
  end(&f);
}

static void a_stopped_trace_records_nothing(void** state) {
  (void)state;
  trace_fixture f;
  float x[2] = {1, -1};
  start_chains(&f);
  set(&f, 0, x, ETX_DTYPE_FLOAT32);
  etx_call_trace_stop(&f.trace);
  run(&f);
  assert_written(&f, "a.pte", nothing);
  end(&f);
}

// if flag: r = x + x, else: r = relu(x).
static void start_branch(trace_fixture* f) {
  test_program* const p = f->p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int flag =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "");
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int b = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 16);
  const int r = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 32);
  const int alpha = test_int(p, 1);
  const int never = test_bool(p, false);
  test_jump_false(p, flag, 4);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, a, a));
  test_move(p, a, r);
  test_jump_false(p, never, 6);
  test_call(p, "aten::relu", "out", ARGS(x, b, b));
  test_move(p, b, r);
  test_output(p, r, "");
  start(f, "forward");
}

static void choose(trace_fixture* f, uint8_t* flag) {
  const etx_tensor tensor = TEST_TENSOR(flag, ETX_DTYPE_BOOL, 1);
  assert_ok(etx_method_set_input(&f->loaded.method, 1, &tensor, &diag));
}

static void a_branch_counts_once_it_is_taken(void** state) {
  (void)state;
  trace_fixture f;
  float x[2] = {1, -1};
  uint8_t flag = 0;
  start_branch(&f);
  set(&f, 0, x, ETX_DTYPE_FLOAT32);
  choose(&f, &flag);
  run(&f);
  assert_written(&f, "a.pte",
                 "build_features:\n"
                 "- control_flow\n"
                 "custom_classes: []\n"
                 "debug_info:\n"
                 "- \"a.pte:forward\"\n"
                 "et_kernel_metadata:\n"
                 "  \"aten::relu.out\":\n"
                 "  - \"v1/6;0|6;0|6;0\"\n" FLAGS_OF_FILE
                 "operators:\n"
                 "  \"aten::relu.out\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:forward\"\n" FLAGS_OF_OPERATOR);
  flag = 1;
  run(&f);
  const etx_call_trace* const all[] = {&f.trace};
  const etx_sink sink = {append, &f};
  f.size = 0;
  assert_ok(etx_call_trace_write(all, 1, etx_text_of("a.pte"), &sink));
  assert_non_null(strstr(f.text, "\"aten::add.out\":\n  - "));
  assert_non_null(strstr(f.text, "\"aten::relu.out\":\n  - "));
  end(&f);
}

// y = x + x for x of varying size n; n is read by sym_size.
static void numbers_and_sizes_count_with_their_method(void** state) {
  (void)state;
  trace_fixture f;
  test_program* const p = f.p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(8))), "x");
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(8), 0));
  const int alpha = test_int(p, 1), zero = test_int(p, 0), n = test_int(p, 0);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_call(p, "aten::sym_size", "int", ARGS(y, zero, n));
  test_output(p, y, "y");
  test_dim(p, 0, 0, test_symbol(p, "s", 1, 8), 1, 0);
  start(&f, "forward");
  float data[2] = {1, 2};
  set(&f, 0, data, ETX_DTYPE_FLOAT32);
  run(&f);
  assert_written(&f, "a.pte",
                 "build_features:\n"
                 "- dynamic_sizes\n"
                 "custom_classes: []\n"
                 "debug_info:\n"
                 "- \"a.pte:forward\"\n"
                 "et_kernel_metadata:\n"
                 "  \"aten::add.out\":\n"
                 "  - \"v1/6;0|6;0|6;0|6;0\"\n"
                 "  \"aten::sym_size.int\":\n"
                 "  - \"v1/6;0\"\n" FLAGS_OF_FILE
                 "operators:\n"
                 "  \"aten::add.out\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:forward\"\n" FLAGS_OF_OPERATOR
                 "  \"aten::sym_size.int\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:forward\"\n" FLAGS_OF_OPERATOR);
  end(&f);
}

static void memory_below_the_stated_size_is_refused(void** state) {
  (void)state;
  trace_fixture f;
  start_chains(&f);
  const size_t needed = etx_call_trace_needed(&f.loaded.method);
  assert_refused(
      etx_call_trace_start(&f.trace, &f.loaded.method,
                           (etx_bytes_mut){f.marks, needed - 1}, &diag),
      ETX_OUT_OF_MEMORY, "forward");
  assert_ok(etx_call_trace_start(&f.trace, &f.loaded.method,
                                 (etx_bytes_mut){f.marks, needed}, &diag));
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_trace_has_what_ran),
      cmocka_unit_test(a_stopped_trace_records_nothing),
      unit_test_with(ETX_CONTROL_FLOW, a_branch_counts_once_it_is_taken),
      unit_test_with(ETX_CONTROL_FLOW,
                     numbers_and_sizes_count_with_their_method),
      cmocka_unit_test(memory_below_the_stated_size_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
