// max_pool2d: the largest element of each window and, for
// max_pool2d_with_indices, its index in the plane.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"
#include "runtime/kernels/image/pooling.h"
#include "runtime/kernels/core/parallel_for.h"

#define T float
#define MEMBER f32
#define IS_NAN(x) ((x) != (x))
#define NAME(x) x##_f32
#include "runtime/kernels/image/max_pooling_template.h"
#undef T
#undef MEMBER
#undef IS_NAN
#undef NAME
#define T double
#define MEMBER f64
#define IS_NAN(x) ((x) != (x))
#define NAME(x) x##_f64
#include "runtime/kernels/image/max_pooling_template.h"
#undef T
#undef MEMBER
#undef IS_NAN
#undef NAME
#define T int64_t
#define MEMBER i64
#define IS_NAN(x) false
#define NAME(x) x##_i64
#include "runtime/kernels/image/max_pooling_template.h"
#undef T
#undef MEMBER
#undef IS_NAN
#undef NAME

typedef struct max_loops {
  void (*fill)(void* best, etx_scalar value);
  void (*update)(void* best, int32_t* taps, const void* elements, size_t count,
                 int32_t tap);
  void (*update_value)(void* best, const void* elements, size_t count);
  void (*scan)(void* best, int64_t* index, const void* elements, size_t count,
               int64_t first, int64_t step);
} max_loops;

// Indexed by etx_compute_type.
static const max_loops loops_by_type[] = {
    {fill_i64, update_i64, update_value_i64, scan_i64},
    {fill_f32, update_f32, update_value_f32, scan_f32},
    {ETX_IF_DTYPE(FLOAT64, fill_f64), ETX_IF_DTYPE(FLOAT64, update_f64),
     ETX_IF_DTYPE(FLOAT64, update_value_f64), ETX_IF_DTYPE(FLOAT64, scan_f64)}};

typedef struct max_pool {
  etx_pooling pool;
  bool has_indices;
  etx_planes indices;
  etx_scalar lowest;  // no element is smaller
} max_pool;

// A tap is stored as row << 16 | column.
enum { TAP_BITS = 16, TAP_MASK = (1 << TAP_BITS) - 1 };

// Converts the taps of a block of results to indices in the input plane.
static void store_indices(const max_pool* m, const etx_pooling_lanes* l,
                          const int32_t* taps, int64_t first_row) {
  const etx_pooling* p = &m->pool;
  int64_t* index = (int64_t*)(void*)etx_pooling_place(&m->indices, l);
  const ptrdiff_t step = etx_pooling_step(p, &m->indices);
  const int64_t start =
      etx_window_start(&p->y, l->y) + first_row * p->y.dilation;
  for (size_t i = 0; i < l->count; ++i) {
    const int64_t x = etx_pooling_column(p, l, i);
    const int64_t row = start + (taps[i] >> TAP_BITS) * p->y.dilation;
    const int64_t column =
        etx_window_start(&p->x, x) + (taps[i] & TAP_MASK) * p->x.dilation;
    index[(ptrdiff_t)i * step] = row * p->x.in + column;
  }
}

// Sets each tap to the first one inside the image: the result if no element is
// larger than the lowest number.
static void set_first_taps(const etx_pooling* p, const etx_pooling_lanes* l,
                           int32_t* taps) {
  const bool are_inside = l->are_inside && !p->are_lanes_channels;
  for (size_t i = 0; i < l->count; ++i) {
    const int64_t x = etx_pooling_column(p, l, i);
    taps[i] = are_inside ? 0 : (int32_t)etx_window_taps(&p->x, x).first;
  }
}

