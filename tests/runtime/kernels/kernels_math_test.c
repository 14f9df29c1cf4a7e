// The elementary functions of the kernels, compared with those of the C library
// in double.

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/math/math_functions.h"
#include "tests/support/test_random.h"

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

// The distance of the floats that are tried, in the order of their bits. It is
// odd, so that the lowest bits have all values.
static const uint64_t step = (UINT64_C(1) << 32) / TEST_ROUNDS(143000) | 1;

typedef float (*single)(float x);
typedef double (*real)(double x);

// The largest error over the floats that are tried.
static double worst(single ours, real theirs) {
  double most = 0;
  for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += step) {
    const float x = etx_f32_of_bits((uint32_t)bits);
    const double error = ulps(ours(x), theirs((double)x));
    if (error > most) most = error;
  }
  return most;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double log_of_1_exp(double x) {
  return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static void functions_stay_within_their_errors(void** unused) {
  (void)unused;
  static const struct {
    const char* name;
    single ours;
    real theirs;
    double most;
  } rows[] = {
      {"exp", etx_exp_f32, exp, 1.1},
      {"exp2", etx_exp2_f32, exp2, 1.1},
      {"expm1", etx_expm1_f32, expm1, 1.7},
      {"sinh", etx_sinh_f32, sinh, 2},
      {"cosh", etx_cosh_f32, cosh, 2},
      {"sigmoid", etx_sigmoid_f32, sigmoid, 2.5},
      {"log", etx_log_f32, log, 1},
      {"log2", etx_log2_f32, log2, 2},
      {"log10", etx_log10_f32, log10, 2},
      {"log1p", etx_log1p_f32, log1p, 1.5},
      {"asinh", etx_asinh_f32, asinh, 2},
      {"acosh", etx_acosh_f32, acosh, 3},
      {"atanh", etx_atanh_f32, atanh, 2},
      {"log_of_1_exp", etx_log_of_1_exp_f32, log_of_1_exp, 2},
      {"sin", etx_sin_f32, sin, 1.5},
      {"cos", etx_cos_f32, cos, 1.5},
      {"tan", etx_tan_f32, tan, 3},
      {"asin", etx_asin_f32, asin, 2.5},
      {"acos", etx_acos_f32, acos, 1.5},
      {"atan", etx_atan_f32, atan, 2},
      {"erf", etx_erf_f32, erf, 1.5},
      {"erfc", etx_erfc_f32, erfc, 0.6},
      {"lgamma", etx_lgamma_f32, lgamma, 0.6},
      {"floor", etx_floor_f32, floor, 0},
      {"ceil", etx_ceil_f32, ceil, 0},
      {"trunc", etx_trunc_f32, trunc, 0},
      {"round", etx_round_f32, nearbyint, 0},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    const double error = worst(rows[i].ours, rows[i].theirs);
    if (error > rows[i].most) fail_msg("%s: %g ulp", rows[i].name, error);
  }
}

// The same for doubles, near 0 and over all bits. The C library's functions
// are themselves up to 2 ulp away, those of large arguments' angles more.
static double ulps_f64(double got, double want) {
  if (isnan(want)) return isnan(got) ? 0 : 1e9;
  if (isinf(want) || isinf(got)) return want == got ? 0 : 1e9;
  const double magnitude = fabs(want);
  double unit = nextafter(magnitude, INFINITY) - magnitude;
  if (magnitude < 2.3e-308) unit = 2.3e-308;
  return fabs(got - want) / unit;
}

static uint64_t random_state = 88172645463325252u;
static uint64_t random_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static void doubles_stay_within_their_errors(void** unused) {
  (void)unused;
  static const struct {
    const char* name;
    real ours, theirs;
    double range;  // of usual arguments
    double most;
  } rows[] = {
      {"exp", etx_exp_f64, exp, 700, 2},
      {"exp2", etx_exp2_f64, exp2, 1000, 2},
      {"expm1", etx_expm1_f64, expm1, 50, 3},
      {"sinh", etx_sinh_f64, sinh, 9, 4},
      {"cosh", etx_cosh_f64, cosh, 700, 3},
      {"tanh", etx_tanh_f64, tanh, 9, 4},
      {"sigmoid", etx_sigmoid_f64, sigmoid, 30, 4},
      {"log", etx_log_f64, log, 10, 2},
      {"log2", etx_log2_f64, log2, 10, 3},
      {"log10", etx_log10_f64, log10, 10, 4},
      {"log1p", etx_log1p_f64, log1p, 9, 2},
      {"asinh", etx_asinh_f64, asinh, 9, 4},
      {"acosh", etx_acosh_f64, acosh, 9, 5},
      {"atanh", etx_atanh_f64, atanh, 1, 4},
      {"sin", etx_sin_f64, sin, 2000, 2},
      {"cos", etx_cos_f64, cos, 2000, 2},
      {"tan", etx_tan_f64, tan, 2000, 4},
      {"asin", etx_asin_f64, asin, 1, 3},
      {"acos", etx_acos_f64, acos, 1, 3},
      {"atan", etx_atan_f64, atan, 9, 3},
      {"erf", etx_erf_f64, erf, 6, 3},
      {"erfc", etx_erfc_f64, erfc, 6, 12},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    for (int k = 0; k < 40000; ++k) {
      const double unit = (double)(random_bits() >> 11) * 0x1p-52 - 1;
      const double any = etx_f64_of_bits(random_bits());
      const double x = k % 2 == 0 ? unit * rows[i].range : any;
      const double error = ulps_f64(rows[i].ours(x), rows[i].theirs(x));
      const bool is_tiny = fabs(rows[i].theirs(x)) < 1e-300;
      if (error > rows[i].most && !is_tiny) {
        fail_msg("%s(%a): %g ulp", rows[i].name, x, error);
      }
    }
  }
}

// The double that is nearest to a multiple of pi/2: its cosine needs the most
// bits of 2/pi. The expected values are from PyTorch and mpmath.
static void angles_are_reduced_to_the_last_bit(void** unused) {
  (void)unused;
  assert_true(etx_cos_f64(0x1.6ac5b262ca1ffp+849) == -0x1.14ae72e6ba22fp-61);
  assert_true(etx_sin_f64(3.141592653589793) == 0x1.1a62633145c07p-53);
  assert_true(etx_sin_f32(3.14159274f) == -8.74227766e-08f);
}

// The result of the base loop, which the other instruction sets equal.
static float base_loop(etx_unary_function row, float x) {
  const etx_scalar none[ETX_UNARY_PARAMETERS] = {{0}};
  float lanes[ETX_LANES] = {x};
  etx_float_loops_base.unary[row](lanes, lanes, ETX_LANES, none);
  return lanes[0];
}
static float gelu(float x) { return base_loop(ETX_UNARY_gelu, x); }
static float gelu_tanh(float x) { return base_loop(ETX_UNARY_gelu_tanh, x); }
static float sigmoid_f32(float x) { return base_loop(ETX_UNARY_sigmoid, x); }
static float silu(float x) { return base_loop(ETX_UNARY_silu, x); }
static float tanh_f32(float x) { return base_loop(ETX_UNARY_tanh, x); }

static void gelu_errors_are_relative_to_its_argument(void** unused) {
  (void)unused;
  for (float x = -30; x < 30; x += 0.00171f) {
    const double exact = 0.5 * x * (1 + erf(x * 0.70710678118654752));
    const double inner = 0.79788456080286536 * (x + 0.044715 * x * x * x);
    const double other = 0.5 * x * (1 + tanh(inner));
    assert_true(fabs(gelu(x) - exact) <= 1.1e-7 * fabsf(x));
    assert_true(fabs(gelu_tanh(x) - other) <= 2e-7 * fabsf(x));
  }
}

static void gelu_has_its_limits(void** unused) {
  (void)unused;
  assert_true(gelu(INFINITY) == INFINITY);
  assert_true(gelu(-INFINITY) == 0);
  assert_true(gelu_tanh(INFINITY) == INFINITY);
  assert_true(gelu_tanh(-INFINITY) == 0);
  assert_true(gelu_tanh(-1e30f) == 0 && gelu_tanh(1e30f) == 1e30f);
  assert_true(gelu(-1e30f) == 0 && gelu(1e30f) == 1e30f);
  assert_true(gelu(0) == 0 && !signbit(gelu(0)));
  assert_true(gelu(-0.0f) == 0 && signbit(gelu(-0.0f)));
  assert_true(gelu_tanh(-0.0f) == 0 && signbit(gelu_tanh(-0.0f)));
  assert_true(isnan(gelu(NAN)) && isnan(gelu(-NAN)));
  assert_true(isnan(gelu_tanh(NAN)) && isnan(gelu_tanh(-NAN)));
}

// Below -87 the sigmoid that silu multiplies is a denormal number.
static void sigmoid_and_silu_stay_within_their_errors(void** unused) {
  (void)unused;
  assert_true(worst(sigmoid_f32, sigmoid) <= 2.5);
  for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += step) {
    const float x = etx_f32_of_bits((uint32_t)bits);
    const double want = (double)x * sigmoid((double)x), got = silu(x);
    if (isinf(x) && x < 0) {
      assert_true(isnan(got));
    } else if (x < -87) {
      assert_true(fabs(got - want) <= 4e-45 * fabs((double)x));
    } else {
      assert_true(ulps((float)got, want) <= 2.9);
    }
  }
}

