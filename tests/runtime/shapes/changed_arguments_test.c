// Operators of an application that change their arguments and read the sizes of
// these when they are prepared.

#include "format/shapes/op_shapes.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

enum { ROOM = 4 };

static int32_t prepared_rows;  // of the first argument
static size_t prepared;        // calls since it was set to 0

static etx_status shape_first(etx_shape_call* call) {
  etx_shape self;
  if (!call->tensor(call->context, 0, 0, &self)) return ETX_BAD_ARGUMENT;
  if (self.dims[0] == 1) {
    return etx_diag_fail(call->diag, ETX_BAD_ARGUMENT, "one row is refused");
  }
  return call->output(call->context, 0, &self);
}

// Adds 100 to as many rows as there were when it was prepared.
static etx_status run_mark(etx_call* call) {
  int64_t* const rows = etx_call_tensor(call, 0)->data;
  for (int32_t i = 0; i < prepared_rows; ++i) rows[i] += 100;
  return ETX_OK;
}

static etx_status prepare_mark(etx_call* call) {
  ++prepared;
  prepared_rows = etx_call_tensor(call, 0)->sizes[0];
  call->run = run_mark;
  return ETX_OK;
}

// my::mark(rows): changes its argument, and has no result.
static const etx_op mark_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::mark", ""),
    .arguments = "Tensor(a!) rows",
    .result = ETX_RESULT_NONE,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_first,
};

static etx_status shape_pick(etx_shape_call* call) {
  etx_shape out = {.dtype = ETX_DTYPE_INT64, .rank = 1};
  ETX_TRY(shape_first(call));
  out.dims[0] = 1;
  return call->output_at_most(call->context, 1, &out);
}

static etx_status run_pick(etx_call* call) {
  const int32_t one = 1;
  ETX_TRY(run_mark(call));
  ETX_TRY(etx_call_resize_out(call, 1, &one));
  *(int64_t*)etx_call_tensor(call, 1)->data = prepared_rows;
  return ETX_OK;
}

static etx_status prepare_pick(etx_call* call) {
  ETX_TRY(prepare_mark(call));
  call->run = run_pick;
  return ETX_OK;
}

// my::pick(rows): changes its argument, and finds the size of its result.
static const etx_op pick_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::pick", "out"),
    .may_size_by_data = true,
    .arguments = "Tensor(a!) rows, *, Tensor(b!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_pick,
};

static etx_status shape_two(etx_shape_call* call) {
  const etx_shape out = {.dtype = ETX_DTYPE_INT64, .rank = 1, .dims = {1}};
  ETX_TRY(shape_first(call));
  ETX_TRY(call->output(call->context, 1, &out));
  return call->output(call->context, 2, &out);
}

static etx_status run_two(etx_call* call) {
  ETX_TRY(run_mark(call));
  *(int64_t*)etx_call_tensor(call, 1)->data = prepared_rows;
  *(int64_t*)etx_call_tensor(call, 2)->data = -prepared_rows;
  return ETX_OK;
}

static etx_status prepare_two(etx_call* call) {
  ETX_TRY(prepare_mark(call));
  call->run = run_two;
  return ETX_OK;
}

// my::two(rows): changes its argument, and has two results, so that all of its
// arguments are written.
static const etx_op two_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::two", "out"),
    .arguments = "Tensor(a!) rows, *, Tensor(b!) out0, Tensor(c!) out1",
    .result = ETX_RESULT_OUT_LIST,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_two,
};

enum { MOST_KERNELS = 1024 };

static etx_kernel kernels[MOST_KERNELS];
static etx_kernel_table table;

