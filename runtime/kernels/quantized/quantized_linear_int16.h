// Products of many quantised rows with quantised weights: sixteen rows of the
// weights at a time are copied to the stack as pairs of 16-bit integers, which
// processors multiply and add two at a time, and all rows of the input pass. Of
// weights that are panels of bytes, few rows are multiplied with these as they
// lie.
//
//            sixteen columns                 a panel on the stack:
//            .---------.                       [pairs][16][2]
//            | panel   | elements: a block
//            '---------' of them at a time
//   .-----.  .---------.
//   |input|  | sums    | rows: as many as have sums on the stack
//   '-----'  '---------'
//
// Sums of integers are exact and floats have one order (quantized_loops.h), so
// results are those of any other way.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT16_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT16_H

#include "runtime/kernels/quantized/packed_weights.h"
#include "runtime/kernels/simd/int8/int16_pair_loops.h"
#include "runtime/kernels/simd/int8/row_argmax.h"

typedef struct etx_quantized_linear_int16 {
  const etx_int16_pair_loops* loops;
  const etx_packed_weights* weight;  // that etx_quantized_linear_int16_supports
  const int16_t* left;      // rows that are prepared, and one element more
  ptrdiff_t left_row;       // in elements
  const float* row_scales;  // [rows]
  size_t rows, columns;     // of the result
  // [rows] that results are compared with; NULL: they are stored.
  etx_row_argmax* best;
  char* out;        // [rows, columns], dense; not used with `best`
  etx_dtype dtype;  // a float's, of `out`
} etx_quantized_linear_int16;

// What becomes of the sums of columns, each step rounded: times the scale (1 if
// groups have their own), times the row's, plus the bias (-0 for none).
typedef struct etx_quantized_linear_int16_epilogue {
  const float* scales;
  const float* bias;
} etx_quantized_linear_int16_epilogue;

// Whether there are rows enough, and weights as panels are made of: int8 with
// one scale for a row, or 4 bits without zero points. Or if weights have panels
// of bytes, which become these.
bool etx_quantized_linear_int16_supports(const etx_packed_weights* weight,
                                         size_t rows);

// Computes columns from `column` on, at most ETX_INT16_PAIR_COLUMNS.
void etx_quantized_linear_int16_run(
    const etx_quantized_linear_int16* panels, size_t column, size_t columns,
    const etx_quantized_linear_int16_epilogue* line);

#endif
