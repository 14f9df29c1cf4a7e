// Windows of 3 x 3 over one channel (etx_window_planes). Read once for each
// instruction set that loads and stores some lanes alone, after
// plane_template.h.
//
// A vector of columns is gone through from row to row. Rows of the input are
// loaded once for all results that see them: while one is summed with the last
// row of weights, the next is with the one before, so each result still takes
// its taps in order.

#include "runtime/kernels/row_loops.h"

enum {
  WINDOW_LANES = ETX_FUSED_LANES,
  WINDOW_TAPS = 9,
  WINDOW_VIEWS = 2,  // of short rows, which are found once for all planes
  WINDOW_SHORT = WINDOW_VIEWS * WINDOW_LANES,  // rows of which processors guess
                                               // the next
};

// Lanes of a load from column `first` on that lie in a row of `columns`.
static inline row_lanes window_inside(ptrdiff_t first, ptrdiff_t columns) {
  const ptrdiff_t begin = first < 0 ? -first : 0, end = columns - first;
  if (begin >= WINDOW_LANES || end <= begin) return 0;
  const unsigned below = end < WINDOW_LANES ? (1u << end) - 1 : 0xffffu;
  return (row_lanes)(below & (0xffffu << begin));
}

// What three taps see of a row, and from which lanes.
typedef struct window_view {
  ptrdiff_t columns[4];  // where loads begin
  row_lanes inside[4];
} window_view;

#define WINDOW_LOAD(row, view, i) \
  ROW_LOAD_SOME((row) + (view)->columns[i], (view)->inside[i])

static inline window_view window_view_of(const etx_window_planes* p,
                                         ptrdiff_t x, ptrdiff_t stride) {
  const ptrdiff_t first = p->column + x * stride;
  window_view v = {{first, first + 1, first + 2, 0}, {0}};
  if (stride == 2) {
    v.columns[1] = first + WINDOW_LANES;
    v.columns[2] = first + 2;
    v.columns[3] = first + 2 + WINDOW_LANES;
  }
  for (size_t i = 0; i < 4; ++i) {
    v.inside[i] = window_inside(v.columns[i], p->in_columns);
  }
  return v;
}

// The three taps' elements of input row `y`. Asks for what lies as many rows
// behind as there are results: of a whole plane that is the next one.
static inline __attribute__((always_inline)) void window_see(
    const etx_window_planes* p, const window_view* v, ptrdiff_t y,
    ptrdiff_t stride, bool asks, etx_fused* seen) {
  const float* const row = p->in + y * p->in_row;
  if (asks) {
    const float* const behind =
        row + (ptrdiff_t)p->store.rows * stride * p->in_row;
    __builtin_prefetch(behind + v->columns[stride], 0, 2);
    if (stride == 2) __builtin_prefetch(behind + v->columns[3], 0, 2);
  }
  if (y < 0 || y >= p->in_rows) {
    seen[0] = seen[1] = seen[2] = (etx_fused){0};
  } else if (stride == 1) {
    seen[0] = WINDOW_LOAD(row, v, 0);
    seen[1] = WINDOW_LOAD(row, v, 1);
    seen[2] = WINDOW_LOAD(row, v, 2);
  } else {
    const etx_fused a = WINDOW_LOAD(row, v, 0), b = WINDOW_LOAD(row, v, 1);
    const etx_fused c = WINDOW_LOAD(row, v, 2), d = WINDOW_LOAD(row, v, 3);
    seen[0] = ETX_FUSED_EVEN(a, b);
    seen[1] = ETX_FUSED_ODD(a, b);
    seen[2] = ETX_FUSED_EVEN(c, d);
  }
}

static inline __attribute__((always_inline)) void window_add(
    const etx_fused* weights, const etx_fused* seen, etx_fused* sums) {
  *sums = ETX_FUSED_ADD(weights[0], seen[0], *sums);
  *sums = ETX_FUSED_ADD(weights[1], seen[1], *sums);
  *sums = ETX_FUSED_ADD(weights[2], seen[2], *sums);
}

// Columns from `x` on, of which this is the view.
static inline __attribute__((always_inline)) void window_columns(
    const etx_window_planes* p, const etx_fused* weights, size_t x,
    const window_view* own, ptrdiff_t stride, const float* added, bool asks) {
  const etx_row_store* s = &p->store;
  const window_view view = *own;
  const row_lanes lanes = window_inside(0, (ptrdiff_t)(s->count - x));
  float* out = s->out + x;
  if (added != NULL) added += x;
  etx_fused seen[3], first = {0}, second = {0};
  ptrdiff_t y = p->row;
  window_see(p, &view, y++, stride, asks, seen);
  window_add(weights, seen, &first);
  if (stride == 1) {
    window_see(p, &view, y++, stride, asks, seen);
    second = first;
    window_add(weights + 3, seen, &second);
    first = (etx_fused){0};
    window_add(weights, seen, &first);
  }
  for (size_t r = 0; r < s->rows; ++r, out += s->out_row) {
    if (stride != 1) {
      window_see(p, &view, y++, stride, asks, seen);
      second = first;
      window_add(weights + 3, seen, &second);
    }
    window_see(p, &view, y++, stride, asks, seen);
    window_add(weights + 6, seen, &second);
    if (asks) __builtin_prefetch(out + (ptrdiff_t)s->rows * s->out_row, 1);
    finish_some(s, &second, added, out, lanes);
    if (added != NULL) added += s->out_row;
    if (stride == 1) {
      second = first;
      window_add(weights + 3, seen, &second);
    }
    first = (etx_fused){0};
    window_add(weights, seen, &first);
  }
}

// The plane that `p` is at. Of short rows `views` has the views.
static inline __attribute__((always_inline)) void window_plane(
    const etx_window_planes* p, const window_view* views) {
  const float* const added = p->store.added;
  etx_fused weights[WINDOW_TAPS];
  for (size_t k = 0; k < WINDOW_TAPS; ++k) {
    weights[k] = ETX_FUSED_ALL(p->weights[k]);
  }
  for (size_t x = 0; x < p->store.count; x += WINDOW_LANES) {
    window_view far;
    const window_view* const view =
        views == NULL ? &far : views + x / WINDOW_LANES;
    if (views == NULL) far = window_view_of(p, (ptrdiff_t)x, p->stride);
    if (p->stride == 1 && added != NULL) {
      window_columns(p, weights, x, view, 1, added, false);
    } else if (p->stride == 1) {
      window_columns(p, weights, x, view, 1, NULL, views == NULL);
    } else {
      window_columns(p, weights, x, view, 2, added, views == NULL);
    }
  }
}

static void sum_windows(const etx_window_planes* given) {
  etx_window_planes p = *given;  // which results do not change
  window_view views[WINDOW_VIEWS];
  const bool is_short =
      p.in_columns <= WINDOW_SHORT && p.store.count <= WINDOW_SHORT;
  for (size_t i = 0; i < WINDOW_VIEWS && is_short; ++i) {
    views[i] = window_view_of(&p, (ptrdiff_t)(i * WINDOW_LANES), p.stride);
  }
  for (size_t left = p.planes; left > 0; --left) {
    p.store.bias = row_bias(&p.store, p.bias == NULL ? -0.0f : *p.bias);
    if (is_short) {
      window_plane(&p, views);
    } else {
      window_plane(&p, NULL);
    }
    if (left == 1) break;
    if (p.bias != NULL) p.bias += p.bias_step;
    if (p.store.added != NULL) p.store.added += p.out_plane;
    p.store.out += p.out_plane;
    p.weights += p.weight_plane;
    p.in += p.in_plane;
  }
}
