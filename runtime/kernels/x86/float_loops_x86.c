// The compiler's support library has asked the processor, and the operating
// system whether it keeps the wide registers, before the first kernel runs.

#include "runtime/kernels/x86/float_loops_avx2.h"

const etx_float_loops* etx_float_loops_best(void) {
  return __builtin_cpu_supports("avx2") ? &etx_float_loops_avx2
                                        : &etx_float_loops_base;
}
