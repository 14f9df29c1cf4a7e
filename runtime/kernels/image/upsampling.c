// upsample_nearest2d and upsample_bilinear2d.
//
// A result row is split into blocks of columns. The input columns of a block
// are computed once for all rows of a plane. Bilinear resampling is separable:
// input rows are first interpolated horizontally, and the last two of them are
// cached, since consecutive result rows mostly use the same two input rows.

#include "runtime/kernels/core/dtype_switch.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/image/planes.h"
#include "runtime/kernels/image/resampling.h"
#include "runtime/kernels/core/parallel_for.h"

typedef struct upsample {
  etx_planes in, out;
  etx_compute_type compute;
  etx_resample y, x;
  double scale_y, scale_x;  // scale_factors, or 0
} upsample;

// (input, output_size, .., scale_factors, out). `scales` is the position of
// scale_factors.
static upsample read_upsample(const etx_call* call, size_t scales,
                              bool aligns_corners) {
  const etx_value* factors = etx_call_value(call, scales);
  const bool has_scales = factors->kind == ETX_VALUE_DOUBLES;
  upsample u = {
      .in = etx_planes_of(
          etx_call_tensor(call, ETX_ARG_upsample_nearest2d_vec_input)),
      .out = etx_planes_of(etx_call_tensor(call, scales + 1)),
      .compute = etx_compute_type_of(
          etx_call_tensor(call, ETX_ARG_upsample_nearest2d_vec_input)->dtype),
      .scale_y = has_scales ? factors->as.reals.items[0] : 0,
      .scale_x = has_scales ? factors->as.reals.items[1] : 0,
  };
  u.y = etx_resample_of(u.in.rows, u.out.rows, aligns_corners, u.scale_y);
  u.x = etx_resample_of(u.in.columns, u.out.columns, aligns_corners, u.scale_x);
  return u;
}

// The nearest input position. Computed in floats, as in PyTorch.
static int64_t nearest(int64_t in, int64_t out_size, double scale,
                       int64_t out) {
  if (out_size == in) return out;
  if (out_size == 2 * in) return out / 2;
  const float step =
      scale > 0 ? (float)(1 / scale) : (float)in / (float)out_size;
  const float at = etx_floor_f32((float)out * step);
  return at < (float)(in - 1) ? (int64_t)at : in - 1;
}

// The columns of a block and the input columns that they copy.
typedef struct source_columns {
  int64_t first;
  size_t count;
  ptrdiff_t from[ETX_BLOCK];  // elements from the start of an input row
} source_columns;

static void copy_columns(char* out, ptrdiff_t step, const char* row,
                         const source_columns* c, size_t bytes) {
  ETX_SWITCH_BYTES(bytes, T, {
    T* to = (T*)(void*)out;
    const T* from = (const T*)(const void*)row;
    for (size_t i = 0; i < c->count; ++i) {
      to[(ptrdiff_t)i * step] = from[c->from[i]];
    }
  })
}

static void nearest_block(const upsample* u, const char* in, char* out,
                          const source_columns* c) {
  out += (ptrdiff_t)c->first * u->out.column * u->out.bytes;
  for (int64_t y = 0; y < u->out.rows; ++y) {
    const int64_t row = nearest(u->in.rows, u->out.rows, u->scale_y, y);
    copy_columns(out, u->out.column,
                 in + (ptrdiff_t)row * u->in.row * u->in.bytes, c,
                 (size_t)u->in.bytes);
    out += u->out.row * u->out.bytes;
  }
}

static size_t block_of(int64_t rest) {
  return rest < ETX_BLOCK ? (size_t)rest : (size_t)ETX_BLOCK;
}

static void nearest_plane(const upsample* u, const char* in, char* out) {
  source_columns c = {0};
  for (; c.first < u->out.columns; c.first += (int64_t)c.count) {
    c.count = block_of(u->out.columns - c.first);
    for (size_t i = 0; i < c.count; ++i) {
      const int64_t column = nearest(u->in.columns, u->out.columns, u->scale_x,
                                     c.first + (int64_t)i);
      c.from[i] = (ptrdiff_t)column * u->in.column;
    }
    nearest_block(u, in, out, &c);
  }
}

