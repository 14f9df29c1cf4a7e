// Wrapping integer arithmetic, as in PyTorch's kernels. Kernels compute all
// integer types in 64 bits; the low bits of a result are the result in a
// narrower type.

#ifndef ETX_RUNTIME_KERNELS_MATH_WRAPPING_MATH_H
#define ETX_RUNTIME_KERNELS_MATH_WRAPPING_MATH_H

#include <stdint.h>

static inline int64_t etx_wrap_add(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x + (uint64_t)y);
}
static inline int64_t etx_wrap_subtract(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x - (uint64_t)y);
}
static inline int64_t etx_wrap_multiply(int64_t x, int64_t y) {
  return (int64_t)((uint64_t)x * (uint64_t)y);
}

// Divisors are not 0: kernels refuse that before. -1 is a case of its own because
// INT64_MIN / -1 overflows; it wraps.
static inline int64_t etx_wrap_divide(int64_t x, int64_t y) {
  return y == -1 ? etx_wrap_subtract(0, x) : x / y;
}
static inline int64_t etx_wrap_fmod(int64_t x, int64_t y) {
  return y == -1 ? 0 : x % y;
}
static inline int64_t etx_wrap_floor_divide(int64_t x, int64_t y) {
  const int64_t quotient = etx_wrap_divide(x, y);
  const int64_t rest = etx_wrap_subtract(x, etx_wrap_multiply(quotient, y));
  return quotient - ((rest != 0) & ((rest ^ y) < 0));
}
static inline int64_t etx_wrap_remainder(int64_t x, int64_t y) {
  const int64_t rest = etx_wrap_fmod(x, y);
  return rest + (((rest != 0) & ((rest ^ y) < 0)) != 0 ? y : 0);
}

// `bits` is the type's width; a count outside 0..bits-1 shifts everything out.
static inline int64_t etx_shift_left(int64_t x, int64_t y, int64_t bits) {
  const uint64_t shifted = (uint64_t)x << ((uint64_t)y & 63);
  return (int64_t)((uint64_t)y < (uint64_t)bits ? shifted : 0);
}
// `bits` is the width without the sign bit. A negative number is inverted,
// shifted and inverted again, because not every instruction set has an
// arithmetic shift of vectors.
static inline int64_t etx_shift_right(int64_t x, int64_t y, int64_t bits) {
  const uint64_t sign = (uint64_t)0 - (uint64_t)(x < 0);
  const uint64_t count = (uint64_t)(y < 0 || y > bits ? bits : y);
  const uint64_t shifted = ((uint64_t)x ^ sign) >> (count > 63 ? 63 : count);
  return (int64_t)(shifted ^ sign);
}

#endif
