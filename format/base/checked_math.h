// Arithmetic on sizes that come from outside: false means overflow, and the
// output is then unspecified.

#ifndef ETX_FORMAT_BASE_CHECKED_MATH_H
#define ETX_FORMAT_BASE_CHECKED_MATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool etx_add_size(size_t a, size_t b, size_t* out) {
  return !__builtin_add_overflow(a, b, out);
}

static inline bool etx_multiply_size(size_t a, size_t b, size_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}

static inline bool etx_add_u64(uint64_t a, uint64_t b, uint64_t* out) {
  return !__builtin_add_overflow(a, b, out);
}

static inline bool etx_multiply_u64(uint64_t a, uint64_t b, uint64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}

static inline bool etx_add_i64(int64_t a, int64_t b, int64_t* out) {
  return !__builtin_add_overflow(a, b, out);
}

static inline bool etx_subtract_i64(int64_t a, int64_t b, int64_t* out) {
  return !__builtin_sub_overflow(a, b, out);
}

static inline bool etx_multiply_i64(int64_t a, int64_t b, int64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}

// a / b rounded toward minus infinity. `b` is not 0, and not -1 if `a` is
// INT64_MIN.
static inline int64_t etx_floor_quotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

// True if `size` bytes from `start` on end within `all` bytes.
static inline bool etx_fits_within(uint64_t start, uint64_t size,
                                   uint64_t all) {
  return start <= all && size <= all - start;
}

// The next multiple of `alignment` (a power of two) at or above `value`.
static inline bool etx_align_up(size_t value, size_t alignment, size_t* out) {
  if (!etx_add_size(value, alignment - 1, out)) return false;
  *out &= ~(alignment - 1);
  return true;
}

static inline bool etx_align_up_u64(uint64_t value, uint64_t alignment,
                                    uint64_t* out) {
  if (!etx_add_u64(value, alignment - 1, out)) return false;
  *out &= ~(alignment - 1);
  return true;
}

static inline bool etx_is_power_of_two(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

#endif
