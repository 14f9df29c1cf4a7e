#include "runtime/instruction_set.h"

etx_instruction_set etx_instruction_set_within(etx_instruction_set limit) {
  (void)limit;
  return ETX_SET_BASE;
}
