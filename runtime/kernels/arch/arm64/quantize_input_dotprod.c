// Quantises rows of floats to bytes.

#include "runtime/kernels/arch/arm64/int8_dot_loops_dotprod.h"

#include "runtime/kernels/arch/arm64/int8_dot_dotprod_template.h"

// ------------------------------------------------ the range

// FMIN and FMAX give NaN if an operand is NaN.
typedef struct dotprod_extent {
  float32x4_t low, high;
} dotprod_extent;

static inline void extend(dotprod_extent* e, float32x4_t x) {
  e->low = vminq_f32(e->low, x);
  e->high = vmaxq_f32(e->high, x);
}

static inline void extend_by(dotprod_extent* e, const float* x, size_t count) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) extend(e, vld1q_f32(x + i));
  for (; i < count; ++i) extend(e, vdupq_n_f32(x[i]));
}

static inline void range_of(const dotprod_extent* e, float* low, float* high) {
  *low = vminvq_f32(e->low);
  *high = vmaxvq_f32(e->high);
}

void etx_int8_range_dotprod(const float* x, size_t count, float* low,
                            float* high) {
  enum { CHAINS = 4 };
  dotprod_extent e[CHAINS] = {{vdupq_n_f32(0), vdupq_n_f32(0)}};
  ETX_UNROLLED
  for (size_t c = 1; c < CHAINS; ++c) e[c] = e[0];
  size_t i = 0;
  for (; i + CHAINS * LANES <= count; i += CHAINS * LANES) {
    ETX_UNROLLED
    for (size_t c = 0; c < CHAINS; ++c) {
      extend(&e[c], vld1q_f32(x + i + c * LANES));
    }
  }
  ETX_UNROLLED
  for (size_t c = 1; c < CHAINS; ++c) {
    extend(&e[0], e[c].low);
    extend(&e[0], e[c].high);
  }
  extend_by(&e[0], x + i, count - i);
  range_of(&e[0], low, high);
}

// ------------------------------------------------ bytes

// Rounds to the nearest integer, halves to even, and clamps to int8: narrowing
// conversions with saturation do the clamping.
static inline int32x2_t whole_of(float64x2_t x, double inverse, double zero) {
  const float64x2_t y = vaddq_f64(vmulq_n_f64(x, inverse), vdupq_n_f64(zero));
  return vqmovn_s64(vcvtnq_s64_f64(y));
}

static inline int32x4_t whole_four(float32x4_t x, double inverse, double zero) {
  return vcombine_s32(whole_of(vcvt_f64_f32(vget_low_f32(x)), inverse, zero),
                      whole_of(vcvt_high_f64_f32(x), inverse, zero));
}

static inline int8x8_t quantize_eight(const float* x, double inverse,
                                      double zero) {
  const int16x4_t low = vqmovn_s32(whole_four(vld1q_f32(x), inverse, zero));
  const int16x4_t high =
      vqmovn_s32(whole_four(vld1q_f32(x + LANES), inverse, zero));
  return vqmovn_s16(vcombine_s16(low, high));
}

// One element at a time, also NaN. There is no NaN if `inverse` is above 0,
// because it comes from the row's range.
static void quantize_any(const float* x, size_t count, double inverse,
                         double zero, int8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    const double y = (double)x[i] * inverse + zero;
    const double input = y == y ? y : zero;
    out[i] = vqmovnh_s16(vqmovns_s32(vqmovnd_s64(vcvtnd_s64_f64(input))));
  }
}

void etx_int8_quantize_dotprod(const float* x, size_t count, double inverse,
                               double zero, uint8_t* out) {
  int8_t* to = (int8_t*)out;
  size_t i = 0;
  for (; inverse > 0 && i + 8 <= count; i += 8) {
    vst1_s8(to + i, quantize_eight(x + i, inverse, zero));
  }
  quantize_any(x + i, count - i, inverse, zero, to + i);
}

void etx_int8_quantize_and_range_dotprod(const etx_int8_quantize* quantize,
                                         const float* other, float* low,
                                         float* high) {
  const etx_int8_quantize* q = quantize;
  etx_int8_quantize_dotprod(q->x, q->count, q->inverse, q->zero, q->out);
  etx_int8_range_dotprod(other, q->count, low, high);
}

// Reorders each 32 bytes: the even ones, then the odd ones. That is the order
// of the low and high halves of a register of weights.
void etx_int4_order_dotprod(uint8_t* row, size_t count) {
  for (size_t k = 0; k < count; k += 2 * BYTES, row += 2 * BYTES) {
    const uint8x16x2_t v = vld2q_u8(row);
    vst1q_u8(row, v.val[0]);
    vst1q_u8(row + BYTES, v.val[1]);
  }
}
