// Advances a pointer in a fully unrolled loop (loop_unrolled.h). The empty
// assembler statement hides the value: otherwise the compiler computes the
// addresses of all iterations in advance, more than there are registers for.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_STEP_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_STEP_H

#define ETX_STEP(pointer, step)  \
  do {                           \
    (pointer) += (step);         \
    __asm__("" : "+r"(pointer)); \
  } while (0)

#endif
