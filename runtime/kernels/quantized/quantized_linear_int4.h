// Many rows of bytes times weights of 4 bits (quantized_linear_int8.h): 32 rows
// of the weight at a time are unpacked to panels of bytes in the thread's tile.
// With many rows, the panels of all elements are kept and unpacked once.
//
//            32 columns                     the thread's tile:
//            .---------.
//            | panel   | 1024 elements        partial sums of 24 rows
//            |---------|                      panel, scales, sums of groups
//            | panel   |                      panel, ..
//            '---------'
//   .-----.  .---------.
//   |input|  | sums    | 24 rows: eight partial sums of groups each
//   '-----'  '---------'

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT4_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT4_H

#include "runtime/kernels/quantized/quantized_linear_int8_job.h"

// True for groups of 32, 64, 128 or 256, where the loops have a way to multiply
// them.
bool etx_quantized_linear_int4_supports(const etx_packed_weights* weight,
                                        const etx_int8_dot_loops* loops);

// Whether the weights of a job are unpacked.
bool etx_quantized_linear_int4_has_panels(const etx_int8_job* job);

// The bytes of a thread's tile.
size_t etx_quantized_linear_int4_tile(size_t rows, size_t inner);

// Computes at most ETX_INT8_COLUMNS columns, from `column` on.
void etx_quantized_linear_int4_run(const etx_int8_job* job, size_t column,
                                   size_t columns, void* tile);

#endif
