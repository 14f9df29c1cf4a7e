// Loads and stores of blocks: one loop per element type, and conversions
// between the three compute types.

#include "runtime/kernels/core/convert.h"

#include <string.h>

#include "format/base/assertion.h"
#include "runtime/kernels/core/dtype_switch.h"
#include "runtime/kernels/math/half_float.h"
#include "runtime/kernels/simd/elementwise/half_loops.h"

etx_compute_type etx_compute_type_of(etx_dtype dtype) {
  switch (dtype) {
    case ETX_DTYPE_BOOL:
    case ETX_DTYPE_UINT8:
    case ETX_DTYPE_INT8:
    case ETX_DTYPE_INT16:
    case ETX_DTYPE_INT32:
    case ETX_DTYPE_INT64:
      return ETX_COMPUTE_I64;
    case ETX_DTYPE_FLOAT16:
    case ETX_DTYPE_BFLOAT16:
    case ETX_DTYPE_FLOAT32:
      return ETX_COMPUTE_F32;
    case ETX_DTYPE_FLOAT64:
      return ETX_COMPUTE_F64;
    default:
      return ETX_COMPUTE_NONE;
  }
}

etx_dtype etx_compute_type_dtype(etx_compute_type compute) {
  static const etx_dtype dtypes[] = {ETX_DTYPE_INT64, ETX_DTYPE_FLOAT32,
                                     ETX_DTYPE_FLOAT64};
  return dtypes[compute];
}

// Runs a statement for every i below count; `at` is the index of element i in
// memory.
#define STRIDED(i, at, stride, count, ...)        \
  for (size_t i = 0; i < (count); ++i) {          \
    const ptrdiff_t at = (ptrdiff_t)i * (stride); \
    __VA_ARGS__                                   \
  }

// The same with a loop of its own for contiguous elements, which the compiler
// vectorises.
#define EACH(i, at, stride, count, ...)        \
  if ((stride) == 1) {                         \
    for (size_t i = 0; i < (count); ++i) {     \
      const size_t at = i;                     \
      __VA_ARGS__                              \
    }                                          \
  } else {                                     \
    STRIDED(i, at, stride, count, __VA_ARGS__) \
  }

static void load_integers(int64_t* restrict out, etx_dtype dtype,
                          const void* in, ptrdiff_t stride, size_t count) {
  if (dtype == ETX_DTYPE_BOOL) {
    const uint8_t* restrict from = in;
    EACH(i, at, stride, count, out[i] = from[at] != 0;)
    return;
  }
  ETX_SWITCH_INTEGRAL(dtype, T, {
    const T* restrict from = in;
    EACH(i, at, stride, count, out[i] = (int64_t)from[at];)
  })
}

// Halves that are apart are copied together first: the conversion is in
// vectors.
static void load_halves(float* restrict out, etx_dtype dtype,
                        const uint16_t* restrict in, ptrdiff_t stride,
                        size_t count) {
  const etx_half_loops* loops = etx_half_loops_for_blocks();
  uint16_t together[ETX_BLOCK];
  size_t part = count;
  for (size_t done = 0; done < count; done += part) {
    const uint16_t* from = in + (ptrdiff_t)done * stride;
    if (stride != 1) {
      part = count - done < ETX_BLOCK ? count - done : ETX_BLOCK;
      STRIDED(i, at, stride, part, together[i] = from[at];)
      from = together;
    }
    if (ETX_HAS_DTYPE(FLOAT16) && dtype == ETX_DTYPE_FLOAT16) {
      loops->read(out + done, from, part);
    } else if (ETX_HAS_DTYPE(BFLOAT16)) {
      loops->read_bfloats(out + done, from, part);
    }
  }
}

static void load_floats(float* restrict out, etx_dtype dtype, const void* in,
                        ptrdiff_t stride, size_t count) {
  const float* restrict singles = in;
  if (dtype == ETX_DTYPE_FLOAT32 && stride == 2) {
    // Windows with stride 2 read every other element; this loop vectorises.
    for (size_t i = 0; i < count; ++i) out[i] = singles[2 * i];
  } else if (dtype == ETX_DTYPE_FLOAT32) {
    EACH(i, at, stride, count, out[i] = singles[at];)
  } else if (ETX_HAS_DTYPE(FLOAT16) || ETX_HAS_DTYPE(BFLOAT16)) {
    load_halves(out, dtype, in, stride, count);
  }
}

static void load_doubles(double* restrict out, const void* in, ptrdiff_t stride,
                         size_t count) {
  const double* restrict from = in;
  EACH(i, at, stride, count, out[i] = from[at];)
}

// Loads into the type's own compute type, which is returned.
static etx_compute_type load_own(etx_block* block, etx_dtype dtype,
                                 const void* in, ptrdiff_t stride,
                                 size_t count) {
  const etx_compute_type compute = etx_compute_type_of(dtype);
  switch (compute) {
    case ETX_COMPUTE_I64:
      load_integers(block->i64, dtype, in, stride, count);
      break;
    case ETX_COMPUTE_F32:
      load_floats(block->f32, dtype, in, stride, count);
      break;
    default:
      load_doubles(block->f64, in, stride, count);
      break;
  }
  return compute;
}

static int64_t i64_of_f64(double x) {
  const bool fits = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
  return fits ? (int64_t)x : INT64_MIN;
}

