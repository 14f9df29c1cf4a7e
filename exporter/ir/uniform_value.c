// One element is encoded and then repeated. float16 and bfloat16 are rounded to
// nearest even in software, since C11 has no such types.

#include "exporter/ir/uniform_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/base/checked_math.h"

typedef struct integer_range {
  etx_dtype dtype;
  int64_t low, high;
} integer_range;

static const integer_range integer_ranges[] = {
    {ETX_DTYPE_UINT8, 0, UINT8_MAX},
    {ETX_DTYPE_INT8, INT8_MIN, INT8_MAX},
    {ETX_DTYPE_INT16, INT16_MIN, INT16_MAX},
    {ETX_DTYPE_INT32, INT32_MIN, INT32_MAX},
    {ETX_DTYPE_INT64, INT64_MIN, INT64_MAX},
    {ETX_DTYPE_UINT16, 0, UINT16_MAX},
    {ETX_DTYPE_UINT32, 0, UINT32_MAX},
    {ETX_DTYPE_UINT64, 0, INT64_MAX},
    {ETX_DTYPE_BOOL, 0, 1},
};

static const integer_range* find_range(etx_dtype dtype) {
  for (size_t i = 0; i < sizeof integer_ranges / sizeof integer_ranges[0];
       ++i) {
    if (integer_ranges[i].dtype == dtype) return &integer_ranges[i];
  }
  return NULL;
}

static void store_integer(int64_t value, size_t bytes, uint8_t* out) {
  for (size_t i = 0; i < bytes; ++i) {
    out[i] = (uint8_t)((uint64_t)value >> 8 * i);
  }
}

// Rounds to a 16-bit float with `exponent_bits` and `fraction_bits`: 5 and 10
// for float16, 8 and 7 for bfloat16.
static uint16_t narrow(double value, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t sign = signbit(value) ? 0x8000u : 0u;
  const uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  if (isnan(value)) {
    return (uint16_t)(sign | infinity | 1u << (fraction_bits - 1));
  }
  const double magnitude = fabs(value);
  if (isinf(value)) return (uint16_t)(sign | infinity);
  int exponent = 0;
  (void)frexp(magnitude, &exponent);
  int lowest = 1 - bias;  // exponent of the smallest normal number
  if (exponent - 1 > lowest) lowest = exponent - 1;
  // In units of the last place; nearbyint rounds to nearest even.
  const double units = nearbyint(ldexp(magnitude, fraction_bits - lowest));
  const uint32_t whole = (uint32_t)units;
  // A fraction that rounds up into the next power carries into the exponent.
  uint32_t bits = whole;
  if (whole >= 1u << fraction_bits) {
    bits = ((uint32_t)(lowest + bias) << fraction_bits) +
           (whole - (1u << fraction_bits));
  }
  if (bits > infinity) bits = infinity;
  return (uint16_t)(sign | bits);
}

static bool store_double(etx_dtype dtype, double value, uint8_t* out) {
  const float single = (float)value;
  switch (dtype) {
    case ETX_DTYPE_FLOAT64:
      memcpy(out, &value, sizeof value);
      return true;
    case ETX_DTYPE_FLOAT32:
      memcpy(out, &single, sizeof single);
      return true;
    case ETX_DTYPE_FLOAT16:
      store_integer(narrow(value, 5, 10), 2, out);
      return true;
    case ETX_DTYPE_BFLOAT16:
      store_integer(narrow(value, 8, 7), 2, out);
      return true;
    default:
      return false;
  }
}

static bool store(etx_dtype dtype, const etx_yaml_value* value, uint8_t* out) {
  const integer_range* const range = find_range(dtype);
  const bool is_integer =
      value->type == ETX_YAML_INT || value->type == ETX_YAML_BOOL;
  const int64_t integer =
      value->type == ETX_YAML_BOOL ? value->boolean : value->integer;
  if (range != NULL) {
    if (!is_integer || integer < range->low || integer > range->high) {
      return false;
    }
    store_integer(integer, etx_dtype_bytes(dtype), out);
    return true;
  }
  if (value->type == ETX_YAML_DOUBLE) {
    return store_double(dtype, value->real, out);
  }
  return is_integer && store_double(dtype, (double)integer, out);
}

