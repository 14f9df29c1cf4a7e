// Online softmax of attention (attention_scores.h). Include after
// exp2_template.h.
//
// The shift of a row is rounded, but the rounded value is subtracted exactly
// (by an FMA) from the whole row, so its rounding error cancels when the sums
// are divided by the totals; the factors are computed from the rounded shifts,
// too. Beyond ETX_ATTENTION_SCORE_FAR the error would exceed the range of the
// power of two.
//
//   VECTOR_BYTES          required  bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)  required  a * b + c, rounded once: f32_vec_template.h
//   ETX_F32_MAX(a, b)     required  the larger of each pair: f32_vec_template.h

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA) || !defined(ETX_F32_MAX)
#error "this header needs the macros of its table"
#endif

#include <string.h>

#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/f32/attention_scores.h"

enum {
  SCORE_PARTS = ETX_ATTENTION_SCORE_LANES / ETX_F32_LANES,
  SCORE_MANY = 64,  // scores of a row that are written out
};

#define SCORE_NONE (-__builtin_inff())  // smaller than or equal to any score

// NaN stays what it is.
static inline __attribute__((always_inline)) etx_f32_vec score_power(
    etx_f32_vec x) {
  const etx_f32_vec least = ETX_F32_BROADCAST(ETX_EXP2_MIN);
  return etx_f32_vec_exp2(ETX_F32_MAX(least, x));
}

// The larger of the neighbours in a, and then of those in b.
static inline __attribute__((always_inline)) etx_f32_vec score_halved(
    etx_f32_vec a, etx_f32_vec b) {
  return ETX_F32_MAX(ETX_F32_EVEN(a, b), ETX_F32_ODD(a, b));
}

// Lane by lane, the largest of a row's vectors: no NaN.
static inline __attribute__((always_inline)) etx_f32_vec score_lanes(
    const float* row, size_t count) {
  etx_f32_vec largest = ETX_F32_BROADCAST(SCORE_NONE);
  for (size_t i = 0; i < count; i += ETX_ATTENTION_SCORE_LANES) {
    ETX_UNROLLED
    for (int part = 0; part < SCORE_PARTS; ++part) {
      etx_f32_vec x;
      memcpy(&x, row + i + part * ETX_F32_LANES, sizeof x);
      largest = ETX_F32_MAX(x, largest);
    }
  }
  return largest;
}

// The largest of each of `rows` rows, one a lane.
static inline __attribute__((always_inline)) etx_f32_vec score_largest(
    const float* row, ptrdiff_t step, size_t rows, size_t count) {
  etx_f32_vec all[ETX_F32_LANES];
  if (count == SCORE_MANY && rows == ETX_F32_LANES) {
    ETX_UNROLLED_16
    for (size_t r = 0; r < ETX_F32_LANES; ++r) {
      all[r] = score_lanes(row + (ptrdiff_t)r * step, SCORE_MANY);
    }
  } else {
    for (size_t r = 0; r < ETX_F32_LANES; ++r) {
      const ptrdiff_t at = r < rows ? (ptrdiff_t)r * step : 0;
      all[r] = score_lanes(row + at, r < rows ? count : 0);
    }
  }
#if VECTOR_BYTES == 64
  ETX_UNROLLED
  for (int r = 0; r < 8; ++r) all[r] = score_halved(all[2 * r], all[2 * r + 1]);
#endif
#if VECTOR_BYTES >= 32
  ETX_UNROLLED
  for (int r = 0; r < 4; ++r) all[r] = score_halved(all[2 * r], all[2 * r + 1]);
#endif
  const etx_f32_vec low = score_halved(all[0], all[1]);
  return score_halved(low, score_halved(all[2], all[3]));
}

static inline __attribute__((always_inline)) etx_f32_vec_mask score_is_near(
    etx_f32_vec shift) {
  return (shift <= ETX_ATTENTION_SCORE_FAR) &
         (shift >= -ETX_ATTENTION_SCORE_FAR);
}

