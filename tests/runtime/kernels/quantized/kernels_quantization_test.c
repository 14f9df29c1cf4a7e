// Quantisation kernels: properties that the recorded vectors of tests/ops do
// not cover.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum { ROWS = 11, COLUMNS = 37, INNER = 544, GROUP = 34 };

static float inputs[ROWS * INNER], scales[COLUMNS * INNER / GROUP];
static uint8_t weights[COLUMNS * INNER];

// A file may have any number as an element type.
static void unknown_element_types_are_refused(void** state) {
  (void)state;
  static const char* const names[] = {
      "quantized_decomposed::quantize_per_tensor.out",
      "quantized_decomposed::dequantize_per_tensor.out"};
  static const int64_t types[] = {-1, 8, 30, INT64_MAX, INT64_MIN, 6};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
      const bool takes_floats = i == 0;
      static const float zeros[4] = {0};
      test_call c;
      test_call_begin(&c, names[i]);
      test_call_tensor(&c, takes_floats ? ETX_DTYPE_FLOAT32 : ETX_DTYPE_INT8, 1,
                       (const int32_t[]){4}, NULL, zeros);
      test_call_real(&c, 0.5);
      test_call_integer(&c, 0);
      test_call_integer(&c, -128);
      test_call_integer(&c, 127);
      test_call_integer(&c, types[t]);
      if (!takes_floats) test_call_none(&c);
      const etx_status status =
          test_call_run(&c, takes_floats ? ETX_DTYPE_INT8 : ETX_DTYPE_FLOAT32);
      assert_int_not_equal(status, ETX_OK);
      test_call_end(&c);
    }
  }
}

// Runs one of the linear operators with quantised weights.
static void run_linear(test_call* c, const char* name, size_t threads) {
  const bool is_packed = strstr(name, "w4g") != NULL;
  const int32_t groups = INNER / GROUP;
  test_call_begin(c, name);
  c->threads = threads;
  test_call_floats(c, 2, (const int32_t[]){ROWS, INNER}, inputs);
  test_call_tensor(c, is_packed ? ETX_DTYPE_UINT8 : ETX_DTYPE_INT8, 2,
                   (const int32_t[]){COLUMNS, is_packed ? INNER / 2 : INNER},
                   NULL, weights);
  if (is_packed) {
    test_call_floats(c, 2, (const int32_t[]){COLUMNS, groups}, scales);
    test_call_tensor(c, ETX_DTYPE_INT8, 2, (const int32_t[]){COLUMNS, groups},
                     NULL, weights);
    test_call_integer(c, GROUP);
  } else {
    test_call_floats(c, 1, (const int32_t[]){COLUMNS}, scales);
  }
  test_call_floats(c, 1, (const int32_t[]){COLUMNS}, inputs);
  assert_ok(test_call_run(c, ETX_DTYPE_FLOAT32));
}

static void results_do_not_depend_on_thread_count(void** state) {
  (void)state;
  static const char* const names[] = {
      "etx::linear_w8.out", "etx::linear_w4g.out", "etx::linear_a8w8.out",
      "etx::linear_a8w4g.out"};
  test_random_floats(inputs, ROWS * INNER, 2);
  test_random_floats(scales, sizeof scales / sizeof *scales, 1);
  for (size_t i = 0; i < sizeof weights; ++i) {
    weights[i] = (uint8_t)test_random_bits();
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    test_call one;
    run_linear(&one, names[i], 1);
    for (size_t threads = 2; threads < 5; ++threads) {
      test_call many;
      run_linear(&many, names[i], threads);
      assert_memory_equal(test_call_result(&one, 0)->data,
                          test_call_result(&many, 0)->data,
                          ROWS * COLUMNS * sizeof(float));
      test_call_end(&many);
    }
    test_call_end(&one);
  }
}

// Quantises a tensor of two elements with a stride of 1 or 2.
static void quantize_two(const float numbers[2], double scale, double zero,
                         int32_t stride, int8_t out[2]) {
  float strided[3] = {numbers[0], numbers[1], numbers[1]};
  if (stride == 2) strided[1] = 0;
  const float scale_value = (float)scale, zero_value = (float)zero;
  test_call c;
  test_call_begin(&c, "quantized_decomposed::quantize_per_tensor.Tensor_out");
  test_call_tensor(&c, ETX_DTYPE_FLOAT32, 1, (const int32_t[]){2}, &stride,
                   strided);
  test_call_floats(&c, 1, (const int32_t[]){1}, &scale_value);
  test_call_floats(&c, 1, (const int32_t[]){1}, &zero_value);
  test_call_integer(&c, -128);
  test_call_integer(&c, 127);
  test_call_integer(&c, ETX_DTYPE_INT8);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  memcpy(out, test_call_result(&c, 0)->data, 2);
  test_call_end(&c);
}

