// Bilinear resampling with antialiasing. Where the image shrinks, the tent
// filter widens with the step, so that every input element has a weight.
//
// The filter is separable. For each result row the input rows under its tent
// are summed first, a span of columns at a time, with contiguous reads; then
// each result sums the columns of the span under its own tent.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/image/planes.h"
#include "runtime/kernels/image/resampling.h"
#include "runtime/kernels/core/parallel_for.h"

enum { SPAN = 256 };  // input columns that are summed together

typedef struct aa_resample {
  etx_planes in, out;
  etx_compute_type compute;
  etx_resample y, x;
} aa_resample;

// The input positions [first, end) with a weight for one result.
typedef struct tent {
  int64_t first, end;
  double center;           // in input positions, from `first`
  double inverse_support;  // 1 / half the tent's width
  double divisor;          // sum of the weights before division
} tent;

static double weight_at(const tent* t, int64_t position) {
  const double away = etx_abs_f64(((double)(position - t->first) - t->center) *
                                  t->inverse_support);
  return away < 1 ? (1 - away) / t->divisor : 0;
}

static tent tent_of(const etx_resample* r, int64_t out) {
  if (r->in == r->out) return (tent){out, out + 1, 0, 1, 1};
  const double half = r->step > 1 ? r->step : 1;
  const double center = r->step * ((double)out + 0.5);
  const double from = center - half + 0.5, to = center + half + 0.5;
  tent t = {.inverse_support = 1 / half, .divisor = 1};
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

// Weighted sums of rows for a span of input columns, in the compute type.
typedef union span_sums {
  float f32[SPAN];
  double f64[SPAN];
} span_sums;

static void add_scaled_row(etx_compute_type compute, span_sums* sums, size_t at,
                           const void* elements, size_t count, double weight) {
  if (!etx_is_f64(compute)) {
    const float factor = (float)weight;
    const float* x = elements;
    for (size_t i = 0; i < count; ++i) sums->f32[at + i] += factor * x[i];
  } else {
    const double* x = elements;
    for (size_t i = 0; i < count; ++i) sums->f64[at + i] += weight * x[i];
  }
}

// Sums the rows of a tent, for `count` columns from `column` on.
static void sum_rows(const aa_resample* s, const char* plane, const tent* rows,
                     int64_t column, size_t count, span_sums* sums) {
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
          &block, s->compute, s->in.dtype,
          from + (ptrdiff_t)i * s->in.column * s->in.bytes, s->in.column, part);
      add_scaled_row(s->compute, sums, i, elements, part, weight);
    }
  }
}

// Adds the weighted columns of a tent that lie in a span beginning at `column`.
static void add_columns(const aa_resample* s, const tent* t,
                        const span_sums* sums, int64_t column, size_t count,
                        etx_scalar* total) {
  int64_t end = column + (int64_t)count;
  if (end > t->end) end = t->end;
  int64_t x = column > t->first ? column : t->first;
  for (; x < end; ++x) {
    const double weight = weight_at(t, x);
    if (!etx_is_f64(s->compute)) {
      total->f32 += (float)weight * sums->f32[x - column];
    } else {
      total->f64 += weight * sums->f64[x - column];
    }
  }
}

static void store(const aa_resample* s, etx_scalar total, char* out) {
  etx_convert(s->out.dtype, out, 1, etx_compute_type_dtype(s->compute), &total,
              1, 1);
}

// Computes one result whose tent is wider than a span.
static void wide_tent_result(const aa_resample* s, const char* plane,
                             const tent* rows, const tent* columns, char* out) {
  etx_scalar total = {0};
  span_sums sums;
  for (int64_t x = columns->first; x < columns->end; x += SPAN) {
    const int64_t left = columns->end - x;
    const size_t count = left < SPAN ? (size_t)left : SPAN;
    sum_rows(s, plane, rows, x, count, &sums);
    add_columns(s, columns, &sums, x, count, &total);
  }
  store(s, total, out);
}

