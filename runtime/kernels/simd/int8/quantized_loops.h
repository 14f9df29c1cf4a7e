// Products with quantised weights as they are stored, compiled once for each
// instruction set. All sets give the same bits: integer sums are exact, and
// float sums have a fixed order.

#ifndef ETX_RUNTIME_KERNELS_SIMD_INT8_QUANTIZED_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_INT8_QUANTIZED_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/instruction_set.h"
#include "runtime/kernels/simd/int8/int16_pair_loops.h"

// A product of rows of a prepared input with rows of a weight
// (packed_weights.h).
typedef struct etx_quantized_block {
  const void* left;    // floats, or integers of 16 bits
  ptrdiff_t left_row;  // in elements
  const uint8_t* right;
  ptrdiff_t right_row;  // in bytes
  size_t rows, columns;
  size_t count;  // elements of a row
  // For 4-bit weights, and for 8 bits if there is more than one group: each
  // column has `groups` groups of `group` elements (32,
  // 64, 128 or 256). The elements of left have the order of the chunks.
  const float* scales;
  const int8_t* zeros;  // NULL: zeros
  // Of groups4: parameters of groups (group_params.h), with a scale for each
  // column. NULL: none.
  const int16_t* params;
  size_t group, groups;
  // For integers: the sums of each row's groups, as rows of `groups`.
  const int32_t* group_sums;
  void* sums;         // rows of columns
  ptrdiff_t sum_row;  // in elements
} etx_quantized_block;

typedef void (*etx_quantized_loop)(const etx_quantized_block* block);

// The largest number of products that fit in an int32 sum.
enum { ETX_QUANTIZED_MAX_DEPTH = 32768 };

typedef struct etx_quantized_loops {
  const char* name;  // name of the instruction set
  // int32 sums of int16 times int8 weights, at most ETX_QUANTIZED_MAX_DEPTH
  // products in each.
  etx_quantized_loop whole8;
  // Float sums over 4-bit weights: the exact integer sum of a group times its
  // scale, rounded, is added to partial sum (group mod 8), rounded; then halves
  // of the partial sums are added until one is left. NULL: that of the
  // baseline, for the few weights that etx_int8_dot_loops does not multiply.
  etx_quantized_loop groups4;
  // Float sums of floats times int8 weights, in the order of etx_gemm_nt. With
  // more than one group, each of a multiple of 32 elements, the partial sums of
  // a group are multiplied by its scale and added to those of the row by FMA.
  etx_quantized_loop floats8;
  // The same with 4-bit weights: each group has sixteen partial sums over its
  // even, then odd elements; they are multiplied by the scale and added to
  // those of the row by FMA.
  etx_quantized_loop floats4;
  // out = clamp(round(x * inverse + zero)) - zero in int8's range, in double;
  // NaN becomes 0.
  void (*quantize)(const float* x, size_t count, double inverse, double zero,
                   int16_t* out);
  const etx_int16_pair_loops* pairs;  // for many rows of integers; NULL: none
} etx_quantized_loops;

// The baseline, which every processor of the target has.
extern const etx_quantized_loops etx_quantized_loops_base;

// The loops for an instruction set.
const etx_quantized_loops* etx_quantized_loops_of(etx_instruction_set set);

#endif