static void nearest_planes(const void* context, size_t first, size_t end) {
  const upsample* u = context;
  for (size_t i = first; i < end; ++i) {
    const int64_t image = (int64_t)i / u->in.channels;
    const int64_t channel = (int64_t)i % u->in.channels;
    nearest_plane(u, etx_planes_at(&u->in, image, channel),
                  etx_planes_at(&u->out, image, channel));
  }
}

static etx_status run_planes(etx_call* call, const upsample* u,
                             etx_parallel_for_function planes) {
  const double work =
      (double)etx_tensor_numel(etx_call_tensor(call, call->argument_count - 1));
  etx_parallel_for(call->parallel, (size_t)(u->in.images * u->in.channels),
                   work, planes, u);
  return ETX_OK;
}

static etx_status run_nearest(etx_call* call) {
  const upsample u = read_upsample(call, 2, false);
  return run_planes(call, &u, nearest_planes);
}

etx_status etx_kernel_upsample_nearest2d_vec_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_upsample_nearest2d_vec_input));
  call->run = run_nearest;
  return etx_call_check_same_dtype(call, ETX_ARG_upsample_nearest2d_vec_input,
                                   ETX_ARG_upsample_nearest2d_vec_out);
}

// Two input rows, interpolated at the columns of a block. `cached` has their
// row numbers, or -1.
typedef struct row_cache {
  int64_t cached[2];
  etx_block rows[2];
} row_cache;

// The columns of a block and the two input columns of each.
typedef struct linear_columns {
  int64_t first;
  size_t count;
  ptrdiff_t from[2][ETX_BLOCK];  // elements from the start of an input row
  etx_block weights;             // of the second one, in the compute type
} linear_columns;

// out = (1 - weight) a + weight b. `step` is 0 if all elements have one weight.
static inline __attribute__((always_inline)) void blend_f32(
    float* restrict out, const float* a, const float* b, const float* weights,
    size_t step, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const float weight = weights[i * step];
    out[i] = (1 - weight) * a[i] + weight * b[i];
  }
}

static inline __attribute__((always_inline)) void blend_f64(
    double* restrict out, const double* a, const double* b,
    const double* weights, size_t step, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double weight = weights[i * step];
    out[i] = (1 - weight) * a[i] + weight * b[i];
  }
}

// Gathers elements of one row, in the compute type.
static void gather(const upsample* u, const char* row, const ptrdiff_t* from,
                   size_t count, etx_block* out) {
  for (size_t i = 0; i < count; ++i) {
    etx_block one;
    etx_block_load(&one, u->compute, u->in.dtype, row + from[i] * u->in.bytes,
                   0, 1);
    if (!etx_is_f64(u->compute)) {
      out->f32[i] = one.f32[0];
    } else {
      out->f64[i] = one.f64[0];
    }
  }
}

static void interpolate_row(const upsample* u, const char* in, int64_t y,
                            const linear_columns* p, etx_block* out) {
  const char* row = in + (ptrdiff_t)y * u->in.row * u->in.bytes;
  if (u->in.dtype == ETX_DTYPE_FLOAT32) {
    const float* single = (const float*)(const void*)row;
    // Columns are not resampled. The sum keeps the bits of the general case,
    // for instance NaN for an infinity.
    const bool is_copy = u->x.in == u->x.out && u->in.column == 1;
    const float* values = single + p->first;
    for (size_t i = 0; i < p->count && is_copy; ++i) {
      out->f32[i] = values[i] + 0.0f * values[i];
    }
    for (size_t i = 0; i < p->count && !is_copy; ++i) {
      const float weight = p->weights.f32[i];
      out->f32[i] =
          (1 - weight) * single[p->from[0][i]] + weight * single[p->from[1][i]];
    }
    return;
  }
  etx_block a, b;
  gather(u, row, p->from[0], p->count, &a);
  gather(u, row, p->from[1], p->count, &b);
  if (!etx_is_f64(u->compute)) {
    blend_f32(out->f32, a.f32, b.f32, p->weights.f32, 1, p->count);
  } else {
    blend_f64(out->f64, a.f64, b.f64, p->weights.f64, 1, p->count);
  }
}

