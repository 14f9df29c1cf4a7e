// Leaves the wide registers of a thread as other code wants them.
//
// On x86, an SSE instruction waits for the upper halves of the AVX registers
// while they are in use: after a run, an application's own code took up to
// twenty times as long. Compilers therefore end functions with vzeroupper, but
// GCC does not where it compiles for size or below -O2.

#ifndef ETX_RUNTIME_WIDE_REGISTERS_H
#define ETX_RUNTIME_WIDE_REGISTERS_H

#include "runtime/instruction_set.h"

// Ends the use of wide registers by the calling thread: at the end of each
// task, and of each call of the runtime that calls kernels.
static inline void etx_leave_wide_registers(void) {
#if defined(__GNUC__) && !defined(__clang__) && \
    (defined(__x86_64__) || defined(__i386__))
  if (ETX_HAS_SET(AVX2) && __builtin_cpu_supports("avx2")) {
    __asm__ volatile("vzeroupper");
  }
#endif
}

#endif
