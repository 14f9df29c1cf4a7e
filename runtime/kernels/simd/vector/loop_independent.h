// Tells the compiler that the iterations of the next loop are independent,
// although its pointers may be equal: iteration i reads element i before it
// writes it. Without this hint a compiler that cannot rule out aliasing adds a
// second, scalar version of the loop.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_INDEPENDENT_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_INDEPENDENT_H

// The element counts of loops are multiples of this, so that vectorised loops
// need no scalar tail.
enum { ETX_LANES = 16 };

#ifdef __clang__
#define ETX_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ETX_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
