// Size programs: which methods have one, by the sizes of what their calls
// write.

#include "runtime/method/method_types.h"
#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROOM = 8 };

typedef struct known_fixture {
  sized_pair pair;
  test_program* p;
  int x;  // s floats
  int none, one, no;
} known_fixture;

static void start(known_fixture* f) {
  sized_pair_start(&f->pair);
  f->p = f->pair.p;
  f->x = sized_pair_input(&f->pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                          test_symbol(f->p, "s", 0, ROOM));
  f->none = test_none(f->p);
  f->one = test_int(f->p, 1);
  f->no = test_bool(f->p, false);
}

static int add_scratch(known_fixture* f, uint64_t offset) {
  return test_dynamic(
      f->p, test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(ROOM), offset));
}

static void run_ok(known_fixture* f, int64_t first, int64_t second) {
  const int64_t symbols[2] = {first, second};
  assert_ok(sized_pair_run(&f->pair, symbols, &diag));
}

static void end(known_fixture* f, bool is_used) {
  assert_int_equal(sized_pair_is_used(&f->pair), is_used);
  sized_pair_end(&f->pair);
}

// An output of fixed size has that of x at one value of the symbol only.
static void a_size_of_one_call_only_is_no_function_of_symbols(void** state) {
  (void)state;
  known_fixture f;
  start(&f);
  const int out = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(ROOM), 0);
  test_call(f.p, "aten::neg", "out", ARGS(f.x, out, out));
  test_output(f.p, out, "");
  sized_pair_load(&f.pair, &etx_all_kernels);
  run_ok(&f, ROOM, 0);
  assert_refused(sized_pair_run(&f.pair, &(int64_t){3}, &diag),
                 ETX_BAD_ARGUMENT, "has fixed size 8 in dimension 0, found 3");
  run_ok(&f, ROOM, 0);
  end(&f, false);
}

// A rank that follows from a size: squeezing drops dimensions of size 1.
static void a_rank_of_one_call_only_is_none_of_all_sizes(void** state) {
  (void)state;
  known_fixture f;
  start(&f);
  const int rows = sized_pair_input(&f.pair, ETX_DTYPE_FLOAT32, SIZES(ROOM, 2),
                                    test_symbol(f.p, "rows", 0, ROOM));
  const int out = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  // With a number as input, a method is not prepared at its bounds.
  test_input(f.p, f.one, "");
  test_dim(f.p, 2, -1, 0, 1, 0);
  test_call(f.p, "aten::squeeze_copy", "dim_out",
            ARGS(rows, test_int(f.p, 0), out, out));
  test_output(f.p, out, "");
  sized_pair_load(&f.pair, &etx_all_kernels);
  run_ok(&f, 3, 1);
  run_ok(&f, 5, 1);
  end(&f, false);
}

// The largest element decides the size, but if there is none it is known.
static void a_size_that_may_depend_on_data_is_no_function(void** state) {
  (void)state;
  known_fixture f;
  start(&f);
  const int numbers = sized_pair_input(&f.pair, ETX_DTYPE_INT64, SIZES(ROOM),
                                       test_symbol(f.p, "n", 0, ROOM));
  const int out =
      test_dynamic(f.p, test_scratch(f.p, ETX_DTYPE_INT64, SIZES(16), 0));
  test_call(f.p, "etx::bincount", "out",
            ARGS(numbers, f.none, test_int(f.p, 3), out, out));
  test_output(f.p, out, "");
  sized_pair_load(&f.pair, &etx_all_kernels);
  run_ok(&f, 3, 0);
  assert_int_equal(sized_pair_output(&f.pair, 0)->sizes[0], 3);
  run_ok(&f, 5, 0);
  run_ok(&f, 5, 4);
  assert_int_equal(sized_pair_output(&f.pair, 0)->sizes[0], 5);
  run_ok(&f, 5, 0);
  assert_int_equal(sized_pair_output(&f.pair, 0)->sizes[0], 3);
  end(&f, false);
}

