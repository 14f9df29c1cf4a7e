// _cdist_forward and _pdist_forward: distances between rows in any p-norm.
//
//   p = 0         the number of elements that differ
//   p = infinity  the largest difference
//   other p       (sum |x - y|^p)^(1/p)

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/core/strided_iterator.h"

typedef struct p_norm {
  double p;
  etx_dtype dtype;
  size_t count;  // elements of a row
} p_norm;

// Sum of (x - y)^2, in the order of striped_sum.h for one array.
static inline float sum_of_squares(const float* x, const float* y,
                                   size_t count) {
  etx_f32x4 a = {0}, b = {0}, c = {0}, d = {0};
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const etx_f32x4 p = etx_f32x4_load(x + i) - etx_f32x4_load(y + i);
    const etx_f32x4 q = etx_f32x4_load(x + i + 4) - etx_f32x4_load(y + i + 4);
    const etx_f32x4 r = etx_f32x4_load(x + i + 8) - etx_f32x4_load(y + i + 8);
    const etx_f32x4 s = etx_f32x4_load(x + i + 12) - etx_f32x4_load(y + i + 12);
    a += p * p;
    b += q * q;
    c += r * r;
    d += s * s;
  }
  for (; i + 4 <= count; i += 4) {
    const etx_f32x4 p = etx_f32x4_load(x + i) - etx_f32x4_load(y + i);
    a += p * p;
  }
  float tail = 0;
  for (; i < count; ++i) tail += (x[i] - y[i]) * (x[i] - y[i]);
  return etx_f32x4_sum(a, b, c, d) + tail;
}

// Euclidean distances of one row to `rows` others, all contiguous. The square
// roots are a loop of their own, which is vectorised.
static void l2_distances_f32(const float* x, const float* y, size_t rows,
                             ptrdiff_t y_step, size_t count, float* out) {
  for (size_t j = 0; j < rows; ++j, y += y_step) {
    out[j] = sum_of_squares(x, y, count);
  }
  for (size_t j = 0; j < rows; ++j) out[j] = etx_sqrt_f32(out[j]);
}

// Adds one difference to the sum.
static double add_difference(double p, double sum, double difference) {
  const double size = etx_abs_f64(difference);
  if (p == 2) return sum + size * size;
  if (p == 1) return sum + size;
  if (size != size || sum != sum) return sum + size;
  if (p == 0) return sum + (size != 0);
  if (p == __builtin_inf()) return size > sum ? size : sum;
  return sum + (size == 0 ? 0 : etx_pow_f64(size, p));
}

static double root(double p, double sum) {
  if (p == 2) return etx_sqrt_f64(sum);
  if (p == 0 || p == 1 || p == __builtin_inf() || sum == 0) return sum;
  return etx_pow_f64(sum, 1 / p);
}

// x - y. A difference of floats is rounded to a float, as in PyTorch.
static double difference(etx_dtype dtype, const void* x, const void* y) {
  if (ETX_HAS_DTYPE(FLOAT64) && dtype == ETX_DTYPE_FLOAT64) {
    return *(const double*)x - *(const double*)y;
  }
  if (dtype == ETX_DTYPE_FLOAT32) {
    return (double)(*(const float*)x - *(const float*)y);
  }
  float a, b;
  etx_convert(ETX_DTYPE_FLOAT32, &a, 1, dtype, x, 1, 1);
  etx_convert(ETX_DTYPE_FLOAT32, &b, 1, dtype, y, 1, 1);
  return (double)(a - b);
}

// The distance of two rows. Strides are in bytes.
static double distance(const p_norm* n, const char* x, ptrdiff_t x_stride,
                       const char* y, ptrdiff_t y_stride) {
  const bool is_dense = x_stride == sizeof(float) && y_stride == sizeof(float);
  double sum = 0;
  if (n->dtype == ETX_DTYPE_FLOAT32 && n->p == 2 && is_dense) {
    return (double)etx_sqrt_f32(sum_of_squares(
        (const float*)(const void*)x, (const float*)(const void*)y, n->count));
  }
  for (size_t i = 0; i < n->count; ++i, x += x_stride, y += y_stride) {
    sum = add_difference(n->p, sum, difference(n->dtype, x, y));
  }
  return root(n->p, sum);
}

static void store(const p_norm* n, void* to, double value) {
  if (n->dtype == ETX_DTYPE_FLOAT32) {
    *(float*)to = (float)value;
  } else {
    etx_convert_real(n->dtype, value, to);
  }
}

// The last two dimensions of a tensor. Strides are in bytes.
typedef struct matrix_view {
  char* data;
  ptrdiff_t row;
  ptrdiff_t column;
} matrix_view;

static matrix_view matrix_view_of(const etx_tensor* t) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(t->dtype);
  const matrix_view m = {t->data, t->strides[t->rank - 2] * bytes,
                         t->strides[t->rank - 1] * bytes};
  return m;
}

static bool is_dense(const matrix_view* m) {
  return m->column == sizeof(float);
}

static void write_distances(const p_norm* n, const matrix_view* x,
                            size_t x_rows, const matrix_view* y, size_t y_rows,
                            const matrix_view* out) {
  if (n->dtype == ETX_DTYPE_FLOAT32 && n->p == 2 && is_dense(x) &&
      is_dense(y) && is_dense(out)) {
    for (size_t i = 0; i < x_rows; ++i) {
      const ptrdiff_t at = (ptrdiff_t)i;
      l2_distances_f32((const float*)(const void*)(x->data + at * x->row),
                       (const float*)(const void*)y->data, y_rows,
                       y->row / (ptrdiff_t)sizeof(float), n->count,
                       (float*)(void*)(out->data + at * out->row));
    }
    return;
  }
  for (size_t i = 0; i < x_rows; ++i) {
    for (size_t j = 0; j < y_rows; ++j) {
      store(n, out->data + (ptrdiff_t)i * out->row + (ptrdiff_t)j * out->column,
            distance(n, x->data + (ptrdiff_t)i * x->row, x->column,
                     y->data + (ptrdiff_t)j * y->row, y->column));
    }
  }
}

