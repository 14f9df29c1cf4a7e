#include "cli/tensors/element.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t load_bits(const void* data, size_t index, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, (const uint8_t*)data + index * bytes, bytes);
  return bits;
}

static float widen_bfloat16(uint32_t bits) {
  const uint32_t wide = bits << 16;
  float out = 0;
  memcpy(&out, &wide, sizeof out);
  return out;
}

// IEEE half precision: 1 sign bit, 5 exponent bits with bias 15, 10 fraction
// bits.
static double widen_float16(uint32_t bits) {
  const int exponent = (int)((bits >> 10) & 31);
  const double fraction = (double)(bits & 1023);
  double out = 0;
  if (exponent == 31) {
    out = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    out = ldexp(fraction, -24);
  } else {
    out = ldexp(1024 + fraction, exponent - 25);
  }
  return (bits >> 15) != 0 ? -out : out;
}

static float load_float32(const void* data, size_t index) {
  float out = 0;
  memcpy(&out, (const uint8_t*)data + index * sizeof out, sizeof out);
  return out;
}

static double load_float64(const void* data, size_t index) {
  double out = 0;
  memcpy(&out, (const uint8_t*)data + index * sizeof out, sizeof out);
  return out;
}

double etx_element_real(etx_dtype dtype, const void* data, size_t index) {
  switch (dtype) {
    case ETX_DTYPE_FLOAT16:
      return widen_float16((uint32_t)load_bits(data, index, 2));
    case ETX_DTYPE_BFLOAT16:
      return (double)widen_bfloat16((uint32_t)load_bits(data, index, 2));
    case ETX_DTYPE_FLOAT32:
      return (double)load_float32(data, index);
    case ETX_DTYPE_FLOAT64:
      return load_float64(data, index);
    case ETX_DTYPE_UINT64:
      return (double)load_bits(data, index, 8);
    default:
      return (double)etx_element_integer(dtype, data, index);
  }
}

int64_t etx_element_integer(etx_dtype dtype, const void* data, size_t index) {
  const uint64_t bits = load_bits(
      data, index, etx_dtype_bytes(dtype) > 8 ? 8 : etx_dtype_bytes(dtype));
  switch (dtype) {
    case ETX_DTYPE_INT8:
      return (int8_t)bits;
    case ETX_DTYPE_INT16:
      return (int16_t)bits;
    case ETX_DTYPE_INT32:
      return (int32_t)bits;
    case ETX_DTYPE_BOOL:
      return bits != 0;
    case ETX_DTYPE_INT64:
    case ETX_DTYPE_UINT8:
    case ETX_DTYPE_UINT16:
    case ETX_DTYPE_UINT32:
    case ETX_DTYPE_UINT64:
      return (int64_t)bits;
    default:
      return 0;
  }
}

static void store_bits(void* data, size_t index, const void* bits,
                       size_t bytes) {
  memcpy((uint8_t*)data + index * bytes, bits, bytes);
}

// Rounds to nearest, ties to even, as the hardware does.
static uint16_t narrow_bfloat16(float value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return (uint16_t)((bits >> 16) | 0x40);
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static uint16_t narrow_float16(double value) {
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const double size = fabs(value);
  if (size != size) return (uint16_t)(sign | 0x7e00);
  if (size >= 65520) return (uint16_t)(sign | 0x7c00);
  int exponent = 0;
  frexp(size, &exponent);
  if (exponent < -13) exponent = -13;
  // The fraction in units of the last place. If rounding carries into the
  // exponent, the addition below is still right.
  const double units = nearbyint(ldexp(size, 11 - exponent));
  if (units < 1024) return (uint16_t)(sign | (uint16_t)units);
  return (uint16_t)(sign |
                    (uint16_t)(((exponent + 14) << 10) + (int)units - 1024));
}

static bool store_real(etx_dtype dtype, double value, void* data,
                       size_t index) {
  const float single = (float)value;
  const uint16_t half = dtype == ETX_DTYPE_FLOAT16 ? narrow_float16(value)
                                                   : narrow_bfloat16(single);
  switch (dtype) {
    case ETX_DTYPE_FLOAT16:
    case ETX_DTYPE_BFLOAT16:
      store_bits(data, index, &half, sizeof half);
      return true;
    case ETX_DTYPE_FLOAT32:
      store_bits(data, index, &single, sizeof single);
      return true;
    case ETX_DTYPE_FLOAT64:
      store_bits(data, index, &value, sizeof value);
      return true;
    default:
      return false;
  }
}

// The range of an integer dtype; that of uint64 ends at the largest int64.
static bool integer_bounds(etx_dtype dtype, int64_t* low, int64_t* high) {
  const size_t bits = 8 * etx_dtype_bytes(dtype);
  switch (dtype) {
    case ETX_DTYPE_INT8:
    case ETX_DTYPE_INT16:
    case ETX_DTYPE_INT32:
      *high = ((int64_t)1 << (bits - 1)) - 1;
      *low = -*high - 1;
      return true;
    case ETX_DTYPE_UINT8:
    case ETX_DTYPE_UINT16:
    case ETX_DTYPE_UINT32:
      *low = 0;
      *high = ((int64_t)1 << bits) - 1;
      return true;
    case ETX_DTYPE_INT64:
      *low = INT64_MIN;
      *high = INT64_MAX;
      return true;
    case ETX_DTYPE_UINT64:
      *low = 0;
      *high = INT64_MAX;
      return true;
    case ETX_DTYPE_BOOL:
      *low = 0;
      *high = 1;
      return true;
    default:
      return false;
  }
}

// Stores the low bytes of `value`, whatever the machine's byte order.
static void store_integer(etx_dtype dtype, int64_t value, void* data,
                          size_t index) {
  uint8_t bytes[8];
  const size_t count = etx_dtype_bytes(dtype);
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = (uint8_t)((uint64_t)value >> (8 * i));
  }
  store_bits(data, index, bytes, count);
}

