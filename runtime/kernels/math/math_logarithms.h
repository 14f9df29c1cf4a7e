// Argument reduction of logarithms and powers of doubles. Kernels include
// math_functions.h instead.

#ifndef ETX_RUNTIME_KERNELS_MATH_MATH_LOGARITHMS_H
#define ETX_RUNTIME_KERNELS_MATH_MATH_LOGARITHMS_H

// x = m 2^e.
typedef struct etx_split {
  double e;  // an integer
  double m;  // from sqrt(1/2) to below sqrt(2)
} etx_split;

// `x` is positive and finite.
etx_split etx_split_of_f64(double x);

#endif
