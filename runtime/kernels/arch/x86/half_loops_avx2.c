// Conversions with F16C. They round as half_float.h does but may change the
// payload of a NaN, so an array that contains a NaN is converted again in plain
// C.

#include "runtime/kernels/arch/x86/half_loops_sets_x86.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/kernels/simd/elementwise/bfloat_template.h"
#include "runtime/kernels/simd/elementwise/read_bytes_template.h"

enum { EIGHT = 8 };

// The types that the compilers' builtins take. Builtins, because <immintrin.h>
// includes heap functions.
typedef float floats __attribute__((vector_size(32)));
typedef short halves __attribute__((vector_size(16)));
typedef int32_t flags __attribute__((vector_size(32)));

static inline bool is_any(flags f) {
  return __builtin_ia32_movmskps256((floats)f) != 0;
}

// Both return whether an element is NaN.
static inline flags read_eight(float* out, const uint16_t* in) {
  halves h;
  memcpy(&h, in, sizeof h);
  const floats x = __builtin_ia32_vcvtph2ps256(h);
  memcpy(out, &x, sizeof x);
  return x != x;
}

// 0: round to nearest, halves to even.
static inline flags write_eight(uint16_t* out, const float* in) {
  floats x;
  memcpy(&x, in, sizeof x);
  const halves h = __builtin_ia32_vcvtps2ph256(x, 0);
  memcpy(out, &h, sizeof h);
  return x != x;
}

//   @read  float16 to float32 | conversion | {EIGHT} elements
static void read_halves(float* restrict out, const uint16_t* restrict in,
                        size_t count) {
  flags nans = {0};
  size_t i = 0;
  for (; i + EIGHT <= count; i += EIGHT) nans |= read_eight(out + i, in + i);
  if (i < count) {
    uint16_t last[EIGHT] = {0};
    float wide[EIGHT];
    memcpy(last, in + i, (count - i) * sizeof *in);
    nans |= read_eight(wide, last);
    memcpy(out + i, wide, (count - i) * sizeof *out);
  }
  if (is_any(nans)) etx_half_loops_base.read(out, in, count);
}

//   @write  float32 to float16 | conversion | {EIGHT} elements
static void write_halves(uint16_t* restrict out, const float* restrict in,
                         size_t count) {
  flags nans = {0};
  size_t i = 0;
  for (; i + EIGHT <= count; i += EIGHT) nans |= write_eight(out + i, in + i);
  if (i < count) {
    float last[EIGHT] = {0};
    uint16_t narrow[EIGHT];
    memcpy(last, in + i, (count - i) * sizeof *in);
    nans |= write_eight(narrow, last);
    memcpy(out + i, narrow, (count - i) * sizeof *out);
  }
  if (is_any(nans)) etx_half_loops_base.write(out, in, count);
}

const etx_half_loops etx_half_loops_avx2 = {
    "avx2", read_halves, write_halves, read_bfloats, write_bfloats, read_bytes};
