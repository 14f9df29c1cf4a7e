#include "runtime/kernels/arm64/byte_loops_dotprod.h"
#include "runtime/kernels/arm64/u8_loops_dotprod.h"
#include "runtime/kernels/quantized_loops.h"

const etx_quantized_loops* etx_quantized_loops_of(etx_instruction_set set) {
  (void)set;
  return &etx_quantized_loops_base;
}

const etx_byte_loops* etx_byte_loops_of(etx_instruction_set set) {
  return set == ETX_SET_DOTPROD ? &etx_byte_loops_dotprod : NULL;
}

const etx_u8_loops* etx_u8_loops_of(etx_instruction_set set) {
  return set == ETX_SET_DOTPROD ? &etx_u8_loops_dotprod : &etx_u8_loops_base;
}
