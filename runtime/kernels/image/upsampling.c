// Resampling of planes to other sizes: by the nearest element, or linearly
// between two rows and two columns.
//
// A result row is cut into blocks of columns, whose places in the input are
// found once for all rows of a plane. Linearly, an input row is first brought
// to the block's columns; going down the result each input row is used again
// for as long as it is one of the two.

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
  etx_compute_type wide;
  etx_resample y, x;
  double scale_y, scale_x;  // as stated, or 0
} upsample;

// (input, output_size, .., scale_factors, out): `scales` is where the factors
// stand.
static upsample read_upsample(const etx_call* call, size_t scales,
                              bool aligns_corners) {
  const etx_value* factors = etx_call_value(call, scales);
  const bool has_scales = factors->kind == ETX_VALUE_DOUBLES;
  upsample u = {
      .in = etx_planes_of(
          etx_call_tensor(call, ETX_ARG_upsample_nearest2d_vec_input)),
      .out = etx_planes_of(etx_call_tensor(call, scales + 1)),
      .wide = etx_compute_type_of(
          etx_call_tensor(call, ETX_ARG_upsample_nearest2d_vec_input)->dtype),
      .scale_y = has_scales ? factors->as.reals.items[0] : 0,
      .scale_x = has_scales ? factors->as.reals.items[1] : 0,
  };
  u.y = etx_resample_of(u.in.rows, u.out.rows, aligns_corners, u.scale_y);
  u.x = etx_resample_of(u.in.columns, u.out.columns, aligns_corners, u.scale_x);
  return u;
}

// The nearest input position, as PyTorch reckons it: in floats.
static int64_t nearest(int64_t in, int64_t out_size, double scale,
                       int64_t out) {
  if (out_size == in) return out;
  if (out_size == 2 * in) return out / 2;
  const float step =
      scale > 0 ? (float)(1 / scale) : (float)in / (float)out_size;
  const float at = etx_floor_f32((float)out * step);
  return at < (float)(in - 1) ? (int64_t)at : in - 1;
}

// Columns of a block and where they come from.
typedef struct columns {
  int64_t first;
  size_t count;
  ptrdiff_t from[ETX_BLOCK];  // elements from the start of an input row
} columns;

static void copy_columns(char* out, ptrdiff_t step, const char* row,
                         const columns* c, size_t bytes) {
  ETX_SWITCH_BYTES(bytes, T, {
    T* to = (T*)(void*)out;
    const T* from = (const T*)(const void*)row;
    for (size_t i = 0; i < c->count; ++i) {
      to[(ptrdiff_t)i * step] = from[c->from[i]];
    }
  })
}

