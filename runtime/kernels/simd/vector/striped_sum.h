// Sums over floats with sixteen partial sums: fast without being allowed to
// reorder anything, because the order is written out.
//
// Element i goes to partial sum i mod 16; of the last up to fifteen elements,
// sums of single arrays add whole fours to the first partial sums and the rest
// one by one, products of two arrays all one by one; partial sums are added in
// a fixed tree. So a result depends on the elements alone: not on the compiler,
// the machine, the number of rows computed together or the number of threads.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_STRIPED_SUM_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_STRIPED_SUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"

static inline etx_f32x4 etx_f32x4_load(const float* from) {
  etx_f32x4 v;
  memcpy(&v, from, sizeof(v));
  return v;
}

static inline void etx_f32x4_store(float* to, etx_f32x4 v) {
  memcpy(to, &v, sizeof(v));
}

static inline etx_f32x4 etx_f32x4_broadcast(float x) {
  const etx_f32x4 v = {x, x, x, x};
  return v;
}

// The larger of each pair, b if they are not ordered.
static inline etx_f32x4 etx_f32x4_max(etx_f32x4 a, etx_f32x4 b) {
  const etx_i32x4 takes = a > b;
  return (etx_f32x4)((takes & (etx_i32x4)a) | (~takes & (etx_i32x4)b));
}

// The sum of four vectors of partial sums.
static inline float etx_f32x4_sum(etx_f32x4 a, etx_f32x4 b, etx_f32x4 c,
                                  etx_f32x4 d) {
  const etx_f32x4 v = (a + b) + (c + d);
  return (v[0] + v[2]) + (v[1] + v[3]);
}

// The sum of four vectors of partial sums and the last elements, less than
// sixteen.
static inline float etx_striped_sum_tail_f32(etx_f32x4 a, etx_f32x4 b,
                                             etx_f32x4 c, etx_f32x4 d,
                                             const float* last, size_t count) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) a += etx_f32x4_load(last + i);
  float rest = 0;
  for (; i < count; ++i) rest += last[i];
  return etx_f32x4_sum(a, b, c, d) + rest;
}

static inline float etx_striped_sum_f32(const float* x, size_t count) {
  etx_f32x4 a = {0}, b = {0}, c = {0}, d = {0};
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    a += etx_f32x4_load(x + i);
    b += etx_f32x4_load(x + i + 4);
    c += etx_f32x4_load(x + i + 8);
    d += etx_f32x4_load(x + i + 12);
  }
  return etx_striped_sum_tail_f32(a, b, c, d, x + i, count - i);
}

// The same in double, with eight partial sums.
static inline etx_f64x2 etx_f64x2_load(const double* from) {
  etx_f64x2 v;
  memcpy(&v, from, sizeof(v));
  return v;
}

static inline double etx_f64x2_sum(etx_f64x2 a, etx_f64x2 b, etx_f64x2 c,
                                   etx_f64x2 d) {
  const etx_f64x2 v = (a + b) + (c + d);
  return v[0] + v[1];
}

static inline double etx_striped_sum_f64(const double* x, size_t count) {
  etx_f64x2 a = {0}, b = {0}, c = {0}, d = {0};
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    a += etx_f64x2_load(x + i);
    b += etx_f64x2_load(x + i + 2);
    c += etx_f64x2_load(x + i + 4);
    d += etx_f64x2_load(x + i + 6);
  }
  double rest = 0;
  for (; i < count; ++i) rest += x[i];
  return etx_f64x2_sum(a, b, c, d) + rest;
}

static inline double etx_striped_squares_f64(const double* x, double mean,
                                             size_t count) {
  const etx_f64x2 m = {mean, mean};
  etx_f64x2 a = {0}, b = {0}, c = {0}, d = {0};
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const etx_f64x2 p = etx_f64x2_load(x + i) - m;
    const etx_f64x2 q = etx_f64x2_load(x + i + 2) - m;
    const etx_f64x2 r = etx_f64x2_load(x + i + 4) - m;
    const etx_f64x2 s = etx_f64x2_load(x + i + 6) - m;
    a += p * p;
    b += q * q;
    c += r * r;
    d += s * s;
  }
  double rest = 0;
  for (; i < count; ++i) rest += (x[i] - mean) * (x[i] - mean);
  return etx_f64x2_sum(a, b, c, d) + rest;
}

// Sum of (x - mean)^2.
static inline float etx_striped_squares_f32(const float* x, float mean,
                                            size_t count) {
  const etx_f32x4 m = etx_f32x4_broadcast(mean);
  etx_f32x4 a = {0}, b = {0}, c = {0}, d = {0};
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const etx_f32x4 p = etx_f32x4_load(x + i) - m;
    const etx_f32x4 q = etx_f32x4_load(x + i + 4) - m;
    const etx_f32x4 r = etx_f32x4_load(x + i + 8) - m;
    const etx_f32x4 s = etx_f32x4_load(x + i + 12) - m;
    a += p * p;
    b += q * q;
    c += r * r;
    d += s * s;
  }
  for (; i + 4 <= count; i += 4) {
    const etx_f32x4 p = etx_f32x4_load(x + i) - m;
    a += p * p;
  }
  float rest = 0;
  for (; i < count; ++i) rest += (x[i] - mean) * (x[i] - mean);
  return etx_f32x4_sum(a, b, c, d) + rest;
}

static inline float etx_striped_dot_f32(const float* x, const float* y,
                                        size_t count) {
  etx_f32x4 a = {0}, b = {0}, c = {0}, d = {0};
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    a += etx_f32x4_load(x + i) * etx_f32x4_load(y + i);
    b += etx_f32x4_load(x + i + 4) * etx_f32x4_load(y + i + 4);
    c += etx_f32x4_load(x + i + 8) * etx_f32x4_load(y + i + 8);
    d += etx_f32x4_load(x + i + 12) * etx_f32x4_load(y + i + 12);
  }
  float rest = 0;
  for (; i < count; ++i) rest += x[i] * y[i];
  return etx_f32x4_sum(a, b, c, d) + rest;
}

// Two dots that share y: the same bits as two calls of etx_striped_dot_f32.
static inline void etx_striped_dot_two_f32(const float* x0, const float* x1,
                                           const float* y, size_t count,
                                           float* out0, float* out1) {
  etx_f32x4 a = {0}, b = {0}, c = {0}, d = {0};
  etx_f32x4 e = {0}, f = {0}, g = {0}, h = {0};
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const etx_f32x4 p = etx_f32x4_load(y + i);
    const etx_f32x4 q = etx_f32x4_load(y + i + 4);
    const etx_f32x4 r = etx_f32x4_load(y + i + 8);
    const etx_f32x4 s = etx_f32x4_load(y + i + 12);
    a += etx_f32x4_load(x0 + i) * p;
    b += etx_f32x4_load(x0 + i + 4) * q;
    c += etx_f32x4_load(x0 + i + 8) * r;
    d += etx_f32x4_load(x0 + i + 12) * s;
    e += etx_f32x4_load(x1 + i) * p;
    f += etx_f32x4_load(x1 + i + 4) * q;
    g += etx_f32x4_load(x1 + i + 8) * r;
    h += etx_f32x4_load(x1 + i + 12) * s;
  }
  float rest0 = 0, rest1 = 0;
  for (; i < count; ++i) {
    rest0 += x0[i] * y[i];
    rest1 += x1[i] * y[i];
  }
  *out0 = etx_f32x4_sum(a, b, c, d) + rest0;
  *out1 = etx_f32x4_sum(e, f, g, h) + rest1;
}

#endif
