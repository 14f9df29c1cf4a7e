// Outputs whose sizes depend on the content of inputs: the file states a bound,
// the kernel sets the sizes, and later calls are prepared after that.

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

typedef struct by_data_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
} by_data_fixture;

static void load(by_data_fixture* f) {
  assert_ok(etx_program_open(&f->program, test_file(f->p), &etx_all_kernels,
                             NULL, &diag));
  assert_ok(test_load(&f->loaded, &f->program, "forward", NULL, &diag));
}

static void end(by_data_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static etx_status run(by_data_fixture* f, float* x, int32_t count) {
  const etx_tensor tensor = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, count);
  assert_ok(etx_method_set_input(&f->loaded.method, 0, &tensor, &diag));
  return etx_method_run(&f->loaded.method, &diag);
}

// places = nonzero(x), of at most `room` rows; twice = places + places
static void start_places(by_data_fixture* f, int32_t room, bool is_fixed) {
  test_program* p = f->p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 256, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "");
  const int places = test_scratch(p, ETX_DTYPE_INT64, SIZES(room, 1), 0);
  const int twice = test_scratch(p, ETX_DTYPE_INT64, SIZES(room, 1), 128);
  const int alpha = test_int(p, 1);
  if (!is_fixed) {
    test_dynamic(p, places);
    test_dynamic(p, twice);
  }
  test_call(p, "aten::nonzero", "out", ARGS(x, places, places));
  test_call(p, "aten::add", "out", ARGS(places, places, alpha, twice, twice));
  test_output(p, twice, "");
  load(f);
}

static void later_calls_get_the_sizes_that_the_kernel_found(void** state) {
  (void)state;
  by_data_fixture f;
  start_places(&f, 4, false);
  float rows[3][4] = {{0, 1, 0, 2}, {0, 0, 0, 0}, {1, 2, 3, 4}};
  static const struct {
    int32_t count;
    int64_t wanted[4];
  } runs[3] = {{2, {2, 6}}, {0, {0}}, {4, {0, 2, 4, 6}}};
  for (size_t i = 0; i < 3; ++i) {
    assert_ok(run(&f, rows[i], 4));
    const etx_tensor* out = test_output_tensor(&f.loaded.method, 0);
    assert_int_equal(out->sizes[0], runs[i].count);
    assert_memory_equal(out->data, runs[i].wanted,
                        (size_t)runs[i].count * sizeof(int64_t));
  }
  end(&f);
}

static void more_rows_than_the_bound_are_refused(void** state) {
  (void)state;
  by_data_fixture f;
  start_places(&f, 2, false);
  float few[4] = {0, 1, 0, 2}, many[4] = {1, 1, 0, 2};
  assert_refused(run(&f, many, 4), ETX_OUT_OF_RANGE,
                 "has room for 2 elements, found 3");
  assert_ok(run(&f, few, 4));
  assert_int_equal(test_output_tensor(&f.loaded.method, 0)->sizes[0], 2);
  end(&f);
}

static void a_fixed_output_takes_exactly_its_size(void** state) {
  (void)state;
  by_data_fixture f;
  start_places(&f, 2, true);
  assert_false(f.loaded.method.prepares_during_run);
  float fitting[4] = {0, 1, 0, 2}, few[4] = {0, 0, 0, 2};
  assert_ok(run(&f, fitting, 4));
  assert_refused(run(&f, few, 4), ETX_BAD_ARGUMENT,
                 "'out' has size 2 in dimension 0, found 1");
  assert_ok(run(&f, fitting, 4));
  end(&f);
}

