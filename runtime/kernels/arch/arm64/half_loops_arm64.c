// Conversions with the instructions that every ARM64 processor has. They round
// as half_float.h does but may change the payload of a NaN, so an array that
// contains a NaN is converted again in plain C.

#include "runtime/kernels/simd/elementwise/half_loops.h"

#include <arm_neon.h>
#include <string.h>

#include "runtime/kernels/simd/elementwise/bfloat_template.h"
#include "runtime/kernels/simd/elementwise/read_bytes_template.h"

enum { EIGHT = 8 };

// All bits set where both are numbers.
static inline uint32x4_t numbers(float32x4_t a, float32x4_t b) {
  return vceqq_f32(a, a) & vceqq_f32(b, b);
}

static inline uint32x4_t read_eight(float* out, const uint16_t* in) {
  const float16x8_t h = vreinterpretq_f16_u16(vld1q_u16(in));
  const float32x4_t low = vcvt_f32_f16(vget_low_f16(h));
  const float32x4_t high = vcvt_high_f32_f16(h);
  vst1q_f32(out, low);
  vst1q_f32(out + EIGHT / 2, high);
  return numbers(low, high);
}

static inline uint32x4_t write_eight(uint16_t* out, const float* in) {
  const float32x4_t low = vld1q_f32(in), high = vld1q_f32(in + EIGHT / 2);
  const float16x8_t h = vcvt_high_f16_f32(vcvt_f16_f32(low), high);
  vst1q_u16(out, vreinterpretq_u16_f16(h));
  return numbers(low, high);
}

//   @read  float16 to float32 | conversion | {EIGHT} elements
static void read_halves(float* restrict out, const uint16_t* restrict in,
                        size_t count) {
  uint32x4_t are_numbers = vdupq_n_u32(UINT32_MAX);
  size_t i = 0;
  for (; i + EIGHT <= count; i += EIGHT)
    are_numbers &= read_eight(out + i, in + i);
  if (i < count) {
    uint16_t last[EIGHT] = {0};
    float wide[EIGHT];
    memcpy(last, in + i, (count - i) * sizeof *in);
    are_numbers &= read_eight(wide, last);
    memcpy(out + i, wide, (count - i) * sizeof *out);
  }
  if (vminvq_u32(are_numbers) == 0) etx_half_loops_base.read(out, in, count);
}

//   @write  float32 to float16 | conversion | {EIGHT} elements
static void write_halves(uint16_t* restrict out, const float* restrict in,
                         size_t count) {
  uint32x4_t are_numbers = vdupq_n_u32(UINT32_MAX);
  size_t i = 0;
  for (; i + EIGHT <= count; i += EIGHT) {
    are_numbers &= write_eight(out + i, in + i);
  }
  if (i < count) {
    float last[EIGHT] = {0};
    uint16_t narrow[EIGHT];
    memcpy(last, in + i, (count - i) * sizeof *in);
    are_numbers &= write_eight(narrow, last);
    memcpy(out + i, narrow, (count - i) * sizeof *out);
  }
  if (vminvq_u32(are_numbers) == 0) etx_half_loops_base.write(out, in, count);
}

static const etx_half_loops loops = {"neon",       read_halves,   write_halves,
                                     read_bfloats, write_bfloats, read_bytes};

const etx_half_loops* etx_half_loops_of(etx_instruction_set set) {
  (void)set;
  return &loops;
}