// Computes the shifts and factors of some rows from `r` on with these maxima. A
// row without a maximum (all scores are NaN or masked) is not shifted. Small
// shifts are rounded products, large ones are exact; the same holds for the
// shifts before.
static inline __attribute__((always_inline)) void score_shifts(
    const etx_attention_score_rows* s, size_t r, etx_f32_vec largest,
    float scale) {
  const etx_f32_vec zero = {0}, times = ETX_F32_BROADCAST(scale);
  etx_f32_vec before;
  memcpy(&before, s->largest + r, sizeof before);
  // 0, not -0, in whatever order they were compared.
  largest = ETX_F32_MAX(largest, before) + 0.0f;
  const etx_f32_vec growth = (largest - before) * times;
  largest =
      etx_f32_vec_select(largest, before, growth > ETX_ATTENTION_SCORE_GROWTH);
  memcpy(s->largest + r, &largest, sizeof largest);
  const etx_f32_vec input =
      etx_f32_vec_select(largest, zero, largest > SCORE_NONE);
  const etx_f32_vec shift = input * times, was = before * times;
  const etx_f32_vec_mask was_near = score_is_near(was);
  const etx_f32_vec to_near = etx_f32_vec_select(
      was - shift, ETX_F32_FMA(before, times, -shift), was_near);
  const etx_f32_vec to_far = etx_f32_vec_select(
      -ETX_F32_FMA(input, times, -was), (before - input) * times, was_near);
  const etx_f32_vec factor =
      score_power(etx_f32_vec_select(to_near, to_far, score_is_near(shift)));
  memcpy(s->factor + r, &factor, sizeof factor);
  memcpy(s->shift + r, &shift, sizeof shift);
}

static inline __attribute__((always_inline)) void score_weigh(
    float* row, size_t count, float scale, float shift, float factor,
    float* totals) {
  const etx_f32_vec times = ETX_F32_BROADCAST(scale),
                    off = ETX_F32_BROADCAST(-shift);
  etx_f32_vec all[SCORE_PARTS];
  memcpy(all, totals, sizeof all);
  ETX_UNROLLED
  for (int part = 0; part < SCORE_PARTS; ++part) all[part] *= factor;
  for (size_t i = 0; i < count; i += ETX_ATTENTION_SCORE_LANES) {
    ETX_UNROLLED
    for (int part = 0; part < SCORE_PARTS; ++part) {
      etx_f32_vec x;
      memcpy(&x, row + i + part * ETX_F32_LANES, sizeof x);
      x = score_power(ETX_F32_FMA(x, times, off));
      memcpy(row + i + part * ETX_F32_LANES, &x, sizeof x);
      all[part] += x;
    }
  }
  memcpy(totals, all, sizeof all);
}

// Rows one after the other, in loops of their own: what some of them wait for,
// their largest scores, others need not.
//
//   @attention_weights  float32 | attention scores to online softmax weights |
//     {ETX_ATTENTION_SCORE_LANES} scores of a row, the largest of
//     {ETX_F32_LANES} rows
static void attention_weights(const etx_attention_score_rows* given) {
  const etx_attention_score_rows s = *given;  // which results do not change
  // No larger than a number is: a difference of 0 times it is 0.
  const float log2_scale = s.scale * 1.44269504f, most = 3.40282347e38f;
  const float scale = log2_scale > most ? most : log2_scale;
  for (size_t r = 0; r < s.rows; r += ETX_F32_LANES) {
    const size_t left = s.rows - r;
    const size_t rows = left < ETX_F32_LANES ? left : ETX_F32_LANES;
    const float* const first = s.scores + (ptrdiff_t)r * s.row;
    score_shifts(&s, r, score_largest(first, s.row, rows, s.count), scale);
  }
  float* row = s.scores;
  for (size_t r = 0; r < s.rows; ++r, row += s.row) {
    float shift = s.shift[r];
    if (!(shift <= ETX_ATTENTION_SCORE_FAR &&
          shift >= -ETX_ATTENTION_SCORE_FAR)) {
      for (size_t i = 0; i < s.count; ++i) row[i] -= s.largest[r];
      shift = 0;
    }
    if (s.count == SCORE_MANY) {
      score_weigh(row, SCORE_MANY, scale, shift, s.factor[r], s.totals[r]);
    } else {
      score_weigh(row, s.count, scale, shift, s.factor[r], s.totals[r]);
    }
  }
}