// Floats are converted to int64, or for narrower types to int32, as by x86.
static int64_t integer_of(double x, etx_dtype dtype) {
  if (dtype == ETX_DTYPE_BOOL) return x != 0;
  const int64_t integer = i64_of_f64(x);
  if (dtype == ETX_DTYPE_INT64) return integer;
  return integer < INT32_MIN || integer > INT32_MAX ? INT32_MIN : integer;
}

// Converts a block from one compute type to another, for a store to `dtype`.
static void convert_block(const etx_block* restrict in, etx_compute_type from,
                          etx_block* restrict out, etx_compute_type to,
                          etx_dtype dtype, size_t count) {
  const bool from_integers = from == ETX_COMPUTE_I64;
  if (to == ETX_COMPUTE_I64 && from == ETX_COMPUTE_F32) {
    EACH(i, at, 1, count, out->i64[i] = integer_of((double)in->f32[at], dtype);)
  } else if (to == ETX_COMPUTE_I64) {
    EACH(i, at, 1, count, out->i64[i] = integer_of(in->f64[at], dtype);)
  } else if (to == ETX_COMPUTE_F32 && from_integers) {
    EACH(i, at, 1, count, out->f32[i] = (float)in->i64[at];)
  } else if (to == ETX_COMPUTE_F32) {
    EACH(i, at, 1, count, out->f32[i] = (float)in->f64[at];)
  } else if (from_integers) {
    EACH(i, at, 1, count, out->f64[i] = (double)in->i64[at];)
  } else {
    EACH(i, at, 1, count, out->f64[i] = (double)in->f32[at];)
  }
}

void etx_block_load(etx_block* block, etx_compute_type compute, etx_dtype dtype,
                    const void* in, ptrdiff_t stride, size_t count) {
  ETX_ASSERT(count <= ETX_BLOCK);
  if (etx_compute_type_of(dtype) == compute) {
    (void)load_own(block, dtype, in, stride, count);
    return;
  }
  etx_block native;
  const etx_compute_type from = load_own(&native, dtype, in, stride, count);
  convert_block(&native, from, block, compute, dtype, count);
}

static void store_integers(const int64_t* restrict in, etx_dtype dtype,
                           void* out, ptrdiff_t stride, size_t count) {
  if (dtype == ETX_DTYPE_BOOL) {
    uint8_t* restrict to = out;
    EACH(i, at, stride, count, to[at] = in[i] != 0;)
    return;
  }
  ETX_SWITCH_INTEGRAL(dtype, T, {
    T* restrict to = out;
    EACH(i, at, stride, count, to[at] = (T)in[i];)
  })
}

static void store_floats(const float* restrict in, etx_dtype dtype, void* out,
                         ptrdiff_t stride, size_t count) {
  float* restrict singles = out;
  uint16_t* restrict halves = out;
  if (dtype == ETX_DTYPE_FLOAT32) {
    EACH(i, at, stride, count, singles[at] = in[i];)
  } else if (ETX_HAS_DTYPE(FLOAT16) && dtype == ETX_DTYPE_FLOAT16) {
    if (stride == 1) {
      etx_half_loops_for_blocks()->write(halves, in, count);
      return;
    }
    STRIDED(i, at, stride, count, halves[at] = etx_half_of_f32(in[i]);)
  } else if (ETX_HAS_DTYPE(BFLOAT16)) {
    if (stride == 1) {
      etx_half_loops_for_blocks()->write_bfloats(halves, in, count);
      return;
    }
    STRIDED(i, at, stride, count, halves[at] = etx_bfloat_of_f32(in[i]);)
  }
}

static void store_doubles(const double* restrict in, void* out,
                          ptrdiff_t stride, size_t count) {
  double* restrict to = out;
  EACH(i, at, stride, count, to[at] = in[i];)
}

void etx_block_store(const etx_block* block, etx_compute_type compute,
                     etx_dtype dtype, void* out, ptrdiff_t stride,
                     size_t count) {
  ETX_ASSERT(count <= ETX_BLOCK);
  const etx_compute_type native = etx_compute_type_of(dtype);
  etx_block changed;
  if (native != compute) {
    convert_block(block, compute, &changed, native, dtype, count);
    block = &changed;
  }
  switch (native) {
    case ETX_COMPUTE_I64:
      store_integers(block->i64, dtype, out, stride, count);
      break;
    case ETX_COMPUTE_F32:
      store_floats(block->f32, dtype, out, stride, count);
      break;
    default:
      store_doubles(block->f64, out, stride, count);
      break;
  }
}

void etx_convert(etx_dtype to, void* out, ptrdiff_t out_stride, etx_dtype from,
                 const void* in, ptrdiff_t in_stride, size_t count) {
  // Halves and contiguous float32 are converted without a block.
  if (to == ETX_DTYPE_FLOAT32 && out_stride == 1 && etx_dtype_is_half(from)) {
    load_floats(out, from, in, in_stride, count);
    return;
  }
  if (from == ETX_DTYPE_FLOAT32 && in_stride == 1 && etx_dtype_is_half(to)) {
    store_floats(in, to, out, out_stride, count);
    return;
  }
  const ptrdiff_t out_step = out_stride * (ptrdiff_t)etx_dtype_bytes(to);
  const ptrdiff_t in_step = in_stride * (ptrdiff_t)etx_dtype_bytes(from);
  char* target = out;
  const char* source = in;
  while (count > 0) {
    const size_t part = count < ETX_BLOCK ? count : ETX_BLOCK;
    etx_block block;
    const etx_compute_type compute =
        load_own(&block, from, source, in_stride, part);
    etx_block_store(&block, compute, to, target, out_stride, part);
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
