// Fully unrolls the next loop, which has a constant number of at most eight (or
// sixteen) iterations. An array of accumulators then becomes registers. clang
// needs unroll(full): with a number it may leave the loop as it is.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_UNROLLED_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_UNROLLED_H

#if defined(__OPTIMIZE_SIZE__) && !defined(__ARM_NEON) && \
    (!defined(__SSE2__) || (defined(ETX_PORTABLE) && !defined(__FMA__)))
// Code for size and without vector registers: nothing would stay in registers
// across iterations, and unrolled code is several times as large. Loops also
// take their numbers of rows and columns as variables (ETX_LOOPS_ARE_SHORT)
// where other builds have a copy for each number. Results are the same. With
// SSE2 but no FMA, which takes some twenty instructions then, unrolled code is
// no faster; ETX_PORTABLE says that the build has no loops for wider sets.
#define ETX_LOOPS_ARE_SHORT
#define ETX_UNROLLED
#define ETX_UNROLLED_16
#elif defined(__clang__)
#define ETX_UNROLLED _Pragma("clang loop unroll(full)")
#define ETX_UNROLLED_16 _Pragma("clang loop unroll(full)")
#else
#define ETX_UNROLLED _Pragma("GCC unroll 8")
#define ETX_UNROLLED_16 _Pragma("GCC unroll 16")  // up to 16 iterations
#endif

#endif