// Neighbouring columns of the result whose tents fit one span.
typedef struct tent_group {
  int64_t first;
  size_t count;
  tent tents[ETX_BLOCK];
} tent_group;

static void find_group(const aa_resample* s, int64_t first, tent_group* g) {
  g->first = first;
  g->count = 0;
  while (g->count < ETX_BLOCK && first < s->out.columns) {
    const tent t = tent_of(&s->x, first++);
    if (g->count > 0 && t.end - g->tents[0].first > SPAN) return;
    g->tents[g->count++] = t;
  }
}

static void resample_row(const aa_resample* s, const char* plane,
                         const tent* rows, const tent_group* g, char* out) {
  const int64_t column = g->tents[0].first;
  const int64_t end = g->tents[g->count - 1].end;
  if (end - column > SPAN) {
    wide_tent_result(s, plane, rows, &g->tents[0], out);
    return;
  }
  span_sums sums;
  const size_t count = (size_t)(end - column);
  sum_rows(s, plane, rows, column, count, &sums);
  for (size_t i = 0; i < g->count; ++i) {
    etx_scalar total = {0};
    add_columns(s, &g->tents[i], &sums, column, count, &total);
    store(s, total, out);
    out += s->out.column * s->out.bytes;
  }
}

static void resample_plane(const aa_resample* s, const char* in, char* out) {
  tent_group g;
  for (int64_t x = 0; x < s->out.columns; x += (int64_t)g.count) {
    find_group(s, x, &g);
    for (int64_t y = 0; y < s->out.rows; ++y) {
      const tent rows = tent_of(&s->y, y);
      const ptrdiff_t at =
          (ptrdiff_t)y * s->out.row + (ptrdiff_t)x * s->out.column;
      resample_row(s, in, &rows, &g, out + at * s->out.bytes);
    }
  }
}

static void resample_planes(const void* context, size_t first, size_t end) {
  const aa_resample* s = context;
  for (size_t i = first; i < end; ++i) {
    const int64_t image = (int64_t)i / s->in.channels;
    const int64_t channel = (int64_t)i % s->in.channels;
    resample_plane(s, etx_planes_at(&s->in, image, channel),
                   etx_planes_at(&s->out, image, channel));
  }
}

static double optional_scale(const etx_call* call, size_t index) {
  return etx_call_is_none(call, index) ? 0 : etx_call_real(call, index);
}

// (self, output_size, align_corners, scales_h, scales_w, out)
static etx_status run_bilinear_aa(etx_call* call) {
  const etx_tensor* self =
      etx_call_tensor(call, ETX_ARG_upsample_bilinear2d_aa_self);
  const bool aligns =
      etx_call_boolean(call, ETX_ARG_upsample_bilinear2d_aa_align_corners);
  aa_resample s = {.in = etx_planes_of(self),
                   .out = etx_planes_of(etx_call_tensor(
                       call, ETX_ARG_upsample_bilinear2d_aa_out)),
                   .compute = etx_compute_type_of(self->dtype)};
  s.y = etx_resample_of(s.in.rows, s.out.rows, aligns, optional_scale(call, 3));
  s.x = etx_resample_of(s.in.columns, s.out.columns, aligns,
                        optional_scale(call, 4));
  etx_parallel_for(call->parallel, (size_t)(s.in.images * s.in.channels),
                   (double)etx_tensor_numel(self), resample_planes, &s);
  return ETX_OK;
}

etx_status etx_kernel_upsample_bilinear2d_aa_out_prepare(etx_call* call) {
  const etx_compute_type compute = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_upsample_bilinear2d_aa_self)->dtype);
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_upsample_bilinear2d_aa_self,
                                 "a float");
  }
  call->run = run_bilinear_aa;
  return etx_call_check_same_dtype(call, ETX_ARG_upsample_bilinear2d_aa_self,
                                   ETX_ARG_upsample_bilinear2d_aa_out);
}
