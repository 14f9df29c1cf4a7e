// The loops over a line of line_loops.h. Read once for each instruction set:
// VECTOR_BYTES is the size of a vector register. Every set gives the same bits.

#include <string.h>

#include "runtime/kernels/lanes.h"
#include "runtime/kernels/line_loops.h"
#include "runtime/kernels/loop_independent.h"
#include "runtime/kernels/loop_unrolled.h"
#include "runtime/kernels/math_functions.h"

typedef float line_floats __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t line_truths __attribute__((vector_size(VECTOR_BYTES)));
enum {
  LINE_SIDE = 16,
  LINE_LANES = VECTOR_BYTES / 4,
  LINE_PARTS = LINE_SIDE / LINE_LANES,
  LINE_PART = 256,  // elements that are in the first cache for a second look
};

static float scale_line(float* out, const float* in, size_t count, float factor,
                        float least) {
  line_floats all[LINE_PARTS];
  ETX_UNROLLED
  for (int part = 0; part < LINE_PARTS; ++part) {
    all[part] = least - (line_floats){0};
  }
  size_t i = 0;
  for (; i + LINE_SIDE <= count; i += LINE_SIDE) {
    ETX_UNROLLED
    for (int part = 0; part < LINE_PARTS; ++part) {
      line_floats x;
      memcpy(&x, in + i + part * LINE_LANES, sizeof(x));
      x *= factor;
      memcpy(out + i + part * LINE_LANES, &x, sizeof(x));
      const line_truths takes = x > all[part];
      all[part] = (line_floats)((takes & (line_truths)x) |
                                (~takes & (line_truths)all[part]));
    }
  }
  float lanes[LINE_SIDE], largest = least;
  memcpy(lanes, all, sizeof(lanes));
  const etx_f32x4 four = etx_f32x4_larger(
      etx_f32x4_larger(etx_f32x4_load(lanes), etx_f32x4_load(lanes + 4)),
      etx_f32x4_larger(etx_f32x4_load(lanes + 8), etx_f32x4_load(lanes + 12)));
  for (size_t k = 0; k < 4; ++k) {
    largest = four[k] > largest ? four[k] : largest;
  }
  for (; i < count; ++i) {
    out[i] = in[i] * factor;
    largest = out[i] > largest ? out[i] : largest;
  }
  return largest;
}

// A multiple of LINE_SIDE elements.
static inline __attribute__((always_inline)) void raise_whole(float* out,
                                                              const float* in,
                                                              size_t count,
                                                              float shift) {
  ETX_INDEPENDENT
  for (size_t i = 0; i < count; ++i) out[i] = etx_exp_f32(in[i] - shift);
}

static float raise_line(float* out, const float* in, size_t count,
                        float shift) {
  const size_t whole = count / LINE_SIDE * LINE_SIDE;
  line_floats all[LINE_PARTS] = {{0}};
  for (size_t done = 0; done < whole; done += LINE_PART) {
    const size_t left = whole - done;
    const size_t part = left < LINE_PART ? left : LINE_PART;
    raise_whole(out + done, in + done, part, shift);
    for (size_t i = done; i < done + part; i += LINE_SIDE) {
      ETX_UNROLLED
      for (int k = 0; k < LINE_PARTS; ++k) {
        line_floats x;
        memcpy(&x, out + i + k * LINE_LANES, sizeof(x));
        all[k] += x;
      }
    }
  }
  float last[LINE_SIDE] = {0}, lanes[LINE_SIDE];
  const size_t rest = count - whole;
  memcpy(last, in + whole, rest * sizeof(float));
  if (rest > 0) raise_whole(last, last, LINE_SIDE, shift);
  memcpy(out + whole, last, rest * sizeof(float));
  memcpy(lanes, all, sizeof(lanes));
  return etx_sum_last_f32(etx_f32x4_load(lanes), etx_f32x4_load(lanes + 4),
                          etx_f32x4_load(lanes + 8),
                          etx_f32x4_load(lanes + 12), last, rest);
}
