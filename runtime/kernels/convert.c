// Loads and stores of blocks: one loop per element type, and conversions
// between the three wide types.

#include "runtime/kernels/convert.h"

#include <string.h>

#include "format/base/assertion.h"
#include "runtime/kernels/dtype_switch.h"
#include "runtime/kernels/math_functions.h"

etx_wide etx_wide_of(etx_dtype dtype) {
  switch (dtype) {
    case ETX_DTYPE_BOOL:
    case ETX_DTYPE_UINT8:
    case ETX_DTYPE_INT8:
    case ETX_DTYPE_INT16:
    case ETX_DTYPE_INT32:
    case ETX_DTYPE_INT64:
      return ETX_WIDE_I64;
    case ETX_DTYPE_FLOAT16:
    case ETX_DTYPE_BFLOAT16:
    case ETX_DTYPE_FLOAT32:
      return ETX_WIDE_F32;
    case ETX_DTYPE_FLOAT64:
      return ETX_WIDE_F64;
    default:
      return ETX_WIDE_NONE;
  }
}

etx_dtype etx_wide_dtype(etx_wide wide) {
  static const etx_dtype dtypes[] = {ETX_DTYPE_INT64, ETX_DTYPE_FLOAT32,
                                     ETX_DTYPE_FLOAT64};
  return dtypes[wide];
}

static float f32_of_half(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  const uint32_t rest = half & 0x7fff;
  if (rest >= 0x7c00) {  // infinity and NaN
    return etx_f32_of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  }
  // Denormals too: scaled by a power of two that the multiplication undoes.
  const float scaled = etx_f32_of_bits(rest << 13);
  return etx_with_sign_f32(scaled * 5.192296858534828e33f,  // 2^112
                           etx_f32_of_bits(sign));
}

static uint16_t half_of_f32(float x) {
  const uint32_t bits = etx_bits_of_f32(x);
  const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  const uint32_t rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
  if (rest < 0x38800000) {
    // Adding 0.5 rounds to a multiple of 2^-24, the denormals' unit.
    const float shifted = etx_f32_of_bits(rest) + 0.5f;
    return (uint16_t)(sign | (etx_bits_of_f32(shifted) - 0x3f000000));
  }
  const uint32_t rounded = rest + 0xfff + (rest >> 13 & 1);
  return (uint16_t)(sign | (rounded - 0x38000000) >> 13);
}

