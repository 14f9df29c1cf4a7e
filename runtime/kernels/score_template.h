// The loop of score_loops.h. Read once for each instruction set, after
// row_template.h and fused_template.h.
//
// The exponential is 2^n 2^r with |r| <= 1/2. Its argument is rounded once when
// it is multiplied by scale and log2 e, which are one number, and r is not made
// more exact than that: where |n| is large the weight is small beside the
// largest one, 1. The steps of 2^r are fused ones, half as many as a product and
// a sum each.

#include <string.h>

#include "runtime/kernels/lanes.h"
#include "runtime/kernels/loop_unrolled.h"
#include "runtime/kernels/score_loops.h"

typedef int score_truths __attribute__((vector_size(VECTOR_BYTES)));
typedef uint32_t score_bits __attribute__((vector_size(VECTOR_BYTES)));

enum {
  SCORE_PARTS = ETX_SCORE_LANES / ETX_FUSED_LANES,
  SCORE_MANY = 64,  // scores of a row that are written out
};

// The larger of each pair, b if they are not ordered.
static inline __attribute__((always_inline)) etx_fused score_larger(
    etx_fused a, etx_fused b) {
#if VECTOR_BYTES == 64
  return ROW_LARGER(a, b);
#elif VECTOR_BYTES == 32
  return __builtin_ia32_maxps256(a, b);
#else
  const score_truths takes = a > b;
  return (etx_fused)((takes & (score_truths)a) | (~takes & (score_truths)b));
#endif
}

// 2^x. Adding 1.5 * 2^23 + 127 rounds to the nearest whole number n, and leaves the
// exponent's bits of 2^n in the low ones: none for -127. NaN stays what it is.
static inline __attribute__((always_inline)) etx_fused score_power(
    etx_fused x) {
  const etx_fused u = score_larger((etx_fused)ETX_FUSED_ALL(-127.0f), x);
  const etx_fused shifted = u + 12583039.0f;
  const etx_fused r = u - (shifted - 12583039.0f);
  etx_fused q = ETX_FUSED_ALL(0.00132647273f);
  q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(0.00967151299f));
  q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(0.0555073358f));
  q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(0.240222424f));
  q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(0.693147004f));
  q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(1.0f));
  return q * (etx_fused)((score_bits)shifted << 23);
}

static inline __attribute__((always_inline)) float score_largest(
    const float* row, size_t count, float least) {
  etx_fused all[SCORE_PARTS];
  ETX_UNROLLED
  for (int part = 0; part < SCORE_PARTS; ++part) {
    all[part] = (etx_fused)ETX_FUSED_ALL(least);
  }
  for (size_t i = 0; i < count; i += ETX_SCORE_LANES) {
    ETX_UNROLLED
    for (int part = 0; part < SCORE_PARTS; ++part) {
      etx_fused x;
      memcpy(&x, row + i + part * ETX_FUSED_LANES, sizeof x);
      all[part] = score_larger(x, all[part]);
    }
  }
  float lanes[ETX_SCORE_LANES];
  memcpy(lanes, all, sizeof lanes);
  const etx_f32x4 four = etx_f32x4_larger(
      etx_f32x4_larger(etx_f32x4_load(lanes), etx_f32x4_load(lanes + 4)),
      etx_f32x4_larger(etx_f32x4_load(lanes + 8), etx_f32x4_load(lanes + 12)));
  const float a = four[0] > four[1] ? four[0] : four[1];
  const float b = four[2] > four[3] ? four[2] : four[3];
  return a > b ? a : b;
}

static inline __attribute__((always_inline)) void score_weigh(
    float* row, size_t count, float scale, float shift, float factor,
    float* totals) {
  const etx_fused times = ETX_FUSED_ALL(scale), off = ETX_FUSED_ALL(shift);
  etx_fused all[SCORE_PARTS];
  memcpy(all, totals, sizeof all);
  ETX_UNROLLED
  for (int part = 0; part < SCORE_PARTS; ++part) all[part] *= factor;
  for (size_t i = 0; i < count; i += ETX_SCORE_LANES) {
    ETX_UNROLLED
    for (int part = 0; part < SCORE_PARTS; ++part) {
      etx_fused x;
      memcpy(&x, row + i + part * ETX_FUSED_LANES, sizeof x);
      x = score_power((x - off) * times);
      memcpy(row + i + part * ETX_FUSED_LANES, &x, sizeof x);
      all[part] += x;
    }
  }
  memcpy(totals, all, sizeof all);
}

// What is taken off a row's scores, before they are scaled: the largest becomes
// 0 however large it is. Without one (all are NaN or none is seen) anything will
// do.
static inline float score_shift(float largest) {
  return largest == -__builtin_inff() ? 0.0f : largest;
}

// Rows one after the other, in loops of their own: what one of them waits for,
// its largest score, others need not.
static void weigh_scores(const etx_score_rows* given) {
  const etx_score_rows s = *given;  // which results do not change
  // No larger than a number is: the largest score times it is 0.
  const float log2_scale = s.scale * 1.44269504f, most = 3.40282347e38f;
  const float scale = log2_scale > most ? most : log2_scale;
  float* row = s.scores;
  for (size_t r = 0; r < s.rows; ++r, row += s.row) {
    const float before = s.largest[r];
    const float largest = s.count == SCORE_MANY
                              ? score_largest(row, SCORE_MANY, before)
                              : score_largest(row, s.count, before);
    s.factor[r] = (before - score_shift(largest)) * scale;
    s.largest[r] = largest;
  }
  for (size_t r = 0; r < s.rows; r += ETX_FUSED_LANES) {
    etx_fused x;
    memcpy(&x, s.factor + r, sizeof x);
    x = score_power(x);
    memcpy(s.factor + r, &x, sizeof x);
  }
  row = s.scores;
  for (size_t r = 0; r < s.rows; ++r, row += s.row) {
    const float shift = score_shift(s.largest[r]);
    if (s.count == SCORE_MANY) {
      score_weigh(row, SCORE_MANY, scale, shift, s.factor[r], s.totals[r]);
    } else {
      score_weigh(row, s.count, scale, shift, s.factor[r], s.totals[r]);
    }
  }
}
