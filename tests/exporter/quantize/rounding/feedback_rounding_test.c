// Products of inputs and rounding with feedback, held against GPTQ as it is
// published: with the Cholesky factor of the inverse of the products, in
// doubles, and errors that are spread over all later elements at once.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/quantize/rounding/feedback_rounding.h"
#include "exporter/quantize/rounding/rounded_rows.h"

static uint32_t seed;

static double draw(void) {
  seed = seed * 1664525u + 1013904223u;
  return (double)(seed >> 8) / 8388608.0 - 1.0;
}

// ------------------------------------------------ inputs

// Rows whose elements vary together.
static float* draw_inputs(size_t inner, size_t rows) {
  enum { MIXES = 6 };
  float* const out = malloc(rows * inner * sizeof *out);
  double* const mixes = malloc(MIXES * inner * sizeof *mixes);
  assert_true(out != NULL && mixes != NULL);
  for (size_t i = 0; i < MIXES * inner; ++i) mixes[i] = draw();
  for (size_t r = 0; r < rows; ++r) {
    double shares[MIXES];
    for (size_t m = 0; m < MIXES; ++m) shares[m] = draw();
    for (size_t k = 0; k < inner; ++k) {
      double x = 0.3 * draw();
      for (size_t m = 0; m < MIXES; ++m) x += shares[m] * mixes[m * inner + k];
      out[r * inner + k] = (float)x;
    }
  }
  free(mixes);
  return out;
}

typedef struct layer_inputs {
  float* rows;
  float* memory;
  etx_input_products products;
  size_t count;
} layer_inputs;

static layer_inputs add_inputs(size_t inner, size_t count) {
  layer_inputs out = {.rows = draw_inputs(inner, count), .count = count};
  size_t bytes = 0;
  assert_true(etx_input_products_bytes(inner, &bytes));
  out.memory = calloc(1, bytes);
  assert_non_null(out.memory);
  etx_input_products_init(&out.products, inner, out.memory);
  // In calls of several sizes.
  for (size_t at = 0, size = 1; at < count; at += size, size = size % 7 + 1) {
    if (size > count - at) size = count - at;
    etx_input_products_add(&out.products, out.rows + at * inner, size, NULL);
  }
  assert_int_equal(out.products.rows, count);
  return out;
}

static bool make_factors(layer_inputs* inputs, etx_input_factors* out) {
  double* const scratch =
      malloc(etx_input_factors_scratch(inputs->products.inner));
  assert_non_null(scratch);
  const bool is_made =
      etx_input_factors_make(&inputs->products, scratch, NULL, out);
  free(scratch);
  return is_made;
}

static void free_inputs(const layer_inputs* inputs) {
  free(inputs->rows);
  free(inputs->memory);
}

// The products of elements first .. first + size - 1, with a fifth of the mean
// of the diagonal on the diagonal, [size, size].
static double* products_of(const layer_inputs* inputs, size_t first,
                           size_t size) {
  const size_t inner = inputs->products.inner;
  double* const h = calloc(size * size, sizeof *h);
  double mean = 0;
  assert_non_null(h);
  for (size_t r = 0; r < inputs->count; ++r) {
    const float* const x = inputs->rows + r * inner + first;
    for (size_t i = 0; i < size; ++i) {
      for (size_t k = 0; k < size; ++k) {
        h[i * size + k] += (double)x[i] * (double)x[k];
      }
    }
  }
  for (size_t i = 0; i < size; ++i) mean += h[i * size + i] / (double)size;
  for (size_t i = 0; i < size; ++i) h[i * size + i] += 0.2 * mean;
  return h;
}

// ------------------------------------------------ GPTQ as published

// The inverse, by elimination.
static double* invert(const double* h, size_t n) {
  double* const a = malloc(n * n * sizeof *a);
  double* const out = calloc(n * n, sizeof *out);
  assert_true(a != NULL && out != NULL);
  memcpy(a, h, n * n * sizeof *a);
  for (size_t i = 0; i < n; ++i) out[i * n + i] = 1;
  for (size_t p = 0; p < n; ++p) {
    const double pivot = a[p * n + p];
    for (size_t k = 0; k < n; ++k) {
      a[p * n + k] /= pivot;
      out[p * n + k] /= pivot;
    }
    for (size_t i = 0; i < n; ++i) {
      const double factor = a[i * n + p];
      if (i == p) continue;
      for (size_t k = 0; k < n; ++k) {
        a[i * n + k] -= factor * a[p * n + k];
        out[i * n + k] -= factor * out[p * n + k];
      }
    }
  }
  free(a);
  return out;
}

