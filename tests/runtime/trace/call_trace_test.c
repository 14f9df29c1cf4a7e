// Traces of methods: which instructions count as used, and the YAML.

#include "runtime/trace/call_trace.h"

#include "runtime/trace/kernel_key.h"
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

static void start_with(trace_fixture* f, const char* method,
                       const etx_kernel_table* kernels) {
  const etx_planned_memory no_state = {NULL, 0, NULL};
  assert_ok(
      etx_program_open(&f->program, test_file(f->p), kernels, NULL, &diag));
  assert_ok(test_load(&f->loaded, &f->program, method, &no_state, &diag));
  assert_ok(etx_call_trace_start(&f->trace, &f->loaded.method,
                                 (etx_bytes_mut){f->marks, MARK_BYTES}, &diag));
}

static void start(trace_fixture* f, const char* method) {
  start_with(f, method, &test_few_kernels);
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

// Operators and keys are written in order, whatever the order of the calls.
// One operator has no overload, one two kinds of calls.
static void rows_are_in_order(void** state) {
  (void)state;
  trace_fixture f;
  test_program* const p = f.p = test_program_new();
  test_method(p, "\\ \x7f");
  test_arenas(p, 256, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int b = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 16);
  const int c = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 1), 32);
  const int d = test_scratch(p, ETX_DTYPE_BOOL, SIZES(2), 48);
  const int e = test_scratch(p, ETX_DTYPE_BOOL, SIZES(2), 64);
  const int alpha = test_int(p, 1), blocking = test_bool(p, false);
  test_call(p, "aten::relu", "out", ARGS(x, a, a));
  test_call(p, "aten::copy_", "", ARGS(e, d, blocking, e));
  test_call(p, "aten::copy_", "", ARGS(b, a, blocking, b));
  test_call(p, "aten::copy_", "", ARGS(c, c, blocking, c));
  test_call(p, "aten::copy_", "", ARGS(a, b, blocking, a));
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, a, a));
  test_output(p, a, "");
  start(&f, "\\ \x7f");
  float data[2] = {1, 2};
  set(&f, 0, data, ETX_DTYPE_FLOAT32);
  run(&f);
  assert_written(&f, "a.pte",
                 "build_features: []\n"
                 "custom_classes: []\n"
                 "debug_info:\n"
                 "- \"a.pte:\\\\ \\x7F\"\n"
                 "et_kernel_metadata:\n"
                 "  \"aten::add.out\":\n"
                 "  - \"v1/6;0|6;0|6;0|6;0\"\n"
                 "  \"aten::copy_\":\n"
                 "  - \"v1/11;0|11;0|11;0\"\n"
                 "  - \"v1/6;0,1|6;0,1|6;0,1\"\n"
                 "  - \"v1/6;0|6;0|6;0\"\n"
                 "  \"aten::relu.out\":\n"
                 "  - \"v1/6;0|6;0|6;0\"\n" FLAGS_OF_FILE
                 "operators:\n"
                 "  \"aten::add.out\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:\\\\ \\x7F\"\n" FLAGS_OF_OPERATOR
                 "  \"aten::copy_\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:\\\\ \\x7F\"\n" FLAGS_OF_OPERATOR
                 "  \"aten::relu.out\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:\\\\ \\x7F\"\n" FLAGS_OF_OPERATOR);
  end(&f);
}

// A list of tensors has the entry of its first tensor, if it has one.
static void lists_have_the_entry_of_their_first_tensor(void** state) {
  (void)state;
  trace_fixture f;
  test_program* const p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 256, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int index =
      test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(1)), "");
  const int both = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int table = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 16);
  const int row = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 1), 32);
  const int zero = test_int(p, 0), none = test_none(p);
  const int parts = test_tensors(p, ARGS(x, x));
  const int columns = test_optional_tensors(p, ARGS(-1, index));
  const int again = test_optional_tensors(p, ARGS(none, index));
  const int sizes = test_ints(p, ARGS(zero));
  const int keeps = test_bool(p, false);
  const int sum = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 64);
  test_call(p, "aten::cat", "out", ARGS(parts, zero, both, both));
  test_call(p, "aten::index", "Tensor_out", ARGS(table, columns, row, row));
  test_call(p, "aten::index", "Tensor_out", ARGS(table, again, row, row));
  test_call(p, "aten::sum", "IntList_out",
            ARGS(table, sizes, keeps, none, sum, sum));
  test_output(p, row, "");
  start_with(&f, "forward", &etx_all_kernels);
  float data[2] = {1, 2};
  int64_t at[1] = {1};
  set(&f, 0, data, ETX_DTYPE_FLOAT32);
  const etx_tensor first = TEST_TENSOR(at, ETX_DTYPE_INT64, 1);
  assert_ok(etx_method_set_input(&f.loaded.method, 1, &first, &diag));
  run(&f);
  const etx_call_trace* const all[] = {&f.trace};
  const etx_sink sink = {append, &f};
  f.size = 0;
  assert_ok(etx_call_trace_write(all, 1, etx_text_of("a.pte"), &sink));
  assert_non_null(strstr(f.text,
                         "  \"aten::cat.out\":\n"
                         "  - \"v1/6;0|6;0|6;0\"\n"
                         "  \"aten::index.Tensor_out\":\n"
                         "  - \"v1/6;0,1|4;0|6;0,1|6;0,1\"\n"
                         "  \"aten::sum.IntList_out\":\n"
                         "  - \"v1/6;0,1|6;0|6;0\"\n"));
  end(&f);
}

