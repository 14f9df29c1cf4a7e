// Says of the loop that follows that no turn of it needs what another one
// wrote, although its pointers may be equal: element i is read before it is
// written, and nothing else is. Without this a compiler that cannot see where
// memory lies adds a second, slow loop to each.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_INDEPENDENT_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_LOOP_INDEPENDENT_H

// Elements that a loop takes at least, and whole multiples of. Then no vector
// loop needs a second one for what is left over.
enum { ETX_LANES = 16 };

#ifdef __clang__
#define ETX_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ETX_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
