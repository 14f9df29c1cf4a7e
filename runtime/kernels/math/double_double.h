// Double-double numbers: unevaluated sums of two doubles, for intermediate
// results of more than 53 bits. Products use Dekker's splitting, because not
// every machine has FMA and results must not depend on the machine.

#ifndef ETX_RUNTIME_KERNELS_MATH_DOUBLE_DOUBLE_H
#define ETX_RUNTIME_KERNELS_MATH_DOUBLE_DOUBLE_H

#include "runtime/kernels/math/math_bits.h"

typedef struct etx_double_double {
  double high;
  double low;  // at most half a unit in the last place of `high`
} etx_double_double;

// a + b exactly, where |a| >= |b| or a is 0.
static inline etx_double_double etx_double_double_of_ordered_sum(double a,
                                                                 double b) {
  const double high = a + b;
  const etx_double_double pair = {high, b - (high - a)};
  return pair;
}

// The upper 26 bits of a double.
static inline double etx_upper_half(double a) {
  return etx_f64_of_bits(etx_bits_of_f64(a) & ~UINT64_C(0x7ffffff));
}

// a * b exactly, where neither overflows nor underflows.
static inline etx_double_double etx_double_double_of_product(double a,
                                                             double b) {
  const double high = a * b;
  const double a_upper = etx_upper_half(a), b_upper = etx_upper_half(b);
  const double a_lower = a - a_upper, b_lower = b - b_upper;
  const double rest =
      ((a_upper * b_upper - high) + a_upper * b_lower + a_lower * b_upper) +
      a_lower * b_lower;
  const etx_double_double pair = {high, rest};
  return pair;
}

static inline etx_double_double etx_double_double_multiply(
    etx_double_double a, etx_double_double b) {
  const etx_double_double product =
      etx_double_double_of_product(a.high, b.high);
  return etx_double_double_of_ordered_sum(
      product.high, product.low + (a.high * b.low + a.low * b.high));
}

// a / b; b is not 0.
static inline etx_double_double etx_double_double_divide(etx_double_double a,
                                                         etx_double_double b) {
  const double high = a.high / b.high;
  const etx_double_double back = etx_double_double_of_product(high, b.high);
  const double rest = ((a.high - back.high) - back.low) + a.low - high * b.low;
  return etx_double_double_of_ordered_sum(high, rest / b.high);
}

#endif
