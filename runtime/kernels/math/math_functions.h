// Elementary functions that give the same bits with every compiler and on every
// machine: nothing of libm except sqrt, which is one instruction, and no FMA.
//
//   etx_<function>_f32   floats; most are inline and can be vectorised
//                        (math_f32.h), also exp and sigmoid of doubles
//                        (math_f64.h)
//   etx_<function>_f64   doubles, within 2 units of the last place; sinh,
//                        cosh, tan and the inverse hyperbolic functions 3,
//                        erfc 5, gelu 5 of its argument
//
// NaN gives NaN everywhere; special cases are those of C.

#ifndef ETX_RUNTIME_KERNELS_MATH_MATH_FUNCTIONS_H
#define ETX_RUNTIME_KERNELS_MATH_MATH_FUNCTIONS_H

#include "runtime/kernels/math/math_bits.h"
#include "runtime/kernels/math/math_f32.h"
#include "runtime/kernels/math/math_f64.h"

// Exponential functions.
double etx_exp2_f64(double x);
double etx_expm1_f64(double x);  // e^x - 1
double etx_sinh_f64(double x);
double etx_cosh_f64(double x);
double etx_tanh_f64(double x);

// Logarithms.
double etx_log_f64(double x);
double etx_log2_f64(double x);
double etx_log10_f64(double x);
double etx_log1p_f64(double x);  // log(1 + x)
double etx_asinh_f64(double x);
double etx_acosh_f64(double x);
double etx_atanh_f64(double x);
double etx_log_of_1_exp_f64(double x);  // log(1 + e^x)
// x log y; 0 for x = 0, unless y is NaN.
double etx_xlogy_f64(double x, double y);
static inline float etx_xlogy_f32(float x, float y) {
  return (float)etx_xlogy_f64(x, y);
}

// Angles in radians, for every argument.
double etx_sin_f64(double x);
double etx_cos_f64(double x);
double etx_tan_f64(double x);
double etx_asin_f64(double x);
double etx_acos_f64(double x);
double etx_atan_f64(double x);
double etx_atan2_f64(double y, double x);
static inline float etx_sin_f32(float x) {
  return etx_angle_is_fast_f32(x) ? etx_sin_fast_f32(x) : (float)etx_sin_f64(x);
}
static inline float etx_cos_f32(float x) {
  return etx_angle_is_fast_f32(x) ? etx_cos_fast_f32(x) : (float)etx_cos_f64(x);
}
static inline float etx_tan_f32(float x) {
  return etx_angle_is_fast_f32(x) ? etx_tan_fast_f32(x) : (float)etx_tan_f64(x);
}

// The error function, 1 minus it, and x/2 (1 + erf(x/sqrt 2)) with its
// approximation by tanh.
double etx_erf_f64(double x);
double etx_erfc_f64(double x);
double etx_gelu_f64(double x);
double etx_gelu_tanh_f64(double x);
static inline float etx_erfc_f32(float x) { return (float)etx_erfc_f64(x); }

// e^(x^2) erfc(x), the inverse of erf, and the inverse of the normal
// distribution function; the inverses are NaN outside their range.
double etx_erfcx_f64(double x);
double etx_erfinv_f64(double x);
double etx_ndtri_f64(double p);
static inline float etx_erfcx_f32(float x) { return (float)etx_erfcx_f64(x); }
static inline float etx_erfinv_f32(float x) { return (float)etx_erfinv_f64(x); }
static inline float etx_ndtri_f32(float p) { return (float)etx_ndtri_f64(p); }

// log |Gamma(x)|, its derivative, and the sum of (q + k)^-x over k >= 0. Near
// zeros of these functions, errors are units of the last place of 1.
double etx_lgamma_f64(double x);
double etx_digamma_f64(double x);
double etx_zeta_f64(double x, double q);
static inline float etx_lgamma_f32(float x) { return (float)etx_lgamma_f64(x); }
static inline float etx_digamma_f32(float x) {
  return (float)etx_digamma_f64(x);
}
static inline float etx_zeta_f32(float x, float q) {
  return (float)etx_zeta_f64(x, q);
}

// Modified Bessel functions of the first kind; i0e and i1e are times e^-|x|.
double etx_i0_f64(double x);
double etx_i0e_f64(double x);
double etx_i1_f64(double x);
double etx_i1e_f64(double x);
static inline float etx_i0_f32(float x) { return (float)etx_i0_f64(x); }
static inline float etx_i0e_f32(float x) { return (float)etx_i0e_f64(x); }
static inline float etx_i1_f32(float x) { return (float)etx_i1_f64(x); }
static inline float etx_i1e_f32(float x) { return (float)etx_i1e_f64(x); }

// x^y with the special cases of C.
double etx_pow_f64(double x, double y);
// Wraps on overflow. A negative power of anything but 1 and -1 is 0.
int64_t etx_pow_i64(int64_t base, int64_t exponent);

// Remainders: the sign of the dividend (C) and of the divisor (Python). Exact.
float etx_fmod_f32(float x, float y);
double etx_fmod_f64(double x, double y);
float etx_remainder_f32(float x, float y);
double etx_remainder_f64(double x, double y);
// Python's //.
float etx_floor_divide_f32(float x, float y);
double etx_floor_divide_f64(double x, double y);

#endif
