#include "format/tensor/dtype.h"

#include "format/base/assertion.h"

typedef struct dtype_row {
  uint8_t bytes;
  uint8_t category;
} dtype_row;

static const dtype_row rows[ETX_DTYPE_COUNT] = {
#define DTYPE(NAME, name, code, bytes, category) \
  [code] = {bytes, ETX_CATEGORY_##category},
#include "format/tensor/dtype.def"
#undef DTYPE
};

// Apart from the rows, so that a program that uses no names contains none, and
// as long as the longest: a pointer to each would be larger.
static const char names[ETX_DTYPE_COUNT][sizeof "float8_e4m3fnuz"] = {
#define DTYPE(NAME, name, code, bytes, category) [code] = name,
#include "format/tensor/dtype.def"
#undef DTYPE
};

bool etx_dtype_is_valid(int64_t code) {
  return code >= 0 && code < ETX_DTYPE_COUNT;
}

size_t etx_dtype_bytes(etx_dtype dtype) { return rows[dtype].bytes; }

size_t etx_dtype_alignment(etx_dtype dtype) {
  const size_t bytes = etx_dtype_bytes(dtype);
  return bytes < 8 ? bytes : 8;
}

bool etx_dtype_is_aligned(etx_dtype dtype, uint64_t offset) {
  return (offset & (etx_dtype_alignment(dtype) - 1)) == 0;  // a power of two
}

const char* etx_dtype_name(etx_dtype dtype) { return names[dtype]; }

bool etx_dtype_find(etx_text name, etx_dtype* out_dtype) {
  for (int code = 0; code < ETX_DTYPE_COUNT; ++code) {
    if (etx_text_is(name, names[code])) {
      *out_dtype = (etx_dtype)code;
      return true;
    }
  }
  return false;
}

etx_dtype_category etx_dtype_category_of(etx_dtype dtype) {
  return (etx_dtype_category)rows[dtype].category;
}

static bool is_wide_unsigned(etx_dtype dtype) {
  return dtype == ETX_DTYPE_UINT16 || dtype == ETX_DTYPE_UINT32 ||
         dtype == ETX_DTYPE_UINT64;
}

static etx_dtype promote_integers(etx_dtype a, etx_dtype b) {
  if (a == ETX_DTYPE_UINT8 || b == ETX_DTYPE_UINT8) {
    const etx_dtype other = a == ETX_DTYPE_UINT8 ? b : a;
    return other == ETX_DTYPE_INT8 ? ETX_DTYPE_INT16 : other;
  }
  return rows[a].bytes >= rows[b].bytes ? a : b;
}

static etx_dtype promote_floats(etx_dtype a, etx_dtype b) {
  if (rows[a].bytes != rows[b].bytes) {
    return rows[a].bytes > rows[b].bytes ? a : b;
  }
  return ETX_DTYPE_FLOAT32;  // float16 with bfloat16
}

etx_dtype etx_dtype_to_complex(etx_dtype real) {
  if (real == ETX_DTYPE_FLOAT64) return ETX_DTYPE_COMPLEX128;
  if (real == ETX_DTYPE_FLOAT16) return ETX_DTYPE_COMPLEX32;
  return ETX_DTYPE_COMPLEX64;
}

bool etx_dtype_promote(etx_dtype a, etx_dtype b, etx_dtype* out_dtype) {
  const etx_dtype_category left = etx_dtype_category_of(a);
  const etx_dtype_category right = etx_dtype_category_of(b);
  if (a == b) {
    *out_dtype = a;
    return true;
  }
  if (left == ETX_CATEGORY_OPAQUE || right == ETX_CATEGORY_OPAQUE) return false;
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) {
    if (left != ETX_CATEGORY_FLOATING && right != ETX_CATEGORY_FLOATING) {
      return false;
    }
  }
  if (left != right) {
    const etx_dtype high = left > right ? a : b;
    const etx_dtype low = left > right ? b : a;
    if (etx_dtype_category_of(high) == ETX_CATEGORY_COMPLEX &&
        etx_dtype_category_of(low) == ETX_CATEGORY_FLOATING) {
      const etx_dtype lifted = etx_dtype_to_complex(low);
      *out_dtype = rows[lifted].bytes > rows[high].bytes ? lifted : high;
      return true;
    }
    *out_dtype = high;
    return true;
  }
  if (left == ETX_CATEGORY_INTEGER) {
    *out_dtype = promote_integers(a, b);
    return true;
  }
  if (left == ETX_CATEGORY_FLOATING) {
    *out_dtype = promote_floats(a, b);
    return true;
  }
  *out_dtype = rows[a].bytes > rows[b].bytes ? a : b;
  return true;
}

etx_dtype etx_dtype_promote_scalar(etx_dtype dtype, etx_dtype_category scalar) {
  const etx_dtype_category own = etx_dtype_category_of(dtype);
  ETX_ASSERT(scalar <= ETX_CATEGORY_FLOATING);
  if (scalar <= own) return dtype;
  return scalar == ETX_CATEGORY_INTEGER ? ETX_DTYPE_INT64 : ETX_DTYPE_FLOAT32;
}

etx_dtype etx_dtype_real_type(etx_dtype dtype) {
  switch (dtype) {
    case ETX_DTYPE_COMPLEX32:
      return ETX_DTYPE_FLOAT16;
    case ETX_DTYPE_COMPLEX64:
      return ETX_DTYPE_FLOAT32;
    case ETX_DTYPE_COMPLEX128:
      return ETX_DTYPE_FLOAT64;
    default:
      return dtype;
  }
}
