// Depthwise convolution of rows of one channel, with bias, addition and clamp
// (etx_depthwise_row). Include after f32_vec_template.h and
// row_copy_template.h.
//
// A few vectors of a row are summed in registers at a time: sums of different
// vectors do not wait for each other, which hides the latency of an FMA. The
// last vector of a row overlaps the one before it, so nothing behind the row is
// written.
//
//   VECTOR_BYTES                  required
//       bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)          required
//       a * b + c, rounded once: f32_vec_template.h
//   ROW_LOAD_SOME(from, lanes)    optional
//       loads some lanes, row_copy_template.h; needed if VECTOR_BYTES is 64
//   ROW_STORE_SOME(to, x, lanes)  optional
//       the same for stores

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA)
#error "this header needs the macros of its table"
#endif

#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/f32/conv_microkernels.h"

enum {
  DEPTHWISE_ROW_LANES = ETX_F32_LANES,
  DEPTHWISE_ROW_VECTORS = 4,
  DEPTHWISE_ROW_TAPS = 9,  // taps whose weights stay in registers
};

ROW_FINISH(finish_plane, etx_f32_vec, clamp_piece)

#if VECTOR_BYTES == 64
// The same for some lanes; other lanes of `added` and `out` are not accessed.
static inline __attribute__((always_inline)) void finish_some(
    const etx_row_store* s, const etx_f32_vec* sums, const float* added,
    float* out, row_lanes lanes) {
  etx_f32_vec x;
  if (added == NULL) {
    finish_plane(s, sums, NULL, (float*)&x);
  } else {
    const etx_f32_vec other = ROW_LOAD_SOME(added, lanes);
    finish_plane(s, sums, (const float*)&other, (float*)&x);
  }
  ROW_STORE_SOME(out, x, lanes);
}
#endif

// Vectors of a row: those from `first` on, the last of them at `last`.
typedef struct depthwise_row_span {
  size_t first, last, vectors;
} depthwise_row_span;

static inline __attribute__((always_inline)) size_t depthwise_row_at(
    depthwise_row_span s, size_t v) {
  return v + 1 == s.vectors ? s.last : s.first + v * DEPTHWISE_ROW_LANES;
}

static inline __attribute__((always_inline)) void depthwise_row_tap(
    const etx_f32_vec* weight, const float* from, depthwise_row_span s,
    etx_f32_vec* sums) {
  ETX_UNROLLED
  for (size_t v = 0; v < s.vectors; ++v) {
    etx_f32_vec x;
    memcpy(&x, from + depthwise_row_at(s, v), sizeof x);
    sums[v] = ETX_F32_FMA(*weight, x, sums[v]);
  }
}

static inline __attribute__((always_inline)) void depthwise_row_block(
    const etx_depthwise_row* p, const etx_f32_vec* weights, const float* input,
    const float* added, float* out, depthwise_row_span s) {
  etx_f32_vec sums[DEPTHWISE_ROW_VECTORS] = {{0}};
  if (weights != NULL) {
    ETX_UNROLLED
    for (size_t i = 0; i < DEPTHWISE_ROW_TAPS; i += 3) {
      ETX_UNROLLED
      for (size_t k = i; k < i + 3; ++k) {
        depthwise_row_tap(&weights[k], input + p->offsets[k], s, sums);
      }
    }
  } else {
    for (size_t k = 0; k < p->taps; ++k) {
      const etx_f32_vec weight = (etx_f32_vec){0} + p->weights[k];
      depthwise_row_tap(&weight, input + p->offsets[k], s, sums);
    }
  }
  ETX_UNROLLED
  for (size_t v = 0; v < s.vectors; ++v) {
    const size_t at = depthwise_row_at(s, v);
    finish_plane(&p->store, &sums[v], added == NULL ? NULL : added + at,
                 out + at);
  }
}