etx_status etx_uniform_make(etx_pool* pool, const etx_ir_constant* type,
                            const etx_yaml_value* value,
                            etx_ir_constant* out_constant, etx_diag* diag) {
  uint8_t element[16];
  const size_t item = etx_dtype_bytes(type->dtype);
  if (!store(type->dtype, value, element)) {
    return etx_diag_fail(diag, ETX_BAD_FILE, "'%t' is not a value of dtype %s",
                         value->text, etx_dtype_name(type->dtype));
  }
  uint64_t bytes = item;
  for (size_t i = 0; i < type->rank; ++i) {
    if (!etx_multiply_u64(bytes, (uint64_t)type->sizes[i], &bytes)) {
      return etx_diag_fail(diag, ETX_OUT_OF_RANGE, "the sizes overflow");
    }
  }
  if (bytes > ETX_MOST_UNIFORM_BYTES) {
    return etx_diag_fail(
        diag, ETX_OUT_OF_RANGE,
        "a tensor of %u bytes from one value, expected at most %u; read a "
        "larger one from a file, {tensor: file.safetensors#name}",
        bytes, ETX_MOST_UNIFORM_BYTES);
  }
  uint8_t* const data =
      bytes > SIZE_MAX ? NULL : etx_pool_take(pool, (size_t)bytes);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < (size_t)bytes; i += item) {
    memcpy(data + i, element, item);
  }
  *out_constant = *type;
  out_constant->data.data = data;
  out_constant->data.size = (size_t)bytes;
  return ETX_OK;
}

// ---------------------------------------------------------------- texts

void etx_double_text(double value, char* out, size_t capacity) {
  if (isnan(value) || isinf(value)) {
    (void)snprintf(out, capacity, "%s",
                   isnan(value) ? ".nan" : (value < 0 ? "-.inf" : ".inf"));
    return;
  }
  for (int digits = 15; digits <= 17; ++digits) {
    (void)snprintf(out, capacity, "%.*g", digits, value);
    if (strtod(out, NULL) == value) break;
  }
  if (strpbrk(out, ".e") == NULL) {
    const size_t size = strlen(out);
    (void)snprintf(out + size, capacity - size, ".0");
  }
}

static bool is_uniform(const etx_ir_constant* constant) {
  const size_t item = etx_dtype_bytes(constant->dtype);
  if (constant->data.size < item) return false;
  for (size_t i = item; i < constant->data.size; i += item) {
    if (memcmp(constant->data.data, constant->data.data + i, item) != 0) {
      return false;
    }
  }
  return true;
}

static int64_t load_integer(const integer_range* range, const uint8_t* data) {
  const size_t bytes = etx_dtype_bytes(range->dtype);
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes; ++i) bits |= (uint64_t)data[i] << 8 * i;
  const uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
  if (range->low < 0 && bytes < 8 && (bits & sign) != 0)
    bits |= ~(2 * sign - 1);
  int64_t value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

bool etx_uniform_text(const etx_ir_constant* constant, char* out,
                      size_t capacity) {
  if (!is_uniform(constant)) return false;
  etx_yaml_value value = {0};
  const integer_range* const range = find_range(constant->dtype);
  float single = 0;
  if (range != NULL) {
    value.type = ETX_YAML_INT;
    value.integer = load_integer(range, constant->data.data);
    (void)etx_format_text(out, capacity, "%i", value.integer);
  } else if (constant->dtype == ETX_DTYPE_FLOAT64 ||
             constant->dtype == ETX_DTYPE_FLOAT32) {
    value.type = ETX_YAML_DOUBLE;
    if (constant->dtype == ETX_DTYPE_FLOAT64) {
      memcpy(&value.real, constant->data.data, sizeof value.real);
    } else {
      memcpy(&single, constant->data.data, sizeof single);
      value.real = (double)single;
    }
    etx_double_text(value.real, out, capacity);
    if (isnan(value.real)) value.real = (double)NAN;  // ".nan" reads as NAN
  } else {
    return false;
  }
  // Some values do not read back: a bool other than 0 and 1, or a NaN with
  // other bits.
  uint8_t element[16];
  return store(constant->dtype, &value, element) &&
         memcmp(element, constant->data.data,
                etx_dtype_bytes(constant->dtype)) == 0;
}
