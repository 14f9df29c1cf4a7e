// Our elementary functions against the C library's in double.

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/kernels/math_functions.h"

// Error in units of the last place of the float nearest to `want`; denormal
// results count from the smallest normal number.
static double ulps(float got, double want) {
  const float nearest = (float)want;
  if (isnan(want)) return isnan(got) ? 0 : 1e9;
  if (isinf(nearest) || isinf(got)) return nearest == got ? 0 : 1e9;
  const float magnitude = fabsf(nearest);
  double unit = (double)nextafterf(magnitude, INFINITY) - (double)magnitude;
  if (magnitude < 1.2e-38f) unit = 1.2e-38;
  return fabs((double)got - want) / unit;
}

typedef float (*single)(float x);
typedef double (*real)(double x);

// Every float, `step` apart in the order of their bits.
static double worst(single ours, real theirs, uint64_t step) {
  double most = 0;
  for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += step) {
    const float x = etx_f32_of_bits((uint32_t)bits);
    const double error = ulps(ours(x), theirs((double)x));
    if (error > most) most = error;
  }
  return most;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static void functions_stay_within_their_errors(void** unused) {
  (void)unused;
  static const struct {
    single ours;
    real theirs;
    double most;
  } rows[] = {
      {etx_exp_f32, exp, 1.1},         {etx_tanh_f32, tanh, 1.4},
      {etx_sigmoid_f32, sigmoid, 2.5}, {etx_log_f32, log, 0.6},
      {etx_sin_f32, sin, 0.6},         {etx_cos_f32, cos, 0.6},
      {etx_erf_f32, erf, 0.6},         {etx_floor_f32, floor, 0},
      {etx_ceil_f32, ceil, 0},         {etx_trunc_f32, trunc, 0},
      {etx_round_f32, nearbyint, 0},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    const double error = worst(rows[i].ours, rows[i].theirs, 30011);
    if (error > rows[i].most) fail_msg("row %zu: %g ulp", i, error);
  }
}

static void gelu_is_near_for_its_argument(void** unused) {
  (void)unused;
  for (float x = -30; x < 30; x += 0.00171f) {
    const double exact = 0.5 * x * (1 + erf(x * 0.70710678118654752));
    const double inner = 0.79788456080286536 * (x + 0.044715 * x * x * x);
    const double other = 0.5 * x * (1 + tanh(inner));
    assert_true(fabs(etx_gelu_f32(x) - exact) <= 2e-7 * fabsf(x));
    assert_true(fabs(etx_gelu_tanh_f32(x) - other) <= 2e-7 * fabsf(x));
  }
}

static void gelu_has_its_limits(void** unused) {
  (void)unused;
  assert_true(etx_gelu_f32(INFINITY) == INFINITY);
  assert_true(etx_gelu_f32(-INFINITY) == 0);
  assert_true(etx_gelu_tanh_f32(INFINITY) == INFINITY);
  assert_true(etx_gelu_tanh_f32(-INFINITY) == 0);
  assert_true(isnan(etx_gelu_f32(NAN)));
  assert_true(isnan(etx_gelu_tanh_f32(NAN)));
}

static uint64_t state = 88172645463325252u;
static uint64_t bits(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void powers_are_nearest(void** unused) {
  (void)unused;
  for (int i = 0; i < 200000; ++i) {
    const float x = etx_f32_of_bits((uint32_t)bits() & 0x7fffffff);
    const float y = (float)((double)(bits() >> 40) / 400000.0 - 20.0);
    if (isnan(x)) continue;
    const double error = ulps(etx_pow_f32(x, y), pow((double)x, (double)y));
    if (error > 0.6) fail_msg("%a ^ %a: %g ulp", x, y, error);
  }
}

static void special_powers_are_those_of_c(void** unused) {
  (void)unused;
  static const float values[] = {
      0, -0.0f, 1, -1, 2, -2, 0.5f, -3, 3, NAN, INFINITY, -INFINITY, 1e30f};
  const size_t count = sizeof(values) / sizeof(values[0]);
  for (size_t i = 0; i < count * count; ++i) {
    const float x = values[i / count], y = values[i % count];
    const float want = (float)pow((double)x, (double)y);
    const float got = etx_pow_f32(x, y);
    const bool same = isnan(want)
                          ? isnan(got)
                          : got == want && !signbit(got) == !signbit(want);
    if (!same) fail_msg("%g ^ %g is %g, expected %g", x, y, got, want);
  }
}

static void remainders_are_exact(void** unused) {
  (void)unused;
  for (int i = 0; i < 200000; ++i) {
    const double x = etx_f64_of_bits(bits()), y = etx_f64_of_bits(bits());
    const double want = fmod(x, y), got = etx_fmod_f64(x, y);
    if (isnan(want) ? !isnan(got) : got != want) {
      fail_msg("fmod(%a, %a) is %a, expected %a", x, y, got, want);
    }
  }
  assert_true(etx_remainder_f32(-7, 3) == 2);
  assert_true(etx_remainder_f32(7, -3) == -2);
  assert_true(etx_floor_divide_f32(-5.9999995f, 1) == -6);
  assert_true(isnan(etx_floor_divide_f32(0, 0)));
}

static void whole_powers_wrap(void** unused) {
  (void)unused;
  assert_int_equal(etx_pow_i64(3, 4), 81);
  assert_int_equal(etx_pow_i64(2, 64), 0);
  assert_int_equal(etx_pow_i64(2, -1), 0);
  assert_int_equal(etx_pow_i64(-1, -3), -1);
  assert_int_equal(etx_pow_i64(0, 0), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_stay_within_their_errors),
      cmocka_unit_test(gelu_is_near_for_its_argument),
      cmocka_unit_test(gelu_has_its_limits),
      cmocka_unit_test(powers_are_nearest),
      cmocka_unit_test(special_powers_are_those_of_c),
      cmocka_unit_test(remainders_are_exact),
      cmocka_unit_test(whole_powers_wrap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
