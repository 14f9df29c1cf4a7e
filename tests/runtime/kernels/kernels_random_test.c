// Random tensors and dropout, and the stream of random numbers that they use.

#include <math.h>

#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/math/philox.h"
#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"

static etx_diag diag;

enum { COUNT = 10000 };

static void the_generator_gives_the_published_numbers(void** unused) {
  (void)unused;
  const etx_philox_block block = etx_philox(0, 0);
  assert_int_equal(block.words[0], 0x6627e8d5);
  assert_int_equal(block.words[1], 0xe169c58d);
  assert_int_equal(block.words[2], 0xbc57ac4c);
  assert_int_equal(block.words[3], 0x9b00dbd8);
}

// COUNT numbers of an operator (size) -> out, converted to double.
static void draw(const char* name, etx_dtype dtype, etx_random_stream* stream,
                 double* out) {
  test_call c;
  const int64_t sizes[] = {100, COUNT / 100};
  test_call_begin(&c, name);
  test_call_integers(&c, 2, sizes);
  c.random = *stream;
  assert_ok(test_call_run(&c, dtype));
  *stream = c.random;
  etx_convert(ETX_DTYPE_FLOAT64, out, 1, dtype, test_call_result(&c, 0)->data,
              1, COUNT);
  test_call_end(&c);
}

static double moment(const double* x, double mean, int power) {
  double sum = 0;
  for (size_t i = 0; i < COUNT; ++i) sum += pow(x[i] - mean, power);
  return sum / COUNT;
}

static const etx_dtype floats[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT64,
                                   ETX_DTYPE_FLOAT16, ETX_DTYPE_BFLOAT16};

static void uniform_numbers_lie_below_one(void** unused) {
  (void)unused;
  static double x[COUNT];
  for (size_t k = 0; k < 4; ++k) {
    etx_random_stream stream = {k, 0};
    draw("aten::rand.out", floats[k], &stream, x);
    for (size_t i = 0; i < COUNT; ++i) assert_true(x[i] >= 0 && x[i] < 1);
    assert_true(fabs(moment(x, 0, 1) - 0.5) < 0.02);
    assert_true(fabs(moment(x, 0.5, 2) - 1.0 / 12) < 0.005);
  }
}

static void normal_numbers_have_the_moments_of_the_distribution(void** unused) {
  (void)unused;
  static double x[COUNT];
  for (size_t k = 0; k < 4; ++k) {
    etx_random_stream stream = {k, 0};
    draw("aten::randn.out", floats[k], &stream, x);
    assert_true(fabs(moment(x, 0, 1)) < 0.05);
    assert_true(fabs(moment(x, 0, 2) - 1) < 0.06);
    assert_true(fabs(moment(x, 0, 4) - 3) < 0.4);
  }
}

static void a_seed_repeats_and_a_stream_goes_on(void** unused) {
  (void)unused;
  static double first[COUNT], second[COUNT], again[COUNT];
  etx_random_stream stream = {5, 0};
  draw("aten::rand.out", ETX_DTYPE_FLOAT32, &stream, first);
  draw("aten::rand.out", ETX_DTYPE_FLOAT32, &stream, second);
  stream = (etx_random_stream){5, 0};
  draw("aten::rand.out", ETX_DTYPE_FLOAT32, &stream, again);
  assert_memory_equal(first, again, sizeof first);
  size_t equal = 0;
  for (size_t i = 0; i < COUNT; ++i) equal += first[i] == second[i];
  assert_true(equal < 10);
}

static void dropout_keeps_the_stated_share(void** unused) {
  (void)unused;
  static float x[COUNT];
  for (size_t i = 0; i < COUNT; ++i) x[i] = 3;
  test_call c;
  test_call_begin(&c, "aten::native_dropout.out");
  test_call_floats(&c, 1, (int32_t[]){COUNT}, x);
  test_call_real(&c, 0.25);
  test_call_none(&c);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const float* out = test_call_result(&c, 0)->data;
  const uint8_t* mask = test_call_result(&c, 1)->data;
  size_t kept = 0;
  for (size_t i = 0; i < COUNT; ++i) {
    assert_true(out[i] == (mask[i] ? 4.0f : 0.0f));
    kept += mask[i];
  }
  assert_true(fabs((double)kept / COUNT - 0.75) < 0.03);
  test_call_end(&c);
}

static void dropout_refuses_invalid_probabilities(void** unused) {
  (void)unused;
  static const double wrong[] = {-0.1, 1.5, NAN};
  for (size_t i = 0; i < 3; ++i) {
    test_call c;
    test_call_begin(&c, "aten::native_dropout.out");
    test_call_floats(&c, 1, (int32_t[]){1}, (float[]){1});
    test_call_real(&c, wrong[i]);
    test_call_boolean(&c, true);
    assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_BAD_ARGUMENT);
    test_call_end(&c);
  }
}

static void constants_are_not_random(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::rand.out");
  test_call_integers(&c, 1, (int64_t[]){2});
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  c.call.random = NULL;
  assert_int_equal(
      etx_kernel_find(&etx_all_kernels, c.op->id)->prepare(&c.call),
      ETX_UNSUPPORTED);
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_generator_gives_the_published_numbers),
      cmocka_unit_test(uniform_numbers_lie_below_one),
      cmocka_unit_test(normal_numbers_have_the_moments_of_the_distribution),
      cmocka_unit_test(a_seed_repeats_and_a_stream_goes_on),
      cmocka_unit_test(dropout_keeps_the_stated_share),
      cmocka_unit_test(dropout_refuses_invalid_probabilities),
      cmocka_unit_test(constants_are_not_random),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