// Own rows come last.
static int make_table(void** state) {
  (void)state;
  size_t count = etx_all_kernels.count;
  assert_true(count + 3 <= MOST_KERNELS);
  for (size_t i = 0; i < count; ++i) kernels[i] = etx_all_kernels.kernels[i];
  kernels[count++] = (etx_kernel){.op = &mark_row, .prepare = prepare_mark};
  kernels[count++] = (etx_kernel){.op = &pick_row, .prepare = prepare_pick};
  kernels[count++] = (etx_kernel){.op = &two_row, .prepare = prepare_two};
  table = (etx_kernel_table){kernels, count, NULL};
  return 0;
}

typedef struct changed_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  int places;  // nonzero(c), of a size that data decide
} changed_fixture;

static void start(changed_fixture* f) {
  test_program* const p = f->p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 256, 0);
  test_blob(p);
  const int c =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(ROOM)), "");
  f->places =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_INT64, SIZES(ROOM, 1), 0));
  test_call(p, "aten::nonzero", "out", ARGS(c, f->places, f->places));
  test_output(p, f->places, "");
}

static etx_status run(changed_fixture* f, const float* elements) {
  float data[ROOM];
  memcpy(data, elements, sizeof data);
  const etx_tensor tensor = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, ROOM);
  assert_ok(etx_method_set_input(&f->loaded.method, 0, &tensor, &diag));
  prepared = 0;
  etx_diag_init(&diag);
  return etx_method_run(&f->loaded.method, &diag);
}

static void run_all(changed_fixture* f) {
  static const struct {
    float elements[ROOM];
    int32_t count;
    int64_t wanted[ROOM];
    bool is_new;
  } rows[] = {{{0, 1, 0, 1}, 2, {101, 103}, true},
              {{1, 1, 0, 1}, 3, {100, 101, 103}, true},
              {{1, 1, 1, 0}, 3, {100, 101, 102}, false},
              {{1, 1, 1, 1}, 4, {100, 101, 102, 103}, true},
              {{0, 0, 1, 1}, 2, {102, 103}, true}};
  assert_ok(
      etx_program_open(&f->program, test_file(f->p), &table, NULL, &diag));
  assert_ok(test_load(&f->loaded, &f->program, "forward", NULL, &diag));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    assert_ok(run(f, rows[i].elements));
    assert_int_equal(prepared, rows[i].is_new);
    const etx_tensor* const found = test_output_tensor(&f->loaded.method, 0);
    assert_int_equal(found->sizes[0], rows[i].count);
    assert_memory_equal(found->data, rows[i].wanted,
                        (size_t)rows[i].count * sizeof(int64_t));
  }
  static const float one[ROOM] = {0, 0, 0, 1};
  assert_refused(run(f, one), ETX_BAD_ARGUMENT, "one row is refused");
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static void an_operator_without_results_is_prepared_again(void** state) {
  (void)state;
  changed_fixture f;
  start(&f);
  test_call(f.p, "my::mark", "", ARGS(f.places));
  run_all(&f);
}

static void a_changed_argument_is_no_result(void** state) {
  (void)state;
  changed_fixture f;
  start(&f);
  const int out =
      test_dynamic(f.p, test_scratch(f.p, ETX_DTYPE_INT64, SIZES(1), 128));
  test_call(f.p, "my::pick", "out", ARGS(f.places, out, out));
  test_output(f.p, out, "");
  run_all(&f);
}

static void a_changed_argument_is_not_one_of_two_results(void** state) {
  (void)state;
  changed_fixture f;
  start(&f);
  const int first = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(1), 128);
  const int second = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(1), 144);
  test_call(
      f.p, "my::two", "out",
      ARGS(f.places, first, second, test_tensors(f.p, ARGS(first, second))));
  test_output(f.p, first, "");
  test_output(f.p, second, "");
  run_all(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW,
                     an_operator_without_results_is_prepared_again),
      unit_test_with(ETX_CONTROL_FLOW, a_changed_argument_is_no_result),
      unit_test_with(ETX_CONTROL_FLOW,
                     a_changed_argument_is_not_one_of_two_results),
  };
  return cmocka_run_group_tests(tests, make_table, NULL);
}
