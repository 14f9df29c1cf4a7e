#include "runtime/kernels/float_loops.h"

const etx_float_loops* etx_float_loops_best(void) {
  return &etx_float_loops_base;
}
