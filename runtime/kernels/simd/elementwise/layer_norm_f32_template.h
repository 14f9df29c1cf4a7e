// Layer normalisation of rows of float32 (etx_layer_norm_rows). Include after
// softmax_f32_template.h, for vectors of at most 32 bytes: rows are short, and
// 64 bytes are no faster. No parameters.

#include <stdbool.h>

enum { NORM_ROWS = 2 };  // rows that are summed at the same time

// The sum of a row from its partial sums `all` and its last `count` elements,
// fewer than SOFTMAX_SIDE, in the order of etx_striped_sum_f32: groups of four
// elements are added to the first four partial sums. With of_squares, the sum
// of (x - mean)^2.
static __attribute__((noinline)) float line_total(
    const line_floats all[SOFTMAX_PARTS], const float* last, size_t count,
    float mean, bool of_squares) {
  float lanes[SOFTMAX_SIDE], rest = 0;
  size_t i = 0;
  memcpy(lanes, all, sizeof(lanes));
  etx_f32x4 first = etx_f32x4_load(lanes);
  for (; i + 4 <= count; i += 4) {
    const etx_f32x4 x = etx_f32x4_load(last + i), p = x - mean;
    first += of_squares ? p * p : x;
  }
  for (; i < count; ++i) {
    // Keeps compilers from vectorising a loop of at most three rounds.
    __asm__ volatile("");
    const float p = last[i] - mean;
    rest += of_squares ? p * p : last[i];
  }
  return etx_f32x4_sum(first, etx_f32x4_load(lanes + 4),
                       etx_f32x4_load(lanes + 8), etx_f32x4_load(lanes + 12)) +
         rest;
}

// The sum of each of NORM_ROWS rows: of (x - mean)^2 with of_squares, else of
// x.
static inline __attribute__((always_inline)) void sum_lines(
    const float* const rows[NORM_ROWS], size_t count,
    const float means[NORM_ROWS], bool of_squares, float sums[NORM_ROWS]) {
  line_floats all[NORM_ROWS][SOFTMAX_PARTS] = {{{0}}};
  const size_t whole = count / SOFTMAX_SIDE * SOFTMAX_SIDE;
  for (size_t i = 0; i < whole; i += SOFTMAX_SIDE) {
    ETX_UNROLLED
    for (int r = 0; r < NORM_ROWS; ++r) {
      ETX_UNROLLED
      for (int part = 0; part < SOFTMAX_PARTS; ++part) {
        line_floats p;
        memcpy(&p, rows[r] + i + part * SOFTMAX_LANES, sizeof(p));
        if (of_squares) {
          p -= means[r];
          p *= p;
        }
        all[r][part] += p;
      }
    }
  }
  for (int r = 0; r < NORM_ROWS; ++r) {
    sums[r] = line_total(all[r], rows[r] + whole, count - whole, means[r],
                         of_squares);
  }
}

static __attribute__((noinline)) void write_normal(const etx_layer_norm_rows* n,
                                                   const float* in, float* out,
                                                   float mean, float scale) {
  const float *weight = n->weight, *bias = n->bias;
  const size_t count = n->count;
  size_t i = 0;
  for (; i + SOFTMAX_LANES <= count; i += SOFTMAX_LANES) {
    line_floats x, factor, added;
    memcpy(&x, in + i, sizeof(x));
    memcpy(&factor, weight + i, sizeof(factor));
    memcpy(&added, bias + i, sizeof(added));
    x = (x - mean) * scale * factor + added;
    memcpy(out + i, &x, sizeof(x));
  }
  for (; i < count; ++i) {
    __asm__ volatile("");  // a short loop, as in line_total
    out[i] = (in[i] - mean) * scale * weight[i] + bias[i];
  }
}

// Takes NORM_ROWS rows at a time, to hide the latency of the sums. If the
// number of rows is odd, the last row is summed twice.
//
//   @normalize  float32 | layer normalisation of rows | {NORM_ROWS} rows x
//     {SOFTMAX_SIDE} elements
static void layer_norm_rows(const etx_layer_norm_rows* given) {
  const etx_layer_norm_rows n =
      *given;  // a copy, which writing results cannot change
  const float count = (float)n.count;
  for (size_t row = 0; row < n.rows; row += NORM_ROWS) {
    const size_t left = n.rows - row;
    const float* rows[NORM_ROWS];
    float means[NORM_ROWS] = {0}, squares[NORM_ROWS];
    for (size_t r = 0; r < NORM_ROWS; ++r) {
      rows[r] = n.in + (row + (r < left ? r : left - 1)) * n.count;
    }
    sum_lines(rows, n.count, means, false, means);
    for (size_t r = 0; r < NORM_ROWS; ++r) means[r] /= count;
    sum_lines(rows, n.count, means, true, squares);
    for (size_t r = 0; r < NORM_ROWS && r < left; ++r) {
      const float variance = squares[r] / count;
      const float scale = 1.0f / etx_sqrt_f32(variance + n.eps);
      write_normal(&n, rows[r], n.out + (row + r) * n.count, means[r], scale);
      // In PyTorch the mean of a row with an infinity is NaN.
      n.means[row + r] = variance != variance ? variance : means[r];
      n.scales[row + r] = scale;
    }
  }
}