static void tanh_stays_within_its_error(void** unused) {
  (void)unused;
  assert_true(worst(tanh_f32, tanh) <= 1.4);
  for (float x = 0.6f; x < 0.65f; x = nextafterf(x, 1)) {
    assert_true(ulps(tanh_f32(x), tanh((double)x)) <= 1.4);
  }
  assert_true(tanh_f32(INFINITY) == 1 && tanh_f32(-3e38f) == -1);
  assert_true(tanh_f32(0) == 0 && !signbit(tanh_f32(0)));
  assert_true(tanh_f32(-0.0f) == 0 && signbit(tanh_f32(-0.0f)));
  assert_true(tanh_f32(-3e-45f) == -3e-45f);
  assert_true(isnan(tanh_f32(NAN)) && isnan(tanh_f32(-NAN)));
}

static void sigmoid_and_silu_have_their_limits(void** unused) {
  (void)unused;
  assert_true(sigmoid_f32(INFINITY) == 1 && sigmoid_f32(3e38f) == 1);
  assert_true(sigmoid_f32(-INFINITY) == 0 && sigmoid_f32(-105) == 0);
  assert_true(sigmoid_f32(-103) > 0);
  assert_true(sigmoid_f32(0) == 0.5f && sigmoid_f32(-1e-45f) == 0.5f);
  // A NaN of any payload.
  for (uint32_t bits = 0x7f800001; bits < 0x80000000; bits += 4099) {
    const float nan = etx_f32_of_bits(bits);
    assert_true(isnan(sigmoid_f32(nan)) && isnan(sigmoid_f32(-nan)));
    assert_true(isnan(silu(nan)) && isnan(silu(-nan)));
  }
  assert_true(silu(INFINITY) == INFINITY && silu(3e38f) == 3e38f);
  assert_true(silu(-3e38f) == 0 && signbit(silu(-3e38f)));
  assert_true(silu(0) == 0 && !signbit(silu(0)));
  assert_true(silu(-0.0f) == 0 && signbit(silu(-0.0f)));
  assert_true(silu(3e-45f) == 1e-45f);
}

