#include "runtime/kernels/arch/x86/int8/attention_byte_loops_x86.h"
#include "runtime/kernels/arch/x86/int8/int4_panel_avx2.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_loops_avx512vnni.h"
#include "runtime/kernels/arch/x86/int8/quantized_loops_avx2.h"

const etx_quantized_loops* etx_quantized_loops_of(etx_instruction_set set) {
  return ETX_HAS_SET(AVX2) && set >= ETX_SET_AVX2 ? &etx_quantized_loops_avx2
                                                  : &etx_quantized_loops_base;
}

const etx_int8_dot_loops* etx_int8_dot_loops_of(etx_instruction_set set) {
  if (ETX_HAS_SET(AVX512VNNI) && set >= ETX_SET_AVX512VNNI) {
    return &etx_int8_dot_loops_avx512vnni;
  }
  return ETX_HAS_SET(AVX2) && set >= ETX_SET_AVX2 ? &etx_int8_dot_loops_avx2
                                                  : NULL;
}

const etx_attention_byte_loops* etx_attention_byte_loops_of(
    etx_instruction_set set) {
  if (ETX_HAS_SET(AVX512VNNI) && set >= ETX_SET_AVX512VNNI) {
    return &etx_attention_byte_loops_avx512vnni;
  }
  return ETX_HAS_SET(AVX2) && set >= ETX_SET_AVX2
             ? &etx_attention_byte_loops_avx2
             : &etx_attention_byte_loops_base;
}
