// The inner loops over floats, and those over int64 with two operands, compiled
// once for each instruction set that is worth it. All sets give the same bits:
// a wider set computes more elements at once and nothing else.
//
// Which sets there are depends on the machine, so one of three folders belongs
// to a build: x86 (AVX2 or AVX-512 where the processor has it), arm64 (dot
// products of bytes, the same) or portable (the plain set).

#ifndef ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_FLOAT_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_FLOAT_LOOPS_H

#include "runtime/instruction_set.h"
#include "runtime/kernels/simd/elementwise/binary_loops.h"
#include "runtime/kernels/simd/elementwise/softmax_loops.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"

typedef struct etx_float_loops {
  const char* name;               // of the instruction set
  const etx_unary_loop* unary;    // by etx_unary_function
  const etx_binary_loop* binary;  // by etx_binary_function; NULL: not for floats
  const etx_binary_loop* whole;   // the same for int64
  // Writes the same eight bytes `count` times.
  void (*spread)(char* out, uint64_t eight, size_t count);
  // The bits of `count` eights of bytes: keeps those of `keep`, then turns
  // those of `turn`. `out` may be `in`.
  void (*bits)(char* out, const char* in, size_t count, uint64_t keep,
               uint64_t turn);
  // Sixteen rows of sixteen elements of four bytes, `from_row` bytes apart, as
  // columns of rows that are `to_row` bytes apart.
  void (*transpose_16x16)(char* to, ptrdiff_t to_row, const char* from,
                          ptrdiff_t from_row);
  etx_softmax_loops line;
} etx_float_loops;

// For every machine that the compiler was told of.
extern const etx_float_loops etx_float_loops_base;

// The loops for an instruction set.
const etx_float_loops* etx_float_loops_of(etx_instruction_set set);

// Those for the widest set that this processor has.
static inline const etx_float_loops* etx_float_loops_best(void) {
  return etx_float_loops_of(etx_instruction_set_within(ETX_SET_ANY));
}

#endif
