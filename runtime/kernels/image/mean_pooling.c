// avg_pool2d, with a fixed window and stride, and adaptive_avg_pool2d, whose
// windows divide the plane into a given number of results.
//
// Sums are accumulated tap by tap and divided once. The rows of large windows
// are summed with the partial sums of striped_sum.h.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/image/pooling.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/math/wrapping_math.h"

static void add(etx_compute_type compute, void* sum, const void* elements,
                size_t count) {
  if (compute == ETX_COMPUTE_F32) {
    float* to = sum;
    const float* x = elements;
    for (size_t i = 0; i < count; ++i) to[i] += x[i];
  } else if (etx_is_f64(compute)) {
    double* to = sum;
    const double* x = elements;
    for (size_t i = 0; i < count; ++i) to[i] += x[i];
  } else {
    int64_t* to = sum;
    const int64_t* x = elements;
    for (size_t i = 0; i < count; ++i) to[i] = etx_wrap_add(to[i], x[i]);
  }
}

// Adds a whole row of elements to one sum.
static void add_row(etx_compute_type compute, etx_scalar* sum,
                    const void* elements, size_t count) {
  const double* real = elements;
  const int64_t* whole = elements;
  if (compute == ETX_COMPUTE_F32) {
    sum->f32 += etx_striped_sum_f32(elements, count);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    if (etx_is_f64(compute)) {
      sum->f64 += real[i];
    } else {
      sum->i64 = etx_wrap_add(sum->i64, whole[i]);
    }
  }
}

// Integers round toward zero. INT64_MIN / -1 wraps.
static void divide(etx_compute_type compute, etx_block* sums, size_t lane,
                   int64_t divisor) {
  if (compute == ETX_COMPUTE_F32) {
    sums->f32[lane] /= (float)divisor;
  } else if (etx_is_f64(compute)) {
    sums->f64[lane] /= (double)divisor;
  } else if (divisor == -1) {
    sums->i64[lane] = etx_wrap_multiply(sums->i64[lane], -1);
  } else {
    sums->i64[lane] /= divisor;
  }
}

typedef struct mean_pool {
  etx_pooling pool;
  bool counts_padding;
  int64_t divisor;  // divisor_override, or 0
} mean_pool;

// The size of a window along one dimension, as a divisor. With counts_padding
// the padding counts, but not positions beyond it that ceil_mode adds.
// Otherwise only positions inside the image count.
static int64_t window_size(const etx_window* w, int64_t out,
                           bool counts_padding) {
  int64_t start = etx_window_start(w, out);
  int64_t end = start + w->kernel;
  const int64_t limit = w->in + (counts_padding ? w->padding : 0);
  if (!counts_padding && start < 0) start = 0;
  if (end > limit) end = limit;
  return end - start;
}

static void divide_lanes(const mean_pool* m, const etx_pooling_lanes* l,
                         etx_block* sums) {
  const etx_pooling* p = &m->pool;
  const int64_t rows = window_size(&p->y, l->y, m->counts_padding);
  for (size_t i = 0; i < l->count; ++i) {
    const int64_t x = etx_pooling_column(p, l, i);
    const bool is_whole = l->are_inside && !p->are_lanes_channels;
    const int64_t columns =
        is_whole ? p->x.kernel : window_size(&p->x, x, m->counts_padding);
    divide(p->compute, sums, i, m->divisor != 0 ? m->divisor : rows * columns);
  }
}

static void sum_lanes(const etx_pooling* p, const etx_pooling_lanes* l,
                      etx_block* sums) {
  etx_block block;
  const etx_span rows = etx_window_taps(&p->y, l->y);
  const etx_span all = {0, p->x.kernel};
  const etx_span columns =
      p->are_lanes_channels ? etx_window_taps(&p->x, l->x) : all;
  for (int64_t ky = rows.first; ky < rows.end; ++ky) {
    const char* row = etx_pooling_row(p, l, ky);
    for (int64_t kx = columns.first; kx < columns.end; ++kx) {
      const etx_pooling_elements e = etx_pooling_tap(p, l, row, kx, &block);
      add(p->compute, etx_pooling_lane(sums, p->compute, e.first), e.data,
          e.count);
    }
  }
}

// Sums a rectangle of a plane, row by row.
static etx_scalar sum_rectangle(const etx_planes* in, etx_compute_type compute,
                                const char* plane, etx_span rows,
                                etx_span columns) {
  etx_scalar sum = {0};
  for (int64_t y = rows.first; y < rows.end; ++y) {
    for (int64_t x = columns.first; x < columns.end; x += ETX_BLOCK) {
      const int64_t left = columns.end - x;
      const size_t count = left < ETX_BLOCK ? (size_t)left : ETX_BLOCK;
      const ptrdiff_t at = (ptrdiff_t)y * in->row + (ptrdiff_t)x * in->column;
      etx_block block;
      const void* elements =
          etx_row_widen(&block, compute, in->dtype, plane + at * in->bytes,
                        in->column, count);
      add_row(compute, &sum, elements, count);
    }
  }
  return sum;
}

