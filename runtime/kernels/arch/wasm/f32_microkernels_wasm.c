#include "runtime/kernels/simd/f32/f32_microkernels.h"

const etx_f32_microkernels* etx_f32_microkernels_of(etx_instruction_set set) {
  (void)set;
  return &etx_f32_microkernels_base;
}