static inline __attribute__((always_inline)) void depthwise_row_wide(
    const etx_depthwise_row* p, const etx_f32_vec* weights, const float* input,
    const float* added, float* out) {
  enum { LANES = DEPTHWISE_ROW_LANES };
  const size_t count = p->store.count, end = count - LANES;
  size_t at = 0;
  for (; at + DEPTHWISE_ROW_VECTORS * LANES <= count;
       at += DEPTHWISE_ROW_VECTORS * LANES) {
    depthwise_row_block(
        p, weights, input, added, out,
        (depthwise_row_span){at, at + (DEPTHWISE_ROW_VECTORS - 1) * LANES,
                             DEPTHWISE_ROW_VECTORS});
  }
  const size_t left = count - at;
#ifdef ETX_LOOPS_ARE_SHORT
  if (left > 0) {
    const size_t vectors = (left + LANES - 1) / LANES;
    depthwise_row_block(p, weights, input, added, out,
                        (depthwise_row_span){at, end, vectors});
  }
#else
  if (left > 3 * LANES) {
    depthwise_row_block(p, weights, input, added, out,
                        (depthwise_row_span){at, end, 4});
  } else if (left > 2 * LANES) {
    depthwise_row_block(p, weights, input, added, out,
                        (depthwise_row_span){at, end, 3});
  } else if (left > LANES) {
    depthwise_row_block(p, weights, input, added, out,
                        (depthwise_row_span){at, end, 2});
  } else if (left > 0) {
    depthwise_row_block(p, weights, input, added, out,
                        (depthwise_row_span){at, end, 1});
  }
#endif
}

// A row shorter than a vector.
static inline __attribute__((always_inline)) void depthwise_row_narrow(
    const etx_depthwise_row* p, const etx_f32_vec* weights, const float* input,
    const float* added, float* out) {
  const depthwise_row_span all = {0, 0, 1};
  float results[DEPTHWISE_ROW_LANES], other[DEPTHWISE_ROW_LANES] = {0};
  if (added != NULL) {
    copy_row(added, other, p->store.count);
    depthwise_row_block(p, weights, input, other, results, all);
  } else {
    depthwise_row_block(p, weights, input, NULL, results, all);
  }
  copy_row(results, out, p->store.count);
}

static inline __attribute__((always_inline)) void depthwise_row_rows(
    const etx_depthwise_row* p, const etx_f32_vec* weights,
    const float* added) {
  const etx_row_store* s = &p->store;
  const float* input = s->sums;
  float* out = s->out;
  const bool is_dense = s->out_row == (ptrdiff_t)s->count && added == NULL;
  for (size_t r = 0; r < s->rows; ++r) {
    if (is_dense && s->count < DEPTHWISE_ROW_LANES &&
        (s->rows - r) * s->count >= DEPTHWISE_ROW_LANES) {
      // The vector may write into later rows, which are written afterwards.
      depthwise_row_block(p, weights, input, NULL, out,
                          (depthwise_row_span){0, 0, 1});
    } else if (s->count < DEPTHWISE_ROW_LANES) {
      depthwise_row_narrow(p, weights, input, added, out);
    } else {
      depthwise_row_wide(p, weights, input, added, out);
    }
    input += s->sum_row;
    out += s->out_row;
    if (added != NULL) added += s->out_row;
  }
}

//   @depthwise_row  float32 | depthwise convolution of rows, any window |
//     {DEPTHWISE_ROW_VECTORS * ETX_F32_LANES} pixels
static void depthwise_row(const etx_depthwise_row* given) {
  etx_depthwise_row p = *given;  // which results do not change
  p.store.bias = row_bias(&p.store, p.store.bias);
  if (p.taps == DEPTHWISE_ROW_TAPS && p.store.added == NULL) {
    etx_f32_vec weights[DEPTHWISE_ROW_TAPS];
    for (size_t k = 0; k < DEPTHWISE_ROW_TAPS; ++k) {
      weights[k] = (etx_f32_vec){0} + p.weights[k];
    }
    depthwise_row_rows(&p, weights, NULL);
  } else if (p.store.added == NULL) {
    depthwise_row_rows(&p, NULL, NULL);
  } else {
    depthwise_row_rows(&p, NULL, p.store.added);
  }
}
