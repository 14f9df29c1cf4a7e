// The input of a linear operator as a matrix: rows of any strides and float
// type.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_LINEAR_INPUT_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_LINEAR_INPUT_H

#include "runtime/kernels/quantized/choose_qparams.h"
#include "runtime/tensor.h"

// The sizes of the matrix [rows, inner].
size_t etx_linear_input_rows(const etx_tensor* input);
size_t etx_linear_input_inner(const etx_tensor* input);

// The address of a row. `index` counts over all leading dimensions.
const char* etx_linear_input_row(const etx_tensor* input, size_t index);

// True if rows are contiguous float32.
bool etx_linear_input_is_dense(const etx_tensor* input);

// out [count] = elements [first, first + count) of a row, as float32.
void etx_linear_input_load(const etx_tensor* input, const char* row,
                           size_t first, size_t count, float* out);

// The scale and the zero point of a row, computed from its elements as float32.
// The zero point is 0 if the scale is not finite.
etx_qparams etx_linear_input_qparams(const etx_tensor* input, const char* row);

#endif
