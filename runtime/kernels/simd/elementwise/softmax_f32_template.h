// The passes of softmax over a row of float32 (softmax_loops.h). Every
// instruction set gives the same bits.
//
//   VECTOR_BYTES  required  bytes of a vector register: 16, 32 or 64

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include <string.h>

#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/simd/elementwise/softmax_loops.h"
#include "runtime/kernels/simd/vector/loop_independent.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/math/math_functions.h"

typedef float line_floats __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t line_masks __attribute__((vector_size(VECTOR_BYTES)));
enum {
  SOFTMAX_SIDE = 16,
  SOFTMAX_LANES = VECTOR_BYTES / 4,
  SOFTMAX_PARTS = SOFTMAX_SIDE / SOFTMAX_LANES,
  SOFTMAX_PART = 256,  // elements that stay in L1 for the second pass
};

//   @scale  float32 | softmax: scale and largest | {SOFTMAX_SIDE} elements
static float softmax_scale(float* out, const float* in, size_t count,
                           float factor, float least) {
  line_floats all[SOFTMAX_PARTS];
  ETX_UNROLLED
  for (int part = 0; part < SOFTMAX_PARTS; ++part) {
    all[part] = least - (line_floats){0};
  }
  size_t i = 0;
  for (; i + SOFTMAX_SIDE <= count; i += SOFTMAX_SIDE) {
    ETX_UNROLLED
    for (int part = 0; part < SOFTMAX_PARTS; ++part) {
      line_floats x;
      memcpy(&x, in + i + part * SOFTMAX_LANES, sizeof(x));
      x *= factor;
      memcpy(out + i + part * SOFTMAX_LANES, &x, sizeof(x));
      const line_masks takes = x > all[part];
      all[part] = (line_floats)((takes & (line_masks)x) |
                                (~takes & (line_masks)all[part]));
    }
  }
  float lanes[SOFTMAX_SIDE], largest = least;
  memcpy(lanes, all, sizeof(lanes));
  const etx_f32x4 four = etx_f32x4_max(
      etx_f32x4_max(etx_f32x4_load(lanes), etx_f32x4_load(lanes + 4)),
      etx_f32x4_max(etx_f32x4_load(lanes + 8), etx_f32x4_load(lanes + 12)));
  for (size_t k = 0; k < 4; ++k) {
    largest = four[k] > largest ? four[k] : largest;
  }
  for (; i < count; ++i) {
    out[i] = in[i] * factor;
    largest = out[i] > largest ? out[i] : largest;
  }
  return largest;
}

// A multiple of SOFTMAX_SIDE elements.
static inline __attribute__((always_inline)) void softmax_exp_whole(
    float* out, const float* in, size_t count, float shift) {
  ETX_INDEPENDENT
  for (size_t i = 0; i < count; ++i) out[i] = etx_exp_f32(in[i] - shift);
}

//   @raise  float32 | softmax: exponential and sum | {SOFTMAX_SIDE} elements
static float softmax_exp(float* out, const float* in, size_t count,
                         float shift) {
  const size_t whole = count / SOFTMAX_SIDE * SOFTMAX_SIDE;
  line_floats all[SOFTMAX_PARTS] = {{0}};
  for (size_t done = 0; done < whole; done += SOFTMAX_PART) {
    const size_t left = whole - done;
    const size_t part = left < SOFTMAX_PART ? left : SOFTMAX_PART;
    softmax_exp_whole(out + done, in + done, part, shift);
    for (size_t i = done; i < done + part; i += SOFTMAX_SIDE) {
      ETX_UNROLLED
      for (int k = 0; k < SOFTMAX_PARTS; ++k) {
        line_floats x;
        memcpy(&x, out + i + k * SOFTMAX_LANES, sizeof(x));
        all[k] += x;
      }
    }
  }
  float last[SOFTMAX_SIDE] = {0}, lanes[SOFTMAX_SIDE];
  const size_t rest = count - whole;
  memcpy(last, in + whole, rest * sizeof(float));
  if (rest > 0) softmax_exp_whole(last, last, SOFTMAX_SIDE, shift);
  memcpy(out + whole, last, rest * sizeof(float));
  memcpy(lanes, all, sizeof(lanes));
  return etx_striped_sum_tail_f32(
      etx_f32x4_load(lanes), etx_f32x4_load(lanes + 4),
      etx_f32x4_load(lanes + 8), etx_f32x4_load(lanes + 12), last, rest);
}
