#include "runtime/kernels/byte_loops.h"
#include "runtime/kernels/quantized_loops.h"
#include "runtime/kernels/u8_loops.h"

const etx_quantized_loops* etx_quantized_loops_of(etx_instruction_set set) {
  (void)set;
  return &etx_quantized_loops_base;
}

const etx_byte_loops* etx_byte_loops_of(etx_instruction_set set) {
  (void)set;
  return NULL;
}

const etx_u8_loops* etx_u8_loops_of(etx_instruction_set set) {
  (void)set;
  return &etx_u8_loops_base;
}
