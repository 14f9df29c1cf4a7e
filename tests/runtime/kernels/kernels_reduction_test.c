// Reductions, softmax, normalisation and cumulative sums over random shapes.

#include <math.h>
#include <string.h>

#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/math/math_functions.h"
#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum { ROUNDS = TEST_ROUNDS(100), MAX_ELEMENTS = 40 * 40 * 8 };

static float elements[MAX_ELEMENTS];

typedef struct shape_3d {
  int32_t sizes[3];
  size_t numel;
} shape_3d;

static shape_3d random_shape_3d(int32_t most) {
  shape_3d s = {.numel = 1};
  for (size_t i = 0; i < 3; ++i) {
    s.sizes[i] = (int32_t)test_random_integer(1, i == 0 ? 8 : most);
    s.numel *= (size_t)s.sizes[i];
  }
  test_random_floats(elements, MAX_ELEMENTS, 3);
  return s;
}

// The position in the result, without the dimensions in `bits`.
static size_t kept_position(const shape_3d* s, uint32_t bits, size_t i) {
  size_t position[3];
  for (size_t d = 3; d-- > 0;) {
    position[d] = i % (size_t)s->sizes[d];
    i /= (size_t)s->sizes[d];
  }
  size_t at = 0;
  for (size_t d = 0; d < 3; ++d) {
    if ((bits >> d & 1) == 0) at = at * (size_t)s->sizes[d] + position[d];
  }
  return at;
}

static size_t list_dims(uint32_t bits, int64_t* out) {
  size_t count = 0;
  for (int64_t d = 0; d < 3; ++d) {
    // Some dimensions are negative: they count from the end.
    if (bits >> d & 1) out[count++] = test_random_bits() % 2 ? d : d - 3;
  }
  return count;
}

static void sum_and_mean_reduce_any_dimensions(void** unused) {
  (void)unused;
  static double sums[MAX_ELEMENTS], scales[MAX_ELEMENTS], counts[MAX_ELEMENTS];
  for (int round = 0; round < ROUNDS; ++round) {
    const shape_3d s = random_shape_3d(40);
    const uint32_t bits = 1 + test_random_bits() % 7;
    const bool is_mean = round % 2 == 0;
    int64_t dims[3];
    test_call c;
    test_call_begin(&c, is_mean ? "aten::mean.out" : "aten::sum.IntList_out");
    test_call_floats(&c, 3, s.sizes, elements);
    test_call_integers(&c, list_dims(bits, dims), dims);
    test_call_boolean(&c, round % 3 == 0);
    test_call_none(&c);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    memset(sums, 0, sizeof sums);
    memset(scales, 0, sizeof scales);
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < s.numel; ++i) {
      const size_t k = kept_position(&s, bits, i);
      sums[k] += elements[i];
      scales[k] += fabsf(elements[i]);
      counts[k] += 1;
    }
    const float* got = test_call_result(&c, 0)->data;
    for (size_t k = 0; k < etx_tensor_numel(test_call_result(&c, 0)); ++k) {
      const double divisor = is_mean ? counts[k] : 1;
      assert_true(fabs(got[k] - sums[k] / divisor) <=
                  1e-6 * scales[k] / divisor);
    }
    test_call_end(&c);
  }
}

static void max_gives_the_first_of_equal_elements(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    const shape_3d s = random_shape_3d(9);
    // Few different values, so that many are equal.
    for (size_t i = 0; i < s.numel; ++i) elements[i] = floorf(elements[i]);
    test_call c;
    test_call_begin(&c, "aten::max.dim_max");
    test_call_floats(&c, 3, s.sizes, elements);
    test_call_integer(&c, 1);
    test_call_boolean(&c, false);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    const float* values = test_call_result(&c, 0)->data;
    const int64_t* indices = test_call_result(&c, 1)->data;
    for (int32_t i = 0; i < s.sizes[0] * s.sizes[2]; ++i) {
      const float* line =
          elements + i / s.sizes[2] * s.sizes[1] * s.sizes[2] + i % s.sizes[2];
      int64_t best = 0;
      for (int32_t k = 1; k < s.sizes[1]; ++k) {
        if (line[k * s.sizes[2]] > line[best * s.sizes[2]]) best = k;
      }
      assert_int_equal(indices[i], best);
      assert_true(values[i] == line[best * s.sizes[2]]);
    }
    test_call_end(&c);
  }
}

static void argmax_and_argmin_give_the_first_nan(void** unused) {
  (void)unused;
  const float line[] = {1, NAN, 5, NAN};
  static const char* const names[] = {"aten::argmax.out", "aten::argmin.out"};
  for (size_t k = 0; k < 2; ++k) {
    test_call c;
    test_call_begin(&c, names[k]);
    test_call_floats(&c, 1, (int32_t[]){4}, line);
    test_call_none(&c);
    test_call_boolean(&c, false);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    assert_int_equal(*(int64_t*)test_call_result(&c, 0)->data, 1);
    test_call_end(&c);
  }
}

