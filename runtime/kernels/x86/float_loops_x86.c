#include "runtime/kernels/x86/float_loops_avx2.h"

const etx_float_loops* etx_float_loops_of(etx_instruction_set set) {
  return set >= ETX_SET_AVX2 ? &etx_float_loops_avx2 : &etx_float_loops_base;
}
