// Traces of methods: which instructions count as used, and the YAML.

#include "runtime/trace/call_trace.h"

#include "format/shapes/op_shapes.h"
#include "runtime/trace/kernel_key.h"
#include "runtime/trace/traced_calls.h"
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

// y = relu(x) 24 times, then y = x + x: marks in four bytes.
static void each_instruction_has_a_mark(void** state) {
  (void)state;
  enum { RELUS = 24 };
  const etx_planned_memory no_state = {NULL, 0, NULL};
  trace_fixture f;
  float x[2] = {1, -1};
  test_program* const p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int in =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int alpha = test_int(p, 1);
  for (size_t i = 0; i < RELUS; ++i) {
    test_call(p, "aten::relu", "out", ARGS(in, y, y));
  }
  test_call(p, "aten::add", "out", ARGS(in, in, alpha, y, y));
  test_output(p, y, "");
  assert_ok(etx_program_open(&f.program, test_file(p), &test_few_kernels, NULL,
                             &diag));
  assert_ok(test_load(&f.loaded, &f.program, "forward", &no_state, &diag));
  assert_int_equal(etx_call_trace_needed(&f.loaded.method), 4);
  test_block marks = test_block_new(4, 1);
  assert_ok(
      etx_call_trace_start(&f.trace, &f.loaded.method, marks.bytes, &diag));
  set(&f, 0, x, ETX_DTYPE_FLOAT32);
  run(&f);
  static const uint8_t all[] = {0xff, 0xff, 0xff, 1};
  assert_memory_equal(marks.bytes.data, all, sizeof all);
  assert_written(&f, "a.pte",
                 "build_features: []\n"
                 "custom_classes: []\n"
                 "debug_info:\n"
                 "- \"a.pte:forward\"\n"
                 "et_kernel_metadata:\n"
                 "  \"aten::add.out\":\n"
                 "  - \"v1/6;0|6;0|6;0|6;0\"\n"
                 "  \"aten::relu.out\":\n"
                 "  - \"v1/6;0|6;0|6;0\"\n" FLAGS_OF_FILE
                 "operators:\n"
                 "  \"aten::add.out\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:forward\"\n" FLAGS_OF_OPERATOR
                 "  \"aten::relu.out\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:forward\"\n" FLAGS_OF_OPERATOR);
  end(&f);
  assert_true(test_block_end(&marks));
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
  assert_written(&f, "a.pte", nothing);
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

// if flag: r = x + x so many times that the mark of relu is number `mark`; then
// y = relu(x).
static void start_marked(trace_fixture* f, int mark) {
  test_program* const p = f->p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int in =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int condition =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int alpha = test_int(p, 1);
  test_jump_false(p, condition, mark);
  for (int i = 1; i < mark; ++i) {
    test_call(p, "aten::add", "out", ARGS(in, in, alpha, y, y));
  }
  test_call(p, "aten::relu", "out", ARGS(in, y, y));
  test_output(p, y, "");
  start(f, "forward");
}

// The first mark of the second byte counts for its own instruction: the method
// has run, and the one whose mark is at the same bit before has not.
static void marks_of_the_second_byte_count(void** state) {
  (void)state;
  trace_fixture f;
  float x[2] = {1, -1};
  uint8_t flag = 0;
  for (int mark = 8; mark < 18; ++mark) {
    start_marked(&f, mark);
    set(&f, 0, x, ETX_DTYPE_FLOAT32);
    choose(&f, &flag);
    assert_false(etx_traced_calls_exist(&f.trace));
    run(&f);
    assert_int_equal(f.marks[mark / 8], 1 << mark % 8);
    etx_traced_calls cursor = {.variant = 0};
    etx_pte_instruction call;
    assert_true(etx_traced_calls_exist(&f.trace));
    assert_true(etx_traced_calls_next(&f.trace, &cursor, &call));
    const etx_pte_operator name =
        etx_pte_operator_at(cursor.plan, (size_t)call.index);
    assert_true(etx_text_is(name.name, "aten::relu"));
    assert_false(etx_traced_calls_next(&f.trace, &cursor, &call));
    end(&f);
  }
}

// The mark of relu is the last one of a byte.
static void one_mark_is_enough(void** state) {
  (void)state;
  trace_fixture f;
  float x[2] = {1, -1};
  uint8_t flag = 0;
  start_marked(&f, 7);
  set(&f, 0, x, ETX_DTYPE_FLOAT32);
  choose(&f, &flag);
  run(&f);
  assert_int_equal(f.marks[0], 0x80);
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
  end(&f);
}

// Nothing shows whether a method without kernels has run; it counts as run.
static void a_method_without_kernels_counts_as_run(void** state) {
  (void)state;
  trace_fixture f;
  test_program* const p = f.p = test_program_new();
  test_method(p, "forward");
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(8)), "");
  const int zero = test_int(p, 0), n = test_int(p, 0);
  test_call(p, "aten::sym_size", "int", ARGS(x, zero, n));
  test_output(p, n, "");
  start(&f, "forward");
  assert_written(&f, "a.pte",
                 "build_features:\n"
                 "- dynamic_sizes\n"
                 "custom_classes: []\n"
                 "debug_info:\n"
                 "- \"a.pte:forward\"\n"
                 "et_kernel_metadata:\n"
                 "  \"aten::sym_size.int\":\n"
                 "  - \"v1/6;0\"\n" FLAGS_OF_FILE
                 "operators:\n"
                 "  \"aten::sym_size.int\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:forward\"\n" FLAGS_OF_OPERATOR);
  end(&f);
}