static uint16_t bfloat_of_f32(float x) {
  const uint32_t bits = etx_bits_of_f32(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void load_exact(int64_t* out, etx_dtype dtype, const void* in,
                       ptrdiff_t stride, size_t count) {
  if (dtype == ETX_DTYPE_BOOL) {
    const uint8_t* from = in;
    for (size_t i = 0; i < count; ++i) {
      out[i] = from[(ptrdiff_t)i * stride] != 0;
    }
    return;
  }
  ETX_SWITCH_EXACT(dtype, T, {
    const T* from = in;
    for (size_t i = 0; i < count; ++i) {
      out[i] = (int64_t)from[(ptrdiff_t)i * stride];
    }
  })
}

static void load_real(float* out, etx_dtype dtype, const void* in,
                      ptrdiff_t stride, size_t count) {
  const float* singles = in;
  const uint16_t* halves = in;
  for (size_t i = 0; i < count; ++i) {
    const ptrdiff_t at = (ptrdiff_t)i * stride;
    if (dtype == ETX_DTYPE_FLOAT32) {
      out[i] = singles[at];
    } else if (dtype == ETX_DTYPE_FLOAT16) {
      out[i] = f32_of_half(halves[at]);
    } else {
      out[i] = etx_f32_of_bits((uint32_t)halves[at] << 16);
    }
  }
}

static void load_double(double* out, const void* in, ptrdiff_t stride,
                        size_t count) {
  const double* from = in;
  for (size_t i = 0; i < count; ++i) out[i] = from[(ptrdiff_t)i * stride];
}

// Widens into the type's own wide type, which is returned.
static etx_wide load_own(etx_block* block, etx_dtype dtype, const void* in,
                         ptrdiff_t stride, size_t count) {
  const etx_wide wide = etx_wide_of(dtype);
  switch (wide) {
    case ETX_WIDE_I64:
      load_exact(block->i64, dtype, in, stride, count);
      break;
    case ETX_WIDE_F32:
      load_real(block->f32, dtype, in, stride, count);
      break;
    default:
      load_double(block->f64, in, stride, count);
      break;
  }
  return wide;
}

static int64_t i64_of_f64(double x) {
  const bool fits = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
  return fits ? (int64_t)x : INT64_MIN;
}

// Floats become int64, or for narrower types int32 first, as x86 converts.
static int64_t exact_of(double x, etx_dtype dtype) {
  if (dtype == ETX_DTYPE_BOOL) return x != 0;
  const int64_t whole = i64_of_f64(x);
  if (dtype == ETX_DTYPE_INT64) return whole;
  return whole < INT32_MIN || whole > INT32_MAX ? INT32_MIN : whole;
}

// Changes a block from one wide type to another, for a store to `dtype`.
static void rewiden(const etx_block* in, etx_wide from, etx_block* out,
                    etx_wide to, etx_dtype dtype, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (to == ETX_WIDE_I64) {
      const double x = from == ETX_WIDE_F32 ? (double)in->f32[i] : in->f64[i];
      out->i64[i] = exact_of(x, dtype);
    } else if (to == ETX_WIDE_F32) {
      out->f32[i] =
          from == ETX_WIDE_I64 ? (float)in->i64[i] : (float)in->f64[i];
    } else {
      out->f64[i] =
          from == ETX_WIDE_I64 ? (double)in->i64[i] : (double)in->f32[i];
    }
  }
}

void etx_block_load(etx_block* block, etx_wide wide, etx_dtype dtype,
                    const void* in, ptrdiff_t stride, size_t count) {
  ETX_ASSERT(count <= ETX_BLOCK);
  if (etx_wide_of(dtype) == wide) {
    (void)load_own(block, dtype, in, stride, count);
    return;
  }
  etx_block own;
  const etx_wide from = load_own(&own, dtype, in, stride, count);
  rewiden(&own, from, block, wide, dtype, count);
}

static void store_exact(const int64_t* in, etx_dtype dtype, void* out,
                        ptrdiff_t stride, size_t count) {
  if (dtype == ETX_DTYPE_BOOL) {
    uint8_t* to = out;
    for (size_t i = 0; i < count; ++i) to[(ptrdiff_t)i * stride] = in[i] != 0;
    return;
  }
  ETX_SWITCH_EXACT(dtype, T, {
    T* to = out;
    for (size_t i = 0; i < count; ++i) to[(ptrdiff_t)i * stride] = (T)in[i];
  })
}

static void store_real(const float* in, etx_dtype dtype, void* out,
                       ptrdiff_t stride, size_t count) {
  float* singles = out;
  uint16_t* halves = out;
  for (size_t i = 0; i < count; ++i) {
    const ptrdiff_t at = (ptrdiff_t)i * stride;
    if (dtype == ETX_DTYPE_FLOAT32) {
      singles[at] = in[i];
    } else if (dtype == ETX_DTYPE_FLOAT16) {
      halves[at] = half_of_f32(in[i]);
    } else {
      halves[at] = bfloat_of_f32(in[i]);
    }
  }
}

static void store_double(const double* in, void* out, ptrdiff_t stride,
                         size_t count) {
  double* to = out;
  for (size_t i = 0; i < count; ++i) to[(ptrdiff_t)i * stride] = in[i];
}

void etx_block_store(const etx_block* block, etx_wide wide, etx_dtype dtype,
                     void* out, ptrdiff_t stride, size_t count) {
  ETX_ASSERT(count <= ETX_BLOCK);
  const etx_wide own = etx_wide_of(dtype);
  etx_block changed;
  if (own != wide) {
    rewiden(block, wide, &changed, own, dtype, count);
    block = &changed;
  }
  switch (own) {
    case ETX_WIDE_I64:
      store_exact(block->i64, dtype, out, stride, count);
      break;
    case ETX_WIDE_F32:
      store_real(block->f32, dtype, out, stride, count);
      break;
    default:
      store_double(block->f64, out, stride, count);
      break;
  }
}

void etx_convert(etx_dtype to, void* out, ptrdiff_t out_stride, etx_dtype from,
                 const void* in, ptrdiff_t in_stride, size_t count) {
  const ptrdiff_t out_step = out_stride * (ptrdiff_t)etx_dtype_bytes(to);
  const ptrdiff_t in_step = in_stride * (ptrdiff_t)etx_dtype_bytes(from);
  char* target = out;
  const char* source = in;
  while (count > 0) {
    const size_t part = count < ETX_BLOCK ? count : ETX_BLOCK;
    etx_block block;
    const etx_wide wide = load_own(&block, from, source, in_stride, part);
    etx_block_store(&block, wide, to, target, out_stride, part);
    target += out_step * (ptrdiff_t)part;
    source += in_step * (ptrdiff_t)part;
    count -= part;
  }
}

void etx_convert_integer(etx_dtype dtype, int64_t value, void* out) {
  etx_convert(dtype, out, 1, ETX_DTYPE_INT64, &value, 1, 1);
}

void etx_convert_real(etx_dtype dtype, double value, void* out) {
  etx_convert(dtype, out, 1, ETX_DTYPE_FLOAT64, &value, 1, 1);
}
