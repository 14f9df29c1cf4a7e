#include "runtime/kernels/linear_algebra/double_matrix.h"

#include <math.h>

#include "format/base/checked_math.h"
#include "runtime/kernels/linear_algebra/matrix_batch.h"
#include "runtime/kernels/math/math_bits.h"

void etx_double_matrix_load(const etx_double_matrix* to, const etx_tensor* from,
                            size_t index) {
  const ptrdiff_t start = etx_matrix_offset(from, 2, from, index);
  const ptrdiff_t down = from->strides[from->rank - 2];
  const ptrdiff_t right = from->strides[from->rank - 1];
  const bool is_f32 = etx_matrix_is_f32(from->dtype);
  for (ptrdiff_t i = 0; i < to->rows; ++i) {
    for (ptrdiff_t j = 0; j < to->columns; ++j) {
      const ptrdiff_t at = start + i * down + j * right;
      to->data[i * to->row_step + j * to->column_step] =
          is_f32 ? (double)((const float*)from->data)[at]
                 : ((const double*)from->data)[at];
    }
  }
}

void etx_double_matrix_store(const etx_double_matrix* from, double factor,
                             const etx_tensor* to, size_t index) {
  ptrdiff_t at = (ptrdiff_t)index * from->rows * from->columns;
  const bool is_f32 = etx_matrix_is_f32(to->dtype);
  for (ptrdiff_t i = 0; i < from->rows; ++i) {
    for (ptrdiff_t j = 0; j < from->columns; ++j, ++at) {
      const double value =
          from->data[i * from->row_step + j * from->column_step] * factor;
      if (is_f32) {
        ((float*)to->data)[at] = (float)value;
      } else {
        ((double*)to->data)[at] = value;
      }
    }
  }
}

void etx_double_matrix_store_nan(ptrdiff_t rows, ptrdiff_t columns,
                                 const etx_tensor* to, size_t index) {
  double nan = (double)NAN;
  const etx_double_matrix all = {&nan, rows, columns, 0, 0};
  etx_double_matrix_store(&all, 1, to, index);
}

double etx_doubles_scale(double* elements, ptrdiff_t count) {
  double largest = 0;
  for (ptrdiff_t i = 0; i < count; ++i) {
    const double size = etx_abs_f64(elements[i]);
    if (!(size <= 0x1.fffffffffffffp+1023)) return (double)NAN;
    if (size > largest) largest = size;
  }
  const bool is_large = largest > 0x1p300;
  if (!is_large && (largest == 0 || largest > 0x1p-300)) return 1;
  for (ptrdiff_t i = 0; i < count; ++i) {
    elements[i] *= is_large ? 0x1p-600 : 0x1p700;
  }
  return is_large ? 0x1p600 : 0x1p-700;
}

double* etx_double_space_take(etx_double_space* space, ptrdiff_t rows,
                              ptrdiff_t columns) {
  double* const taken = space->data == NULL ? NULL : space->data + space->used;
  size_t count = 0;
  if (!etx_multiply_size((size_t)rows, (size_t)columns, &count) ||
      !etx_add_size(space->used, count, &space->used)) {
    space->is_over = true;
  }
  return taken;
}

etx_status etx_double_space_bytes(const etx_double_space* space,
                                  const etx_call* call, size_t* out_bytes) {
  if (!space->is_over &&
      etx_multiply_size(space->used, sizeof(double), out_bytes)) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "temporary memory for the matrices exceeds the "
                         "address space");
}

etx_status etx_double_prepare(etx_call* call, size_t a, size_t first,
                              size_t last, etx_temporary_function temporary) {
  ETX_TRY(etx_matrix_check_results(call, a, first, last));
  return etx_call_is_again(call) ? ETX_OK
                                 : temporary(call, &call->temporary_bytes);
}
