#include "runtime/kernels/half_loops.h"

const etx_half_loops* etx_half_loops_best(void) { return &etx_half_loops_base; }
