// Steps a pointer from turn to turn of a loop that is written out
// (loop_unrolled.h): a compiler that knows all places beforehand would keep
// more addresses than there are registers.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_STEP_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_STEP_H

#define ETX_STEP(pointer, step)  \
  do {                           \
    (pointer) += (step);         \
    __asm__("" : "+r"(pointer)); \
  } while (0)

#endif
