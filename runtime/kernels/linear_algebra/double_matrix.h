// Matrices of doubles in temporary memory. Factors that need many steps are
// computed in double for float32 too: the code exists once, and float32 results
// are rounded once.

#ifndef ETX_RUNTIME_KERNELS_LINEAR_ALGEBRA_DOUBLE_MATRIX_H
#define ETX_RUNTIME_KERNELS_LINEAR_ALGEBRA_DOUBLE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/kernel.h"

// Element (i, j) is data[i * row_step + j * column_step].
typedef struct etx_double_matrix {
  double* data;
  ptrdiff_t rows, columns;
  ptrdiff_t row_step, column_step;
} etx_double_matrix;

// One whose columns are contiguous.
static inline etx_double_matrix etx_double_columns(double* data, ptrdiff_t rows,
                                                   ptrdiff_t columns) {
  return (etx_double_matrix){data, rows, columns, 1, rows};
}

// The transposed matrix, in the same memory.
static inline etx_double_matrix etx_double_transposed(etx_double_matrix m) {
  return (etx_double_matrix){m.data, m.columns, m.rows, m.column_step,
                             m.row_step};
}

// Reads matrix `index` of a tensor of float32 or float64.
void etx_double_matrix_load(const etx_double_matrix* to, const etx_tensor* from,
                            size_t index);

// Writes it, times `factor`, to matrix `index` of a contiguous tensor. A matrix
// of one row is a vector of a tensor of vectors.
void etx_double_matrix_store(const etx_double_matrix* from, double factor,
                             const etx_tensor* to, size_t index);

// Fills matrix `index` of that size with NaN.
void etx_double_matrix_store_nan(ptrdiff_t rows, ptrdiff_t columns,
                                 const etx_tensor* to, size_t index);

// Multiplies elements by a power of two if their squares would leave the range
// of double, and returns its inverse, which is 1 for elements of float32; NaN,
// if one is not finite, and then changes nothing.
double etx_doubles_scale(double* elements, ptrdiff_t count);

// Temporary memory that is given away in parts. Without `data` it only counts,
// so that one function tells how many bytes are needed and where the parts are.
typedef struct etx_double_space {
  double* data;  // or NULL
  size_t used;   // doubles
  bool is_over;  // more than size_t holds
} etx_double_space;

// The next rows * columns doubles; NULL without memory.
double* etx_double_space_take(etx_double_space* space, ptrdiff_t rows,
                              ptrdiff_t columns);

// The bytes of what was taken. Refuses more than size_t holds.
etx_status etx_double_space_bytes(const etx_double_space* space,
                                  const etx_call* call, size_t* out_bytes);

// Checks that arguments `first` to `last`, the results of a call with the
// matrices `a`, fit them, and states temporary memory.
typedef etx_status (*etx_temporary_function)(const etx_call* call,
                                             size_t* out_bytes);
etx_status etx_double_prepare(etx_call* call, size_t a, size_t first,
                              size_t last, etx_temporary_function temporary);

#endif
