// The prepare cache: calls that equal an earlier call, and calls that differ in
// one respect.

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

typedef struct cache_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
} cache_fixture;

static void start(cache_fixture* f) {
  f->p = test_program_new();
  test_method(f->p, "forward");
  test_arenas(f->p, 1024, 0);
}

static etx_status load(cache_fixture* f) {
  etx_diag_init(&diag);
  ETX_TRY(etx_program_open(&f->program, test_file(f->p), &etx_all_kernels, NULL,
                           &diag));
  return test_load(&f->loaded, &f->program, "forward", NULL, &diag);
}

static void end(cache_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static const float* output(const cache_fixture* f, size_t index) {
  return (const float*)test_output_tensor(&f->loaded.method, index)->data;
}

// The cache compares all arguments but the last one, which must be the result.
static void the_last_argument_is_the_result(void** state) {
  (void)state;
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    const etx_op* op = etx_op_at((etx_op_id)i);
    if (op->result != ETX_RESULT_OUT) continue;
    etx_argument argument = {.written = false};
    etx_argument_cursor cursor = etx_argument_first(op->arguments);
    while (etx_argument_next(&cursor, &argument)) continue;
    assert_true(argument.written);
    assert_int_equal(argument.type, ETX_ARGUMENT_TENSOR);
  }
}

// c[i] = a[i] + factors[i] * b[i], for tensors of sizes[i]
static void add(cache_fixture* f, test_sizes sizes, int factor,
                uint64_t offset) {
  test_program* p = f->p;
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30, 40, 50, 60};
  const int x =
      test_constant(p, ETX_DTYPE_FLOAT32, sizes, test_data(p, a, sizeof a));
  const int y =
      test_constant(p, ETX_DTYPE_FLOAT32, sizes, test_data(p, b, sizeof b));
  const int out = test_scratch(p, ETX_DTYPE_FLOAT32, sizes, offset);
  test_call(p, "aten::add", "out", ARGS(x, y, test_int(p, factor), out, out));
  test_output(p, out, "");
}

static void calls_with_other_numbers_or_sizes_are_prepared_again(void** state) {
  (void)state;
  cache_fixture f;
  start(&f);
  add(&f, SIZES(6), 1, 0);
  add(&f, SIZES(6), 1, 64);
  add(&f, SIZES(6), 2, 128);
  add(&f, SIZES(2, 3), 2, 192);
  add(&f, SIZES(6), 2, 256);
  assert_ok(load(&f));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  static const float factors[5] = {1, 1, 2, 2, 2};
  for (size_t i = 0; i < 5; ++i) {
    for (size_t k = 0; k < 6; ++k) {
      const float element = (float)k + 1;
      assert_true(output(&f, i)[k] == element + factors[i] * 10 * element);
    }
  }
  end(&f);
}

// Two calls with equal operands. The result of the second one has another type,
// other sizes or another order of dimensions.
static void start_pair(cache_fixture* f, test_sizes sizes, etx_dtype dtype,
                       bool is_turned) {
  start(f);
  test_program* p = f->p;
  const float a[] = {1, 2, 3, 4, 5, 6};
  const int x = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(2, 3),
                              test_data(p, a, sizeof a));
  const int one = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 3), 0);
  const int other = test_scratch(p, dtype, sizes, 64);
  static const uint8_t turned[2] = {1, 0};
  if (is_turned) test_tensor_of(p, other)->dim_order = turned;
  test_call(p, "aten::neg", "out", ARGS(x, one, one));
  test_call(p, "aten::neg", "out", ARGS(x, other, other));
  test_output(p, other, "");
}

static void results_of_other_sizes_are_refused(void** state) {
  (void)state;
  cache_fixture f;
  start_pair(&f, SIZES(3, 2), ETX_DTYPE_FLOAT32, false);
  assert_refused(load(&f), ETX_BAD_ARGUMENT,
                 "has fixed size 3 in dimension 0, found 2");
  test_program_end(f.p);
  start_pair(&f, SIZES(6), ETX_DTYPE_FLOAT32, false);
  assert_refused(load(&f), ETX_BAD_ARGUMENT, "has rank 1, found 2");
  test_program_end(f.p);
}

static void results_of_another_type_are_checked_by_the_kernel(void** state) {
  (void)state;
  cache_fixture f;
  start_pair(&f, SIZES(2, 3), ETX_DTYPE_INT32, false);
  assert_refused(load(&f), ETX_BAD_ARGUMENT, "is written to type 'int32'");
  test_program_end(f.p);
}

