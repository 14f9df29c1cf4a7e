// The rows of a product's input, which may lie anywhere.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_LINEAR_INPUT_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_LINEAR_INPUT_H

#include "runtime/kernels/quantized/choose_qparams.h"
#include "runtime/tensor.h"

// The sizes of an input as a matrix.
size_t etx_linear_input_rows(const etx_tensor* input);
size_t etx_linear_input_inner(const etx_tensor* input);

// Row `index` of the leading dimensions.
const char* etx_linear_input_row(const etx_tensor* input, size_t index);

// Whether rows are floats side by side.
bool etx_linear_input_is_dense(const etx_tensor* input);

// Elements `first` up to first + count of a row, as dense floats.
void etx_linear_input_load(const etx_tensor* input, const char* row,
                           size_t first, size_t count, float* out);

// The scale and the zero point of a row, which is taken as the floats that it
// stands for; the latter 0 if the scale is not finite.
etx_qparams etx_linear_input_qparams(const etx_tensor* input, const char* row);

#endif
