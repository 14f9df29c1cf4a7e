// Size programs (runtime/shapes/size_program.h): numbers that are computed from
// symbols, and numbers that no size program expresses.

#include "tests/runtime/shapes/sized_pair.h"
#include <stdio.h>

#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROOM = 32, LARGEST = 8 };

static int table_of(test_program* p) {
  float elements[ROOM];
  for (int i = 0; i < ROOM; ++i) elements[i] = (float)(i + 1);
  return test_constant(p, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                       test_data(p, elements, sizeof elements));
}

// Adds the output table[0:number], at byte `offset` of scratch.
static void add_head(test_program* p, int number, uint64_t offset) {
  const int table = table_of(p);
  const int out =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROOM), offset));
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(table, test_int(p, 0), test_int(p, 0), number, test_int(p, 1),
                 out, out));
  test_output(p, out, "");
}

// Starts a method with the input x of s elements; returns the number s.
static int start(sized_pair* pair, int64_t least) {
  sized_pair_start(pair);
  test_program* const p = pair->p;
  const int x = sized_pair_input(pair, ETX_DTYPE_FLOAT32, SIZES(LARGEST),
                                 test_symbol(p, "s", least, LARGEST));
  const int size = test_int(p, 0);
  test_call(p, "aten::sym_size", "int", ARGS(x, test_int(p, 0), size));
  return size;
}

// Runs at a few sizes and expects so many elements in output 0.
static void expect_counts(sized_pair* pair, const int64_t* symbols,
                          const int32_t* counts, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    assert_ok(sized_pair_run(pair, &symbols[i], &diag));
    const etx_tensor* const out = sized_pair_output(pair, 0);
    assert_int_equal(out->sizes[0], counts[i]);
  }
}