// U upper triangular with UT U = h.
static double* upper_root(const double* h, size_t n) {
  double* const u = calloc(n * n, sizeof *u);
  assert_non_null(u);
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = i; k < n; ++k) {
      double x = h[i * n + k];
      for (size_t m = 0; m < i; ++m) x -= u[m * n + i] * u[m * n + k];
      u[i * n + k] = i == k ? sqrt(x) : x / u[i * n + i];
    }
  }
  return u;
}

// Rounds to integers, as round_to_integer below.
static void round_as_published(const double* h, size_t n, const float* row,
                               double* out) {
  double* const inverse = invert(h, n);
  double* const u = upper_root(inverse, n);
  for (size_t i = 0; i < n; ++i) out[i] = (double)row[i];
  for (size_t i = 0; i < n; ++i) {
    const double q = nearbyint(out[i]);
    const double error = (out[i] - q) / u[i * n + i];
    out[i] = q;
    for (size_t k = i + 1; k < n; ++k) out[k] -= error * u[i * n + k];
  }
  free(inverse);
  free(u);
}

static void begin_nothing(void* context, size_t row, size_t first,
                          const float* group, size_t count) {
  (void)context, (void)row, (void)first, (void)group, (void)count;
}

static float round_to_integer(void* context, size_t row, size_t element,
                              float x) {
  (void)context, (void)row, (void)element;
  return nearbyintf(x);
}

static const etx_feedback_groups to_integers = {
    .size = 32, .begin = begin_nothing, .round = round_to_integer};

// ------------------------------------------------ tests

static void products_are_sums_over_all_rows(void** state) {
  enum { INNER = 70, ROWS = 45 };
  (void)state;
  seed = 3;
  layer_inputs inputs = add_inputs(INNER, ROWS);
  double* const wanted = products_of(&inputs, 0, INNER);
  etx_input_factors factors;
  assert_true(make_factors(&inputs, &factors));
  // H = R RT: R from the factors, whose columns are those of R divided by its
  // diagonal d, and d from the last one backwards.
  double diagonal[INNER];
  for (size_t c = INNER; c-- > 0;) {
    double rest = wanted[c * INNER + c];
    for (size_t m = c + 1; m < INNER; ++m) {
      rest -= pow((double)factors.factors[c * 80 + m] * diagonal[m], 2);
    }
    assert_true(rest > 0);
    diagonal[c] = sqrt(rest);
  }
  for (size_t i = 0; i < INNER; ++i) {
    for (size_t k = i + 1; k < INNER; ++k) {
      double sum =
          (double)factors.factors[i * 80 + k] * diagonal[k] * diagonal[k];
      for (size_t m = k + 1; m < INNER; ++m) {
        sum += (double)factors.factors[i * 80 + m] *
               (double)factors.factors[k * 80 + m] * diagonal[m] * diagonal[m];
      }
      assert_true(fabs(sum - wanted[i * INNER + k]) < 1e-4 * wanted[0]);
    }
  }
  free(wanted);
  free_inputs(&inputs);
}

