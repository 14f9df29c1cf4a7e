// Matrix products against sums in double, over random sizes.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"
#include "tests/support/assert_message.h"

static etx_diag diag;

enum { MOST = 70, ROUNDS = TEST_ROUNDS(60) };

static float left[3 * MOST * MOST], right[3 * MOST * MOST];
static float added[MOST * MOST];

typedef struct matmul_sizes {
  int32_t batch, rows, columns, inner;
} matmul_sizes;

// Sizes near those at which a loop changes its block size.
static int32_t random_size(void) {
  static const int32_t corners[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 64};
  if (test_random_bits() % 2 == 0) return corners[test_random_bits() % 10];
  return (int32_t)test_random_integer(0, MOST);
}

static matmul_sizes random_sizes(void) {
  const matmul_sizes s = {(int32_t)test_random_integer(1, 3), random_size(),
                          random_size(), random_size()};
  test_random_floats(left, sizeof(left) / sizeof(float), 2);
  test_random_floats(right, sizeof(right) / sizeof(float), 2);
  test_random_floats(added, sizeof(added) / sizeof(float), 2);
  return s;
}

// Element (b, i, j) of the product, and the sum of the magnitudes of its terms.
static double element(const matmul_sizes* s, int32_t b, int32_t i, int32_t j,
                      bool transposed, double* out_scale) {
  double sum = 0, scale = 0;
  for (int32_t k = 0; k < s->inner; ++k) {
    const size_t l = (size_t)((b * s->rows + i) * s->inner + k);
    const size_t r = transposed ? (size_t)((b * s->columns + j) * s->inner + k)
                                : (size_t)((b * s->inner + k) * s->columns + j);
    sum += (double)left[l] * right[r];
    scale += fabs((double)left[l] * right[r]);
  }
  *out_scale = scale;
  return sum;
}

static void check(const test_call* c, const matmul_sizes* s, bool transposed,
                  const float* bias, double beta, double alpha) {
  const float* got = test_call_result(c, 0)->data;
  for (int32_t b = 0; b < s->batch; ++b) {
    for (int32_t i = 0; i < s->rows; ++i) {
      for (int32_t j = 0; j < s->columns; ++j) {
        double scale;
        double want = alpha * element(s, b, i, j, transposed, &scale);
        if (bias != NULL) want += beta * bias[j];
        const double found = got[(b * s->rows + i) * s->columns + j];
        if (fabs(found - want) <= 1e-6 * (scale + fabs(want)) + 1e-30) continue;
        fail_msg("%dx%dx%dx%d: element %d %d %d is %g, expected %g", s->batch,
                 s->rows, s->columns, s->inner, b, i, j, found, want);
      }
    }
  }
}

static void mm_multiplies(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    matmul_sizes s = random_sizes();
    test_call c;
    s.batch = 1;
    test_call_begin(&c, "aten::mm.out");
    test_call_floats(&c, 2, (int32_t[]){s.rows, s.inner}, left);
    test_call_floats(&c, 2, (int32_t[]){s.inner, s.columns}, right);
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    check(&c, &s, false, NULL, 0, 1);
    test_call_end(&c);
  }
}

// The right matrix is a transposed view: its columns are dense.
static void mm_reads_a_transposed_view(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    matmul_sizes s = random_sizes();
    test_call c;
    s.batch = 1;
    test_call_begin(&c, "aten::mm.out");
    test_call_floats(&c, 2, (int32_t[]){s.rows, s.inner}, left);
    const int32_t strides[] = {1, s.inner};
    test_call_tensor(&c, ETX_DTYPE_FLOAT32, 2, (int32_t[]){s.inner, s.columns},
                     strides, right);
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    check(&c, &s, true, NULL, 0, 1);
    test_call_end(&c);
  }
}

static void bmm_multiplies_each_pair(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    const matmul_sizes s = random_sizes();
    test_call c;
    test_call_begin(&c, "aten::bmm.out");
    test_call_floats(&c, 3, (int32_t[]){s.batch, s.rows, s.inner}, left);
    test_call_floats(&c, 3, (int32_t[]){s.batch, s.inner, s.columns}, right);
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    check(&c, &s, false, NULL, 0, 1);
    test_call_end(&c);
    test_call_begin(&c, "etx::bmm_nt.out");
    test_call_floats(&c, 3, (int32_t[]){s.batch, s.rows, s.inner}, left);
    test_call_floats(&c, 3, (int32_t[]){s.batch, s.columns, s.inner}, right);
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    check(&c, &s, true, NULL, 0, 1);
    test_call_end(&c);
  }
}

static void linear_adds_its_bias(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    matmul_sizes s = random_sizes();
    const bool has_bias = round % 2 == 0;
    test_call c;
    s.batch = 1;
    test_call_begin(&c, "aten::linear.out");
    test_call_floats(&c, 3, (int32_t[]){1, s.rows, s.inner}, left);
    test_call_floats(&c, 2, (int32_t[]){s.columns, s.inner}, right);
    if (has_bias) {
      test_call_floats(&c, 1, (int32_t[]){s.columns}, added);
    } else {
      test_call_none(&c);
    }
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    check(&c, &s, true, has_bias ? added : NULL, 1, 1);
    test_call_end(&c);
  }
}