// The kernel finds as many places as the output has rows.
static void a_fixed_size_that_data_must_have_is_known(void** state) {
  (void)state;
  static const float data[4] = {0, 1, 0, 2};
  static const int64_t wanted[2] = {1, 3};
  known_fixture f;
  start(&f);
  const int c = test_constant(f.p, ETX_DTYPE_FLOAT32, SIZES(4),
                              test_data(f.p, data, sizeof data));
  const int places = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(2, 1), 0);
  const int out = add_scratch(&f, 64);
  test_call(f.p, "aten::nonzero", "out", ARGS(c, places, places));
  test_call(f.p, "aten::neg", "out", ARGS(f.x, out, out));
  test_output(f.p, places, "");
  test_output(f.p, out, "");
  sized_pair_load(&f.pair, &etx_all_kernels);
  run_ok(&f, 3, 0);
  run_ok(&f, 5, 0);
  run_ok(&f, 2, 0);
  assert_memory_equal(sized_pair_output(&f.pair, 0)->data, wanted,
                      sizeof wanted);
  end(&f, true);
}

// Sizes that data decide are left to the run. All others are known.
static void sizes_by_data_are_left_to_the_run(void** state) {
  (void)state;
  static const float data[4] = {0, 1, 0, 2};
  known_fixture f;
  start(&f);
  const int c = test_constant(f.p, ETX_DTYPE_FLOAT32, SIZES(4),
                              test_data(f.p, data, sizeof data));
  const int places =
      test_dynamic(f.p, test_scratch(f.p, ETX_DTYPE_INT64, SIZES(4, 1), 0));
  const int out = add_scratch(&f, 64);
  test_call(f.p, "aten::nonzero", "out", ARGS(c, places, places));
  test_call(f.p, "aten::neg", "out", ARGS(f.x, out, out));
  test_output(f.p, places, "");
  test_output(f.p, out, "");
  sized_pair_load(&f.pair, &etx_all_kernels);
  for (int64_t size = 3; size < 6; ++size) {
    run_ok(&f, size, 0);
    assert_int_equal(sized_pair_output(&f.pair, 0)->sizes[0], 2);
    assert_int_equal(sized_pair_output(&f.pair, 1)->sizes[0], size);
  }
  end(&f, true);
}

// Views of fixed sizes, of scratch and of an input, a tensor without elements
// or memory, and a dynamic tensor that no call uses.
static void tensors_of_fixed_sizes_need_no_program(void** state) {
  (void)state;
  static const float data[4] = {1, 2, 3, 4};
  known_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(4),
                              test_data(p, data, sizeof data));
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 64);
  const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2, 2));
  const int empty = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(0));
  const int copy = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 128);
  const int two = test_int(p, 2), both[2] = {two, two};
  const int all = add_scratch(&f, 192), parts[2] = {empty, f.x};
  (void)add_scratch(&f, 256);
  test_call(p, "aten::neg", "out", ARGS(c, y, y));
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(y, test_ints(p, both, 2), view));
  test_call(p, "aten::neg", "out", ARGS(view, copy, copy));
  test_call(p, "aten::cat", "out",
            ARGS(test_tensors(p, parts, 2), test_int(p, 0), all, all));
  test_output(p, copy, "");
  test_output(p, all, "");
  sized_pair_load(&f.pair, &etx_all_kernels);
  for (int64_t size = 5; size > 2; --size) {
    run_ok(&f, size, 0);
    assert_memory_equal(sized_pair_output(&f.pair, 0)->data, data, sizeof data);
    assert_int_equal(sized_pair_output(&f.pair, 1)->sizes[0], size);
  }
  sized_pair_end(&f.pair);
}