static void amax_over_no_elements_is_refused(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::amax.out");
  test_call_floats(&c, 2, (int32_t[]){2, 0}, NULL);
  test_call_integers(&c, 1, (int64_t[]){1});
  test_call_boolean(&c, false);
  assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_BAD_ARGUMENT);
  test_call_end(&c);
}

static void the_sum_of_no_elements_is_zero(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::sum.IntList_out");
  test_call_floats(&c, 2, (int32_t[]){2, 0}, NULL);
  test_call_integers(&c, 1, (int64_t[]){1});
  test_call_boolean(&c, false);
  test_call_none(&c);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const float zeros[2] = {0};
  assert_memory_equal(test_call_result(&c, 0)->data, zeros, sizeof zeros);
  test_call_end(&c);
}

static void any_finds_a_single_true(void** unused) {
  (void)unused;
  const uint8_t values[] = {0, 0, 0, 0, 2, 0};
  test_call c;
  test_call_begin(&c, "aten::any.out");
  test_call_tensor(&c, ETX_DTYPE_BOOL, 2, (int32_t[]){3, 2}, NULL, values);
  test_call_integer(&c, -1);
  test_call_boolean(&c, false);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_memory_equal(test_call_result(&c, 0)->data, "\0\0\1", 3);
  test_call_end(&c);
}

static void softmax_of_any_dimension_sums_to_one(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    const shape_3d s = random_shape_3d(40);
    const size_t dim = test_random_bits() % 3;
    const bool is_log = round % 3 == 0;
    test_call c;
    test_call_begin(&c,
                    is_log ? "aten::_log_softmax.out" : "aten::_softmax.out");
    test_call_floats(&c, 3, s.sizes, elements);
    test_call_integer(&c, (int64_t)dim - 3);
    test_call_boolean(&c, false);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    static double sums[MAX_ELEMENTS];
    memset(sums, 0, sizeof sums);
    for (size_t i = 0; i < s.numel; ++i) {
      sums[kept_position(&s, 1u << dim, i)] += exp((double)elements[i]);
    }
    const float* got = test_call_result(&c, 0)->data;
    for (size_t i = 0; i < s.numel; ++i) {
      const double part =
          exp((double)elements[i]) / sums[kept_position(&s, 1u << dim, i)];
      const double expected = is_log ? log(part) : part;
      assert_true(fabs(got[i] - expected) <=
                  2e-6 * fabs(expected) + 1e-7 * is_log);
    }
    test_call_end(&c);
  }
}

// Short rows are computed several at a time, with the same bits as one by one.
static void batched_short_rows_give_the_same_softmax_bits(void** unused) {
  enum { MAX_ROWS = 40, MAX_COUNT = 270 };
  static float x[MAX_ROWS * MAX_COUNT], y[MAX_COUNT];
  (void)unused;
  for (int32_t count = 1; count <= MAX_COUNT; ++count) {
    const int32_t sizes[] = {(int32_t)test_random_integer(1, MAX_ROWS), count};
    test_random_floats(x, (size_t)(sizes[0] * count), 9);
    test_call c;
    test_call_begin(&c, "aten::_softmax.out");
    test_call_floats(&c, 2, sizes, x);
    test_call_integer(&c, -1);
    test_call_boolean(&c, false);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    const float* const out = test_call_result(&c, 0)->data;
    for (int32_t r = 0; r < sizes[0]; ++r) {
      const float* const row = x + r * count;
      float m = row[0];
      for (int32_t i = 1; i < count; ++i) m = row[i] > m ? row[i] : m;
      for (int32_t i = 0; i < count; ++i) y[i] = etx_exp_f32(row[i] - m);
      const float scale = 1.0f / etx_striped_sum_f32(y, (size_t)count);
      for (int32_t i = 0; i < count; ++i) y[i] *= scale;
      assert_memory_equal(out + r * count, y, (size_t)count * sizeof *y);
    }
    test_call_end(&c);
  }
}

static void softmax_of_fully_masked_rows_is_nan(void** unused) {
  (void)unused;
  const float rows[] = {-INFINITY, -INFINITY, 0, -INFINITY};
  test_call c;
  test_call_begin(&c, "aten::_softmax.out");
  test_call_floats(&c, 2, (int32_t[]){2, 2}, rows);
  test_call_integer(&c, 1);
  test_call_boolean(&c, false);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  const float* got = test_call_result(&c, 0)->data;
  assert_true(isnan(got[0]) && isnan(got[1]));
  assert_true(got[2] == 1 && got[3] == 0);
  test_call_end(&c);
}

