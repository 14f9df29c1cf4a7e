#include "runtime/kernels/arch/arm64/int8_dot_loops_dotprod.h"
#include "runtime/kernels/arch/arm64/u8_loops_dotprod.h"
#include "runtime/kernels/simd/int8/attention_byte_loops.h"
#include "runtime/kernels/simd/int8/quantized_loops.h"

const etx_quantized_loops* etx_quantized_loops_of(etx_instruction_set set) {
  (void)set;
  return &etx_quantized_loops_base;
}

const etx_int8_dot_loops* etx_int8_dot_loops_of(etx_instruction_set set) {
  return ETX_HAS_SET(DOTPROD) && set == ETX_SET_DOTPROD
             ? &etx_int8_dot_loops_dotprod
             : NULL;
}

const etx_u8_loops* etx_u8_loops_of(etx_instruction_set set) {
  return ETX_HAS_SET(DOTPROD) && set == ETX_SET_DOTPROD ? &etx_u8_loops_dotprod
                                                        : &etx_u8_loops_base;
}

const etx_attention_byte_loops* etx_attention_byte_loops_of(
    etx_instruction_set set) {
  (void)set;
  return &etx_attention_byte_loops_base;
}
