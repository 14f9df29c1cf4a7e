// What the functions of doubles share among each other; math_functions.h has
// what kernels use.

#ifndef ETX_RUNTIME_KERNELS_MATH_EXPONENTIALS_H
#define ETX_RUNTIME_KERNELS_MATH_EXPONENTIALS_H

// e^(x + low), about 1 ulp; `low` is small beside 1, at most 0.01.
double etx_exp_of_pair_f64(double x, double low);

#endif