// Row `y`, from the cache or computed. It replaces the row that is not `other`.
static const etx_block* cached_row(const upsample* u, const char* in, int64_t y,
                                   int64_t other, const linear_columns* p,
                                   row_cache* cached) {
  for (size_t i = 0; i < 2; ++i) {
    if (cached->cached[i] == y) return &cached->rows[i];
  }
  const size_t place = cached->cached[0] == other ? 1 : 0;
  interpolate_row(u, in, y, p, &cached->rows[place]);
  cached->cached[place] = y;
  return &cached->rows[place];
}

static void linear_block(const upsample* u, const char* in, char* out,
                         const linear_columns* p) {
  row_cache cached = {.cached = {-1, -1}};
  const bool is_stored =
      u->out.dtype == ETX_DTYPE_FLOAT32 && u->out.column == 1;
  out += (ptrdiff_t)p->first * u->out.column * u->out.bytes;
  for (int64_t y = 0; y < u->out.rows; ++y) {
    const etx_resample_pair rows = etx_resample_linear(&u->y, y);
    const etx_block* a = cached_row(u, in, rows.first, rows.second, p, &cached);
    const etx_block* b = cached_row(u, in, rows.second, rows.first, p, &cached);
    const float weight = (float)rows.weight;
    etx_block blended;
    if (is_stored) {
      blend_f32((float*)(void*)out, a->f32, b->f32, &weight, 0, p->count);
    } else if (!etx_is_f64(u->compute)) {
      blend_f32(blended.f32, a->f32, b->f32, &weight, 0, p->count);
    } else {
      blend_f64(blended.f64, a->f64, b->f64, &rows.weight, 0, p->count);
    }
    if (!is_stored) {
      etx_block_store(&blended, u->compute, u->out.dtype, out, u->out.column,
                      p->count);
    }
    out += u->out.row * u->out.bytes;
  }
}

static void linear_plane(const upsample* u, const char* in, char* out) {
  linear_columns p = {0};
  for (; p.first < u->out.columns; p.first += (int64_t)p.count) {
    p.count = block_of(u->out.columns - p.first);
    for (size_t i = 0; i < p.count; ++i) {
      const etx_resample_pair pair =
          etx_resample_linear(&u->x, p.first + (int64_t)i);
      p.from[0][i] = (ptrdiff_t)pair.first * u->in.column;
      p.from[1][i] = (ptrdiff_t)pair.second * u->in.column;
      if (!etx_is_f64(u->compute)) {
        p.weights.f32[i] = (float)pair.weight;
      } else {
        p.weights.f64[i] = pair.weight;
      }
    }
    linear_block(u, in, out, &p);
  }
}

static void linear_planes(const void* context, size_t first, size_t end) {
  const upsample* u = context;
  for (size_t i = first; i < end; ++i) {
    const int64_t image = (int64_t)i / u->in.channels;
    const int64_t channel = (int64_t)i % u->in.channels;
    linear_plane(u, etx_planes_at(&u->in, image, channel),
                 etx_planes_at(&u->out, image, channel));
  }
}

// (input, output_size, align_corners, scale_factors, out)
static etx_status run_linear(etx_call* call) {
  const upsample u = read_upsample(
      call, 3,
      etx_call_boolean(call, ETX_ARG_upsample_bilinear2d_vec_align_corners));
  return run_planes(call, &u, linear_planes);
}

etx_status etx_kernel_upsample_bilinear2d_vec_out_prepare(etx_call* call) {
  const etx_compute_type compute = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_upsample_bilinear2d_vec_input)->dtype);
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_upsample_bilinear2d_vec_input,
                                 "a float");
  }
  call->run = run_linear;
  return etx_call_check_same_dtype(call, ETX_ARG_upsample_bilinear2d_vec_input,
                                   ETX_ARG_upsample_bilinear2d_vec_out);
}
