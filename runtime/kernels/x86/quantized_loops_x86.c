#include "runtime/kernels/x86/byte_loops_avx512vnni.h"
#include "runtime/kernels/x86/quantized_loops_wide.h"

const etx_quantized_loops* etx_quantized_loops_of(etx_instruction_set set) {
  return set >= ETX_SET_AVX2 ? &etx_quantized_loops_avx2
                             : &etx_quantized_loops_base;
}

const etx_byte_loops* etx_byte_loops_of(etx_instruction_set set) {
  return set >= ETX_SET_AVX512VNNI ? &etx_byte_loops_avx512vnni : NULL;
}
