// Reductions, softmax, layer norm and running sums over random shapes.

#include <math.h>
#include <string.h>

#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/math/math_functions.h"
#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum { ROUNDS = 100, MOST = 40 * 40 * 8 };

static float elements[MOST];

typedef struct cube {
  int32_t sizes[3];
  size_t numel;
} cube;

static cube random_cube(int32_t most) {
  cube s = {.numel = 1};
  for (size_t i = 0; i < 3; ++i) {
    s.sizes[i] = (int32_t)test_random_integer(1, i == 0 ? 8 : most);
    s.numel *= (size_t)s.sizes[i];
  }
  test_random_floats(elements, MOST, 3);
  return s;
}

// Position in a result that drops the dimensions of `bits`.
static size_t kept_position(const cube* s, uint32_t bits, size_t i) {
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
    // Some count from the end.
    if (bits >> d & 1) out[count++] = test_random_bits() % 2 ? d : d - 3;
  }
  return count;
}

static void sums_and_means_fold_any_dimensions(void** unused) {
  (void)unused;
  static double sums[MOST], scales[MOST], counts[MOST];
  for (int round = 0; round < ROUNDS; ++round) {
    const cube s = random_cube(40);
    const uint32_t bits = 1 + test_random_bits() % 7;
    const bool is_mean = round % 2 == 0;
    int64_t dims[3];
    test_call c;
    test_call_begin(&c, is_mean ? "aten::mean.out" : "aten::sum.IntList_out");
    test_call_floats(&c, 3, s.sizes, elements);
    test_call_integers(&c, list_dims(bits, dims), dims);
    test_call_boolean(&c, round % 3 == 0);
    test_call_none(&c);
    assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
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

static void extremes_are_the_first_of_equals(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    const cube s = random_cube(9);
    // Few different values, so that many are equal.
    for (size_t i = 0; i < s.numel; ++i) elements[i] = floorf(elements[i]);
    test_call c;
    test_call_begin(&c, "aten::max.dim_max");
    test_call_floats(&c, 3, s.sizes, elements);
    test_call_integer(&c, 1);
    test_call_boolean(&c, false);
    assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
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

static void the_first_nan_is_the_extreme(void** unused) {
  (void)unused;
  const float line[] = {1, NAN, 5, NAN};
  static const char* const names[] = {"aten::argmax.out", "aten::argmin.out"};
  for (size_t k = 0; k < 2; ++k) {
    test_call c;
    test_call_begin(&c, names[k]);
    test_call_floats(&c, 1, (int32_t[]){4}, line);
    test_call_none(&c);
    test_call_boolean(&c, false);
    assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
    assert_int_equal(*(int64_t*)test_call_result(&c, 0)->data, 1);
    test_call_end(&c);
  }
}

static void the_extreme_of_nothing_is_refused(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::amax.out");
  test_call_floats(&c, 2, (int32_t[]){2, 0}, NULL);
  test_call_integers(&c, 1, (int64_t[]){1});
  test_call_boolean(&c, false);
  assert_int_equal(test_call_run(&c, ETX_DTYPE_COUNT), ETX_BAD_ARGUMENT);
  test_call_end(&c);
}

static void the_sum_of_nothing_is_zero(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::sum.IntList_out");
  test_call_floats(&c, 2, (int32_t[]){2, 0}, NULL);
  test_call_integers(&c, 1, (int64_t[]){1});
  test_call_boolean(&c, false);
  test_call_none(&c);
  assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
  const float zeros[2] = {0};
  assert_memory_equal(test_call_result(&c, 0)->data, zeros, sizeof zeros);
  test_call_end(&c);
}

static void any_sees_a_single_true(void** unused) {
  (void)unused;
  const uint8_t values[] = {0, 0, 0, 0, 2, 0};
  test_call c;
  test_call_begin(&c, "aten::any.out");
  test_call_tensor(&c, ETX_DTYPE_BOOL, 2, (int32_t[]){3, 2}, NULL, values);
  test_call_integer(&c, -1);
  test_call_boolean(&c, false);
  assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
  assert_memory_equal(test_call_result(&c, 0)->data, "\0\0\1", 3);
  test_call_end(&c);
}

static void softmax_of_any_dimension_sums_to_one(void** unused) {
  (void)unused;
  for (int round = 0; round < ROUNDS; ++round) {
    const cube s = random_cube(40);
    const size_t dim = test_random_bits() % 3;
    const bool is_log = round % 3 == 0;
    test_call c;
    test_call_begin(&c,
                    is_log ? "aten::_log_softmax.out" : "aten::_softmax.out");
    test_call_floats(&c, 3, s.sizes, elements);
    test_call_integer(&c, (int64_t)dim - 3);
    test_call_boolean(&c, false);
    assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
    static double sums[MOST];
    memset(sums, 0, sizeof sums);
    for (size_t i = 0; i < s.numel; ++i) {
      sums[kept_position(&s, 1u << dim, i)] += exp((double)elements[i]);
    }
    const float* got = test_call_result(&c, 0)->data;
    for (size_t i = 0; i < s.numel; ++i) {
      const double part =
          exp((double)elements[i]) / sums[kept_position(&s, 1u << dim, i)];
      const double want = is_log ? log(part) : part;
      assert_true(fabs(got[i] - want) <= 2e-6 * fabs(want) + 1e-7 * is_log);
    }
    test_call_end(&c);
  }
}

// Rows that are computed together have the bits of one after the other.
static void softmax_of_short_rows_is_that_of_each(void** unused) {
  enum { MOST_ROWS = 40, MOST_COUNT = 270 };
  static float x[MOST_ROWS * MOST_COUNT], y[MOST_COUNT];
  (void)unused;
  for (int32_t count = 1; count <= MOST_COUNT; ++count) {
    const int32_t sizes[] = {(int32_t)test_random_integer(1, MOST_ROWS), count};
    test_random_floats(x, (size_t)(sizes[0] * count), 9);
    test_call c;
    test_call_begin(&c, "aten::_softmax.out");
    test_call_floats(&c, 2, sizes, x);
    test_call_integer(&c, -1);
    test_call_boolean(&c, false);
    assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
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

static void softmax_of_masked_rows_is_nan(void** unused) {
  (void)unused;
  const float rows[] = {-INFINITY, -INFINITY, 0, -INFINITY};
  test_call c;
  test_call_begin(&c, "aten::_softmax.out");
  test_call_floats(&c, 2, (int32_t[]){2, 2}, rows);
  test_call_integer(&c, 1);
  test_call_boolean(&c, false);
  assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
  const float* got = test_call_result(&c, 0)->data;
  assert_true(isnan(got[0]) && isnan(got[1]));
  assert_true(got[2] == 1 && got[3] == 0);
  test_call_end(&c);
}

static void layer_norm_centres_and_scales_rows(void** unused) {
  (void)unused;
  float weight[40], bias[40];
  for (int round = 0; round < ROUNDS; ++round) {
    const cube s = random_cube(40);
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
    assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
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
        const double want = (x[i] - mean) * scale * weight[i] + bias[i];
        // A row of few elements may be scaled up 300 times.
        assert_true(fabs(got[row * count + i] - want) <= 1e-5 + 1e-6 * scale);
      }
    }
    test_call_end(&c);
  }
}

// Rows enough for several threads: short ones, those that are not summed in
// float, and halves that are converted once. Results, means and scales have the
// same bits.
static void threads_share_the_rows_of_a_norm(void** unused) {
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
      test_call_begin(&c, is_rms ? "etx::rms_norm.out"
                                 : "aten::native_layer_norm.out");
      c.threads = threads;
      test_call_tensor(&c, is_half ? ETX_DTYPE_BFLOAT16 : ETX_DTYPE_FLOAT32, 2,
                       rows, NULL, is_half ? (void*)halves : x);
      test_call_integers(&c, 1, (int64_t[]){rows[1]});
      test_call_none(&c);
      if (!is_rms) test_call_none(&c);
      test_call_real(&c, 1e-5);
      assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
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

// Short rows, of which a block of results has some: the extreme or NaN.
static void extremes_of_short_rows_see_every_element(void** unused) {
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
    assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
    for (size_t i = 0; i < rows; ++i) {
      double want = element_of(&in, dtype, i * count);
      for (size_t k = 1; k < count; ++k) {
        const double x = element_of(&in, dtype, i * count + k);
        if (isnan(x) || (is_largest ? x > want : x < want)) want = x;
        if (isnan(want)) break;
      }
      const double found = element_of(test_call_result(&c, 0)->data, dtype, i);
      assert_true(isnan(want) ? isnan(found) : found == want);
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
  assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
  memcpy(out, test_call_result(&c, 0)->data, count * sizeof *out);
  test_call_end(&c);
}

// A few columns are summed in another way than many, to the same bits.
static void a_few_columns_get_the_bits_of_many(void** unused) {
  (void)unused;
  enum { ROWS = 140, MANY = 130 };
  static float x[ROWS * MANY], part[ROWS * MANY], want[MANY], got[MANY];
  for (int round = 0; round < 4 * ROUNDS; ++round) {
    const size_t rows = (size_t)test_random_integer(1, ROWS);
    const size_t count = (size_t)test_random_integer(1, 66);
    const char* name = round % 2 == 0 ? "aten::mean.out"
                                      : "aten::sum.IntList_out";
    test_random_floats(x, rows * MANY, 3);
    for (size_t i = 0; i < rows; ++i) {
      memcpy(part + i * count, x + i * MANY, count * sizeof *x);
    }
    sum_columns(name, rows, MANY, x, want);
    sum_columns(name, rows, count, part, got);
    // Fewer than four go one by one, in another order.
    if (count >= 4) assert_memory_equal(got, want, count * sizeof *want);
  }
}

static void running_sums_follow_a_dimension(void** unused) {
  (void)unused;
  const int32_t values[] = {1, 2, 3, 4, 5, 6};
  const int64_t want[] = {1, 2, 4, 6, 9, 12};
  test_call c;
  test_call_begin(&c, "aten::cumsum.out");
  test_call_tensor(&c, ETX_DTYPE_INT32, 2, (int32_t[]){3, 2}, NULL, values);
  test_call_integer(&c, 0);
  test_call_none(&c);
  assert_ok(test_call_run(&c, ETX_DTYPE_COUNT));
  assert_memory_equal(test_call_result(&c, 0)->data, want, sizeof want);
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_and_means_fold_any_dimensions),
      cmocka_unit_test(extremes_are_the_first_of_equals),
      cmocka_unit_test(the_first_nan_is_the_extreme),
      cmocka_unit_test(extremes_of_short_rows_see_every_element),
      cmocka_unit_test(the_extreme_of_nothing_is_refused),
      cmocka_unit_test(a_few_columns_get_the_bits_of_many),
      cmocka_unit_test(the_sum_of_nothing_is_zero),
      cmocka_unit_test(any_sees_a_single_true),
      cmocka_unit_test(softmax_of_any_dimension_sums_to_one),
      cmocka_unit_test(softmax_of_short_rows_is_that_of_each),
      cmocka_unit_test(softmax_of_masked_rows_is_nan),
      cmocka_unit_test(layer_norm_centres_and_scales_rows),
      cmocka_unit_test(threads_share_the_rows_of_a_norm),
      cmocka_unit_test(running_sums_follow_a_dimension),
  };
  test_random_start();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