static void layer_norm_centres_and_scales_rows(void** unused) {
  (void)unused;
  float weight[40], bias[40];
  for (int round = 0; round < ROUNDS; ++round) {
    const shape_3d s = random_shape_3d(40);
    const size_t count = (size_t)s.sizes[2];
    test_random_floats(weight, 40, 2);
    test_random_floats(bias, 40, 2);
    test_call c;
    test_call_begin(&c, "aten::native_layer_norm.out");
    test_call_floats(&c, 3, s.sizes, elements);
    test_call_integers(&c, 1, (int64_t[]){s.sizes[2]});
    test_call_floats(&c, 1, &s.sizes[2], weight);
    test_call_floats(&c, 1, &s.sizes[2], bias);
    test_call_real(&c, 1e-5);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    const float* got = test_call_result(&c, 0)->data;
    for (size_t row = 0; row * count < s.numel; ++row) {
      double mean = 0, variance = 0;
      const float* x = elements + row * count;
      for (size_t i = 0; i < count; ++i) mean += x[i] / (double)count;
      for (size_t i = 0; i < count; ++i) {
        variance += (x[i] - mean) * (x[i] - mean) / (double)count;
      }
      const double scale = 1 / sqrt(variance + 1e-5);
      for (size_t i = 0; i < count; ++i) {
        const double expected = (x[i] - mean) * scale * weight[i] + bias[i];
        // A row of few elements may be scaled up 300 times.
        assert_true(fabs(got[row * count + i] - expected) <=
                    1e-5 + 1e-6 * scale);
      }
    }
    test_call_end(&c);
  }
}

// With enough rows for several threads (short rows, rows too long for sums in
// float, and bfloat16), results, means and scales are bit-equal for every
// number of threads.
static void norms_do_not_depend_on_thread_count(void** unused) {
  (void)unused;
  enum { ELEMENTS = 400 * 300 };
  static float x[ELEMENTS], first[3][ELEMENTS];
  static const int32_t sizes[3][2] = {{400, 300}, {60, 2000}, {1500, 60}};
  static uint16_t halves[ELEMENTS];
  test_random_floats(x, ELEMENTS, 3);
  for (size_t i = 0; i < ELEMENTS; ++i) {
    halves[i] = (uint16_t)(test_random_bits() & 0xbfff);  // below 2
  }
  for (size_t i = 0; i < 6; ++i) {
    const int32_t* rows = sizes[i / 2];
    const bool is_rms = i % 2 == 1, is_half = i / 2 == 2;
    for (size_t threads = 1; threads <= 8; ++threads) {
      test_call c;
      test_call_begin(
          &c, is_rms ? "etx::rms_norm.out" : "aten::native_layer_norm.out");
      c.threads = threads;
      test_call_tensor(&c, is_half ? ETX_DTYPE_BFLOAT16 : ETX_DTYPE_FLOAT32, 2,
                       rows, NULL, is_half ? (void*)halves : x);
      test_call_integers(&c, 1, (int64_t[]){rows[1]});
      test_call_none(&c);
      if (!is_rms) test_call_none(&c);
      test_call_real(&c, 1e-5);
      assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
      for (size_t k = 0; k < (is_rms ? 1 : 3); ++k) {
        const etx_tensor* got = test_call_result(&c, k);
        const size_t bytes = etx_tensor_bytes(got);
        if (threads == 1) memcpy(first[k], got->data, bytes);
        assert_memory_equal(got->data, first[k], bytes);
      }
      test_call_end(&c);
    }
  }
}

static double element_of(const void* data, etx_dtype dtype, size_t at) {
  if (dtype == ETX_DTYPE_FLOAT32) return (double)((const float*)data)[at];
  if (dtype == ETX_DTYPE_FLOAT64) return ((const double*)data)[at];
  return (double)((const int64_t*)data)[at];
}

