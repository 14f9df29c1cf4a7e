// _cdist_forward and _pdist_forward: distances between rows, in any p-norm,
// and allclose.
//
//   p = 0: how many elements differ     p = infinity: the largest difference
//   else (sum |x - y|^p)^(1/p)

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/core/strided_iterator.h"

typedef struct norm {
  double p;
  etx_dtype dtype;
  size_t count;  // elements of a row
} norm;

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
  float rest = 0;
  for (; i < count; ++i) rest += (x[i] - y[i]) * (x[i] - y[i]);
  return etx_f32x4_sum(a, b, c, d) + rest;
}

// Distances of one row to `rows` others, all dense: first the squares, then
// the roots, many at a time.
static void distances_of_floats(const float* x, const float* y, size_t rows,
                                ptrdiff_t y_step, size_t count, float* out) {
  for (size_t j = 0; j < rows; ++j, y += y_step) {
    out[j] = sum_of_squares(x, y, count);
  }
  for (size_t j = 0; j < rows; ++j) out[j] = etx_sqrt_f32(out[j]);
}

// What has been summed, with one more difference.
static double fold(double p, double sum, double difference) {
  const double size = etx_abs_f64(difference);
  if (p == 2) return sum + size * size;
  if (p == 1) return sum + size;
  if (size != size || sum != sum) return sum + size;
  if (p == 0) return sum + (size != 0);
  if (p == __builtin_inf()) return size > sum ? size : sum;
  return sum + (size == 0 ? 0 : etx_pow_f64(size, p));
}

static double finish(double p, double sum) {
  if (p == 2) return etx_sqrt_f64(sum);
  if (p == 0 || p == 1 || p == __builtin_inf() || sum == 0) return sum;
  return etx_pow_f64(sum, 1 / p);
}

// A difference of floats is rounded to a float, as in PyTorch.
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

// The distance of two rows, whose elements lie `stride` bytes apart.
static double distance(const norm* n, const char* x, ptrdiff_t x_stride,
                       const char* y, ptrdiff_t y_stride) {
  const bool is_dense = x_stride == sizeof(float) && y_stride == sizeof(float);
  double sum = 0;
  if (n->dtype == ETX_DTYPE_FLOAT32 && n->p == 2 && is_dense) {
    return (double)etx_sqrt_f32(sum_of_squares(
        (const float*)(const void*)x, (const float*)(const void*)y, n->count));
  }
  for (size_t i = 0; i < n->count; ++i, x += x_stride, y += y_stride) {
    sum = fold(n->p, sum, difference(n->dtype, x, y));
  }
  return finish(n->p, sum);
}

static void store(const norm* n, void* to, double value) {
  if (n->dtype == ETX_DTYPE_FLOAT32) {
    *(float*)to = (float)value;
  } else {
    etx_convert_real(n->dtype, value, to);
  }
}

// A matrix in memory: strides in bytes.
typedef struct matrix {
  char* data;
  ptrdiff_t row;
  ptrdiff_t column;
} matrix;

static matrix matrix_of(const etx_tensor* t) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(t->dtype);
  const matrix m = {t->data, t->strides[t->rank - 2] * bytes,
                    t->strides[t->rank - 1] * bytes};
  return m;
}

static bool is_dense(const matrix* m) { return m->column == sizeof(float); }

static void distances_of(const norm* n, const matrix* x, size_t x_rows,
                         const matrix* y, size_t y_rows, const matrix* out) {
  if (n->dtype == ETX_DTYPE_FLOAT32 && n->p == 2 && is_dense(x) &&
      is_dense(y) && is_dense(out)) {
    for (size_t i = 0; i < x_rows; ++i) {
      const ptrdiff_t at = (ptrdiff_t)i;
      distances_of_floats((const float*)(const void*)(x->data + at * x->row),
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

// Without its last two dimensions, for a walk over the matrices.
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
  const norm n = {etx_call_real(call, ETX_ARG_cdist_forward_p), out->dtype,
                  (size_t)a->sizes[a->rank - 1]};
  const etx_tensor batches[] = {batch_of(out), batch_of(a), batch_of(b)};
  matrix m[] = {matrix_of(out), matrix_of(a), matrix_of(b)};
  etx_strided_iterator walk;
  etx_strided_iterator_init(&walk, batches[0].sizes, batches[0].rank);
  for (size_t k = 0; k < 3; ++k) etx_strided_iterator_add(&walk, &batches[k]);
  for (bool more = etx_strided_iterator_start(&walk); more;
       more = etx_strided_iterator_next(&walk)) {
    for (size_t k = 0; k < 3; ++k) m[k].data = walk.data[k];
    for (size_t i = 0; i < walk.count; ++i) {
      distances_of(&n, &m[1], (size_t)a->sizes[a->rank - 2], &m[2],
                   (size_t)b->sizes[b->rank - 2], &m[0]);
      for (size_t k = 0; k < 3; ++k) {
        m[k].data += walk.stride[k] * walk.bytes[k];
      }
    }
  }
  return ETX_OK;
}

// (self [N, M], p, out): pairs (0, 1), (0, 2), ..., (1, 2), ...
static etx_status run_pdist(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_pdist_forward_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_pdist_forward_out);
  const norm n = {etx_call_real(call, ETX_ARG_pdist_forward_p), out->dtype,
                  (size_t)self->sizes[1]};
  const matrix m = matrix_of(self);
  const ptrdiff_t step =
      out->strides[0] * (ptrdiff_t)etx_dtype_bytes(out->dtype);
  matrix x = m, to = {out->data, 0, step};
  for (ptrdiff_t rest = self->sizes[0]; --rest > 0; x.data += m.row) {
    const matrix y = {x.data + m.row, m.row, m.column};
    distances_of(&n, &x, 1, &y, (size_t)rest, &to);
    to.data += rest * step;
  }
  return ETX_OK;
}

// PyTorch computes with halves only by a matrix product, or where there is
// nothing to compute.
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

// Whether PyTorch takes a matrix product: always for mode 1, never for 2, else
// for many rows.
static bool takes_product(const etx_call* call, int64_t mode) {
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
  return prepare(call, 2, 4, takes_product(call, mode), run_cdist);
}
etx_status etx_kernel_pdist_forward_out_prepare(etx_call* call) {
  return prepare(call, 1, 2, false, run_pdist);
}