static void powers_stay_within_their_errors(void** unused) {
  (void)unused;
  for (int i = 0; i < 200000; ++i) {
    const float x = etx_f32_of_bits((uint32_t)random_bits() & 0x7fffffff);
    const float y = (float)((double)(random_bits() >> 40) / 400000.0 - 20.0);
    if (isnan(x)) continue;
    const double error = ulps(etx_pow_f32(x, y), pow((double)x, (double)y));
    if (error > 0.6) fail_msg("%a ^ %a: %g ulp", x, y, error);
    const double a = 1 + (double)(random_bits() >> 12) * 0x1p-52;
    const double b = (double)((int64_t)random_bits() >> 12) * 0x1p-42;
    const double wide = ulps_f64(etx_pow_f64(a, b), pow(a, b));
    const bool is_tiny = pow(a, b) < 1e-300;
    if (wide > 2 && !is_tiny) fail_msg("%a ^ %a: %g ulp", a, b, wide);
  }
}

static bool same_special(double got, double want) {
  if (isnan(want)) return isnan(got);
  const bool is_near = got == want || fabs(got - want) <= 4e-16 * fabs(want);
  return is_near && !signbit(got) == !signbit(want);
}

static void atan2_covers_all_quadrants(void** unused) {
  (void)unused;
  static const double values[] = {0,        -0.0,    1,         -1,
                                  INFINITY, NAN,     -INFINITY, 1e308,
                                  1e-308,   -1e-320, -3.5,      1e-45};
  const size_t count = sizeof(values) / sizeof(values[0]);
  for (size_t i = 0; i < count * count; ++i) {
    const double y = values[i / count], x = values[i % count];
    if (!same_special(etx_atan2_f64(y, x), atan2(y, x))) {
      fail_msg("atan2(%g, %g) is %g", y, x, etx_atan2_f64(y, x));
    }
    const float b = (float)y, a = (float)x;
    const double want = atan2((double)b, (double)a);
    const float got = etx_atan2_f32(b, a);
    if (ulps(got, want) > 2 || (want == 0 && !signbit(got) != !signbit(want))) {
      fail_msg("atan2(%g, %g) is %g", b, a, got);
    }
  }
}

static void special_powers_of_doubles_are_those_of_c(void** unused) {
  (void)unused;
  static const double values[] = {0,   -0.0, 1,        -1,        2,     -2,
                                  0.5, -3,   3,        NAN,       1e30,  -1e30,
                                  1.5, -1.5, INFINITY, -INFINITY, 1e-320};
  const size_t count = sizeof(values) / sizeof(values[0]);
  for (size_t i = 0; i < count * count; ++i) {
    const double x = values[i / count], y = values[i % count];
    if (!same_special(etx_pow_f64(x, y), pow(x, y))) {
      fail_msg("%g ^ %g is %g", x, y, etx_pow_f64(x, y));
    }
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
    const double x = etx_f64_of_bits(random_bits()),
                 y = etx_f64_of_bits(random_bits());
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
      cmocka_unit_test(doubles_stay_within_their_errors),
      cmocka_unit_test(angles_are_reduced_to_the_last_bit),
      cmocka_unit_test(atan2_covers_all_quadrants),
      cmocka_unit_test(special_powers_of_doubles_are_those_of_c),
      cmocka_unit_test(gelu_errors_are_relative_to_its_argument),
      cmocka_unit_test(gelu_has_its_limits),
      cmocka_unit_test(sigmoid_and_silu_stay_within_their_errors),
      cmocka_unit_test(sigmoid_and_silu_have_their_limits),
      cmocka_unit_test(tanh_stays_within_its_error),
      cmocka_unit_test(powers_stay_within_their_errors),
      cmocka_unit_test(special_powers_are_those_of_c),
      cmocka_unit_test(remainders_are_exact),
      cmocka_unit_test(whole_powers_wrap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
