// Bilinear resampling that smooths: where a size shrinks, the triangle that
// weighs the input widens with it, so that every element counts.
//
// For each result row the input rows under its triangle are summed first, a
// stretch of columns at a time, which runs over dense memory; the stretch is
// then weighed along the columns of each result that it reaches.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/image/planes.h"
#include "runtime/kernels/image/resampling.h"
#include "runtime/kernels/core/parallel_for.h"

// Input columns summed at once.
enum { STRETCH = 256 };

typedef struct smooth {
  etx_planes in, out;
  etx_compute_type wide;
  etx_resample y, x;
} smooth;

// The elements under one result's triangle.
typedef struct triangle {
  int64_t first, end;
  double center;   // in input positions, from `first`
  double narrow;   // 1 / half width
  double divisor;  // sum of all weights
} triangle;

static double weight_at(const triangle* t, int64_t position) {
  const double away =
      etx_abs_f64(((double)(position - t->first) - t->center) * t->narrow);
  return away < 1 ? (1 - away) / t->divisor : 0;
}

static triangle triangle_of(const etx_resample* r, int64_t out) {
  if (r->in == r->out) return (triangle){out, out + 1, 0, 1, 1};
  const double half = r->step > 1 ? r->step : 1;
  const double center = r->step * ((double)out + 0.5);
  const double from = center - half + 0.5, to = center + half + 0.5;
  triangle t = {.narrow = 1 / half, .divisor = 1};
  t.first = from > 0 ? (int64_t)from : 0;
  t.end = to < (double)r->in ? (int64_t)to : r->in;
  if (t.first > r->in) t.first = r->in;
  if (t.end < t.first) t.end = t.first;
  t.center = center - 0.5 - (double)t.first;
  double sum = 0;
  for (int64_t i = t.first; i < t.end; ++i) sum += weight_at(&t, i);
  if (sum != 0) t.divisor = sum;
  return t;
}

// A stretch of input columns of the wide type: the sum of weighed rows.
typedef union stretch {
  float f32[STRETCH];
  double f64[STRETCH];
} stretch;

static void add_block(etx_compute_type wide, stretch* sums, size_t at,
                      const void* elements, size_t count, double weight) {
  if (!etx_is_f64(wide)) {
    const float factor = (float)weight;
    const float* x = elements;
    for (size_t i = 0; i < count; ++i) sums->f32[at + i] += factor * x[i];
  } else {
    const double* x = elements;
    for (size_t i = 0; i < count; ++i) sums->f64[at + i] += weight * x[i];
  }
}

// Sums `count` columns from `column` on over the rows of a triangle.
static void sum_rows(const smooth* s, const char* plane, const triangle* rows,
                     int64_t column, size_t count, stretch* sums) {
  memset(sums, 0, sizeof(*sums));
  for (int64_t y = rows->first; y < rows->end; ++y) {
    const double weight = weight_at(rows, y);
    const char* from =
        plane + ((ptrdiff_t)y * s->in.row + (ptrdiff_t)column * s->in.column) *
                    s->in.bytes;
    for (size_t i = 0; i < count; i += ETX_BLOCK) {
      const size_t part = count - i < ETX_BLOCK ? count - i : ETX_BLOCK;
      etx_block block;
      const void* elements = etx_row_widen(
          &block, s->wide, s->in.dtype,
          from + (ptrdiff_t)i * s->in.column * s->in.bytes, s->in.column, part);
      add_block(s->wide, sums, i, elements, part, weight);
    }
  }
}

// Adds what a triangle takes of a stretch that begins at `column`.
static void add_columns(const smooth* s, const triangle* t, const stretch* sums,
                        int64_t column, size_t count, etx_scalar* total) {
  int64_t end = column + (int64_t)count;
  if (end > t->end) end = t->end;
  int64_t x = column > t->first ? column : t->first;
  for (; x < end; ++x) {
    const double weight = weight_at(t, x);
    if (!etx_is_f64(s->wide)) {
      total->f32 += (float)weight * sums->f32[x - column];
    } else {
      total->f64 += weight * sums->f64[x - column];
    }
  }
}

static void store(const smooth* s, etx_scalar total, char* out) {
  etx_convert(s->out.dtype, out, 1, etx_compute_type_dtype(s->wide), &total, 1,
              1);
}

