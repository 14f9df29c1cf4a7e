// Every processor with AVX2 has F16C; not every compiler can ask for the
// second.

#include "runtime/kernels/x86/half_loops_f16c.h"

const etx_half_loops* etx_half_loops_best(void) {
  return __builtin_cpu_supports("avx2") ? &etx_half_loops_f16c
                                        : &etx_half_loops_base;
}
