// Depthwise 3 x 3 convolution of whole channels (etx_depthwise_planes), for
// sets with masked loads. Include after depthwise_row_template.h.
//
// One vector of columns goes down the channel row by row. A row of the input is
// loaded once for all results that read it: while it is added to one result
// with the last row of weights, it is added to the next one with the row of
// weights before. Each result still adds its taps in order.
//
//   VECTOR_BYTES                required  bytes of a vector register: 32 or 64
//   ETX_F32_FMA(a, b, c)        required  a * b + c, rounded once:
//                                         f32_vec_template.h
//   ROW_LOAD_SOME(from, lanes)  required  loads some lanes: row_copy_template.h

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA) || !defined(ROW_LOAD_SOME)
#error "this header needs the macros of its table"
#endif

#include "runtime/kernels/simd/vector/prefetch.h"
#include "runtime/kernels/simd/f32/conv_microkernels.h"

enum {
  DEPTHWISE_LANES = ETX_F32_LANES,
  DEPTHWISE_TAPS = 9,
  DEPTHWISE_SHORT = 32,  // short rows need no prefetch
  // Views of a short row, computed once for all channels.
  DEPTHWISE_VIEWS = DEPTHWISE_SHORT / DEPTHWISE_LANES,
#ifdef __OPTIMIZE_SIZE__  // one way for all: masked, views found each time
  HAS_DEPTHWISE_VARIANTS = 0,
#else
  HAS_DEPTHWISE_VARIANTS = 1,
#endif
};

// The mask of the lanes of a load from column `first` on that lie in a row of
// `columns`.
static inline row_lanes depthwise_inside(ptrdiff_t first, ptrdiff_t columns) {
  return (row_lanes)(row_first(columns - first) & ~row_first(-first));
}

// The first column of the results that a vector has from `x` on.
static inline size_t depthwise_at(const etx_depthwise_planes* p, size_t x) {
#if VECTOR_BYTES == 64
  (void)p;
  return x;
#else
  // The last vector of a row overlaps the one before it.
  const size_t count = p->store.count;
  return x + DEPTHWISE_LANES > count && count >= DEPTHWISE_LANES
             ? count - DEPTHWISE_LANES
             : x;
#endif
}

// Stores the part of a vector, from column `x` on, that lies in a row of
// results. `left` rows remain, this one included.
static inline __attribute__((always_inline)) void depthwise_store(
    const etx_row_store* s, const etx_f32_vec* sums, const float* added,
    float* out, size_t x, size_t left) {
#if VECTOR_BYTES == 64
  (void)left;
  finish_some(s, sums, added, out, row_first((ptrdiff_t)(s->count - x)));
#else
  (void)x;
  // The vector may write into later rows, which are written afterwards.
  const bool is_dense = s->out_row == (ptrdiff_t)s->count && added == NULL;
  if (s->count >= DEPTHWISE_LANES ||
      (is_dense && left * s->count >= DEPTHWISE_LANES)) {
    finish_plane(s, sums, added, out);
    return;
  }
  float results[DEPTHWISE_LANES], other[DEPTHWISE_LANES] = {0};
  if (added != NULL) copy_row(added, other, s->count);
  finish_plane(s, sums, added == NULL ? NULL : other, results);
  copy_row(results, out, s->count);
#endif
}

// The offsets of the loads for one vector of results in a row of the input, and
// the lanes of the three loads that lie inside the row.
typedef struct depthwise_view {
  ptrdiff_t first;
  row_lanes inside[3];
  bool is_whole;  // all of them
} depthwise_view;

// Offsets of the loads in columns. With stride 1 each load is the input of one
// tap. With stride 2 the second and the third tap are the even and the odd
// lanes of two loads, and the first tap is the third one shifted by a lane.
#define DEPTHWISE_PLACE(stride, i) \
  ((i) == 2 && (stride) == 2 ? 1 + DEPTHWISE_LANES : (i))

static inline depthwise_view depthwise_view_of(const etx_depthwise_planes* p,
                                               ptrdiff_t x, ptrdiff_t stride) {
  depthwise_view v = {.first = p->column + x * stride};
  for (ptrdiff_t i = 0; i < 3; ++i) {
    const ptrdiff_t at = v.first + DEPTHWISE_PLACE(stride, i);
    v.inside[i] = depthwise_inside(at, p->in_columns);
  }
  const ptrdiff_t last = v.first + DEPTHWISE_PLACE(stride, 2) + DEPTHWISE_LANES;
  v.is_whole = v.first >= 0 && last <= p->in_columns;
  if (stride == 2) v.inside[0] &= row_first(1);
  return v;
}

static inline __attribute__((always_inline)) etx_f32_vec depthwise_load(
    const float* at, row_lanes inside, bool is_whole) {
  etx_f32_vec x;
  if (!is_whole) return ROW_LOAD_SOME(at, inside);
  memcpy(&x, at, sizeof x);
  return x;
}

// The three taps' elements of a row; `row` is where the first load begins.
static inline __attribute__((always_inline)) void depthwise_see(
    const float* row, const depthwise_view* v, ptrdiff_t stride, bool is_whole,
    etx_f32_vec* input) {
  etx_f32_vec loaded[3];
  for (size_t i = 0; i < 3; ++i) {
    const float* const at = row + DEPTHWISE_PLACE(stride, i);
    loaded[i] = is_whole && stride == 2 && i == 0
                    ? ETX_F32_BROADCAST(*at)
                    : depthwise_load(at, v->inside[i], is_whole);
    ETX_F32_KEEP(loaded[i]);
  }
  if (stride == 1) {
    for (size_t i = 0; i < 3; ++i) input[i] = loaded[i];
  } else {
    input[1] = ETX_F32_EVEN(loaded[1], loaded[2]);
    input[2] = ETX_F32_ODD(loaded[1], loaded[2]);
    input[0] = ETX_F32_SHIFT_IN(loaded[0], input[2]);
  }
}

