// Runs the inner loops of unary_loops.h and binary_loops.h over any number of
// elements. The loops themselves take multiples of ETX_LANES elements and full
// arrays as operands, so each is one vector loop without a scalar tail. Here,
// tails go through small buffers, and an operand of one element is repeated in
// a buffer.

#ifndef ETX_RUNTIME_KERNELS_CORE_LOOP_APPLY_H
#define ETX_RUNTIME_KERNELS_CORE_LOOP_APPLY_H

#include "runtime/kernels/simd/elementwise/binary_loops.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"

// Bytes of an operand's and of a result's element.
typedef struct etx_loop_bytes {
  size_t in;
  size_t out;
} etx_loop_bytes;

// For operands of a compute type and results of the same type, or of bool.
etx_loop_bytes etx_loop_bytes_of(etx_compute_type compute, bool gives_bool);

// Writes the element `from`, of 1, 2, 4 or 8 bytes, `count` times.
void etx_fill_elements(void* to, const void* from, size_t count, size_t bytes);

// `out` may be `in`.
void etx_unary_apply(etx_unary_loop loop, etx_loop_bytes bytes, void* out,
                     const void* in, size_t count,
                     const etx_scalar parameters[ETX_UNARY_PARAMETERS]);

// A loop with its operands. `out` may be `a` or `b`.
typedef struct etx_binary_job {
  etx_binary_loop loop;
  etx_loop_bytes bytes;
  void* out;
  const void *a, *b;
  size_t count;
  bool a_is_array, b_is_array;  // false: one element for all
  etx_scalar parameter;
} etx_binary_job;

void etx_binary_apply(const etx_binary_job* job);

typedef struct etx_unary_job {
  etx_unary_loop loop;
  etx_loop_bytes bytes;
  void* out;
  const void* in;
  size_t count;
  const etx_scalar* parameters;  // ETX_UNARY_PARAMETERS
} etx_unary_job;

// As etx_unary_apply and etx_binary_apply, on several threads if there are many
// elements.
void etx_unary_apply_all(const etx_parallel* parallel,
                         const etx_unary_job* job);
void etx_binary_apply_all(const etx_parallel* parallel,
                          const etx_binary_job* job);

#endif
