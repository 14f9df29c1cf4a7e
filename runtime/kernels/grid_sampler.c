// Reads images at places that a grid names: the nearest element, or two or
// four rows and columns around the place, weighed linearly or by cubics.
//
// Places are reckoned in doubles. For a block of results the elements to read
// and their weights are found once, row and column apart, and serve all
// channels.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/math_functions.h"
#include "runtime/kernels/operand.h"
#include "runtime/kernels/planes.h"
#include "runtime/kernels/shares.h"

// The numbers that PyTorch gives the modes.
enum { LINEAR, NEAREST, CUBIC, MODES };
enum { ZEROS, BORDER, REFLECTION, PADDINGS };
enum { MOST_TAPS = 4 };
// Results of a row whose elements are found at once.
enum { LANES = 32 };

typedef struct sampler {
  etx_planes in, out;
  const char* grid;
  etx_dtype grid_dtype;
  ptrdiff_t grid_image, grid_row, grid_column, grid_part;  // in elements
  etx_wide wide;
  int mode, padding;
  bool aligns_corners;
} sampler;

// Positions along one dimension that results of a block read: elements from
// the plane's start, or -1 for what lies outside and counts as 0.
typedef struct taps {
  size_t count;
  ptrdiff_t at[MOST_TAPS][LANES];
  double weights[MOST_TAPS][LANES];
} taps;

// From -1..1 to positions of a dimension.
static double position_of(const sampler* s, double place, int64_t size) {
  return s->aligns_corners ? (place + 1) / 2 * (double)(size - 1)
                           : ((place + 1) * (double)size - 1) / 2;
}

// Folds a position back at both ends.
static double reflect(const sampler* s, double at, int64_t size) {
  const double low = s->aligns_corners ? 0 : -0.5;
  const double span = s->aligns_corners ? (double)(size - 1) : (double)size;
  if (span == 0) return 0;
  const double away = etx_abs_f64(at - low);
  const double turns = etx_floor_f64(away / span);
  const double rest = away - turns * span;
  const bool is_even = turns == 2 * etx_floor_f64(turns / 2);
  return is_even ? low + rest : low + span - rest;
}

// Brings a position into the dimension; NaN becomes 0.
static double pad(const sampler* s, double at, int64_t size) {
  if (s->padding == ZEROS) return at;
  if (s->padding == REFLECTION) at = reflect(s, at, size);
  if (!(at > 0)) return 0;
  return at < (double)(size - 1) ? at : (double)(size - 1);
}

static ptrdiff_t element_at(double at, int64_t size, ptrdiff_t stride) {
  if (!(at >= 0 && at <= (double)(size - 1))) return -1;
  return (ptrdiff_t)(int64_t)at * stride;
}

// Weights of the elements 1 before, at, 1 and 2 behind a position that lies
// `t` behind an element.
static void cubic_weights(double t, double weights[4]) {
  const double a = -0.75;
  for (int i = 0; i < 4; ++i) {
    const double x = i < 2 ? t + (1 - i) : (i - 1) - t;
    weights[i] = i == 1 || i == 2 ? ((a + 2) * x - (a + 3)) * x * x + 1
                                  : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  }
}

static void find_taps(const sampler* s, double place, int64_t size,
                      ptrdiff_t stride, taps* t, size_t lane) {
  double at = position_of(s, place, size);
  if (s->mode != CUBIC) at = pad(s, at, size);
  if (s->mode == NEAREST) {
    t->at[0][lane] = element_at(etx_round_f64(at), size, stride);
    t->weights[0][lane] = 1;
    return;
  }
  const double base = etx_floor_f64(at);
  double weights[MOST_TAPS] = {1 - (at - base), at - base};
  if (s->mode == CUBIC) cubic_weights(at - base, weights);
  for (size_t i = 0; i < t->count; ++i) {
    double each = base + (double)i;
    if (s->mode == CUBIC) each = pad(s, each - 1, size);
    t->at[i][lane] = element_at(each, size, stride);
    t->weights[i][lane] = weights[i];
  }
}

static float value_f32(const sampler* s, const char* plane, ptrdiff_t at) {
  if (s->in.dtype == ETX_DTYPE_FLOAT32) {
    return ((const float*)(const void*)plane)[at];
  }
  etx_block one;
  etx_block_load(&one, ETX_WIDE_F32, s->in.dtype, plane + at * s->in.bytes, 0,
                 1);
  return one.f32[0];
}

// Elements that lie outside are not read, and count as 0.
static void sample_f32(const sampler* s, const char* plane, const taps* y,
                       const taps* x, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (size_t a = 0; a < y->count; ++a) {
      float row = 0;
      for (size_t b = 0; b < x->count; ++b) {
        const bool is_inside = y->at[a][i] >= 0 && x->at[b][i] >= 0;
        const float value =
            is_inside ? value_f32(s, plane, y->at[a][i] + x->at[b][i]) : 0.0f;
        row += (float)x->weights[b][i] * value;
      }
      sum += (float)y->weights[a][i] * row;
    }
    out[i] = sum;
  }
}

