// Runs the inner loops of unary_loops.h and binary_loops.h over any number of
// elements. The loops themselves take whole groups of ETX_LANES elements and
// operands that all advance: so each is one vector loop without a scalar twin
// behind it. What is left over goes through small buffers, and an operand of
// one element is spread over one.

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

// For operands of a wide type and results of the same, or truth values.
etx_loop_bytes etx_loop_bytes_of(etx_compute_type wide, bool gives_bool);

// Writes the element `from`, of 1, 2, 4 or 8 bytes, `count` times.
void etx_fill_elements(void* to, const void* from, size_t count, size_t bytes);

// `out` may be `in`.
void etx_unary_apply(etx_unary_loop loop, etx_loop_bytes bytes, void* out,
                     const void* in, size_t count,
                     const etx_scalar parameters[ETX_UNARY_PARAMETERS]);

// An operand that does not move is one element. `out` may be `a` or `b`.
void etx_binary_apply(etx_binary_loop loop, etx_loop_bytes bytes, void* out,
                      const void* a, const void* b, size_t count, bool a_moves,
                      bool b_moves, etx_scalar parameter);

// The same on several threads, where elements are many.
void etx_unary_apply_all(const etx_parallel* parallel, etx_unary_loop loop,
                         etx_loop_bytes bytes, void* out, const void* in,
                         size_t count,
                         const etx_scalar parameters[ETX_UNARY_PARAMETERS]);
void etx_binary_apply_all(const etx_parallel* parallel, etx_binary_loop loop,
                          etx_loop_bytes bytes, void* out, const void* a,
                          const void* b, size_t count, bool a_moves,
                          bool b_moves, etx_scalar parameter);

#endif
