// Loops in two forms: one for the usual operands, which becomes vector code,
// and one for all. Both give the same bits where both may be used.

#ifndef ETX_RUNTIME_KERNELS_NEAR_OR_ANY_H
#define ETX_RUNTIME_KERNELS_NEAR_OR_ANY_H

#include "runtime/kernels/binary_loops.h"

// Elements looked at together.
enum { ETX_NEAR_GROUP = 64 };

typedef struct etx_near_or_any {
  size_t bytes;  // of an element of operands and result
  // True if `near` is for all of the pairs, at most ETX_NEAR_GROUP.
  bool (*are_near)(const void* a, const void* b, size_t count);
  etx_binary_loop near;
  etx_binary_loop any;
} etx_near_or_any;

// As an etx_binary_loop.
static inline void etx_near_or_any_run(const etx_near_or_any* loops, void* out,
                                       const void* a, const void* b,
                                       size_t count, etx_number parameter) {
  for (size_t done = 0; done < count; done += ETX_NEAR_GROUP) {
    const size_t left = count - done;
    const size_t part = left < ETX_NEAR_GROUP ? left : ETX_NEAR_GROUP;
    const size_t at = done * loops->bytes;
    const char* const x = (const char*)a + at;
    const char* const y = (const char*)b + at;
    const bool near = loops->are_near(x, y, part);
    (near ? loops->near : loops->any)((char*)out + at, x, y, part, parameter);
  }
}

#endif