// The input positions of a window without dilation.
static etx_span input_range(const etx_window* w, int64_t out) {
  const int64_t start = etx_window_start(w, out);
  const etx_span taps = etx_window_taps(w, out);
  const etx_span inside = {start + taps.first, start + taps.end};
  return inside;
}

static void pool_block(const void* context, const etx_pooling_lanes* l) {
  const mean_pool* m = context;
  const etx_pooling* p = &m->pool;
  etx_block sums = {{0}};
  if (p->has_lanes) {
    sum_lanes(p, l, &sums);
  } else {
    const etx_scalar sum =
        sum_rectangle(&p->in, p->compute, l->in, input_range(&p->y, l->y),
                      input_range(&p->x, l->x));
    memcpy(&sums, &sum, sizeof(sum));
  }
  divide_lanes(m, l, &sums);
  etx_block_store(&sums, p->compute, p->out.dtype,
                  etx_pooling_place(&p->out, l), etx_pooling_step(p, &p->out),
                  l->count);
}

// (self, kernel_size, stride, padding, ceil_mode, count_include_pad,
// divisor_override, out)
static etx_status run_avg_pool(etx_call* call) {
  const mean_pool m = {
      .pool = etx_pooling_read(call, 7, 1, false),
      .counts_padding =
          etx_call_boolean(call, ETX_ARG_avg_pool2d_count_include_pad),
      .divisor =
          etx_call_is_none(call, ETX_ARG_avg_pool2d_divisor_override)
              ? 0
              : etx_call_integer(call, ETX_ARG_avg_pool2d_divisor_override)};
  etx_pooling_run(&m.pool, call->parallel, pool_block, &m);
  return ETX_OK;
}

etx_status etx_kernel_avg_pool2d_out_prepare(etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, ETX_ARG_avg_pool2d_self)->dtype;
  const etx_compute_type compute = etx_compute_type_of(dtype);
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64 &&
      dtype != ETX_DTYPE_INT64) {
    return etx_call_refuse_dtype(call, ETX_ARG_avg_pool2d_self,
                                 "a float or 'int64'");
  }
  call->run = run_avg_pool;
  return etx_call_check_same_dtype(call, ETX_ARG_avg_pool2d_self,
                                   ETX_ARG_avg_pool2d_out);
}

typedef struct adaptive_pool {
  etx_planes in, out;
  etx_compute_type compute;
} adaptive_pool;

// The window of result `out` of `outs` along a dimension of `size`. The windows
// cover the dimension, and neighbours may overlap by one position.
static etx_span adaptive_window(int64_t size, int64_t out, int64_t outs) {
  const etx_span span = {out * size / outs,
                         etx_ceil_div((out + 1) * size, outs)};
  return span;
}

static void pool_adaptive_plane(const adaptive_pool* p, const char* in,
                                char* out) {
  for (int64_t y = 0; y < p->out.rows; ++y) {
    const etx_span rows = adaptive_window(p->in.rows, y, p->out.rows);
    char* to = out + (ptrdiff_t)y * p->out.row * p->out.bytes;
    for (int64_t x = 0; x < p->out.columns; ++x) {
      const etx_span columns =
          adaptive_window(p->in.columns, x, p->out.columns);
      const etx_scalar sum =
          sum_rectangle(&p->in, p->compute, in, rows, columns);
      etx_block mean;
      memcpy(&mean, &sum, sizeof(sum));
      divide(p->compute, &mean, 0,
             (rows.end - rows.first) * (columns.end - columns.first));
      etx_block_store(&mean, p->compute, p->out.dtype, to, 1, 1);
      to += p->out.column * p->out.bytes;
    }
  }
}

static void pool_adaptive_planes(const void* context, size_t first,
                                 size_t end) {
  const adaptive_pool* p = context;
  for (size_t i = first; i < end; ++i) {
    const int64_t image = (int64_t)i / p->in.channels;
    const int64_t channel = (int64_t)i % p->in.channels;
    pool_adaptive_plane(p, etx_planes_at(&p->in, image, channel),
                        etx_planes_at(&p->out, image, channel));
  }
}

// (self, output_size, out)
static etx_status run_adaptive_pool(etx_call* call) {
  const etx_tensor* self =
      etx_call_tensor(call, ETX_ARG_adaptive_avg_pool2d_self);
  const adaptive_pool p = {.in = etx_planes_of(self),
                           .out = etx_planes_of(etx_call_tensor(
                               call, ETX_ARG_adaptive_avg_pool2d_out)),
                           .compute = etx_compute_type_of(self->dtype)};
  etx_parallel_for(call->parallel, (size_t)(p.in.images * p.in.channels),
                   (double)etx_tensor_numel(self), pool_adaptive_planes, &p);
  return ETX_OK;
}

etx_status etx_kernel_adaptive_avg_pool2d_out_prepare(etx_call* call) {
  const etx_compute_type compute = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_adaptive_avg_pool2d_self)->dtype);
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_adaptive_avg_pool2d_self,
                                 "a float");
  }
  call->run = run_adaptive_pool;
  return etx_call_check_same_dtype(call, ETX_ARG_adaptive_avg_pool2d_self,
                                   ETX_ARG_adaptive_avg_pool2d_out);
}