static etx_status run_nothing(etx_call* call) {
  (void)call;
  return ETX_OK;
}

static etx_status prepare_nothing(etx_call* call) {
  call->run = run_nothing;
  return ETX_OK;
}

#define NOTHING_ROW(name, overload)                                          \
  {                                                                          \
    .id = ETX_OP_COUNT, ETX_OP_NAME(name, overload),                         \
    .arguments = "Tensor self, *, Tensor(a!) out", .result = ETX_RESULT_OUT, \
    .in_place = ETX_IN_PLACE_NEVER, .shape = etx_shape_same,                 \
  }
static const etx_op nothing_rows[] = {
    NOTHING_ROW("my::b", "out"), NOTHING_ROW("my::c", "out"),
    NOTHING_ROW("my::c", "x"), NOTHING_ROW("my::c", "")};
static const etx_kernel nothing_kernels[] = {
    {&nothing_rows[0], prepare_nothing, NULL, NULL},
    {&nothing_rows[1], prepare_nothing, NULL, NULL},
    {&nothing_rows[2], prepare_nothing, NULL, NULL},
    {&nothing_rows[3], prepare_nothing, NULL, NULL}};
static const etx_kernel_table nothing_table = {nothing_kernels, 4, NULL};

// Names that differ by one letter, and overloads of three, one and no letters.
static void operators_with_like_names_have_a_row_each(void** state) {
  (void)state;
  trace_fixture f;
  test_program* const p = f.p = test_program_new();
  test_method(p, "a\x1f");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_call(p, "my::c", "x", ARGS(x, y, y));
  test_call(p, "my::c", "out", ARGS(x, y, y));
  test_call(p, "my::b", "out", ARGS(x, y, y));
  test_call(p, "my::c", "", ARGS(x, y, y));
  test_output(p, y, "");
  start_with(&f, "a\x1f", &nothing_table);
  float data[2] = {1, 2};
  set(&f, 0, data, ETX_DTYPE_FLOAT32);
  run(&f);
  assert_written(&f, "a.pte",
                 "build_features: []\n"
                 "custom_classes: []\n"
                 "debug_info:\n"
                 "- \"a.pte:a\\x1F\"\n"
                 "et_kernel_metadata:\n"
                 "  \"my::b.out\":\n"
                 "  - \"v1/6;0|6;0|6;0\"\n"
                 "  \"my::c\":\n"
                 "  - \"v1/6;0|6;0|6;0\"\n"
                 "  \"my::c.out\":\n"
                 "  - \"v1/6;0|6;0|6;0\"\n"
                 "  \"my::c.x\":\n"
                 "  - \"v1/6;0|6;0|6;0\"\n" FLAGS_OF_FILE
                 "operators:\n"
                 "  \"my::b.out\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:a\\x1F\"\n" FLAGS_OF_OPERATOR
                 "  \"my::c\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:a\\x1F\"\n" FLAGS_OF_OPERATOR
                 "  \"my::c.out\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:a\\x1F\"\n" FLAGS_OF_OPERATOR
                 "  \"my::c.x\":\n"
                 "    debug_info:\n"
                 "    - \"a.pte:a\\x1F\"\n" FLAGS_OF_OPERATOR);
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

// Each operator names the methods that call it, and the features are those of
// all methods, whatever their order.
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
  for (int is_first = 0; is_first < 2; ++is_first) {
    const etx_call_trace* const all[] = {is_first ? &f.trace : &g.trace,
                                         is_first ? &g.trace : &f.trace};
    const etx_sink sink = {append, &f};
    f.size = 0;
    assert_ok(etx_call_trace_write(all, 2, etx_text_of("a.pte"), &sink));
    assert_string_equal(f.text,
                        "build_features:\n"
                        "- control_flow\n"
                        "custom_classes: []\n"
                        "debug_info:\n"
                        "- \"a.pte:forward\"\n"
                        "- \"a.pte:forward\"\n"
                        "et_kernel_metadata:\n"
                        "  \"aten::add.out\":\n"
                        "  - \"v1/6;0|6;0|6;0|6;0\"\n"
                        "  \"aten::relu.out\":\n"
                        "  - \"v1/6;0|6;0|6;0\"\n" FLAGS_OF_FILE
                        "operators:\n"
                        "  \"aten::add.out\":\n"
                        "    debug_info:\n"
                        "    - \"a.pte:forward\"\n" FLAGS_OF_OPERATOR
                        "  \"aten::relu.out\":\n"
                        "    debug_info:\n"
                        "    - \"a.pte:forward\"\n"
                        "    - \"a.pte:forward\"\n" FLAGS_OF_OPERATOR);
  }
  end(&f);
  end(&g);
}

