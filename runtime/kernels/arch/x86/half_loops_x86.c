#include "runtime/kernels/arch/x86/half_loops_sets_x86.h"

const etx_half_loops* etx_half_loops_of(etx_instruction_set set) {
  if (ETX_HAS_SET(AVX512) && set >= ETX_SET_AVX512) {
    return &etx_half_loops_avx512;
  }
  return ETX_HAS_SET(AVX2) && set >= ETX_SET_AVX2 ? &etx_half_loops_avx2
                                                  : &etx_half_loops_base;
}
