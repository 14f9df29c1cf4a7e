// Vectors of 64 bytes for the int8 loops of AVX-512. No parameters.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/kernels/simd/vector/loop_unrolled.h"

typedef int ints __attribute__((vector_size(64)));
typedef long long longs __attribute__((vector_size(64)));
typedef float floats __attribute__((vector_size(64)));

enum {
  BYTES = 64,  // of a register
  LANES = 16,  // of four bytes
};

// True if a lane is not 0. The name is the compilers' own.
enum { UNEQUAL = 4 };  // of comparisons
#define HAS_ANY(x) \
  (__builtin_ia32_cmpd512_mask(x, (ints){0}, UNEQUAL, 0xffff) != 0)

static inline __attribute__((unused)) ints load_bytes(const void* from) {
  ints x;
  memcpy(&x, from, sizeof(x));
  return x;
}

static inline __attribute__((unused)) ints all_ints(int x) {
  return (ints){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
