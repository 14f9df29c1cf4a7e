// Depthwise 5 x 5 and 7 x 7 convolution of whole channels
// (etx_depthwise_planes), for sets with masked loads. Include after
// depthwise_3x3_template.h.
//
// One vector of columns goes down the channel row by row. A row of the input is
// loaded once for all results that read it. Their sums stay in registers until
// their last row has come; each result adds its taps in order.
//
//   VECTOR_BYTES                required  bytes of a vector register: 32 or 64
//   ETX_F32_FMA(a, b, c)        required  a * b + c, rounded once:
//                                         f32_vec_template.h
//   ROW_LOAD_SOME(from, lanes)  required  loads some lanes: row_copy_template.h

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA) || !defined(ROW_LOAD_SOME)
#error "this header needs the macros of its table"
#endif

#include "runtime/kernels/simd/vector/loop_unrolled.h"

enum {
#ifdef __OPTIMIZE_SIZE__
  DEPTHWISE_MAX_KERNEL = 3,  // others are summed as patches
#else
  DEPTHWISE_MAX_KERNEL = 7,
#endif
  DEPTHWISE_SQUARE_MAX_KERNEL = 7,
  DEPTHWISE_SQUARE_LOADS = DEPTHWISE_SQUARE_MAX_KERNEL,
};

// The offset of the first loaded element in a row, and the lanes of the loads
// that lie inside the row. With a stride of two columns, a pair of taps reads
// every second lane of two loads.
typedef struct depthwise_square_view {
  ptrdiff_t first;
  row_lanes inside[DEPTHWISE_SQUARE_LOADS];
} depthwise_square_view;

#define DEPTHWISE_SQUARE_PLACE(stride, i) \
  ((stride) == 1 ? (i) : (i) / 2 * 2 + (i) % 2 * DEPTHWISE_LANES)

static inline __attribute__((always_inline)) depthwise_square_view
depthwise_square_view_of(const etx_depthwise_planes* p, ptrdiff_t x,
                         ptrdiff_t stride, ptrdiff_t loads) {
  depthwise_square_view v = {.first = p->column + x * stride};
  for (ptrdiff_t i = 0; i < loads; ++i) {
    v.inside[i] = depthwise_inside(v.first + DEPTHWISE_SQUARE_PLACE(stride, i),
                                   p->in_columns);
  }
  return v;
}

// The taps' elements of the row that begins at `row`.
static inline __attribute__((always_inline)) void depthwise_square_see(
    const float* row, const depthwise_square_view* v, ptrdiff_t stride,
    ptrdiff_t kernel, etx_f32_vec* input) {
  if (stride == 1) {
    ETX_UNROLLED
    for (ptrdiff_t i = 0; i < kernel; ++i) {
      input[i] = ROW_LOAD_SOME(row + i, v->inside[i]);
    }
    return;
  }
  ETX_UNROLLED
  for (ptrdiff_t i = 0; i < kernel; i += 2) {
    const etx_f32_vec near = ROW_LOAD_SOME(row + i, v->inside[i]);
    const etx_f32_vec far =
        ROW_LOAD_SOME(row + i + DEPTHWISE_LANES, v->inside[i + 1]);
    input[i] = ETX_F32_EVEN(near, far);
    if (i + 1 < kernel) input[i + 1] = ETX_F32_ODD(near, far);
  }
}