// A dense tensor with another order of dimensions. The order only shows in the
// stride of the dimension of size 1.
static void linear_does_not_take_the_stride_of_one_row(void** unused) {
  (void)unused;
  const matmul_sizes s = {1, 5, 20, 4};
  test_call c;
  test_random_floats(left, 20, 2);
  test_random_floats(right, 80, 2);
  test_call_begin(&c, "aten::linear.out");
  test_call_tensor(&c, ETX_DTYPE_FLOAT32, 3, (int32_t[]){5, 1, 4},
                   (int32_t[]){4, 20, 1}, left);
  test_call_floats(&c, 2, (int32_t[]){20, 4}, right);
  test_call_none(&c);
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  check(&c, &s, true, NULL, 0, 1);
  test_call_end(&c);
}

static void addmm_scales_both_parts(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    matmul_sizes s = random_sizes();
    const double beta = round % 3 == 0 ? 1 : 0.5;
    const double alpha = round % 3 == 0 ? 1 : -2;
    test_call c;
    s.batch = 1;
    test_call_begin(&c, "aten::addmm.out");
    test_call_floats(&c, 1, (int32_t[]){s.columns}, added);
    test_call_floats(&c, 2, (int32_t[]){s.rows, s.inner}, left);
    test_call_floats(&c, 2, (int32_t[]){s.inner, s.columns}, right);
    test_call_real(&c, beta);
    test_call_real(&c, alpha);
    assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
    check(&c, &s, false, added, beta, alpha);
    test_call_end(&c);
  }
}

static void beta_of_zero_ignores_nan(void** unused) {
  (void)unused;
  const float nan[] = {NAN};
  test_call c;
  test_call_begin(&c, "aten::addmm.out");
  test_call_floats(&c, 1, (int32_t[]){1}, nan);
  test_call_floats(&c, 2, (int32_t[]){1, 1}, (float[]){3});
  test_call_floats(&c, 2, (int32_t[]){1, 1}, (float[]){2});
  test_call_integer(&c, 0);
  test_call_integer(&c, 1);
  assert_ok(test_call_run(&c, ETX_DTYPE_FLOAT32));
  assert_true(*(float*)test_call_result(&c, 0)->data == 6);
  test_call_end(&c);
}

static void run_linear(test_call* c, int32_t rows, int32_t columns,
                       int32_t inner, size_t threads) {
  static float weights[600 * 600];
  static bool is_filled;
  if (!is_filled) test_random_floats(weights, 600 * 600, 1);
  is_filled = true;
  test_call_begin(c, "aten::linear.out");
  c->threads = threads;
  test_call_floats(c, 2, (int32_t[]){rows, inner}, left);
  test_call_floats(c, 2, (int32_t[]){columns, inner}, weights);
  test_call_none(c);
  assert_ok(test_call_run(c, ETX_DTYPE_FLOAT32));
}

static void results_do_not_depend_on_thread_count(void** unused) {
  (void)unused;
  (void)random_sizes();
  test_call one, many;
  run_linear(&one, 3, 599, 599, 1);
  for (size_t threads = 2; threads < 6; ++threads) {
    run_linear(&many, 3, 599, 599, threads);
    assert_memory_equal(test_call_result(&one, 0)->data,
                        test_call_result(&many, 0)->data,
                        3 * 599 * sizeof(float));
    test_call_end(&many);
  }
  test_call_end(&one);
}

// A row gives the same bits alone and among others, so decoding one token
// agrees with reading a whole sentence.
static void results_do_not_depend_on_the_number_of_rows(void** unused) {
  (void)unused;
  (void)random_sizes();
  test_call one, many;
  run_linear(&many, 5, 37, 83, 1);
  for (int32_t rows = 1; rows < 5; ++rows) {
    run_linear(&one, rows, 37, 83, 1);
    assert_memory_equal(test_call_result(&one, 0)->data,
                        test_call_result(&many, 0)->data,
                        (size_t)rows * 37 * sizeof(float));
    test_call_end(&one);
  }
  test_call_end(&many);
}

static void integers_wrap(void** unused) {
  (void)unused;
  const int32_t a[] = {INT32_MAX, 2}, b[] = {2, 3};
  test_call c;
  test_call_begin(&c, "aten::mm.out");
  test_call_tensor(&c, ETX_DTYPE_INT32, 2, (int32_t[]){1, 2}, NULL, a);
  test_call_tensor(&c, ETX_DTYPE_INT32, 2, (int32_t[]){2, 1}, NULL, b);
  assert_ok(test_call_run(&c, ETX_DTYPE_INT32));
  assert_int_equal(*(int32_t*)test_call_result(&c, 0)->data, 4);
  test_call_end(&c);
}

static void types_must_agree(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::mm.out");
  test_call_floats(&c, 2, (int32_t[]){1, 1}, left);
  test_call_tensor(&c, ETX_DTYPE_INT64, 2, (int32_t[]){1, 1}, NULL, NULL);
  assert_int_equal(test_call_run(&c, ETX_DTYPE_FLOAT32), ETX_BAD_ARGUMENT);
  assert_true(test_message_is(&c.diag,
                              "'mat2' has type 'int64', expected 'float32', in "
                              "'aten::mm.out'"));
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mm_multiplies),
      cmocka_unit_test(mm_reads_a_transposed_view),
      cmocka_unit_test(bmm_multiplies_each_pair),
      cmocka_unit_test(linear_adds_its_bias),
      cmocka_unit_test(linear_does_not_take_the_stride_of_one_row),
      cmocka_unit_test(addmm_scales_both_parts),
      cmocka_unit_test(beta_of_zero_ignores_nan),
      cmocka_unit_test(results_do_not_depend_on_thread_count),
      cmocka_unit_test(results_do_not_depend_on_the_number_of_rows),
      cmocka_unit_test(integers_wrap),
      cmocka_unit_test(types_must_agree),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