// The output overlaps the tensor that the kernel reads, so the kernel would
// read elements that it has overwritten.
static void the_largest_output_must_not_overlap_arguments(void** state) {
  (void)state;
  by_data_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 256, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "");
  const int copy = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 16);
  const int places = test_scratch(p, ETX_DTYPE_INT64, SIZES(4, 1), 0);
  const int none = test_none(p);
  test_dynamic(p, places);
  test_call(p, "aten::clone", "out", ARGS(x, none, copy, copy));
  test_call(p, "aten::nonzero", "out", ARGS(copy, places, places));
  test_output(p, places, "");
  load(&f);
  float row[4] = {0, 0, 0, 1};
  assert_refused(run(&f, row, 4), ETX_BAD_FILE, "overlaps an output");
  end(&f);
}

// do { places = nonzero(x); x = x - one } while (the first is not zero): the
// slot has other sizes in each iteration.
static void a_loop_may_find_other_sizes_in_each_iteration(void** state) {
  (void)state;
  by_data_fixture f;
  static const float one = 1;
  test_program* p = f.p = test_program_new();
  const uint32_t data = test_data(p, &one, sizeof one);
  test_method(p, "forward");
  test_arenas(p, 256, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3)), "");
  const int rest = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(3), 128);
  const int places = test_scratch(p, ETX_DTYPE_INT64, SIZES(3, 1), 0);
  const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(1), data);
  const int alpha = test_int(p, 1), none = test_none(p);
  const int turn = test_int(p, 0), step = test_int(p, 1);
  const int last = test_int(p, 2), done = test_bool(p, false);
  const int start = test_int(p, 0);
  test_dynamic(p, places);
  test_call(p, "aten::clone", "out", ARGS(x, none, rest, rest));
  test_call(p, "aten::nonzero", "out", ARGS(rest, places, places));
  test_call(p, "aten::sub", "out", ARGS(rest, c, alpha, rest, rest));
  test_call(p, "executorch_prim::add", "Scalar", ARGS(turn, step, turn));
  test_call(p, "executorch_prim::eq", "Scalar", ARGS(turn, last, done));
  test_jump_false(p, done, 1);
  test_move(p, start, turn);
  test_output(p, places, "");
  load(&f);
  float few[3] = {1, 2, 1}, more[3] = {0, 1, 2};
  assert_ok(run(&f, few, 3));
  assert_int_equal(test_output_tensor(&f.loaded.method, 0)->sizes[0], 1);
  assert_ok(run(&f, more, 3));
  assert_int_equal(test_output_tensor(&f.loaded.method, 0)->sizes[0], 2);
  end(&f);
}

// values, inverse, counts = _unique2(x) of 5 numbers. There is room for
// `values` unique ones and `counts` counts.
static void start_unique(by_data_fixture* f, int32_t values, int32_t counts) {
  test_program* p = f->p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 256, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(5)), "");
  const int outs[3] = {test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(values), 0),
                       test_scratch(p, ETX_DTYPE_INT64, SIZES(5), 64),
                       test_scratch(p, ETX_DTYPE_INT64, SIZES(counts), 128)};
  const int yes = test_bool(p, true);
  test_dynamic(p, outs[0]);
  test_dynamic(p, outs[2]);
  test_call(p, "etx::_unique2", "out",
            ARGS(x, yes, yes, yes, outs[0], outs[1], outs[2],
                 test_tensors(p, outs, 3)));
  for (size_t i = 0; i < 3; ++i) test_output(p, outs[i], "");
  load(f);
}

static const etx_tensor* output(by_data_fixture* f, size_t i) {
  return test_output_tensor(&f->loaded.method, i);
}

static void several_outputs_get_sizes_by_data(void** state) {
  (void)state;
  by_data_fixture f;
  start_unique(&f, 5, 5);
  float mixed[5] = {3, 1, 3, 2, 1}, equal[5] = {7, 7, 7, 7, 7};
  assert_ok(run(&f, mixed, 5));
  assert_int_equal(output(&f, 0)->sizes[0], 3);
  assert_int_equal(output(&f, 2)->sizes[0], 3);
  assert_memory_equal(output(&f, 0)->data, ((float[]){1, 2, 3}), 12);
  assert_memory_equal(output(&f, 1)->data, ((int64_t[]){2, 0, 2, 1, 0}), 40);
  assert_memory_equal(output(&f, 2)->data, ((int64_t[]){2, 1, 2}), 24);
  assert_ok(run(&f, equal, 5));
  assert_int_equal(output(&f, 0)->sizes[0], 1);
  assert_memory_equal(output(&f, 2)->data, ((int64_t[]){5}), 8);
  end(&f);
}