// A tensor without its last two dimensions, to iterate over matrices.
static etx_tensor batch_of(const etx_tensor* t) {
  etx_tensor batch = *t;
  batch.rank = (uint8_t)(t->rank - 2);
  return batch;
}

// (x1 [..., P, M], x2 [..., R, M], p, compute_mode, out [..., P, R])
static etx_status run_cdist(etx_call* call) {
  const etx_tensor* a = etx_call_tensor(call, ETX_ARG_cdist_forward_x1);
  const etx_tensor* b = etx_call_tensor(call, ETX_ARG_cdist_forward_x2);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_cdist_forward_out);
  const p_norm n = {etx_call_real(call, ETX_ARG_cdist_forward_p), out->dtype,
                    (size_t)a->sizes[a->rank - 1]};
  const etx_tensor batches[] = {batch_of(out), batch_of(a), batch_of(b)};
  matrix_view m[] = {matrix_view_of(out), matrix_view_of(a), matrix_view_of(b)};
  etx_strided_iterator iterator;
  etx_strided_iterator_init(&iterator, batches[0].sizes, batches[0].rank);
  for (size_t k = 0; k < 3; ++k)
    etx_strided_iterator_add(&iterator, &batches[k]);
  for (bool more = etx_strided_iterator_start(&iterator); more;
       more = etx_strided_iterator_next(&iterator)) {
    for (size_t k = 0; k < 3; ++k) m[k].data = iterator.data[k];
    for (size_t i = 0; i < iterator.count; ++i) {
      write_distances(&n, &m[1], (size_t)a->sizes[a->rank - 2], &m[2],
                      (size_t)b->sizes[b->rank - 2], &m[0]);
      for (size_t k = 0; k < 3; ++k) {
        m[k].data += iterator.stride[k] * iterator.bytes[k];
      }
    }
  }
  return ETX_OK;
}

// (self [N, M], p, out): pairs (0, 1), (0, 2), ..., (1, 2), ...
static etx_status run_pdist(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_pdist_forward_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_pdist_forward_out);
  const p_norm n = {etx_call_real(call, ETX_ARG_pdist_forward_p), out->dtype,
                    (size_t)self->sizes[1]};
  const matrix_view m = matrix_view_of(self);
  const ptrdiff_t step =
      out->strides[0] * (ptrdiff_t)etx_dtype_bytes(out->dtype);
  matrix_view x = m, to = {out->data, 0, step};
  for (ptrdiff_t tail = self->sizes[0]; --tail > 0; x.data += m.row) {
    const matrix_view y = {x.data + m.row, m.row, m.column};
    write_distances(&n, &x, 1, &y, (size_t)tail, &to);
    to.data += tail * step;
  }
  return ETX_OK;
}

// PyTorch supports float16 and bfloat16 only where it uses a matrix product, or
// where there is nothing to compute.
static etx_status prepare(etx_call* call, size_t p, size_t out, bool is_product,
                          etx_kernel_function run) {
  const etx_tensor* rows = etx_call_tensor(call, ETX_ARG_cdist_forward_x1);
  const etx_dtype dtype = rows->dtype;
  const bool takes_halves = is_product || rows->sizes[rows->rank - 1] == 0 ||
                            etx_tensor_numel(etx_call_tensor(call, out)) == 0;
  const bool is_half = etx_compute_type_of(dtype) == ETX_COMPUTE_F32 &&
                       dtype != ETX_DTYPE_FLOAT32;
  if (dtype != ETX_DTYPE_FLOAT32 && dtype != ETX_DTYPE_FLOAT64 &&
      !(is_half && takes_halves)) {
    return etx_call_refuse_dtype(call, ETX_ARG_cdist_forward_x1,
                                 "'float32' or 'float64'");
  }
  if (!(etx_call_real(call, p) >= 0)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT, "'p' is negative or NaN");
  }
  call->run = run;
  return etx_call_check_same_dtype(call, ETX_ARG_cdist_forward_x1, out);
}

// True if PyTorch uses a matrix product: always for compute_mode 1, never for
// 2, and for more than 25 rows for 0.
static bool uses_matrix_product(const etx_call* call, int64_t mode) {
  const etx_tensor* a = etx_call_tensor(call, ETX_ARG_cdist_forward_x1);
  const etx_tensor* b = etx_call_tensor(call, ETX_ARG_cdist_forward_x2);
  const bool has_many =
      a->sizes[a->rank - 2] > 25 || b->sizes[b->rank - 2] > 25;
  return etx_call_real(call, ETX_ARG_cdist_forward_p) == 2 &&
         (mode == 1 || (mode == 0 && has_many));
}

etx_status etx_kernel_cdist_forward_out_prepare(etx_call* call) {
  const int64_t mode =
      etx_call_is_none(call, ETX_ARG_cdist_forward_compute_mode)
          ? 0
          : etx_call_integer(call, ETX_ARG_cdist_forward_compute_mode);
  if (mode < 0 || mode > 2) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'compute_mode' is %i, expected 0 to 2", mode);
  }
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_cdist_forward_x1,
                                    ETX_ARG_cdist_forward_x2));
  return prepare(call, 2, 4, uses_matrix_product(call, mode), run_cdist);
}
etx_status etx_kernel_pdist_forward_out_prepare(etx_call* call) {
  return prepare(call, 1, 2, false, run_pdist);
}