// b = copy_(a, x): b is another name of a.
static void the_result_of_a_change_in_place_has_the_size_of_self(void** state) {
  (void)state;
  for (size_t is_fixed = 0; is_fixed < 2; ++is_fixed) {
    known_fixture f;
    start(&f);
    const int a = add_scratch(&f, 0), c = add_scratch(&f, 64);
    const int b = test_borrowed(f.p, ETX_DTYPE_FLOAT32, SIZES(ROOM));
    if (is_fixed == 0) test_dynamic(f.p, b);
    test_call(f.p, "aten::neg", "out", ARGS(f.x, a, a));
    test_call(f.p, "aten::copy_", "", ARGS(a, f.x, f.no, b));
    test_call(f.p, "aten::neg", "out", ARGS(b, c, c));
    test_output(f.p, c, "");
    sized_pair_load(&f.pair, &etx_all_kernels);
    if (is_fixed != 0) {
      run_ok(&f, ROOM, 0);
      assert_refused(sized_pair_run(&f.pair, &(int64_t){3}, &diag),
                     ETX_BAD_ARGUMENT, "has fixed size 8");
      run_ok(&f, ROOM, 0);
    } else {
      run_ok(&f, 3, 0);
      run_ok(&f, 5, 0);
      run_ok(&f, 4, 0);
      const float wanted[4] = {-1, -2, -3, -4};
      assert_memory_equal(sized_pair_output(&f.pair, 0)->data, wanted,
                          sizeof wanted);
    }
    end(&f, is_fixed == 0);
  }
}

// An input of fixed sizes whose size is that of a symbol with one value.
static void a_symbol_may_have_one_value(void** state) {
  (void)state;
  known_fixture f;
  start(&f);
  const int fixed = test_borrowed(f.p, ETX_DTYPE_FLOAT32, SIZES(4));
  const int out = add_scratch(&f, 0), other = add_scratch(&f, 64);
  test_input(f.p, fixed, "");
  test_dim(f.p, 1, 0, test_symbol(f.p, "f", 4, 4), 1, 0);
  test_call(f.p, "aten::neg", "out", ARGS(f.x, out, out));
  test_call(f.p, "aten::neg", "out", ARGS(fixed, other, other));
  test_output(f.p, out, "");
  test_output(f.p, other, "");
  sized_pair_load(&f.pair, &etx_all_kernels);
  run_ok(&f, 3, 4);
  run_ok(&f, 5, 4);
  run_ok(&f, 1, 4);
  end(&f, true);
}

// Equal sizes in another order of dimensions have other strides.
static void an_order_of_dimensions_tells_tensors_apart(void** state) {
  (void)state;
  static const uint8_t turned[2] = {1, 0};
  known_fixture f;
  start(&f);
  int rows[3], outs[3];
  for (size_t i = 0; i < 3; ++i) {
    rows[i] = sized_pair_input(&f.pair, ETX_DTYPE_FLOAT32, SIZES(ROOM, 2), 0);
    outs[i] = test_dynamic(
        f.p, test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(ROOM, 2), 64 * i));
    if (i == 1) {
      test_tensor_of(f.p, rows[i])->dim_order = turned;
      test_tensor_of(f.p, outs[i])->dim_order = turned;
    }
  }
  for (size_t i = 0; i < 3; ++i) {
    test_call(f.p, "aten::neg", "out", ARGS(rows[i], outs[i], outs[i]));
    test_output(f.p, outs[i], "");
  }
  sized_pair_load(&f.pair, &etx_all_kernels);
  run_ok(&f, 1, 0);
  run_ok(&f, 0, 0);
  run_ok(&f, 1, 0);
  const etx_size_program* const sizes = &f.pair.loaded[0].method.sizes;
  assert_int_equal(sizes->records[1].leader, 1);
  assert_int_equal(sizes->records[2].leader, 0);
  end(&f, true);
}

// Only the latest calls of an operator are compared.
static void an_equal_call_must_be_near(void** state) {
  (void)state;
  enum { BETWEEN = 64 };
  for (int is_far = 0; is_far < 2; ++is_far) {
    known_fixture f;
    start(&f);
    const int out = add_scratch(&f, 0), two = test_int(f.p, 2);
    const int calls = BETWEEN + is_far;
    test_call(f.p, "aten::add", "out", ARGS(f.x, f.x, two, out, out));
    for (int i = 1; i < calls; ++i) {
      test_call(f.p, "aten::add", "out",
                ARGS(f.x, f.x, test_int(f.p, 2 + i), out, out));
    }
    test_call(f.p, "aten::add", "out", ARGS(f.x, f.x, two, out, out));
    test_output(f.p, out, "");
    sized_pair_load(&f.pair, &etx_all_kernels);
    run_ok(&f, 3, 0);
    run_ok(&f, 5, 0);
    run_ok(&f, 2, 0);
    const uint32_t leader = f.pair.loaded[0].method.sizes.records[calls].leader;
    assert_int_equal(leader, is_far != 0 ? calls : 0);
    end(&f, true);
  }
}