static void numbers_are_expressions_over_symbols(void** state) {
  (void)state;
  static const int64_t sizes[3] = {5, 8, 3};
  static const struct {
    const char* name;
    const char* overload;
    int64_t operand;
    int32_t counts[3];
    bool is_used;
  } rows[] = {
      {"executorch_prim::add", "Scalar", 3, {8, 11, 6}, true},
      {"executorch_prim::sub", "Scalar", 1, {4, 7, 2}, true},
      {"executorch_prim::mul", "Scalar", 2, {10, 16, 6}, true},
      {"executorch_prim::floordiv", "Scalar", 2, {2, 4, 1}, true},
      {"executorch_prim::floordiv", "int", 3, {1, 2, 1}, true},
      {"executorch_prim::sym_max", "Scalar", 4, {5, 8, 4}, true},
      {"executorch_prim::sym_min", "Scalar", 4, {4, 4, 3}, true},
      // Without an expression: a slice that has such a number has no size.
      {"executorch_prim::mod", "Scalar", 3, {2, 2, 0}, false},
      {"executorch_prim::mod", "int", 4, {1, 0, 3}, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    sized_pair pair;
    const int size = start(&pair, 1);
    const int number = test_int(pair.p, 0);
    test_call(pair.p, rows[i].name, rows[i].overload,
              ARGS(size, test_int(pair.p, rows[i].operand), number));
    add_head(pair.p, number, 0);
    sized_pair_load(&pair, &etx_all_kernels);
    expect_counts(&pair, sizes, rows[i].counts, 3);
    if (sized_pair_is_used(&pair) != rows[i].is_used) {
      fail_msg("%s.%s", rows[i].name, rows[i].overload);
    }
    sized_pair_end(&pair);
  }
}

// Sizes of the last dimension, of a tensor of fixed sizes, and of a dimension
// that a number selects. Only the last one has no expression.
static void sizes_are_read_as_numbers(void** state) {
  (void)state;
  static const int64_t sizes[3] = {5, 8, 3};
  static const int32_t counts[3][3] = {{5, 8, 3}, {32, 32, 32}, {5, 8, 3}};
  for (size_t i = 0; i < 3; ++i) {
    sized_pair pair;
    (void)start(&pair, 1);
    test_program* const p = pair.p;
    const int x = 0, number = test_int(p, 0), zero = test_int(p, 0);
    const int sum = test_int(p, 0);
    if (i == 0) {
      test_call(p, "aten::sym_size", "int", ARGS(x, test_int(p, -1), number));
    } else if (i == 1) {
      const int table = table_of(p);
      test_call(p, "aten::sym_size", "int", ARGS(table, zero, number));
    } else {
      test_call(p, "executorch_prim::add", "Scalar", ARGS(zero, zero, sum));
      test_call(p, "aten::sym_size", "int", ARGS(x, sum, number));
    }
    add_head(p, number, 0);
    sized_pair_load(&pair, &etx_all_kernels);
    expect_counts(&pair, sizes, counts[i], 3);
    assert_int_equal(sized_pair_is_used(&pair), i < 2);
    sized_pair_end(&pair);
  }
}

// Adds a number as input, whose value is factor * s + offset.
static int add_number_input(sized_pair* pair, uint32_t symbol, int64_t factor,
                            int64_t offset) {
  const int number = test_int(pair->p, 0);
  test_input(pair->p, number, "");
  test_dim(pair->p, test_input_count(pair->p) - 1, -1, symbol, factor, offset);
  return number;
}

// s, a number that is an input; a number that no operator may read as a size.
static void inputs_are_numbers(void** state) {
  (void)state;
  static const int64_t sizes[3] = {5, 8, 3};
  static const int32_t counts[3] = {11, 17, 7};
  sized_pair pair;
  (void)start(&pair, 1);
  add_head(pair.p, add_number_input(&pair, 0, 2, 1), 0);
  sized_pair_load(&pair, &etx_all_kernels);
  expect_counts(&pair, sizes, counts, 3);
  assert_true(sized_pair_is_used(&pair));
  sized_pair_end(&pair);
}

// Numbers that are no sums of products of up to four symbols, and numbers that
// depend on such a number. A method whose sizes do not depend on them has a
// size program, others have none.
static void numbers_without_an_expression_may_be_left_out(void** state) {
  (void)state;
  static const int64_t sizes[3] = {5, 8, 3};
  for (size_t is_read = 0; is_read < 2; ++is_read) {
    for (size_t i = 0; i < 6; ++i) {
      sized_pair pair;
      const int size = start(&pair, 1);
      test_program* const p = pair.p;
      const int three = test_int(p, 3), rest = test_int(p, 0);
      const int half = test_double(p, 0.5), real = test_double(p, 0);
      int number = test_int(p, 0);
      test_call(p, "executorch_prim::mod", "Scalar", ARGS(size, three, rest));
      switch (i) {
        case 0:
          test_call(p, "executorch_prim::add", "Scalar",
                    ARGS(size, rest, number));
          break;
        case 1:
          test_call(p, "executorch_prim::add", "Scalar",
                    ARGS(rest, size, number));
          break;
        case 2:
          test_call(p, "executorch_prim::add", "Scalar",
                    ARGS(size, half, real));
          test_call(p, "executorch_prim::trunc", "Scalar", ARGS(real, number));
          break;
        case 3:
          number = test_int(p, INT64_MIN);  // no size has this number
          test_call(p, "executorch_prim::sub", "Scalar",
                    ARGS(number, number, test_int(p, 0)));
          break;
        case 4:
          test_call(p, "executorch_prim::neg", "Scalar", ARGS(size, number));
          break;
        default:
          number = size;
          for (size_t k = 0; k < 4; ++k) {
            const int product = test_int(p, 0);
            test_call(p, "executorch_prim::mul", "Scalar",
                      ARGS(number, size, product));
            number = product;
          }
      }
      add_head(p, is_read != 0 ? number : size, 0);
      sized_pair_load(&pair, &etx_all_kernels);
      for (size_t k = 0; k < 3; ++k) {
        assert_ok(sized_pair_run(&pair, &sizes[k], &diag));
      }
      if (sized_pair_is_used(&pair) != (is_read == 0)) fail_msg("%zu", i);
      sized_pair_end(&pair);
    }
  }
}

// The least value of the symbol is negative: only a number may have it.
static void negative_symbols_have_no_program(void** state) {
  (void)state;
  static const int64_t values[3] = {2, -3, 7};
  static const int32_t counts[3] = {2, 29, 7};
  sized_pair pair;
  sized_pair_start(&pair);
  test_program* const p = pair.p;
  const uint32_t symbol = test_symbol(p, "n", -8, 8);
  add_head(p, add_number_input(&pair, symbol, 1, 0), 0);
  sized_pair_load(&pair, &etx_all_kernels);
  expect_counts(&pair, values, counts, 3);
  assert_false(sized_pair_is_used(&pair));
  sized_pair_end(&pair);
}

// A method has a limited number of expressions: so many numbers as inputs
// leave no room for another factor, or for another offset.
static void expressions_are_limited(void** state) {
  (void)state;
  static const int64_t sizes[3] = {5, 8, 3};
  for (size_t i = 0; i < 3; ++i) {
    sized_pair pair;
    (void)start(&pair, 1);
    for (int64_t k = 2; k < (i == 0 ? 5 : 14); ++k) {
      (void)add_number_input(&pair, 0, k, i < 2 ? 0 : 1);
    }
    sized_pair_load(&pair, &etx_all_kernels);
    for (size_t k = 0; k < 3; ++k) {
      assert_ok(sized_pair_run(&pair, &sizes[k], &diag));
    }
    assert_int_equal(sized_pair_is_used(&pair), i == 0);
    sized_pair_end(&pair);
  }
}

// A size program has at most 96 expressions. As many symbols are too many.
static void symbols_are_limited(void** state) {
  (void)state;
  static const int64_t sizes[3] = {5, 8, 3};
  for (size_t i = 0; i < 2; ++i) {
    int64_t symbols[100];
    static char names[100][24];
    sized_pair pair;
    (void)start(&pair, 1);
    test_program* const p = pair.p;
    const int x = 0;
    const int out =
        test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(LARGEST), 0));
    for (size_t k = 1; k < 95 + i; ++k) {
      snprintf(names[k], sizeof names[k], "t%zu", k);
      (void)test_symbol(p, names[k], 1, 1);
    }
    test_call(p, "aten::neg", "out", ARGS(x, out, out));
    test_output(p, out, "");
    sized_pair_load(&pair, &etx_all_kernels);
    for (size_t k = 0; k < 3; ++k) {
      symbols[0] = sizes[k];
      assert_ok(sized_pair_run(&pair, symbols, &diag));
      assert_int_equal(sized_pair_output(&pair, 0)->sizes[0], sizes[k]);
    }
    assert_int_equal(sized_pair_is_used(&pair), i == 0);
    sized_pair_end(&pair);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_SIZE_PROGRAMS, numbers_are_expressions_over_symbols),
      unit_test_with(ETX_SIZE_PROGRAMS, sizes_are_read_as_numbers),
      unit_test_with(ETX_SIZE_PROGRAMS, inputs_are_numbers),
      unit_test_with(ETX_SIZE_PROGRAMS,
                     numbers_without_an_expression_may_be_left_out),
      unit_test_with(ETX_SIZE_PROGRAMS, negative_symbols_have_no_program),
      unit_test_with(ETX_SIZE_PROGRAMS, expressions_are_limited),
      unit_test_with(ETX_SIZE_PROGRAMS, symbols_are_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
