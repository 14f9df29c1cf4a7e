#include "runtime/kernels/simd/int8/attention_byte_loops.h"
#include "runtime/kernels/simd/int8/int8_dot_loops.h"
#include "runtime/kernels/simd/int8/quantized_loops.h"
#include "runtime/kernels/simd/int8/u8_loops.h"

const etx_quantized_loops* etx_quantized_loops_of(etx_instruction_set set) {
  (void)set;
  return &etx_quantized_loops_base;
}

const etx_int8_dot_loops* etx_int8_dot_loops_of(etx_instruction_set set) {
  (void)set;
  return NULL;
}

const etx_u8_loops* etx_u8_loops_of(etx_instruction_set set) {
  (void)set;
  return &etx_u8_loops_base;
}

const etx_attention_byte_loops* etx_attention_byte_loops_of(
    etx_instruction_set set) {
  (void)set;
  return &etx_attention_byte_loops_base;
}
