// Many quantised rows times int8 weights, with instructions that multiply
// pairs of int16 and add the products. Sixteen rows of the weight are copied to
// the stack as a panel of int16 pairs, and all rows of the input are multiplied
// with it. Weights that are stored as byte panels are multiplied in place if
// there are few rows.
//
//            16 columns                    a panel on the stack:
//            .---------.                     [pairs][16][2]
//            | panel   | a block of elements
//            '---------'
//   .-----.  .---------.
//   |input|  | sums    | as many rows as have sums on the stack
//   '-----'  '---------'
//
// Integer sums are exact, so results are bit-equal to those of all other
// implementations.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT16_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT16_H

#include "runtime/kernels/quantized/packed_weights.h"
#include "runtime/kernels/simd/int8/int16_pair_loops.h"
#include "runtime/kernels/simd/int8/row_argmax.h"

typedef struct etx_quantized_linear_int16 {
  const etx_int16_pair_loops* loops;
  const etx_packed_weights* weight;  // etx_quantized_linear_int16_supports it
  const int16_t* left;      // prepared rows, and one element of padding
  ptrdiff_t left_row;       // in elements
  const float* row_scales;  // [rows]
  size_t rows, columns;     // rows and columns of the result
  // [rows]: the argmax so far, updated; NULL: results are stored.
  etx_row_argmax* best;
  char* out;        // [rows, columns], contiguous; not used with `best`
  etx_dtype dtype;  // type of `out`, a float type
  void* tile;       // etx_quantized_linear_int16_tile bytes
} etx_quantized_linear_int16;

// The epilogue of the sums of columns: times the scale, times the scale of the
// row, plus the bias (-0 for none). Each step
// is rounded.
typedef struct etx_quantized_linear_int16_epilogue {
  const float* scales;
  const float* bias;
} etx_quantized_linear_int16_epilogue;

// True if there are enough rows and the weights are int8 with one scale per
// row, or if they are stored as byte panels.
bool etx_quantized_linear_int16_supports(const etx_packed_weights* weight,
                                         size_t rows);

// The bytes of a thread's tile for so many rows and weights of so many bits.
size_t etx_quantized_linear_int16_tile(size_t rows, size_t bits);

// Computes at most ETX_INT16_PAIR_COLUMNS columns, from `column` on.
void etx_quantized_linear_int16_run(
    const etx_quantized_linear_int16* panels, size_t column, size_t columns,
    const etx_quantized_linear_int16_epilogue* epilogue);

#endif