// Contiguous tensors have a fast path.
static void contiguous_and_strided_inputs_quantise_alike(void** state) {
  (void)state;
  static const float numbers[] = {0,   -0.0f,    1.5f,      -3,    3,
                                  NAN, INFINITY, -INFINITY, 1e38f, -1e-40f};
  static const double steps[] = {0,        1e-42, 1e-38,      0.25, 1,
                                 INFINITY, NAN,   (double)-2, 3e38};
  static const double zeros[] = {0, 3, -128, 127, 0.5, -0.5, 200};
  enum { NUMBERS = 10, STEPS = 9, ZEROS = 7 };
  for (size_t i = 0; i < NUMBERS * NUMBERS * STEPS * ZEROS; ++i) {
    const float two[] = {numbers[i % NUMBERS], numbers[i / NUMBERS % NUMBERS]};
    const double scale = steps[i / (NUMBERS * NUMBERS) % STEPS];
    const double zero = zeros[i / (NUMBERS * NUMBERS * STEPS)];
    int8_t contiguous[2], strided[2];
    quantize_two(two, scale, zero, 1, contiguous);
    quantize_two(two, scale, zero, 2, strided);
    assert_memory_equal(contiguous, strided, 2);
  }
}

// With dynamic quantisation, NaN in a row makes the results of that row NaN.
static void nan_affects_only_its_own_row(void** state) {
  (void)state;
  test_call c;
  test_random_floats(inputs, ROWS * INNER, 2);
  uint32_t nan = 0x7fc00000;
  memcpy(&inputs[2 * INNER + 5], &nan, sizeof nan);
  run_linear(&c, "etx::linear_a8w8.out", 1);
  const float* got = test_call_result(&c, 0)->data;
  for (size_t i = 0; i < ROWS * COLUMNS; ++i) {
    const bool is_nan = got[i] != got[i];
    assert_int_equal(is_nan, i / COLUMNS == 2);
  }
  test_call_end(&c);
}

// Groups must be even, positive, and divide the columns.
static void invalid_group_sizes_are_refused(void** state) {
  (void)state;
  static const int64_t sizes[] = {0, -2, 3, 5, INT64_MIN, INT64_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    test_call c;
    test_call_begin(&c, "etx::linear_w4g.out");
    test_call_floats(&c, 2, (const int32_t[]){1, 8}, inputs);
    test_call_tensor(&c, ETX_DTYPE_UINT8, 2, (const int32_t[]){2, 4}, NULL,
                     weights);
    test_call_floats(&c, 2, (const int32_t[]){2, 2}, scales);
    test_call_none(&c);
    test_call_integer(&c, sizes[i]);
    test_call_none(&c);
    assert_int_not_equal(test_call_run(&c, ETX_DTYPE_FLOAT32), ETX_OK);
    test_call_end(&c);
  }
}

// Scales of int8 weights are [N] or [N, groups], with groups of one size.
static void groups_of_int8_rows_have_one_size(void** state) {
  (void)state;
  static const struct {
    const char* name;
    int32_t rows, groups;
    bool is_right;
  } cases[] = {{"etx::linear_w8.out", 2, 2, true},
               {"etx::linear_w8.out", 2, 8, true},
               {"etx::linear_w8.out", 2, 3, false},
               {"etx::linear_w8.out", 2, 16, false},
               {"etx::linear_w8.out", 3, 2, false},
               {"etx::linear_w8.out", 2, 0, false},
               {"etx::linear_a8w8.out", 2, 2, true},
               {"etx::linear_a8w8.out", 2, 5, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    test_call c;
    test_call_begin(&c, cases[i].name);
    test_call_floats(&c, 2, (const int32_t[]){1, 8}, inputs);
    test_call_tensor(&c, ETX_DTYPE_INT8, 2, (const int32_t[]){2, 8}, NULL,
                     weights);
    test_call_floats(&c, 2, (const int32_t[]){cases[i].rows, cases[i].groups},
                     scales);
    test_call_none(&c);
    assert_int_equal(test_call_run(&c, ETX_DTYPE_FLOAT32) == ETX_OK,
                     cases[i].is_right);
    test_call_end(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unknown_element_types_are_refused),
      cmocka_unit_test(results_do_not_depend_on_thread_count),
      cmocka_unit_test(contiguous_and_strided_inputs_quantise_alike),
      cmocka_unit_test(nan_affects_only_its_own_row),
      cmocka_unit_test(invalid_group_sizes_are_refused),
      cmocka_unit_test(groups_of_int8_rows_have_one_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
