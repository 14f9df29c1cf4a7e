// The loops over a line of line_loops.h. Read once for each instruction set:
// VECTOR_BYTES is the size of a vector register. Every set gives the same bits.

#include <stdbool.h>
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
  LINE_ROWS = VECTOR_BYTES == 64 ? 4 : 2,  // that are summed side by side
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

// The sum of partial ones and of the last elements, less than LINE_SIDE, in the
// order of etx_sum_f32: whole fours are in the first partial sums.
static __attribute__((noinline)) float line_total(
    const line_floats all[LINE_PARTS], const float* last, size_t count,
    float mean, bool of_squares) {
  float lanes[LINE_SIDE], rest = 0;
  size_t i = 0;
  memcpy(lanes, all, sizeof(lanes));
  etx_f32x4 first = etx_f32x4_load(lanes);
  for (; i + 4 <= count; i += 4) {
    const etx_f32x4 x = etx_f32x4_load(last + i), p = x - mean;
    first += of_squares ? p * p : x;
  }
  for (; i < count; ++i) {
    // A few turns, which compilers make a long loop of without it.
    __asm__ volatile("");
    const float p = last[i] - mean;
    rest += of_squares ? p * p : last[i];
  }
  return etx_f32x4_total(first, etx_f32x4_load(lanes + 4),
                         etx_f32x4_load(lanes + 8),
                         etx_f32x4_load(lanes + 12)) +
         rest;
}

// Of each of LINE_ROWS rows, the sum of x - mean squared, or of x.
static inline __attribute__((always_inline)) void sum_lines(
    const float* const rows[LINE_ROWS], size_t count,
    const float means[LINE_ROWS], bool of_squares, float sums[LINE_ROWS]) {
  line_floats all[LINE_ROWS][LINE_PARTS] = {{{0}}};
  const size_t whole = count / LINE_SIDE * LINE_SIDE;
  for (size_t i = 0; i < whole; i += LINE_SIDE) {
    ETX_UNROLLED
    for (int r = 0; r < LINE_ROWS; ++r) {
      ETX_UNROLLED
      for (int part = 0; part < LINE_PARTS; ++part) {
        line_floats p;
        memcpy(&p, rows[r] + i + part * LINE_LANES, sizeof(p));
        if (of_squares) {
          p -= means[r];
          p *= p;
        }
        all[r][part] += p;
      }
    }
  }
  for (int r = 0; r < LINE_ROWS; ++r) {
    sums[r] = line_total(all[r], rows[r] + whole, count - whole, means[r],
                         of_squares);
  }
}

static __attribute__((noinline)) void write_normal(
    const float* in, float* out, const float* weight, const float* bias,
    size_t count, float mean, float scale) {
  size_t i = 0;
  for (; i + LINE_LANES <= count; i += LINE_LANES) {
    line_floats x, factor, added;
    memcpy(&x, in + i, sizeof(x));
    memcpy(&factor, weight + i, sizeof(factor));
    memcpy(&added, bias + i, sizeof(added));
    x = (x - mean) * scale * factor + added;
    memcpy(out + i, &x, sizeof(x));
  }
  for (; i < count; ++i) {
    __asm__ volatile("");  // likewise
    out[i] = (in[i] - mean) * scale * weight[i] + bias[i];
  }
}

// Some rows at a time: one after the other, their sums would wait for each step
// of their own. The last row is summed more than once if need be.
static void normalize_lines(const etx_line_norm* given) {
  const etx_line_norm n = *given;  // which results do not change
  const float count = (float)n.count;
  for (size_t row = 0; row < n.rows; row += LINE_ROWS) {
    const size_t left = n.rows - row;
    const float* rows[LINE_ROWS];
    float means[LINE_ROWS] = {0}, squares[LINE_ROWS];
    for (size_t r = 0; r < LINE_ROWS; ++r) {
      rows[r] = n.in + (row + (r < left ? r : left - 1)) * n.count;
    }
    sum_lines(rows, n.count, means, false, means);
    for (size_t r = 0; r < LINE_ROWS; ++r) means[r] /= count;
    sum_lines(rows, n.count, means, true, squares);
    for (size_t r = 0; r < LINE_ROWS && r < left; ++r) {
      const float variance = squares[r] / count;
      const float scale = 1.0f / etx_sqrt_f32(variance + n.eps);
      write_normal(rows[r], n.out + (row + r) * n.count, n.weight, n.bias,
                   n.count, means[r], scale);
      // In PyTorch the mean of a row with an infinity is NaN.
      n.means[row + r] = variance != variance ? variance : means[r];
      n.scales[row + r] = scale;
    }
  }
}