// Short rows have a path of their own. A NaN is the result wherever it is.
static void amax_and_amin_of_short_rows_match_a_plain_loop(void** unused) {
  (void)unused;
  enum { ROWS = 150, COUNT = 40 };
  static const etx_dtype dtypes[] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_FLOAT64,
                                     ETX_DTYPE_INT64};
  static union {
    float f32[ROWS * COUNT];
    double f64[ROWS * COUNT];
    int64_t i64[ROWS * COUNT];
  } in;
  for (int round = 0; round < 2 * ROUNDS; ++round) {
    const etx_dtype dtype = dtypes[round % 3];
    const int32_t sizes[2] = {(int32_t)test_random_integer(1, ROWS),
                              (int32_t)test_random_integer(1, COUNT)};
    const size_t rows = (size_t)sizes[0], count = (size_t)sizes[1];
    for (size_t i = 0; i < rows * count; ++i) {
      const int64_t x = test_random_integer(-500, 500);
      const bool is_nan = test_random_bits() % 100 == 0;
      if (dtype == ETX_DTYPE_FLOAT32) in.f32[i] = is_nan ? NAN : (float)x;
      if (dtype == ETX_DTYPE_FLOAT64) in.f64[i] = is_nan ? NAN : (double)x;
      if (dtype == ETX_DTYPE_INT64) in.i64[i] = x;
    }
    const bool is_largest = test_random_bits() % 2 == 0;
    test_call c;
    test_call_begin(&c, is_largest ? "aten::amax.out" : "aten::amin.out");
    test_call_tensor(&c, dtype, 2, sizes, NULL, &in);
    test_call_integers(&c, 1, (int64_t[]){1});
    test_call_boolean(&c, test_random_bits() % 2 == 0);
    assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
    for (size_t i = 0; i < rows; ++i) {
      double expected = element_of(&in, dtype, i * count);
      for (size_t k = 1; k < count; ++k) {
        const double x = element_of(&in, dtype, i * count + k);
        if (isnan(x) || (is_largest ? x > expected : x < expected))
          expected = x;
        if (isnan(expected)) break;
      }
      const double found = element_of(test_call_result(&c, 0)->data, dtype, i);
      assert_true(isnan(expected) ? isnan(found) : found == expected);
    }
    test_call_end(&c);
  }
}

static void sum_columns(const char* name, size_t rows, size_t count,
                        const float* from, float* out) {
  test_call c;
  test_call_begin(&c, name);
  test_call_floats(&c, 2, (int32_t[]){(int32_t)rows, (int32_t)count}, from);
  test_call_integers(&c, 1, (int64_t[]){0});
  test_call_boolean(&c, false);
  test_call_none(&c);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  memcpy(out, test_call_result(&c, 0)->data, count * sizeof *out);
  test_call_end(&c);
}

// Up to 64 short columns have a path of their own, with the same bits.
static void short_columns_give_the_bits_of_the_general_path(void** unused) {
  (void)unused;
  enum { ROWS = 140, ALL_COLUMNS = 130 };
  static float x[ROWS * ALL_COLUMNS], part[ROWS * ALL_COLUMNS],
      expected[ALL_COLUMNS], got[ALL_COLUMNS];
  for (int round = 0; round < 4 * ROUNDS; ++round) {
    const size_t rows = (size_t)test_random_integer(1, ROWS);
    const size_t count = (size_t)test_random_integer(1, 66);
    const char* name =
        round % 2 == 0 ? "aten::mean.out" : "aten::sum.IntList_out";
    test_random_floats(x, rows * ALL_COLUMNS, 3);
    for (size_t i = 0; i < rows; ++i) {
      memcpy(part + i * count, x + i * ALL_COLUMNS, count * sizeof *x);
    }
    sum_columns(name, rows, ALL_COLUMNS, x, expected);
    sum_columns(name, rows, count, part, got);
    // Fewer than four columns are summed one by one, in another order.
    if (count >= 4)
      assert_memory_equal(got, expected, count * sizeof *expected);
  }
}

static void cumsum_follows_a_dimension(void** unused) {
  (void)unused;
  const int32_t values[] = {1, 2, 3, 4, 5, 6};
  const int64_t expected[] = {1, 2, 4, 6, 9, 12};
  test_call c;
  test_call_begin(&c, "aten::cumsum.out");
  test_call_tensor(&c, ETX_DTYPE_INT32, 2, (int32_t[]){3, 2}, NULL, values);
  test_call_integer(&c, 0);
  test_call_none(&c);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_memory_equal(test_call_result(&c, 0)->data, expected, sizeof expected);
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sum_and_mean_reduce_any_dimensions),
      cmocka_unit_test(max_gives_the_first_of_equal_elements),
      cmocka_unit_test(argmax_and_argmin_give_the_first_nan),
      cmocka_unit_test(amax_and_amin_of_short_rows_match_a_plain_loop),
      cmocka_unit_test(amax_over_no_elements_is_refused),
      cmocka_unit_test(short_columns_give_the_bits_of_the_general_path),
      cmocka_unit_test(the_sum_of_no_elements_is_zero),
      cmocka_unit_test(any_finds_a_single_true),
      cmocka_unit_test(softmax_of_any_dimension_sums_to_one),
      cmocka_unit_test(batched_short_rows_give_the_same_softmax_bits),
      cmocka_unit_test(softmax_of_fully_masked_rows_is_nan),
      cmocka_unit_test(layer_norm_centres_and_scales_rows),
      cmocka_unit_test(norms_do_not_depend_on_thread_count),
      cmocka_unit_test(cumsum_follows_a_dimension),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
