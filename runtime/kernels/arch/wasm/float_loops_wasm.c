#include "runtime/kernels/simd/elementwise/float_loops.h"

const etx_float_loops* etx_float_loops_of(etx_instruction_set set) {
  (void)set;
  return &etx_float_loops_base;
}