static void pool_lanes(const max_pool* m, const etx_pooling_lanes* l) {
  const etx_pooling* p = &m->pool;
  const max_loops* loops = &loops_by_type[p->compute];
  etx_block best, block;
  int32_t taps[ETX_BLOCK];
  loops->fill(&best, m->lowest);
  if (m->has_indices) set_first_taps(p, l, taps);
  const etx_span rows = etx_window_taps(&p->y, l->y);
  const etx_span all = {0, p->x.kernel};
  const etx_span columns =
      p->are_lanes_channels ? etx_window_taps(&p->x, l->x) : all;
  for (int64_t ky = rows.first; ky < rows.end; ++ky) {
    const char* row = etx_pooling_row(p, l, ky);
    for (int64_t kx = columns.first; kx < columns.end; ++kx) {
      const etx_pooling_elements e = etx_pooling_tap(p, l, row, kx, &block);
      void* to = etx_pooling_lane(&best, p->compute, e.first);
      if (!m->has_indices) {
        loops->update_value(to, e.data, e.count);
        continue;
      }
      const int64_t tap = (ky - rows.first) << TAP_BITS | kx;
      loops->update(to, taps + e.first, e.data, e.count, (int32_t)tap);
    }
  }
  etx_block_store(&best, p->compute, p->out.dtype,
                  etx_pooling_place(&p->out, l), etx_pooling_step(p, &p->out),
                  l->count);
  if (m->has_indices) store_indices(m, l, taps, rows.first);
}

// Computes a single window, row by row.
static void pool_window(const max_pool* m, const etx_pooling_lanes* l) {
  const etx_pooling* p = &m->pool;
  const etx_span rows = etx_window_taps(&p->y, l->y);
  const etx_span columns = etx_window_taps(&p->x, l->x);
  const int64_t start_y = etx_window_start(&p->y, l->y);
  const int64_t start_x = etx_window_start(&p->x, l->x);
  etx_scalar best = m->lowest;
  int64_t index = (start_y + rows.first * p->y.dilation) * p->x.in + start_x +
                  columns.first * p->x.dilation;
  for (int64_t ky = rows.first; ky < rows.end; ++ky) {
    const int64_t y = start_y + ky * p->y.dilation;
    for (int64_t kx = columns.first; kx < columns.end; kx += ETX_BLOCK) {
      const int64_t left = columns.end - kx;
      const size_t count = left < ETX_BLOCK ? (size_t)left : ETX_BLOCK;
      const int64_t x = start_x + kx * p->x.dilation;
      etx_block block;
      const void* elements = etx_row_widen(
          &block, p->compute, p->in.dtype,
          etx_pooling_row(p, l, ky) + (ptrdiff_t)x * p->in.column * p->in.bytes,
          (ptrdiff_t)p->x.dilation * p->in.column, count);
      loops_by_type[p->compute].scan(&best, &index, elements, count,
                                     y * p->x.in + x, p->x.dilation);
    }
  }
  etx_convert(p->out.dtype, etx_pooling_place(&p->out, l), 1,
              etx_compute_type_dtype(p->compute), &best, 1, 1);
  if (!m->has_indices) return;
  *(int64_t*)(void*)etx_pooling_place(&m->indices, l) = index;
}

static void pool_block(const void* context, const etx_pooling_lanes* l) {
  const max_pool* m = context;
  if (m->pool.has_lanes) {
    pool_lanes(m, l);
  } else {
    pool_window(m, l);
  }
}

// ------------------------------------------------ planes of float32

typedef struct plane_context {
  const etx_pooling* pool;
  const etx_f32_microkernels* microkernels;
} plane_context;

// True if the row microkernel (max_pool_row) applies: float32 without indices,
// and contiguous rows.
static bool has_row_kernel(const max_pool* m) {
  const etx_pooling* p = &m->pool;
  return p->in.dtype == ETX_DTYPE_FLOAT32 && !m->has_indices && p->has_lanes &&
         !p->are_lanes_channels && p->in.column == 1 && p->out.column == 1 &&
         p->x.stride <= 2;
}

