// Windows of 5 x 5 and 7 x 7 over one channel (etx_window_planes). Read once
// for each instruction set that loads some lanes alone, after
// window_plane_template.h.
//
// A vector of columns is gone through from row to row of the input. What a row
// has is loaded once for all results that see it, whose sums wait in registers
// until their last row has come; each takes its taps in order.

#include "runtime/kernels/loop_unrolled.h"

enum {
#ifdef __OPTIMIZE_SIZE__
  WINDOW_MOST = 3,  // others are summed as patches
#else
  WINDOW_MOST = 7,
#endif
  SQUARE_MOST = 7,
  SQUARE_LOADS = SQUARE_MOST,
};

// Where what the taps see of a row begins, and which lanes of its loads lie in
// the row. With steps of two columns a pair of taps sees every second lane of
// two loads.
typedef struct square_view {
  ptrdiff_t first;
  row_lanes inside[SQUARE_LOADS];
} square_view;

#define SQUARE_PLACE(stride, i) \
  ((stride) == 1 ? (i) : (i) / 2 * 2 + (i) % 2 * WINDOW_LANES)

static inline __attribute__((always_inline)) square_view
square_view_of(const etx_window_planes* p, ptrdiff_t x, ptrdiff_t stride,
               ptrdiff_t loads) {
  square_view v = {.first = p->column + x * stride};
  for (ptrdiff_t i = 0; i < loads; ++i) {
    v.inside[i] =
        window_inside(v.first + SQUARE_PLACE(stride, i), p->in_columns);
  }
  return v;
}

// The taps' elements of the row that begins at `row`.
static inline __attribute__((always_inline)) void square_see(
    const float* row, const square_view* v, ptrdiff_t stride, ptrdiff_t kernel,
    etx_fused* seen) {
  if (stride == 1) {
    ETX_UNROLLED
    for (ptrdiff_t i = 0; i < kernel; ++i) {
      seen[i] = ROW_LOAD_SOME(row + i, v->inside[i]);
    }
    return;
  }
  ETX_UNROLLED
  for (ptrdiff_t i = 0; i < kernel; i += 2) {
    const etx_fused near = ROW_LOAD_SOME(row + i, v->inside[i]);
    const etx_fused far =
        ROW_LOAD_SOME(row + i + WINDOW_LANES, v->inside[i + 1]);
    seen[i] = ETX_FUSED_EVEN(near, far);
    if (i + 1 < kernel) seen[i + 1] = ETX_FUSED_ODD(near, far);
  }
}

// Columns from `x` on. Inlined with constants, so that sums stay in registers.
static inline __attribute__((always_inline)) void square_columns(
    const etx_window_planes* p, size_t x, ptrdiff_t kernel, ptrdiff_t stride) {
  const etx_row_store* s = &p->store;
  const square_view view = square_view_of(p, (ptrdiff_t)x, stride,
                                          stride == 1 ? kernel : kernel + 1);
  // sums[i] is that of the result which began i steps before.
  const size_t waiting = (size_t)((kernel - 1) / stride + 1);
  etx_fused seen[SQUARE_MOST] = {{0}}, sums[SQUARE_MOST] = {{0}};
  const float* row = p->in + p->row * p->in_row + view.first;
  const float* added = s->added == NULL ? NULL : s->added + x;
  float* out = s->out + x;
  ptrdiff_t y = p->row;
  for (size_t step = 0; step + 1 < s->rows + waiting; ++step) {
    ETX_UNROLLED
    for (ptrdiff_t phase = 0; phase < stride; ++phase, ++y, row += p->in_row) {
      if ((size_t)y < (size_t)p->in_rows) {
        square_see(row, &view, stride, kernel, seen);
      } else {
        ETX_UNROLLED
        for (ptrdiff_t k = 0; k < kernel; ++k) seen[k] = (etx_fused){0};
      }
      ETX_UNROLLED
      for (size_t i = 0; i < waiting; ++i) {
        const ptrdiff_t line = phase + stride * (ptrdiff_t)i;
        if (line >= kernel || step - i >= s->rows) continue;
        const float* weights = p->weights + line * kernel;
        ETX_UNROLLED
        for (ptrdiff_t k = 0; k < kernel; ++k) {
          sums[i] = ETX_FUSED_ADD(ETX_FUSED_ALL(weights[k]), seen[k], sums[i]);
        }
      }
      if (phase == (kernel - 1) % stride && step + 1 >= waiting) {
        window_store(s, &sums[waiting - 1], added, out, x,
                     s->rows - (step + 1 - waiting));
        out += s->out_row;
        if (added != NULL) added += s->out_row;
      }
    }
    ETX_UNROLLED
    for (size_t i = waiting; i-- > 1;) sums[i] = sums[i - 1];
    sums[0] = (etx_fused){0};
  }
}

// The plane that `p` is at: steps of two columns are of windows of five.
static inline void square_plane(const etx_window_planes* p) {
  for (size_t at = 0; at < p->store.count; at += WINDOW_LANES) {
    const size_t x = window_at(p, at);
    if (p->kernel == 5 && p->stride == 1) {
      square_columns(p, x, 5, 1);
    } else if (p->kernel == 5) {
      square_columns(p, x, 5, 2);
    } else {
      square_columns(p, x, 7, 1);
    }
  }
}

// Planes one after the other, whatever their windows.
static void sum_windows(const etx_window_planes* given) {
  etx_window_planes p = *given;  // which results do not change
  window_view views[WINDOW_VIEWS];
  const bool is_short = HAS_WINDOW_WAYS && p.kernel == 3 &&
                        p.in_columns <= WINDOW_SHORT &&
                        p.store.count <= WINDOW_SHORT;
  for (size_t i = 0; i < WINDOW_VIEWS && is_short; ++i) {
    const size_t x = window_at(&p, i * WINDOW_LANES);
    views[i] = window_view_of(&p, (ptrdiff_t)x, p.stride);
  }
  for (size_t left = p.planes; left > 0; --left) {
    p.store.bias = row_bias(&p.store, p.bias == NULL ? -0.0f : *p.bias);
    if (WINDOW_MOST > 3 && p.kernel > 3) {
      square_plane(&p);
    } else if (is_short) {
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