static bool parse_integer(etx_dtype dtype, const char* text, void* data,
                          size_t index) {
  int64_t low = 0;
  int64_t high = 0;
  if (!integer_bounds(dtype, &low, &high)) return false;
  char* end = NULL;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno == ERANGE) return false;
  if (value < low || value > high) return false;
  store_integer(dtype, value, data, index);
  return true;
}

bool etx_element_parse(etx_dtype dtype, etx_text text, void* data,
                       size_t index) {
  char copy[64];
  if (text.size == 0 || text.size >= sizeof copy) return false;
  memcpy(copy, text.data, text.size);
  copy[text.size] = '\0';
  if (dtype == ETX_DTYPE_BOOL &&
      (strcmp(copy, "true") == 0 || strcmp(copy, "True") == 0)) {
    store_integer(dtype, 1, data, index);
    return true;
  }
  if (dtype == ETX_DTYPE_BOOL &&
      (strcmp(copy, "false") == 0 || strcmp(copy, "False") == 0)) {
    store_integer(dtype, 0, data, index);
    return true;
  }
  if (etx_dtype_category_of(dtype) != ETX_CATEGORY_FLOATING) {
    return parse_integer(dtype, copy, data, index);
  }
  char* end = NULL;
  const double value = strtod(copy, &end);
  if (end == copy || *end != '\0') return false;
  return store_real(dtype, value, data, index);
}

// Prints the fewest digits that read back as the same value. Up to six digits
// are used to avoid an exponent.
static size_t print_real(double value, int most, bool is_single, char* out,
                         size_t capacity) {
  for (int digits = 1; digits <= most; ++digits) {
    snprintf(out, capacity, "%.*g", digits, value);
    const double back = strtod(out, NULL);
    const bool is_same =
        is_single ? (float)back == (float)value : back == value;
    if (is_same && (digits >= 6 || strchr(out, 'e') == NULL)) break;
  }
  return strlen(out);
}

size_t etx_element_print(etx_dtype dtype, const void* data, size_t index,
                         char* out, size_t capacity) {
  const etx_dtype_category category = etx_dtype_category_of(dtype);
  if (category == ETX_CATEGORY_FLOATING) {
    const bool is_double = dtype == ETX_DTYPE_FLOAT64;
    return print_real(etx_element_real(dtype, data, index), is_double ? 17 : 9,
                      !is_double, out, capacity);
  }
  if (category == ETX_CATEGORY_BOOLEAN) {
    const bool value = etx_element_integer(dtype, data, index) != 0;
    snprintf(out, capacity, "%s", value ? "true" : "false");
  } else if (dtype == ETX_DTYPE_UINT64) {
    snprintf(out, capacity, "%" PRIu64,
             (uint64_t)etx_element_integer(dtype, data, index));
  } else if (category == ETX_CATEGORY_INTEGER) {
    snprintf(out, capacity, "%" PRId64,
             etx_element_integer(dtype, data, index));
  } else {
    const size_t bytes = etx_dtype_bytes(dtype);
    snprintf(out, capacity, "0x%" PRIx64,
             load_bits(data, index, bytes > 8 ? 8 : bytes));
  }
  return strlen(out);
}