static void elements_are_those_of_gptq(void** state) {
  enum { INNER = 100, ROWS = 11 };  // a group is not whole, nor is a vector
  (void)state;
  seed = 5;
  layer_inputs inputs = add_inputs(INNER, 300);
  double* const h = products_of(&inputs, 0, INNER);
  etx_input_factors factors;
  assert_true(make_factors(&inputs, &factors));
  float rows[ROWS][INNER], rounded[ROWS][INNER];
  size_t differences = 0, moved = 0;
  for (size_t i = 0; i < ROWS; ++i) {
    for (size_t k = 0; k < INNER; ++k) rows[i][k] = (float)(4 * draw());
  }
  for (size_t i = 0; i < ROWS; i += ETX_FEEDBACK_ROWS) {
    const size_t count =
        ROWS - i < ETX_FEEDBACK_ROWS ? ROWS - i : ETX_FEEDBACK_ROWS;
    etx_feedback_round(&factors, &to_integers, rows[i], count, rounded[i]);
  }
  for (size_t i = 0; i < ROWS; ++i) {
    double wanted[INNER];
    round_as_published(h, INNER, rows[i], wanted);
    for (size_t k = 0; k < INNER; ++k) {
      differences += wanted[k] != (double)rounded[i][k];
      moved += wanted[k] != nearbyint((double)rows[i][k]);
    }
  }
  assert_int_equal(differences, 0);
  assert_true(moved > ROWS * INNER / 20);
  free(h);
  free_inputs(&inputs);
}

static void blocks_are_rounded_by_themselves(void** state) {
  enum { FIRST = ETX_INPUT_BLOCK, REST = 40, INNER = FIRST + REST };
  (void)state;
  seed = 7;
  layer_inputs inputs = add_inputs(INNER, 20);
  double* const h = products_of(&inputs, FIRST, REST);
  etx_input_factors factors;
  assert_true(make_factors(&inputs, &factors));
  float row[INNER], rounded[INNER];
  double wanted[REST];
  for (size_t k = 0; k < INNER; ++k) row[k] = (float)(4 * draw());
  etx_feedback_round(&factors, &to_integers, row, 1, rounded);
  round_as_published(h, REST, row + FIRST, wanted);
  for (size_t k = 0; k < REST; ++k) {
    assert_true(wanted[k] == (double)rounded[FIRST + k]);
  }
  free(h);
  free_inputs(&inputs);
}

static void inputs_that_say_nothing_are_refused(void** state) {
  static const float values[] = {0, INFINITY, NAN, 3e38f};
  (void)state;
  for (size_t v = 0; v < sizeof values / sizeof *values; ++v) {
    enum { INNER = 33 };
    layer_inputs inputs = add_inputs(INNER, 0);
    float row[INNER];
    for (size_t k = 0; k < INNER; ++k) row[k] = values[v];
    etx_input_products_add(&inputs.products, row, 1, NULL);
    etx_input_factors factors;
    assert_false(make_factors(&inputs, &factors));
    free_inputs(&inputs);
  }
  size_t bytes = 0;
  assert_false(etx_input_products_bytes(0, &bytes));
  assert_false(etx_input_products_bytes((1 << 24) + 1, &bytes));
}

// ------------------------------------------------ weights

enum { WEIGHT_ROWS = 19, WEIGHT_INNER = 256 };

typedef struct test_weight {
  uint8_t integers[WEIGHT_ROWS * WEIGHT_INNER];
  float scales[WEIGHT_ROWS * WEIGHT_INNER / 32];
  int16_t params[WEIGHT_ROWS * WEIGHT_INNER / 32];
  etx_rounded_rows rows;
  etx_weight_rounding_error error;
} test_weight;

static void round_weight(const float* weight, const etx_row_kind* kind,
                         const etx_input_factors* inputs, test_weight* out) {
  const etx_weight_rows from = {(const uint8_t*)weight, ETX_DTYPE_FLOAT32,
                                WEIGHT_ROWS, WEIGHT_INNER};
  memset(out, 0, sizeof *out);
  out->rows = (etx_rounded_rows){
      .integers = out->integers,
      .row_bytes = WEIGHT_INNER * kind->bits / 8,
      .scales = out->scales,
      .params = out->params,
      .groups = kind->group == 0 ? 1 : WEIGHT_INNER / kind->group};
  assert_int_equal(
      etx_rounded_rows_make(&from, kind, inputs, NULL, &out->rows, &out->error),
      ETX_OK);
}

// What an element stands for, by the layouts of the runtime.
static double value_at(const test_weight* w, const etx_row_kind* kind,
                       size_t row, size_t k) {
  const uint8_t* const integers = w->integers + row * w->rows.row_bytes;
  const size_t g = kind->group == 0 ? 0 : k / kind->group;
  const size_t place = row * w->rows.groups + g;
  if (kind->bits == 8)
    return (double)(int8_t)integers[k] * (double)w->scales[place];
  const int nibble =
      (k % 2 == 0 ? integers[k / 2] >> 4 : integers[k / 2] & 15) - 8;
  if (!kind->has_offsets) return nibble * (double)w->scales[place];
  const int factor = w->params[place] & 255;
  const int offset = (w->params[place] - factor) / 256;
  return (16 * nibble + offset) * ((double)w->scales[row] * factor);
}