// One result whose triangle is wider than a stretch.
static void wide_result(const smooth* s, const char* plane,
                        const triangle* rows, const triangle* columns,
                        char* out) {
  etx_scalar total = {0};
  stretch sums;
  for (int64_t x = columns->first; x < columns->end; x += STRETCH) {
    const int64_t left = columns->end - x;
    const size_t count = left < STRETCH ? (size_t)left : STRETCH;
    sum_rows(s, plane, rows, x, count, &sums);
    add_columns(s, columns, &sums, x, count, &total);
  }
  store(s, total, out);
}

// Columns of the result whose triangles lie in one stretch.
typedef struct group {
  int64_t first;
  size_t count;
  triangle triangles[ETX_BLOCK];
} group;

static void find_group(const smooth* s, int64_t first, group* g) {
  g->first = first;
  g->count = 0;
  while (g->count < ETX_BLOCK && first < s->out.columns) {
    const triangle t = triangle_of(&s->x, first++);
    if (g->count > 0 && t.end - g->triangles[0].first > STRETCH) return;
    g->triangles[g->count++] = t;
  }
}

static void smooth_row(const smooth* s, const char* plane, const triangle* rows,
                       const group* g, char* out) {
  const int64_t column = g->triangles[0].first;
  const int64_t end = g->triangles[g->count - 1].end;
  if (end - column > STRETCH) {
    wide_result(s, plane, rows, &g->triangles[0], out);
    return;
  }
  stretch sums;
  const size_t count = (size_t)(end - column);
  sum_rows(s, plane, rows, column, count, &sums);
  for (size_t i = 0; i < g->count; ++i) {
    etx_scalar total = {0};
    add_columns(s, &g->triangles[i], &sums, column, count, &total);
    store(s, total, out);
    out += s->out.column * s->out.bytes;
  }
}

static void smooth_plane(const smooth* s, const char* in, char* out) {
  group g;
  for (int64_t x = 0; x < s->out.columns; x += (int64_t)g.count) {
    find_group(s, x, &g);
    for (int64_t y = 0; y < s->out.rows; ++y) {
      const triangle rows = triangle_of(&s->y, y);
      const ptrdiff_t at =
          (ptrdiff_t)y * s->out.row + (ptrdiff_t)x * s->out.column;
      smooth_row(s, in, &rows, &g, out + at * s->out.bytes);
    }
  }
}

static void smooth_planes(const void* context, size_t first, size_t end) {
  const smooth* s = context;
  for (size_t i = first; i < end; ++i) {
    const int64_t image = (int64_t)i / s->in.channels;
    const int64_t channel = (int64_t)i % s->in.channels;
    smooth_plane(s, etx_planes_at(&s->in, image, channel),
                 etx_planes_at(&s->out, image, channel));
  }
}

static double stated_scale(const etx_call* call, size_t index) {
  return etx_call_is_none(call, index) ? 0 : etx_call_real(call, index);
}

// (self, output_size, align_corners, scales_h, scales_w, out)
static etx_status run_smooth(etx_call* call) {
  const etx_tensor* self =
      etx_call_tensor(call, ETX_ARG_upsample_bilinear2d_aa_self);
  const bool aligns =
      etx_call_boolean(call, ETX_ARG_upsample_bilinear2d_aa_align_corners);
  smooth s = {.in = etx_planes_of(self),
              .out = etx_planes_of(
                  etx_call_tensor(call, ETX_ARG_upsample_bilinear2d_aa_out)),
              .wide = etx_compute_type_of(self->dtype)};
  s.y = etx_resample_of(s.in.rows, s.out.rows, aligns, stated_scale(call, 3));
  s.x = etx_resample_of(s.in.columns, s.out.columns, aligns,
                        stated_scale(call, 4));
  etx_parallel_for(call->parallel, (size_t)(s.in.images * s.in.channels),
                   (double)etx_tensor_numel(self), smooth_planes, &s);
  return ETX_OK;
}

etx_status etx_kernel_upsample_bilinear2d_aa_out_prepare(etx_call* call) {
  const etx_compute_type wide = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_upsample_bilinear2d_aa_self)->dtype);
  if (wide != ETX_COMPUTE_F32 && wide != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_upsample_bilinear2d_aa_self,
                                 "a float");
  }
  call->run = run_smooth;
  return etx_call_check_same_dtype(call, ETX_ARG_upsample_bilinear2d_aa_self,
                                   ETX_ARG_upsample_bilinear2d_aa_out);
}
