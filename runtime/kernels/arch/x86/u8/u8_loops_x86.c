#include "runtime/kernels/arch/x86/u8/u8_loops_sets_x86.h"

const etx_u8_loops* etx_u8_loops_of(etx_instruction_set set) {
  if (ETX_HAS_SET(AVX512VNNI) && set >= ETX_SET_AVX512VNNI) {
    return &etx_u8_loops_avx512vnni;
  }
  return ETX_HAS_SET(AVX2) && set >= ETX_SET_AVX2 ? &etx_u8_loops_avx2
                                                  : &etx_u8_loops_base;
}
