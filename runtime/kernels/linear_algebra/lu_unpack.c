// The factors P, L and U that linalg_lu_factor_ex stores in one matrix and in
// the rows that it exchanged.

#include "runtime/kernels/linear_algebra/matrix_batch.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"

static void put(const etx_tensor* out, ptrdiff_t at, double value) {
  if (etx_matrix_is_f32(out->dtype)) {
    ((float*)out->data)[at] = (float)value;
  } else {
    ((double*)out->data)[at] = value;
  }
}

static double get(const etx_tensor* from, ptrdiff_t at) {
  return etx_matrix_is_f32(from->dtype) ? (double)((const float*)from->data)[at]
                                        : ((const double*)from->data)[at];
}

// Below the diagonal, which is 1, the elements of LU, else 0; or, if `upper`,
// the other elements of LU.
static void copy_triangle(const etx_tensor* lu, const etx_tensor* out,
                          size_t index, bool upper) {
  const ptrdiff_t rows = out->sizes[out->rank - 2];
  const ptrdiff_t columns = out->sizes[out->rank - 1];
  const ptrdiff_t start = etx_matrix_offset(lu, 2, lu, index);
  ptrdiff_t at = (ptrdiff_t)index * rows * columns;
  for (ptrdiff_t i = 0; i < rows; ++i) {
    for (ptrdiff_t j = 0; j < columns; ++j, ++at) {
      const bool is_copied = upper ? i <= j : i > j;
      put(out, at,
          is_copied ? get(lu, start + i * lu->strides[lu->rank - 2] +
                                  j * lu->strides[lu->rank - 1])
                    : !upper && i == j);
    }
  }
}

// The exchanges of rows of I, from the last one to the first.
static etx_status write_permutation(const etx_call* call, size_t index,
                                    const etx_tensor* out) {
  const etx_tensor* pivots = etx_call_tensor(call, ETX_ARG_lu_unpack_LU_pivots);
  const ptrdiff_t size = out->sizes[out->rank - 1];
  const ptrdiff_t step = pivots->strides[pivots->rank - 1];
  const int32_t* const exchanged =
      (const int32_t*)pivots->data + etx_matrix_offset(pivots, 1, out, index);
  const ptrdiff_t start = (ptrdiff_t)index * size * size;
  for (ptrdiff_t i = 0; i < size * size; ++i) {
    put(out, start + i, i / size == i % size);
  }
  for (ptrdiff_t k = pivots->sizes[pivots->rank - 1]; k-- > 0;) {
    const int32_t row = exchanged[k * step];
    if (row < 1 || row > size) {
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "an element of 'LU_pivots' is %i, expected 1 to "
                             "%i",
                             (int64_t)row, (int64_t)size);
    }
    for (ptrdiff_t j = 0; j < size; ++j) {
      const ptrdiff_t a = start + k * size + j;
      const ptrdiff_t b = start + (row - 1) * size + j;
      const double held = get(out, a);
      put(out, a, get(out, b));
      put(out, b, held);
    }
  }
  return ETX_OK;
}

// (LU_data, LU_pivots, unpack_data, unpack_pivots, P, L, U)
static etx_status run_lu_unpack(etx_call* call) {
  const etx_tensor* lu = etx_call_tensor(call, ETX_ARG_lu_unpack_LU_data);
  for (size_t i = 0, count = etx_matrix_count(lu); i < count; ++i) {
    if (etx_call_boolean(call, ETX_ARG_lu_unpack_unpack_pivots)) {
      ETX_TRY(write_permutation(call, i,
                                etx_call_tensor(call, ETX_ARG_lu_unpack_P)));
    }
    if (!etx_call_boolean(call, ETX_ARG_lu_unpack_unpack_data)) continue;
    copy_triangle(lu, etx_call_tensor(call, ETX_ARG_lu_unpack_L), i, false);
    copy_triangle(lu, etx_call_tensor(call, ETX_ARG_lu_unpack_U), i, true);
  }
  return ETX_OK;
}

etx_status etx_kernel_lu_unpack_out_prepare(etx_call* call) {
  ETX_TRY(etx_matrix_check_results(call, ETX_ARG_lu_unpack_LU_data,
                                   ETX_ARG_lu_unpack_P, ETX_ARG_lu_unpack_U));
  ETX_TRY(
      etx_call_check_dtype(call, ETX_ARG_lu_unpack_LU_pivots, ETX_DTYPE_INT32));
  call->run = run_lu_unpack;
  return ETX_OK;
}
