// Between arrays of floats and of the half types, once in plain C and once in
// the processor's own instructions where it has them: the same bits, NaNs
// included.

#ifndef ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_HALF_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_HALF_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/instruction_set.h"

// Arrays do not overlap and have any length.
typedef struct etx_half_loops {
  const char* name;  // of the instruction set
  void (*read)(float* restrict out, const uint16_t* restrict in, size_t count);
  void (*write)(uint16_t* restrict out, const float* restrict in, size_t count);
  // The same of bfloat16.
  void (*read_bfloats)(float* restrict out, const uint16_t* restrict in,
                       size_t count);
  void (*write_bfloats)(uint16_t* restrict out, const float* restrict in,
                        size_t count);
} etx_half_loops;

// For every machine that the compiler was told of.
extern const etx_half_loops etx_half_loops_base;

// The loops for an instruction set.
const etx_half_loops* etx_half_loops_of(etx_instruction_set set);

// Those for the widest set that this processor has.
static inline const etx_half_loops* etx_half_loops_best(void) {
  return etx_half_loops_of(etx_instruction_set_within(ETX_SET_ANY));
}

#endif
