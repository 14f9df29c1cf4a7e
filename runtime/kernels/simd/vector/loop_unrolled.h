// Fully unrolls the next loop, which has a constant number of at most eight (or
// sixteen) iterations. An array of accumulators then becomes registers. clang
// needs unroll(full): with a number it may leave the loop as it is.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_UNROLLED_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_UNROLLED_H

#ifdef __clang__
#define ETX_UNROLLED _Pragma("clang loop unroll(full)")
#define ETX_UNROLLED_16 _Pragma("clang loop unroll(full)")
#else
#define ETX_UNROLLED _Pragma("GCC unroll 8")
#define ETX_UNROLLED_16 _Pragma("GCC unroll 16")  // up to 16 iterations
#endif

#endif