static void calls_with_other_result_strides_are_prepared_again(void** state) {
  (void)state;
  cache_fixture f;
  start_pair(&f, SIZES(2, 3), ETX_DTYPE_FLOAT32, true);
  assert_ok(load(&f));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  static const float wanted[6] = {-1, -4, -2, -5, -3, -6};
  assert_memory_equal(output(&f, 0), wanted, sizeof wanted);
  end(&f);
}

static void memory_is_checked_for_each_call(void** state) {
  (void)state;
  cache_fixture f;
  start(&f);
  test_program* p = f.p;
  const float a[] = {1, 2, 3, 4};
  const int x =
      test_constant(p, ETX_DTYPE_FLOAT32, SIZES(4), test_data(p, a, sizeof a));
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int z = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 16);
  const int beside = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 24);
  test_call(p, "aten::neg", "out", ARGS(x, y, y));
  test_call(p, "aten::neg", "out", ARGS(y, z, z));
  test_call(p, "aten::neg", "out", ARGS(z, beside, beside));
  test_output(p, beside, "");
  assert_refused(load(&f), ETX_BAD_FILE, "overlaps an output");
  test_program_end(p);
}

// Two calls with sizes of a dynamic input.
static void results_have_the_sizes_of_a_dynamic_input(void** state) {
  (void)state;
  cache_fixture f;
  start(&f);
  test_program* p = f.p;
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "x");
  test_dynamic(p, x);
  int from = x;
  for (uint64_t i = 0; i < 3; ++i) {
    const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 16 * i);
    test_dynamic(p, out);
    test_call(p, "aten::neg", "out", ARGS(from, out, out));
    from = out;
  }
  test_output(p, from, "");
  test_blob(p);
  test_dim(p, 0, 0, test_symbol(p, "s", 1, 4), 1, 0);
  assert_ok(load(&f));
  float data[4] = {1, 2, 3, 4};
  static const int32_t counts[3] = {2, 4, 1};
  for (size_t i = 0; i < 3; ++i) {
    const etx_tensor tensor = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, counts[i]);
    assert_ok(etx_method_set_input(&f.loaded.method, 0, &tensor, &diag));
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const etx_tensor* out = test_output_tensor(&f.loaded.method, 0);
    assert_int_equal(out->sizes[0], counts[i]);
    for (int32_t k = 0; k < counts[i]; ++k) {
      assert_true(output(&f, 0)[k] == -data[k]);
    }
  }
  end(&f);
}

// Lists are compared item by item: None, other tensors, and numbers of other
// values and counts. Texts of different slots are never taken for equal.
static void calls_with_other_lists_are_prepared_again(void** state) {
  (void)state;
  cache_fixture f;
  start(&f);
  test_program* p = f.p;
  const float a[] = {1, 2, 3, 4};
  const int64_t zeros[] = {0}, ones[] = {1};
  const int x = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(2, 2),
                              test_data(p, a, sizeof a));
  const int zero = test_constant(p, ETX_DTYPE_INT64, SIZES(1),
                                 test_data(p, zeros, sizeof zeros));
  const int one = test_constant(p, ETX_DTYPE_INT64, SIZES(1),
                                test_data(p, ones, sizeof ones));
  const int lists[][2] = {{zero, -1}, {-1, zero}, {-1, one},
                          {-1, one},  {one, -1},  {zero, zero}};
  const size_t counts[] = {2, 2, 2, 2, 2, 1};
  uint64_t offset = 0;
  for (size_t i = 0; i < 6; ++i, offset += 16) {
    const bool is_row = counts[i] == 1 || lists[i][0] >= 0;
    const int out = test_scratch(p, ETX_DTYPE_FLOAT32,
                                 is_row ? SIZES(1, 2) : SIZES(2, 1), offset);
    test_call(p, "aten::index", "Tensor_out",
              ARGS(x, test_optional_tensors(p, lists[i], counts[i]), out, out));
    test_output(p, out, "");
  }
  const int first = test_int(p, 0), second = test_int(p, 1);
  const int again = test_int(p, 0);
  const int dims[][2] = {{first, 0}, {second, 0}, {first, second}, {again, 0}};
  const size_t dim_counts[] = {1, 1, 2, 1};
  const int keeps = test_bool(p, true), none = test_none(p);
  for (size_t i = 0; i < 4; ++i, offset += 16) {
    const test_sizes sizes = i == 1   ? SIZES(2, 1)
                             : i == 2 ? SIZES(1, 1)
                                      : SIZES(1, 2);
    const int out = test_scratch(p, ETX_DTYPE_FLOAT32, sizes, offset);
    test_call(
        p, "aten::sum", "IntList_out",
        ARGS(x, test_ints(p, dims[i], dim_counts[i]), keeps, none, out, out));
    test_output(p, out, "");
  }
  for (size_t i = 0; i < 2; ++i, offset += 16) {
    const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), offset);
    test_call(p, "aten::gelu", "out",
              ARGS(x, test_string(p, "none"), out, out));
    test_output(p, out, "");
  }
  assert_ok(load(&f));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  static const float wanted[][2] = {{1, 2}, {1, 3}, {2, 4}, {2, 4},   {3, 4},
                                    {1, 2}, {4, 6}, {3, 7}, {10, 10}, {4, 6}};
  for (size_t i = 0; i < 10; ++i) {
    assert_true(output(&f, i)[0] == wanted[i][0]);
    if (i != 8) assert_true(output(&f, i)[1] == wanted[i][1]);
  }
  assert_memory_equal(output(&f, 10), output(&f, 11), 16);
  end(&f);
}