static void nearest_block(const upsample* u, const char* in, char* out,
                          const columns* c) {
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
  columns c = {0};
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

// Two input rows brought to the columns of a block. The numbers of the rows
// that are held, or -1.
typedef struct row_pair {
  int64_t held[2];
  etx_block rows[2];
} row_pair;

typedef struct pairs {
  int64_t first;
  size_t count;
  ptrdiff_t from[2][ETX_BLOCK];  // elements from the start of an input row
  etx_block weights;             // of the second, in the wide type
} pairs;

// (1 - weight) a + weight b; `step` is 0 if one weight is for all.
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

// Elements of one row at places of a block, in the wide type.
static void gather(const upsample* u, const char* row, const ptrdiff_t* from,
                   size_t count, etx_block* out) {
  for (size_t i = 0; i < count; ++i) {
    etx_block one;
    etx_block_load(&one, u->wide, u->in.dtype, row + from[i] * u->in.bytes, 0,
                   1);
    if (!etx_is_f64(u->wide)) {
      out->f32[i] = one.f32[0];
    } else {
      out->f64[i] = one.f64[0];
    }
  }
}

static void bring_row(const upsample* u, const char* in, int64_t y,
                      const pairs* p, etx_block* out) {
  const char* row = in + (ptrdiff_t)y * u->in.row * u->in.bytes;
  if (u->in.dtype == ETX_DTYPE_FLOAT32) {
    const float* single = (const float*)(const void*)row;
    // Columns that stay what they are: weights are 1 and 0, of the same one.
    const bool stays = u->x.in == u->x.out && u->in.column == 1;
    const float* own = single + p->first;
    for (size_t i = 0; i < p->count && stays; ++i) {
      out->f32[i] = own[i] + 0.0f * own[i];
    }
    for (size_t i = 0; i < p->count && !stays; ++i) {
      const float weight = p->weights.f32[i];
      out->f32[i] =
          (1 - weight) * single[p->from[0][i]] + weight * single[p->from[1][i]];
    }
    return;
  }
  etx_block a, b;
  gather(u, row, p->from[0], p->count, &a);
  gather(u, row, p->from[1], p->count, &b);
  if (!etx_is_f64(u->wide)) {
    blend_f32(out->f32, a.f32, b.f32, p->weights.f32, 1, p->count);
  } else {
    blend_f64(out->f64, a.f64, b.f64, p->weights.f64, 1, p->count);
  }
}

// The row, which takes the place of the one that is not `other`.
static const etx_block* hold_row(const upsample* u, const char* in, int64_t y,
                                 int64_t other, const pairs* p,
                                 row_pair* held) {
  for (size_t i = 0; i < 2; ++i) {
    if (held->held[i] == y) return &held->rows[i];
  }
  const size_t place = held->held[0] == other ? 1 : 0;
  bring_row(u, in, y, p, &held->rows[place]);
  held->held[place] = y;
  return &held->rows[place];
}

static void linear_block(const upsample* u, const char* in, char* out,
                         const pairs* p) {
  row_pair held = {.held = {-1, -1}};
  const bool is_stored =
      u->out.dtype == ETX_DTYPE_FLOAT32 && u->out.column == 1;
  out += (ptrdiff_t)p->first * u->out.column * u->out.bytes;
  for (int64_t y = 0; y < u->out.rows; ++y) {
    const etx_resample_pair rows = etx_resample_linear(&u->y, y);
    const etx_block* a = hold_row(u, in, rows.first, rows.second, p, &held);
    const etx_block* b = hold_row(u, in, rows.second, rows.first, p, &held);
    const float weight = (float)rows.weight;
    etx_block blended;
    if (is_stored) {
      blend_f32((float*)(void*)out, a->f32, b->f32, &weight, 0, p->count);
    } else if (!etx_is_f64(u->wide)) {
      blend_f32(blended.f32, a->f32, b->f32, &weight, 0, p->count);
    } else {
      blend_f64(blended.f64, a->f64, b->f64, &rows.weight, 0, p->count);
    }
    if (!is_stored) {
      etx_block_store(&blended, u->wide, u->out.dtype, out, u->out.column,
                      p->count);
    }
    out += u->out.row * u->out.bytes;
  }
}

static void linear_plane(const upsample* u, const char* in, char* out) {
  pairs p = {0};
  for (; p.first < u->out.columns; p.first += (int64_t)p.count) {
    p.count = block_of(u->out.columns - p.first);
    for (size_t i = 0; i < p.count; ++i) {
      const etx_resample_pair pair =
          etx_resample_linear(&u->x, p.first + (int64_t)i);
      p.from[0][i] = (ptrdiff_t)pair.first * u->in.column;
      p.from[1][i] = (ptrdiff_t)pair.second * u->in.column;
      if (!etx_is_f64(u->wide)) {
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
  const etx_compute_type wide = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_upsample_bilinear2d_vec_input)->dtype);
  if (wide != ETX_COMPUTE_F32 && wide != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_upsample_bilinear2d_vec_input,
                                 "a float");
  }
  call->run = run_linear;
  return etx_call_check_same_dtype(call, ETX_ARG_upsample_bilinear2d_vec_input,
                                   ETX_ARG_upsample_bilinear2d_vec_out);
}
