// Decimal digits as a number.

#ifndef ETX_EXPORTER_HOST_READ_DIGITS_H
#define ETX_EXPORTER_HOST_READ_DIGITS_H

#include "format/base/checked_math.h"
#include "format/base/span.h"

// False if there is no digit, anything else than a digit, or more than
// INT64_MAX;
// `*out` is then unspecified.
static inline bool etx_read_digits(etx_text digits, int64_t* out) {
  *out = 0;
  for (size_t i = 0; i < digits.size; ++i) {
    const char c = digits.data[i];
    if (c < '0' || c > '9' || !etx_multiply_i64(*out, 10, out) ||
        !etx_add_i64(*out, c - '0', out)) {
      return false;
    }
  }
  return digits.size != 0;
}

#endif