static void sample_f64(const char* plane, const taps* y, const taps* x,
                       size_t count, double* out) {
  const double* in = (const double*)(const void*)plane;
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (size_t a = 0; a < y->count; ++a) {
      double row = 0;
      for (size_t b = 0; b < x->count; ++b) {
        const bool is_inside = y->at[a][i] >= 0 && x->at[b][i] >= 0;
        row += x->weights[b][i] *
               (is_inside ? in[y->at[a][i] + x->at[b][i]] : 0.0);
      }
      sum += y->weights[a][i] * row;
    }
    out[i] = sum;
  }
}

// A place's coordinate as a double.
static double coordinate(const sampler* s, const char* place, int part) {
  double value;
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(s->grid_dtype);
  etx_convert(ETX_DTYPE_FLOAT64, &value, 1, s->grid_dtype,
              place + part * s->grid_part * bytes, 1, 1);
  return value;
}

// Columns `first` on of one row of results, in all channels.
static void sample_block(const sampler* s, int64_t image, int64_t y,
                         int64_t first, size_t count) {
  static const size_t tap_counts[MODES] = {2, 1, 4};
  taps rows = {.count = tap_counts[s->mode]};
  taps columns = {.count = tap_counts[s->mode]};
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(s->grid_dtype);
  for (size_t i = 0; i < count; ++i) {
    const ptrdiff_t at = (ptrdiff_t)image * s->grid_image +
                         (ptrdiff_t)y * s->grid_row +
                         ((ptrdiff_t)first + (ptrdiff_t)i) * s->grid_column;
    const char* place = s->grid + at * bytes;
    find_taps(s, coordinate(s, place, 0), s->in.columns, s->in.column, &columns,
              i);
    find_taps(s, coordinate(s, place, 1), s->in.rows, s->in.row, &rows, i);
  }
  for (int64_t c = 0; c < s->in.channels; ++c) {
    const char* plane = etx_planes_at(&s->in, image, c);
    const ptrdiff_t to =
        (ptrdiff_t)y * s->out.row + (ptrdiff_t)first * s->out.column;
    etx_block values;
    if (s->wide == ETX_WIDE_F32) {
      sample_f32(s, plane, &rows, &columns, count, values.f32);
    } else {
      sample_f64(plane, &rows, &columns, count, values.f64);
    }
    etx_block_store(&values, s->wide, s->out.dtype,
                    etx_planes_at(&s->out, image, c) + to * s->out.bytes,
                    s->out.column, count);
  }
}

// Items are rows of results of an image.
static void sample_rows(const void* context, size_t first, size_t end) {
  const sampler* s = context;
  for (size_t i = first; i < end; ++i) {
    const int64_t image = (int64_t)i / s->out.rows;
    const int64_t y = (int64_t)i % s->out.rows;
    for (int64_t x = 0; x < s->out.columns; x += LANES) {
      const int64_t left = s->out.columns - x;
      sample_block(s, image, y, x, left < LANES ? (size_t)left : LANES);
    }
  }
}

// (input, grid, interpolation_mode, padding_mode, align_corners, out)
static etx_status run_sampler(etx_call* call) {
  const etx_tensor* grid = etx_call_tensor(call, 1);
  const etx_tensor* out = etx_call_tensor(call, 5);
  const sampler s = {.in = etx_planes_of(etx_call_tensor(call, 0)),
                     .out = etx_planes_of(out),
                     .grid = grid->data,
                     .grid_dtype = grid->dtype,
                     .grid_image = grid->strides[0],
                     .grid_row = grid->strides[1],
                     .grid_column = grid->strides[2],
                     .grid_part = grid->strides[3],
                     .wide = etx_wide_of(grid->dtype),
                     .mode = (int)etx_call_integer(call, 2),
                     .padding = (int)etx_call_integer(call, 3),
                     .aligns_corners = etx_call_boolean(call, 4)};
  etx_shares_run(call->parallel, (size_t)(s.out.images * s.out.rows),
                 (double)etx_tensor_numel(out) * 16, sample_rows, &s);
  return ETX_OK;
}

static etx_status check_mode(const etx_call* call, size_t index, int modes) {
  const int64_t mode = etx_call_integer(call, index);
  if (mode >= 0 && mode < modes) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "there is no mode %i, expected 0 to %i", mode,
                         (int64_t)modes - 1);
}

etx_status etx_kernel_grid_sampler_2d_out_prepare(etx_call* call) {
  const etx_wide wide = etx_wide_of(etx_call_tensor(call, 0)->dtype);
  if (wide != ETX_WIDE_F32 && wide != ETX_WIDE_F64) {
    return etx_call_refuse_dtype(call, 0, "a float");
  }
  ETX_TRY(etx_call_check_same_dtype(call, 0, 1));
  ETX_TRY(check_mode(call, 2, MODES));
  ETX_TRY(check_mode(call, 3, PADDINGS));
  call->run = run_sampler;
  return etx_call_check_same_dtype(call, 0, 5);
}