// A method that returns its input has no sizes to compute.
static void a_method_without_calls_has_no_program(void** state) {
  (void)state;
  known_fixture f;
  start(&f);
  test_described(f.p);
  test_output(f.p, f.x, "");
  sized_pair_load(&f.pair, &etx_all_kernels);
  run_ok(&f, 3, 0);
  run_ok(&f, 5, 0);
  assert_int_equal(sized_pair_output(&f.pair, 0)->sizes[0], 5);
  end(&f, false);
}

// Each tensor is computed behind the call that reads it. The last one has a
// size from data. So each round finds another late tensor, until all calls are
// left to the run.
static void expect_late_as_a_whole(bool writes_before) {
  enum { TENSORS = 8 };
  static const int64_t data[1] = {3};
  known_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int c = test_constant(p, ETX_DTYPE_INT64, SIZES(1),
                              test_data(p, data, sizeof data));
  const int number = test_int(p, 0), zero = test_int(p, 0);
  int tensors[TENSORS];
  for (size_t i = 0; i < TENSORS; ++i) tensors[i] = add_scratch(&f, 64 * i);
  for (size_t i = 0; writes_before && i < TENSORS; ++i) {
    test_call(p, "aten::neg", "out", ARGS(f.x, tensors[i], tensors[i]));
  }
  for (size_t i = TENSORS - 1; i > 0; --i) {
    test_call(p, "aten::neg", "out",
              ARGS(tensors[i - 1], tensors[i], tensors[i]));
  }
  test_call(p, "aten::_local_scalar_dense", "", ARGS(c, number));
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(f.x, zero, zero, number, f.one, tensors[0], tensors[0]));
  test_output(p, tensors[0], "");
  if (writes_before) test_output(p, tensors[1], "");
  sized_pair_load(&f.pair, &etx_all_kernels);
  run_ok(&f, 4, 0);
  run_ok(&f, 5, 0);
  assert_int_equal(sized_pair_output(&f.pair, 0)->sizes[0], 3);
  if (writes_before) {
    assert_int_equal(sized_pair_output(&f.pair, 1)->sizes[0], 5);
  }
  assert_true((f.pair.loaded[0].method.flow & ETX_FLOW_ALL_LATE) != 0);
  end(&f, false);
}

static void a_method_that_is_late_as_a_whole_has_no_program(void** state) {
  (void)state;
  expect_late_as_a_whole(true);
  // Even then a tensor is found late that was read before.
  expect_late_as_a_whole(false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_SIZE_PROGRAMS,
                     a_size_of_one_call_only_is_no_function_of_symbols),
      unit_test_with(ETX_SIZE_PROGRAMS,
                     a_rank_of_one_call_only_is_none_of_all_sizes),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     a_size_that_may_depend_on_data_is_no_function),
      unit_test_with(ETX_SIZE_PROGRAMS,
                     a_fixed_size_that_data_must_have_is_known),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     sizes_by_data_are_left_to_the_run),
      unit_test_with(ETX_SIZE_PROGRAMS, tensors_of_fixed_sizes_need_no_program),
      unit_test_with(ETX_SIZE_PROGRAMS,
                     the_result_of_a_change_in_place_has_the_size_of_self),
      unit_test_with(ETX_SIZE_PROGRAMS, a_symbol_may_have_one_value),
      unit_test_with(ETX_SIZE_PROGRAMS,
                     an_order_of_dimensions_tells_tensors_apart),
      unit_test_with(ETX_SIZE_PROGRAMS, an_equal_call_must_be_near),
      unit_test_with(ETX_SIZE_PROGRAMS, a_method_without_calls_has_no_program),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     a_method_that_is_late_as_a_whole_has_no_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