// One list is the beginning of the other one, in each order.
static void longer_lists_are_prepared_again(void** state) {
  (void)state;
  for (size_t longer = 0; longer < 2; ++longer) {
    cache_fixture f;
    start(&f);
    test_program* p = f.p;
    const float a[] = {1, 2};
    const int x = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(2),
                                test_data(p, a, sizeof a));
    const int zero = test_int(p, 0);
    for (size_t i = 0; i < 2; ++i) {
      const int items[] = {x, x, x};
      const size_t count = i == longer ? 3 : 2;
      const int out = test_scratch(p, ETX_DTYPE_FLOAT32,
                                   SIZES((int32_t)(2 * count)), i * 32);
      test_call(p, "aten::cat", "out",
                ARGS(test_tensors(p, items, count), zero, out, out));
      test_output(p, out, "");
    }
    assert_ok(load(&f));
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    static const float wanted[] = {1, 2, 1, 2, 1, 2};
    for (size_t i = 0; i < 2; ++i) {
      assert_int_equal(test_output_tensor(&f.loaded.method, i)->sizes[0],
                       i == longer ? 6 : 4);
      assert_memory_equal(output(&f, i), wanted,
                          (i == longer ? 6 : 4) * sizeof *wanted);
    }
    end(&f);
  }
}

// None stands for all dimensions, a list for some, in each order.
static void none_is_no_list(void** state) {
  (void)state;
  for (size_t none_at = 0; none_at < 2; ++none_at) {
    cache_fixture f;
    start(&f);
    test_program* p = f.p;
    const float a[] = {1, 2, 3, 4};
    const int x = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(2, 2),
                                test_data(p, a, sizeof a));
    const int none = test_none(p), keeps = test_bool(p, true);
    const int first = test_ints(p, ARGS(test_int(p, 0)));
    for (size_t i = 0; i < 2; ++i) {
      const bool is_none = i == none_at;
      const int out = test_scratch(p, ETX_DTYPE_FLOAT32,
                                   is_none ? SIZES(1, 1) : SIZES(1, 2), i * 16);
      test_call(p, "aten::sum", "IntList_out",
                ARGS(x, is_none ? none : first, keeps, none, out, out));
      test_output(p, out, "");
    }
    assert_ok(load(&f));
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    assert_true(output(&f, none_at)[0] == 10);
    assert_true(output(&f, 1 - none_at)[0] == 4);
    assert_true(output(&f, 1 - none_at)[1] == 6);
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_last_argument_is_the_result),
      cmocka_unit_test(calls_with_other_numbers_or_sizes_are_prepared_again),
      unit_test_with(ETX_VERIFIER || ETX_DYNAMIC,
                     results_of_other_sizes_are_refused),
      cmocka_unit_test(results_of_another_type_are_checked_by_the_kernel),
      cmocka_unit_test(calls_with_other_result_strides_are_prepared_again),
      cmocka_unit_test(calls_with_other_lists_are_prepared_again),
      cmocka_unit_test(longer_lists_are_prepared_again),
      cmocka_unit_test(none_is_no_list),
      unit_test_with(ETX_VERIFIER, memory_is_checked_for_each_call),
      unit_test_with(ETX_DYNAMIC, results_have_the_sizes_of_a_dynamic_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
