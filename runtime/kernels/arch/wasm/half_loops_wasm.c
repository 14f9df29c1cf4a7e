#include "runtime/kernels/simd/elementwise/half_loops.h"

const etx_half_loops* etx_half_loops_of(etx_instruction_set set) {
  (void)set;
  return &etx_half_loops_base;
}
