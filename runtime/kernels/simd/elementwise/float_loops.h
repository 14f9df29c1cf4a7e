// Elementwise loops over float32, and over int64 with two operands, compiled
// once for each instruction set. All sets give the same bits: a wider set only
// computes more elements at once.
//
// The instruction sets depend on the machine, so a build contains one of three
// folders of `arch`: x86 (AVX2, AVX-512), arm64 (NEON) or portable.

#ifndef ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_FLOAT_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_FLOAT_LOOPS_H

#include "runtime/instruction_set.h"
#include "runtime/kernels/simd/elementwise/binary_loops.h"
#include "runtime/kernels/simd/elementwise/softmax_loops.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"

typedef struct etx_float_loops {
  const char* name;             // name of the instruction set
  const etx_unary_loop* unary;  // by etx_unary_function
  const etx_binary_loop*
      binary;                    // by etx_binary_function; NULL: not for floats
  const etx_binary_loop* whole;  // the same for int64
  // Writes the same eight bytes `count` times.
  void (*spread)(char* out, uint64_t eight, size_t count);
  // out = (in & keep) ^ turn for `count` words of 8 bytes. `out` may be `in`.
  void (*bits)(char* out, const char* in, size_t count, uint64_t keep,
               uint64_t turn);
  // Transposes sixteen rows of sixteen 4-byte elements, `from_row` bytes apart,
  // into rows that are `to_row` bytes apart. NULL where copies have no tiles.
  void (*transpose_16x16)(char* to, ptrdiff_t to_row, const char* from,
                          ptrdiff_t from_row);
  etx_row_loops rows;
} etx_float_loops;

#ifdef ETX_LOOPS_ARE_SHORT  // strided_copy.c has no tiles
#define ETX_TILE_LOOP(loop) (0 ? (loop) : NULL)
#else
#define ETX_TILE_LOOP(loop) \
  ETX_IF_ANY_LOOP(ETX_LOOP_floats_transpose_16x16, loop)
#endif

// The table of a set, made of the loops of the templates; `normalize_rows` is
// the loop of layer normalisation.
#define ETX_FLOAT_LOOPS(name, normalize_rows)                        \
  {                                                                  \
    name, unary_loops, binary_loops, whole_loops,                    \
        ETX_IF_ANY_LOOP(ETX_LOOP_floats_spread, spread),             \
        ETX_IF_ANY_LOOP(ETX_LOOP_floats_bits, turn_bits),            \
        ETX_TILE_LOOP(transpose_16x16), {                            \
      ETX_IF_ANY_LOOP(ETX_LOOP_floats_softmax, softmax_scale),       \
          ETX_IF_ANY_LOOP(ETX_LOOP_floats_softmax, softmax_exp),     \
          ETX_IF_ANY_LOOP(ETX_LOOP_floats_normalize, normalize_rows) \
    }                                                                \
  }

// The baseline, which every processor of the target has.
extern const etx_float_loops etx_float_loops_base;

// The loops for an instruction set.
const etx_float_loops* etx_float_loops_of(etx_instruction_set set);

// The loops of the widest instruction set of this processor.
static inline const etx_float_loops* etx_float_loops_best(void) {
  return etx_float_loops_of(etx_instruction_set_within(ETX_SET_ANY));
}

#endif