// Each operator names the methods that call it.
static void several_methods_are_written_together(void** state) {
  (void)state;
  trace_fixture f, g;
  float x[2] = {1, -1};
  uint8_t flag = 0;
  start_chains(&f);
  start_branch(&g);
  set(&f, 0, x, ETX_DTYPE_FLOAT32);
  set(&g, 0, x, ETX_DTYPE_FLOAT32);
  choose(&g, &flag);
  run(&f);
  run(&g);
  const etx_call_trace* const all[] = {&g.trace, &f.trace};
  const etx_sink sink = {append, &f};
  f.size = 0;
  assert_ok(etx_call_trace_write(all, 2, etx_text_of("a.pte"), &sink));
  assert_non_null(strstr(f.text,
                         "debug_info:\n"
                         "- \"a.pte:forward\"\n"
                         "- \"a.pte:forward\"\n"
                         "et_kernel_metadata:\n"));
  assert_non_null(strstr(f.text,
                         "  \"aten::add.out\":\n"
                         "    debug_info:\n"
                         "    - \"a.pte:forward\"\n" FLAGS_OF_OPERATOR
                         "  \"aten::relu.out\":\n"
                         "    debug_info:\n"
                         "    - \"a.pte:forward\"\n"
                         "    - \"a.pte:forward\"\n" FLAGS_OF_OPERATOR));
  end(&f);
  end(&g);
}

// A list of None alone has no entry. A call with more arguments than any
// operator has no key.
static void a_call_without_tensors_has_an_empty_key(void** state) {
  (void)state;
  test_program* const p = test_program_new();
  test_method(p, "forward");
  const int none = test_none(p);
  test_call(
      p, "my::own", "",
      ARGS(test_optional_tensors(p, ARGS(-1, none)), none, test_int(p, 1)));
  etx_program program;
  etx_pte_plan plan;
  etx_kernel_key key;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(
      etx_program_find_plan(&program, etx_text_of("forward"), &plan, &diag));
  etx_pte_instruction call = etx_pte_instruction_at(&plan, 0, 0);
  assert_true(etx_kernel_key_of(&plan, &call, &key));
  assert_true(etx_text_is(etx_kernel_key_text(&key), "v1"));
  call.argument_count = ETX_MAX_ARGUMENTS + 2;
  assert_false(etx_kernel_key_of(&plan, &call, &key));
  test_program_end(p);
}

static etx_status fail_later(void* context, etx_bytes bytes) {
  size_t* const left = context;
  (void)bytes;
  if (*left == 0) return ETX_HOST_FAILED;
  --*left;
  return ETX_OK;
}

// Whichever write fails, its status is returned, and nothing more is written.
static void the_status_of_the_sink_is_returned(void** state) {
  (void)state;
  trace_fixture f;
  float x[2] = {1, -1};
  size_t writes = 0;
  start_chains(&f);
  set(&f, 0, x, ETX_DTYPE_FLOAT32);
  run(&f);
  const etx_call_trace* const all[] = {&f.trace};
  etx_status status = ETX_HOST_FAILED;
  for (; status == ETX_HOST_FAILED; ++writes) {
    size_t left = writes;
    const etx_sink sink = {fail_later, &left};
    status = etx_call_trace_write(all, 1, etx_text_of("a.pte"), &sink);
    assert_int_equal(left, 0);
  }
  assert_int_equal(status, ETX_OK);
  assert_true(writes > 40);
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
      cmocka_unit_test(rows_are_in_order),
      cmocka_unit_test(lists_have_the_entry_of_their_first_tensor),
      unit_test_with(ETX_CONTROL_FLOW, several_methods_are_written_together),
      cmocka_unit_test(a_call_without_tensors_has_an_empty_key),
      cmocka_unit_test(the_status_of_the_sink_is_returned),
      cmocka_unit_test(memory_below_the_stated_size_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
