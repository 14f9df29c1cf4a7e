// Conversions between arrays of float32 and of float16 or bfloat16, and from
// int8: in plain C, and with the processor's instructions where it has them.
// Both give the same bits, NaNs included.

#ifndef ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_HALF_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_HALF_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/instruction_set.h"

// Arrays do not overlap and have any length.
typedef struct etx_half_loops {
  const char* name;  // name of the instruction set
  void (*read)(float* restrict out, const uint16_t* restrict in, size_t count);
  void (*write)(uint16_t* restrict out, const float* restrict in, size_t count);
  // The same of bfloat16.
  void (*read_bfloats)(float* restrict out, const uint16_t* restrict in,
                       size_t count);
  void (*write_bfloats)(uint16_t* restrict out, const float* restrict in,
                        size_t count);
  // From int8.
  void (*read_bytes)(float* restrict out, const int8_t* restrict in,
                     size_t count);
} etx_half_loops;

// The baseline, which every processor of the target has.
extern const etx_half_loops etx_half_loops_base;

// The loops for an instruction set.
const etx_half_loops* etx_half_loops_of(etx_instruction_set set);

// The loops for blocks of elements between other loops: of vectors of at most
// 32 bytes. For some time after one of 64 bytes, a processor takes longer for
// the code of the baseline around them: layer_norm of short rows took 1.3 times
// as long.
static inline const etx_half_loops* etx_half_loops_for_blocks(void) {
  return etx_half_loops_of(etx_instruction_set_within(ETX_SET_AVX2));
}

// The loops of the widest instruction set of this processor.
static inline const etx_half_loops* etx_half_loops_best(void) {
  return etx_half_loops_of(etx_instruction_set_within(ETX_SET_ANY));
}

#endif