// Columns from `x` on. Inlined with constants, so that sums stay in registers.
static inline __attribute__((always_inline)) void depthwise_square_columns(
    const etx_depthwise_planes* p, size_t x, ptrdiff_t kernel,
    ptrdiff_t stride) {
  const etx_row_store* s = &p->store;
  const depthwise_square_view view = depthwise_square_view_of(
      p, (ptrdiff_t)x, stride, stride == 1 ? kernel : kernel + 1);
  // sums[i] is that of the result which began i steps before.
  const size_t waiting = (size_t)((kernel - 1) / stride + 1);
  etx_f32_vec input[DEPTHWISE_SQUARE_MAX_KERNEL] = {{0}},
              sums[DEPTHWISE_SQUARE_MAX_KERNEL] = {{0}};
  const float* row = p->in + p->row * p->in_row + view.first;
  const float* added = s->added == NULL ? NULL : s->added + x;
  float* out = s->out + x;
  ptrdiff_t y = p->row;
  for (size_t step = 0; step + 1 < s->rows + waiting; ++step) {
    ETX_UNROLLED
    for (ptrdiff_t phase = 0; phase < stride; ++phase, ++y, row += p->in_row) {
      if ((size_t)y < (size_t)p->in_rows) {
        depthwise_square_see(row, &view, stride, kernel, input);
      } else {
        ETX_UNROLLED
        for (ptrdiff_t k = 0; k < kernel; ++k) input[k] = (etx_f32_vec){0};
      }
      ETX_UNROLLED
      for (size_t i = 0; i < waiting; ++i) {
        const ptrdiff_t line = phase + stride * (ptrdiff_t)i;
        if (line >= kernel || step - i >= s->rows) continue;
        const float* weights = p->weights + line * kernel;
        ETX_UNROLLED
        for (ptrdiff_t k = 0; k < kernel; ++k) {
          sums[i] =
              ETX_F32_FMA(ETX_F32_BROADCAST(weights[k]), input[k], sums[i]);
        }
      }
      if (phase == (kernel - 1) % stride && step + 1 >= waiting) {
        depthwise_store(s, &sums[waiting - 1], added, out, x,
                        s->rows - (step + 1 - waiting));
        out += s->out_row;
        if (added != NULL) added += s->out_row;
      }
    }
    ETX_UNROLLED
    for (size_t i = waiting; i-- > 1;) sums[i] = sums[i - 1];
    sums[0] = (etx_f32_vec){0};
  }
}

// The plane that `p` is at: steps of two columns are of windows of five.
static inline void depthwise_square_plane(const etx_depthwise_planes* p) {
  for (size_t at = 0; at < p->store.count; at += DEPTHWISE_LANES) {
    const size_t x = depthwise_at(p, at);
    if (p->kernel == 5 && p->stride == 1) {
      depthwise_square_columns(p, x, 5, 1);
    } else if (p->kernel == 5) {
      depthwise_square_columns(p, x, 5, 2);
    } else {
      depthwise_square_columns(p, x, 7, 1);
    }
  }
}

// Planes one after the other, whatever their windows.
//
//   @depthwise_planes  float32 | depthwise 3 x 3 (depthwise_3x3_template.h) |
//     {DEPTHWISE_LANES} pixels
//   @depthwise_planes  float32 | depthwise 5 x 5, 7 x 7 | {DEPTHWISE_LANES}
//     pixels x at most {DEPTHWISE_SQUARE_MAX_KERNEL} rows
static void depthwise_planes(const etx_depthwise_planes* given) {
  etx_depthwise_planes p = *given;  // which results do not change
  depthwise_view views[DEPTHWISE_VIEWS];
  const bool is_short = HAS_DEPTHWISE_VARIANTS && p.kernel == 3 &&
                        p.in_columns <= DEPTHWISE_SHORT &&
                        p.store.count <= DEPTHWISE_SHORT;
  for (size_t i = 0; i < DEPTHWISE_VIEWS && is_short; ++i) {
    const size_t x = depthwise_at(&p, i * DEPTHWISE_LANES);
    views[i] = depthwise_view_of(&p, (ptrdiff_t)x, p.stride);
  }
  for (size_t left = p.planes; left > 0; --left) {
    p.store.bias = row_bias(&p.store, p.bias == NULL ? -0.0f : *p.bias);
    if (DEPTHWISE_MAX_KERNEL > 3 && p.kernel > 3) {
      depthwise_square_plane(&p);
    } else if (is_short) {
      depthwise_plane(&p, views);
    } else {
      depthwise_plane(&p, NULL);
    }
    if (left == 1) break;
    if (p.bias != NULL) p.bias += p.bias_step;
    if (p.store.added != NULL) p.store.added += p.out_plane;
    p.store.out += p.out_plane;
    p.weights += p.weight_plane;
    p.in += p.in_plane;
  }
}