// The current row of the input: row `y` of `count`, which may lie outside, and
// the distance to what is prefetched.
typedef struct depthwise_rows {
  const float* row;
  ptrdiff_t step, y, count, behind;
} depthwise_rows;

// The three taps' inputs of the current row, zeros outside the image; advances
// to the next row. Prefetches as many rows further on as there are results: for
// a whole channel that is the next channel.
static inline __attribute__((always_inline)) void depthwise_next(
    depthwise_rows* rows, const depthwise_view* v, ptrdiff_t stride,
    bool is_whole, bool asks, etx_f32_vec* input) {
  if (asks) {
    const float* const behind = rows->row + rows->behind;
    ETX_PREFETCH_L2(behind + 1);
    if (stride == 2) ETX_PREFETCH_L2(behind + 1 + DEPTHWISE_LANES);
  }
  if ((size_t)rows->y < (size_t)rows->count) {
    depthwise_see(rows->row, v, stride, is_whole, input);
  } else {
    input[0] = input[1] = input[2] = (etx_f32_vec){0};
  }
  rows->row += rows->step;
  ++rows->y;
}

static inline __attribute__((always_inline)) void depthwise_add(
    const etx_f32_vec* weights, const etx_f32_vec* input, etx_f32_vec* sums) {
  *sums = ETX_F32_FMA(weights[0], input[0], *sums);
  *sums = ETX_F32_FMA(weights[1], input[1], *sums);
  *sums = ETX_F32_FMA(weights[2], input[2], *sums);
}

// Results of one vector of columns from `x` on.
static inline __attribute__((always_inline)) void depthwise_columns(
    const etx_depthwise_planes* p, const etx_f32_vec* weights, size_t x,
    const depthwise_view* view_of_p, ptrdiff_t stride, const float* added,
    bool is_whole, bool asks) {
  const etx_row_store* s = &p->store;
  const depthwise_view view = *view_of_p;
  float* out = s->out + x;
  if (added != NULL) added += x;
  etx_f32_vec input[3], first = {0}, second = {0};
  depthwise_rows rows = {.row = p->in + p->row * p->in_row + view.first,
                         .step = p->in_row,
                         .y = p->row,
                         .count = p->in_rows,
                         .behind = (ptrdiff_t)s->rows * stride * p->in_row};
  depthwise_next(&rows, &view, stride, is_whole, asks, input);
  depthwise_add(weights, input, &first);
  if (stride == 1) {
    depthwise_next(&rows, &view, stride, is_whole, asks, input);
    second = first;
    depthwise_add(weights + 3, input, &second);
    first = (etx_f32_vec){0};
    depthwise_add(weights, input, &first);
  }
  for (size_t r = 0; r < s->rows; ++r, out += s->out_row) {
    if (stride != 1) {
      depthwise_next(&rows, &view, stride, is_whole, asks, input);
      second = first;
      depthwise_add(weights + 3, input, &second);
    }
    depthwise_next(&rows, &view, stride, is_whole, asks, input);
    depthwise_add(weights + 6, input, &second);
    if (asks) __builtin_prefetch(out + (ptrdiff_t)s->rows * s->out_row, 1);
    depthwise_store(s, &second, added, out, x, s->rows - r);
    if (added != NULL) added += s->out_row;
    if (stride == 1) {
      second = first;
      depthwise_add(weights + 3, input, &second);
    }
    first = (etx_f32_vec){0};
    depthwise_add(weights, input, &first);
  }
}

// Calls the function above with `is_whole` and `asks` as constants.
static inline __attribute__((always_inline)) void depthwise_some(
    const etx_depthwise_planes* p, const etx_f32_vec* weights, size_t x,
    const depthwise_view* view, bool is_whole, bool asks) {
  const float* const added = p->store.added;
  if (p->stride != 1) {
    depthwise_columns(p, weights, x, view, 2, added, is_whole, asks);
  } else if (added != NULL) {
    depthwise_columns(p, weights, x, view, 1, added, is_whole, false);
  } else {
    depthwise_columns(p, weights, x, view, 1, NULL, is_whole, asks);
  }
}

// Computes one channel. `views` has the views of short rows; NULL: they are
// computed here.
static inline __attribute__((always_inline)) void depthwise_plane(
    const etx_depthwise_planes* p, const depthwise_view* views) {
  etx_f32_vec weights[DEPTHWISE_TAPS];
  for (size_t k = 0; k < DEPTHWISE_TAPS; ++k) {
    weights[k] = ETX_F32_BROADCAST(p->weights[k]);
  }
  for (size_t at = 0; at < p->store.count; at += DEPTHWISE_LANES) {
    const size_t x = depthwise_at(p, at);
    if (views != NULL) {
      depthwise_some(p, weights, x, views + at / DEPTHWISE_LANES, false, false);
      continue;
    }
    const depthwise_view view = depthwise_view_of(p, (ptrdiff_t)x, p->stride);
    if (HAS_DEPTHWISE_VARIANTS && view.is_whole) {
      depthwise_some(p, weights, x, &view, true, true);
    } else {
      depthwise_some(p, weights, x, &view, false, true);
    }
  }
}