static const etx_row_kind kinds[] = {
    {.bits = 8},
    {.bits = 8, .group = 32},
    {.bits = 4, .group = 32},
    {.bits = 4, .group = 128},
    {.bits = 4, .group = 32, .has_offsets = true},
};

// The errors of elements and of results, for inputs with these products.
typedef struct test_noise {
  double elements, results;
} test_noise;

static test_noise noise_of(const float* weight, const test_weight* w,
                             const etx_row_kind* kind, const double* h) {
  test_noise out = {0, 0};
  for (size_t i = 0; i < WEIGHT_ROWS; ++i) {
    double lost[WEIGHT_INNER];
    for (size_t k = 0; k < WEIGHT_INNER; ++k) {
      lost[k] = (double)weight[i * WEIGHT_INNER + k] - value_at(w, kind, i, k);
      out.elements += lost[k] * lost[k];
    }
    for (size_t k = 0; k < WEIGHT_INNER; ++k) {
      for (size_t m = 0; m < WEIGHT_INNER; ++m) {
        out.results += lost[k] * lost[m] * h[k * WEIGHT_INNER + m];
      }
    }
  }
  return out;
}

static void results_change_less(void** state) {
  static float weight[WEIGHT_ROWS * WEIGHT_INNER];
  static test_weight plain, better;
  (void)state;
  seed = 9;
  for (size_t i = 0; i < WEIGHT_ROWS * WEIGHT_INNER; ++i) {
    weight[i] = (float)(draw() + draw() + draw());
  }
  layer_inputs inputs = add_inputs(WEIGHT_INNER, 400);
  double* const h = products_of(&inputs, 0, WEIGHT_INNER);
  etx_input_factors factors;
  assert_true(make_factors(&inputs, &factors));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    round_weight(weight, &kinds[i], NULL, &plain);
    round_weight(weight, &kinds[i], &factors, &better);
    const test_noise before = noise_of(weight, &plain, &kinds[i], h);
    const test_noise after = noise_of(weight, &better, &kinds[i], h);
    assert_true(after.results < 0.3 * before.results);
    assert_true(fabs(after.elements - better.error.noise) <
                1e-4 * after.elements);
    assert_true(fabs(plain.error.signal - better.error.signal) <
                1e-9 * plain.error.signal);
  }
  free(h);
  free_inputs(&inputs);
}

// Inputs that vary independently leave each element to itself.
static void independent_inputs_change_nothing(void** state) {
  static float weight[WEIGHT_ROWS * WEIGHT_INNER];
  static float factors[WEIGHT_INNER * WEIGHT_INNER];
  static test_weight plain, same;
  const etx_input_factors inputs = {WEIGHT_INNER, factors};
  (void)state;
  seed = 11;
  for (size_t i = 0; i < WEIGHT_ROWS * WEIGHT_INNER; ++i) {
    weight[i] = (float)(draw() + draw() + draw());
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    round_weight(weight, &kinds[i], NULL, &plain);
    round_weight(weight, &kinds[i], &inputs, &same);
    assert_memory_equal(plain.scales, same.scales, sizeof plain.scales);
    assert_memory_equal(plain.params, same.params, sizeof plain.params);
    if (kinds[i].bits == 8 || kinds[i].has_offsets) {
      assert_memory_equal(plain.integers, same.integers, sizeof plain.integers);
    } else {  // integers of the scale that was found, not of one that was tried
      assert_true(same.error.noise <= plain.error.noise);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_sums_over_all_rows),
      cmocka_unit_test(elements_are_those_of_gptq),
      cmocka_unit_test(blocks_are_rounded_by_themselves),
      cmocka_unit_test(inputs_that_say_nothing_are_refused),
      cmocka_unit_test(results_change_less),
      cmocka_unit_test(independent_inputs_change_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