// Types and dimensions have one digit or two.
static void a_key_has_types_and_dimension_orders(void** state) {
  (void)state;
  test_program* const p = test_program_new();
  test_method(p, "forward");
  const int most =
      test_borrowed(p, ETX_DTYPE_UINT16,
                    SIZES(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
  const int ten = test_borrowed(p, ETX_DTYPE_COMPLEX128, SCALAR_SIZES);
  const int nine = test_borrowed(p, ETX_DTYPE_COMPLEX64, SIZES(1, 1));
  const int one = test_borrowed(p, ETX_DTYPE_INT8, SIZES(1));
  test_call(p, "my::own", "",
            ARGS(most, test_tensors(p, ARGS(ten, nine)),
                 test_tensors(p, ARGS(nine)), test_int(p, 1), one));
  etx_program program;
  etx_pte_plan plan;
  etx_kernel_key key;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(
      etx_program_find_plan(&program, etx_text_of("forward"), &plan, &diag));
  const etx_pte_instruction call = etx_pte_instruction_at(&plan, 0, 0);
  assert_true(etx_kernel_key_of(&plan, &call, &key));
  assert_true(
      etx_text_is(etx_kernel_key_text(&key),
                  "v1/27;0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15|10;|9;0,1|1;0"));
  test_program_end(p);
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
      cmocka_unit_test(each_instruction_has_a_mark),
      unit_test_with(ETX_CONTROL_FLOW, one_mark_is_enough),
      unit_test_with(ETX_CONTROL_FLOW, marks_of_the_second_byte_count),
      unit_test_with(ETX_DYNAMIC, a_method_without_kernels_counts_as_run),
      cmocka_unit_test(operators_with_like_names_have_a_row_each),
      cmocka_unit_test(a_key_has_types_and_dimension_orders),
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
