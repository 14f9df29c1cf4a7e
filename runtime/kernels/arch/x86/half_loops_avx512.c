// Conversions with AVX-512, sixteen elements at a time. They round as
// half_float.h does but may change the payload of a NaN, so an array that
// contains a NaN is converted again in plain C. Lengths that are no multiple of
// sixteen end with the loops of AVX2.

#include <string.h>

#include "runtime/kernels/arch/x86/half_loops_sets_x86.h"
#include "runtime/kernels/simd/elementwise/bfloat_template.h"
#include "runtime/kernels/simd/elementwise/read_bytes_template.h"

enum { SIXTEEN = 16, UNORDERED = 3, TO_NEAREST_EVEN = 0, DIRECTION = 4 };

#define ALL_LANES 0xffff
#ifdef __clang__
#define ALL_HALVES ALL_LANES
#else
#define ALL_HALVES (short)-1  // gcc's type of this mask is signed
#endif

// The types that the compilers' builtins take. Builtins, because <immintrin.h>
// includes heap functions.
typedef float wide_floats __attribute__((vector_size(64)));
typedef short wide_halves __attribute__((vector_size(32)));

// Not 0 if an element of x or y is NaN: one comparison tests two vectors.
static inline int has_nan(wide_floats x, wide_floats y) {
  return __builtin_ia32_cmpps512_mask(x, y, UNORDERED, ALL_LANES, DIRECTION);
}

static inline wide_floats read_sixteen(float* out, const uint16_t* in) {
  wide_halves h;
  memcpy(&h, in, sizeof h);
  const wide_floats x = __builtin_ia32_vcvtph2ps512_mask(h, (wide_floats){0},
                                                         ALL_HALVES, DIRECTION);
  memcpy(out, &x, sizeof x);
  return x;
}

static inline wide_floats write_sixteen(uint16_t* out, const float* in) {
  wide_floats x;
  memcpy(&x, in, sizeof x);
  const wide_halves h = __builtin_ia32_vcvtps2ph512_mask(
      x, TO_NEAREST_EVEN, (wide_halves){0}, ALL_LANES);
  memcpy(out, &h, sizeof h);
  return x;
}

//   @read  float16 to float32 | conversion | {2 * SIXTEEN} elements
static void read_halves(float* restrict out, const uint16_t* restrict in,
                        size_t count) {
  int nans = 0;
  size_t i = 0;
  for (; i + 2 * SIXTEEN <= count; i += 2 * SIXTEEN) {
    const wide_floats x = read_sixteen(out + i, in + i);
    nans |= has_nan(x, read_sixteen(out + i + SIXTEEN, in + i + SIXTEEN));
  }
  if (nans != 0) etx_half_loops_base.read(out, in, i);
  if (i < count) etx_half_loops_avx2.read(out + i, in + i, count - i);
}

//   @write  float32 to float16 | conversion | {2 * SIXTEEN} elements
static void write_halves(uint16_t* restrict out, const float* restrict in,
                         size_t count) {
  int nans = 0;
  size_t i = 0;
  for (; i + 2 * SIXTEEN <= count; i += 2 * SIXTEEN) {
    const wide_floats x = write_sixteen(out + i, in + i);
    nans |= has_nan(x, write_sixteen(out + i + SIXTEEN, in + i + SIXTEEN));
  }
  if (nans != 0) etx_half_loops_base.write(out, in, i);
  if (i < count) etx_half_loops_avx2.write(out + i, in + i, count - i);
}

const etx_half_loops etx_half_loops_avx512 = {"avx512",      read_halves,
                                              write_halves,  read_bfloats,
                                              write_bfloats, read_bytes};