static void pool_plane(const plane_context* c, const float* in, float* out) {
  const etx_pooling* p = c->pool;
  etx_max_pool_row row = {.in_row = (ptrdiff_t)p->y.dilation * p->in.row,
                          .first = (ptrdiff_t)etx_window_start(&p->x, 0),
                          .columns = (ptrdiff_t)p->x.in,
                          .tap = (ptrdiff_t)p->x.dilation,
                          .stride = (ptrdiff_t)p->x.stride,
                          .taps = (size_t)p->x.kernel,
                          .count = (size_t)p->x.out};
  for (int64_t y = 0; y < p->y.out; ++y, out += p->out.row) {
    const etx_span rows = etx_window_taps(&p->y, y);
    const int64_t start =
        etx_window_start(&p->y, y) + rows.first * p->y.dilation;
    row.in = in + (ptrdiff_t)start * p->in.row;
    row.rows = rows.first < rows.end ? (size_t)(rows.end - rows.first) : 0;
    row.out = out;
    c->microkernels->max_pool_row(&row);
  }
}

static void pool_planes(const void* context, size_t first, size_t end) {
  const plane_context* c = context;
  const etx_pooling* p = c->pool;
  for (size_t i = first; i < end; ++i) {
    const int64_t image = (int64_t)i / p->in.channels;
    const int64_t channel = (int64_t)i % p->in.channels;
    const char* in = etx_planes_at(&p->in, image, channel);
    char* out = etx_planes_at(&p->out, image, channel);
    pool_plane(c, (const float*)(const void*)in, (float*)(void*)out);
  }
}

static void pool_all_planes(const max_pool* m, const etx_parallel* parallel) {
  const etx_pooling* p = &m->pool;
  const plane_context c = {
      p, etx_f32_microkernels_of(
             etx_instruction_set_within(parallel->instruction_set))};
  const int64_t planes = p->in.images * p->in.channels;
  const double work = (double)planes * (double)p->y.out * (double)p->x.out *
                      (double)p->y.kernel * (double)p->x.kernel;
  etx_parallel_for(parallel, (size_t)planes, work, pool_planes, &c);
}

// The lowest number of a type.
static etx_scalar lowest_of(etx_dtype dtype) {
  etx_scalar lowest = {0};
  const etx_compute_type compute = etx_compute_type_of(dtype);
  if (compute == ETX_COMPUTE_F32) {
    lowest.f32 = -__builtin_inff();
  } else if (etx_is_f64(compute)) {
    lowest.f64 = -__builtin_inf();
  } else if (dtype == ETX_DTYPE_INT64) {
    lowest.i64 = INT64_MIN;
  } else if (dtype != ETX_DTYPE_UINT8) {
    lowest.i64 = -((int64_t)1 << (8 * etx_dtype_bytes(dtype) - 1));
  }
  return lowest;
}

// (self, kernel_size, stride, padding, dilation, ceil_mode, out, indices)
static etx_status run_max_pool(etx_call* call) {
  max_pool m = {
      .pool = etx_pooling_read(call, 6, 1, true),
      .has_indices = call->argument_count > 7,
      .lowest = lowest_of(
          etx_call_tensor(call, ETX_ARG_max_pool2d_with_indices_self)->dtype)};
  if (m.has_indices)
    m.indices = etx_planes_of(
        etx_call_tensor(call, ETX_ARG_max_pool2d_with_indices_indices));
  if (has_row_kernel(&m)) {
    pool_all_planes(&m, call->parallel);
  } else {
    etx_pooling_run(&m.pool, call->parallel, pool_block, &m);
  }
  return ETX_OK;
}

etx_status etx_kernel_max_pool2d_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_max_pool2d_with_indices_self));
  if (etx_call_tensor(call, ETX_ARG_max_pool2d_with_indices_self)->dtype ==
      ETX_DTYPE_BOOL) {
    return etx_call_refuse_dtype(call, ETX_ARG_max_pool2d_with_indices_self,
                                 "numbers");
  }
  call->run = run_max_pool;
  return etx_call_check_same_dtype(call, ETX_ARG_max_pool2d_with_indices_self,
                                   ETX_ARG_max_pool2d_with_indices_out);
}

etx_status etx_kernel_max_pool2d_with_indices_out_prepare(etx_call* call) {
  ETX_TRY(etx_kernel_max_pool2d_out_prepare(call));
  return etx_call_check_dtype(call, ETX_ARG_max_pool2d_with_indices_indices,
                              ETX_DTYPE_INT64);
}
