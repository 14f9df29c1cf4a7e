// Loops in two versions: a fast one for common operands, which the compiler
// vectorises, and a general one for all operands. Where both apply they give
// the same bits.

#ifndef ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_FAST_OR_GENERAL_H
#define ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_FAST_OR_GENERAL_H

#include "runtime/kernels/simd/elementwise/binary_loops.h"

// Elements for which the version is chosen together.
enum { ETX_FAST_GROUP = 64 };

typedef struct etx_fast_or_general {
  size_t bytes;  // bytes of an element of operands and result
  // True if the fast version is valid for all pairs, at most ETX_FAST_GROUP.
  bool (*are_fast)(const void* a, const void* b, size_t count);
  etx_binary_loop near;
  etx_binary_loop any;
} etx_fast_or_general;

// A loop with the parameters of etx_binary_loop.
static inline void etx_fast_or_general_run(const etx_fast_or_general* loops,
                                           void* out, const void* a,
                                           const void* b, size_t count,
                                           etx_scalar parameter) {
  for (size_t done = 0; done < count; done += ETX_FAST_GROUP) {
    const size_t left = count - done;
    const size_t part = left < ETX_FAST_GROUP ? left : ETX_FAST_GROUP;
    const size_t at = done * loops->bytes;
    const char* const x = (const char*)a + at;
    const char* const y = (const char*)b + at;
    const bool near = loops->are_fast(x, y, part);
    (near ? loops->near : loops->any)((char*)out + at, x, y, part, parameter);
  }
}

#endif
