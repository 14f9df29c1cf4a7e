#include "runtime/kernels/arch/x86/f32_microkernels_sets_x86.h"

const etx_f32_microkernels* etx_f32_microkernels_of(etx_instruction_set set) {
  if (ETX_HAS_SET(AVX512) && set >= ETX_SET_AVX512) {
    return &etx_f32_microkernels_avx512;
  }
  return ETX_HAS_SET(AVX2) && set >= ETX_SET_AVX2 ? &etx_f32_microkernels_avx2
                                                  : &etx_f32_microkernels_base;
}
