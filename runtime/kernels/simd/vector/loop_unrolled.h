// Says of the loop that follows that its turns are to be written out: the
// compiler knows their number, which is eight at most. Sums in an array are
// then registers. Both compilers read the same words, but clang takes a number
// of turns for a wish, and a loop that it may not write out whole stays one.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_UNROLLED_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_UNROLLED_H

#ifdef __clang__
#define ETX_UNROLLED _Pragma("clang loop unroll(full)")
#define ETX_UNROLLED_16 _Pragma("clang loop unroll(full)")
#else
#define ETX_UNROLLED _Pragma("GCC unroll 8")
#define ETX_UNROLLED_16 _Pragma("GCC unroll 16")  // of up to 16 turns
#endif

#endif