// Neither output has room for 3. Nothing is written before that is known: not
// the inverse, which always fits.
static void nothing_is_written_if_one_output_has_no_room(void** state) {
  (void)state;
  static const int32_t rooms[2][2] = {{5, 2}, {2, 5}};
  float few[5] = {4, 9, 4, 9, 9}, many[5] = {3, 1, 3, 2, 1};
  for (size_t i = 0; i < 2; ++i) {
    by_data_fixture f;
    start_unique(&f, rooms[i][0], rooms[i][1]);
    assert_ok(run(&f, few, 5));
    assert_refused(run(&f, many, 5), ETX_OUT_OF_RANGE,
                   "has room for 2 elements, found 3");
    assert_memory_equal(output(&f, 0)->data, ((float[]){4, 9}), 8);
    assert_memory_equal(output(&f, 1)->data, ((int64_t[]){0, 1, 0, 1, 1}), 40);
    assert_memory_equal(output(&f, 2)->data, ((int64_t[]){2, 3}), 16);
    end(&f);
  }
}

// counts = bincount(x), where the largest number decides the size.
static void a_size_may_be_decided_by_the_largest_number(void** state) {
  (void)state;
  by_data_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 256, 0);
  const int x = test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(3)), "");
  const int counts = test_scratch(p, ETX_DTYPE_INT64, SIZES(6), 0);
  test_dynamic(p, counts);
  test_call(p, "etx::bincount", "out",
            ARGS(x, test_none(p), test_int(p, 2), counts, counts));
  test_output(p, counts, "");
  load(&f);
  int64_t rows[4][3] = {{0, 5, 5}, {0, 6, 0}, {0, -1, 0}, {0, 0, 0}};
  etx_tensor x_tensor = TEST_TENSOR(rows[0], ETX_DTYPE_INT64, 3);
  static const char* const messages[2] = {
      "has room for 6 elements, found 7",
      "'self' has -1 at index 1, expected at least 0"};
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &x_tensor, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const int64_t wanted[6] = {1, 0, 0, 0, 0, 2};
  for (size_t i = 0; i < 2; ++i) {
    x_tensor.data = rows[i + 1];
    assert_ok(etx_method_set_input(&f.loaded.method, 0, &x_tensor, &diag));
    assert_refused(etx_method_run(&f.loaded.method, &diag),
                   i == 0 ? ETX_OUT_OF_RANGE : ETX_BAD_ARGUMENT, messages[i]);
    assert_memory_equal(output(&f, 0)->data, wanted, sizeof wanted);
  }
  x_tensor.data = rows[3];
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &x_tensor, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(output(&f, 0)->sizes[0], 2);
  assert_memory_equal(output(&f, 0)->data, ((int64_t[]){3, 0}), 16);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW,
                     later_calls_get_the_sizes_that_the_kernel_found),
      unit_test_with(ETX_CONTROL_FLOW, more_rows_than_the_bound_are_refused),
      cmocka_unit_test(a_fixed_output_takes_exactly_its_size),
      unit_test_with(ETX_VERIFIER && ETX_CONTROL_FLOW,
                     the_largest_output_must_not_overlap_arguments),
      unit_test_with(ETX_CONTROL_FLOW,
                     a_loop_may_find_other_sizes_in_each_iteration),
      unit_test_with(ETX_CONTROL_FLOW, several_outputs_get_sizes_by_data),
      unit_test_with(ETX_CONTROL_FLOW,
                     nothing_is_written_if_one_output_has_no_room),
      unit_test_with(ETX_CONTROL_FLOW,
                     a_size_may_be_decided_by_the_largest_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
