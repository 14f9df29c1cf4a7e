// Determinants from LU factors: the product of the diagonal of U, with the sign
// of the exchanges of rows. The logarithm is a sum in double, so that products
// beyond the type's range have one.

#include "runtime/kernels/linear_algebra/matrix_batch.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"

// The factors of one matrix.
typedef struct factored {
  const char* diagonal;  // of U
  ptrdiff_t step;        // bytes from one element to the next
  const int32_t* pivots;
  ptrdiff_t pivot_step;  // elements from one to the next
  ptrdiff_t size;
} factored;

static factored factored_of(const etx_call* call, size_t index) {
  const etx_tensor* lu = etx_call_tensor(call, ETX_ARG_lu_det_LU);
  const etx_tensor* rows = etx_call_tensor(call, ETX_ARG_lu_det_pivots);
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(lu->dtype);
  return (factored){
      (const char*)lu->data + bytes * etx_matrix_offset(lu, 2, lu, index),
      bytes * (lu->strides[lu->rank - 1] + lu->strides[lu->rank - 2]),
      (const int32_t*)rows->data + etx_matrix_offset(rows, 1, lu, index),
      rows->strides[rows->rank - 1], lu->sizes[lu->rank - 1]};
}

static double diagonal_at(const factored* f, etx_dtype dtype, ptrdiff_t i) {
  const void* at = f->diagonal + i * f->step;
  return etx_matrix_is_f32(dtype) ? (double)*(const float*)at
                                  : *(const double*)at;
}

// -1 if an odd number of rows was exchanged.
static double sign_of_exchanges(const factored* f) {
  double sign = 1;
  for (ptrdiff_t i = 0; i < f->size; ++i) {
    if (f->pivots[i * f->pivot_step] != i + 1) sign = -sign;
  }
  return sign;
}

static void store(const etx_tensor* out, size_t index, double value) {
  if (etx_matrix_is_f32(out->dtype)) {
    ((float*)out->data)[index] = (float)value;
  } else {
    ((double*)out->data)[index] = value;
  }
}

// (LU, pivots, out)
static etx_status run_det(etx_call* call) {
  const etx_tensor* lu = etx_call_tensor(call, ETX_ARG_lu_det_LU);
  for (size_t i = 0, count = etx_matrix_count(lu); i < count; ++i) {
    const factored f = factored_of(call, i);
    double product = sign_of_exchanges(&f);
    for (ptrdiff_t n = 0; n < f.size; ++n) {
      product *= diagonal_at(&f, lu->dtype, n);
    }
    store(etx_call_tensor(call, ETX_ARG_lu_det_out), i, product);
  }
  return ETX_OK;
}

// (LU, pivots, sign, logabsdet)
static etx_status run_slogdet(etx_call* call) {
  const etx_tensor* lu = etx_call_tensor(call, ETX_ARG_lu_slogdet_LU);
  for (size_t i = 0, count = etx_matrix_count(lu); i < count; ++i) {
    const factored f = factored_of(call, i);
    double sign = sign_of_exchanges(&f), sum = 0;
    for (ptrdiff_t n = 0; n < f.size; ++n) {
      const double x = diagonal_at(&f, lu->dtype, n);
      sum += etx_log_f64(x < 0 ? -x : x);
      sign *= x < 0 ? -1 : x > 0 ? 1 : 0;
    }
    store(etx_call_tensor(call, ETX_ARG_lu_slogdet_sign), i, sign);
    store(etx_call_tensor(call, ETX_ARG_lu_slogdet_logabsdet), i, sum);
  }
  return ETX_OK;
}

// The arguments of both operators begin with the factors.
static etx_status prepare(etx_call* call, size_t first, size_t last,
                          etx_kernel_function run) {
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_lu_det_pivots, ETX_DTYPE_INT32));
  for (size_t i = first; i <= last; ++i) {
    ETX_TRY(etx_matrix_check_dtypes(call, ETX_ARG_lu_det_LU, i));
    ETX_TRY(etx_call_check_contiguous(call, i));
  }
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_lu_det_out_prepare(etx_call* call) {
  return prepare(call, ETX_ARG_lu_det_out, ETX_ARG_lu_det_out, run_det);
}

etx_status etx_kernel_lu_slogdet_out_prepare(etx_call* call) {
  return prepare(call, ETX_ARG_lu_slogdet_sign, ETX_ARG_lu_slogdet_logabsdet,
                 run_slogdet);
}
