#include "runtime/kernels/simd/recurrent/recurrent_loops.h"

const etx_recurrent_loops* etx_recurrent_loops_of(etx_instruction_set set) {
  (void)set;
  return &etx_recurrent_loops_base;
}
