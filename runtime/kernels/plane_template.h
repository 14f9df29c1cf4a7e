// Planes of results that see one channel each (row_loops.h). Read once for each
// instruction set, after fused_template.h and row_template.h.
//
// A few vectors of a row are summed in registers. The last one of a row
// overlaps the one before it, so that nothing behind the last row is written;
// sums do not wait for those of other rows, which hides how long a step takes.

#include "runtime/kernels/loop_unrolled.h"
#include "runtime/kernels/row_loops.h"

enum {
  PLANE_LANES = ETX_FUSED_LANES,
  PLANE_VECTORS = 4,
  PLANE_TAPS = 9,  // whose weights stay in registers
};

ROW_FINISH(finish_plane, etx_fused, clamp_piece)

#if VECTOR_BYTES == 64
// The same of some lanes: of `added` and `out` no others are read or written.
static inline __attribute__((always_inline)) void finish_some(
    const etx_row_store* s, const etx_fused* sums, const float* added,
    float* out, row_lanes lanes) {
  etx_fused x;
  if (added == NULL) {
    finish_plane(s, sums, NULL, (float*)&x);
  } else {
    const etx_fused other = ROW_LOAD_SOME(added, lanes);
    finish_plane(s, sums, (const float*)&other, (float*)&x);
  }
  ROW_STORE_SOME(out, x, lanes);
}
#endif

// Vectors of a row: those from `first` on, the last of them at `last`.
typedef struct plane_span {
  size_t first, last, vectors;
} plane_span;

static inline __attribute__((always_inline)) size_t plane_at(plane_span s,
                                                             size_t v) {
  return v + 1 == s.vectors ? s.last : s.first + v * PLANE_LANES;
}

static inline __attribute__((always_inline)) void plane_tap(
    const etx_fused* weight, const float* from, plane_span s, etx_fused* sums) {
  ETX_UNROLLED
  for (size_t v = 0; v < s.vectors; ++v) {
    etx_fused x;
    memcpy(&x, from + plane_at(s, v), sizeof x);
    sums[v] = ETX_FUSED_ADD(*weight, x, sums[v]);
  }
}

static inline __attribute__((always_inline)) void plane_block(
    const etx_plane* p, const etx_fused* weights, const float* seen,
    const float* added, float* out, plane_span s) {
  etx_fused sums[PLANE_VECTORS] = {{0}};
  if (weights != NULL) {
    ETX_UNROLLED
    for (size_t i = 0; i < PLANE_TAPS; i += 3) {
      ETX_UNROLLED
      for (size_t k = i; k < i + 3; ++k) {
        plane_tap(&weights[k], seen + p->offsets[k], s, sums);
      }
    }
  } else {
    for (size_t k = 0; k < p->taps; ++k) {
      const etx_fused weight = (etx_fused){0} + p->weights[k];
      plane_tap(&weight, seen + p->offsets[k], s, sums);
    }
  }
  ETX_UNROLLED
  for (size_t v = 0; v < s.vectors; ++v) {
    const size_t at = plane_at(s, v);
    finish_plane(&p->store, &sums[v], added == NULL ? NULL : added + at,
                 out + at);
  }
}

static inline __attribute__((always_inline)) void plane_row(
    const etx_plane* p, const etx_fused* weights, const float* seen,
    const float* added, float* out) {
  enum { LANES = PLANE_LANES };
  const size_t count = p->store.count, end = count - LANES;
  size_t at = 0;
  for (; at + PLANE_VECTORS * LANES <= count; at += PLANE_VECTORS * LANES) {
    plane_block(
        p, weights, seen, added, out,
        (plane_span){at, at + (PLANE_VECTORS - 1) * LANES, PLANE_VECTORS});
  }
  const size_t left = count - at;
  if (left > 3 * LANES) {
    plane_block(p, weights, seen, added, out, (plane_span){at, end, 4});
  } else if (left > 2 * LANES) {
    plane_block(p, weights, seen, added, out, (plane_span){at, end, 3});
  } else if (left > LANES) {
    plane_block(p, weights, seen, added, out, (plane_span){at, end, 2});
  } else if (left > 0) {
    plane_block(p, weights, seen, added, out, (plane_span){at, end, 1});
  }
}

// A row of less than a vector.
static inline __attribute__((always_inline)) void plane_short_row(
    const etx_plane* p, const etx_fused* weights, const float* seen,
    const float* added, float* out) {
  const plane_span all = {0, 0, 1};
  float own[PLANE_LANES], other[PLANE_LANES] = {0};
  if (added != NULL) {
    copy_row(added, other, p->store.count);
    plane_block(p, weights, seen, other, own, all);
  } else {
    plane_block(p, weights, seen, NULL, own, all);
  }
  copy_row(own, out, p->store.count);
}

static inline __attribute__((always_inline)) void plane_rows(
    const etx_plane* p, const etx_fused* weights, const float* added) {
  const etx_row_store* s = &p->store;
  const float* seen = s->sums;
  float* out = s->out;
  const bool is_dense = s->out_row == (ptrdiff_t)s->count && added == NULL;
  for (size_t r = 0; r < s->rows; ++r) {
    if (is_dense && s->count < PLANE_LANES &&
        (s->rows - r) * s->count >= PLANE_LANES) {
      // What does not belong to the row is a later row's, and not there yet.
      plane_block(p, weights, seen, NULL, out, (plane_span){0, 0, 1});
    } else if (s->count < PLANE_LANES) {
      plane_short_row(p, weights, seen, added, out);
    } else {
      plane_row(p, weights, seen, added, out);
    }
    seen += s->sum_row;
    out += s->out_row;
    if (added != NULL) added += s->out_row;
  }
}

static void sum_plane(const etx_plane* given) {
  etx_plane p = *given;  // which results do not change
  p.store.bias = row_bias(&p.store, p.store.bias);
  if (p.taps == PLANE_TAPS && p.store.added == NULL) {
    etx_fused weights[PLANE_TAPS];
    for (size_t k = 0; k < PLANE_TAPS; ++k) {
      weights[k] = (etx_fused){0} + p.weights[k];
    }
    plane_rows(&p, weights, NULL);
  } else if (p.store.added == NULL) {
    plane_rows(&p, NULL, NULL);
  } else {
    plane_rows(&p, NULL, p.store.added);
  }
}
