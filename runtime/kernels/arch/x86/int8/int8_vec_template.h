// Vectors of 64 bytes for the int8 loops of AVX-512. No parameters.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"

enum {
  BYTES = 64,  // bytes of a register
  LANES = 16,  // lanes of four bytes
};

// True if a lane is not 0. Builtins, because <immintrin.h> includes heap
// functions.
enum { UNEQUAL = 4 };  // of comparisons
#define HAS_ANY(x) \
  (__builtin_ia32_cmpd512_mask(x, (etx_i32x16){0}, UNEQUAL, 0xffff) != 0)

static inline __attribute__((unused)) etx_i32x16 load_bytes(const void* from) {
  etx_i32x16 x;
  memcpy(&x, from, sizeof(x));
  return x;
}

static inline __attribute__((unused)) etx_i32x16 all_ints(int x) {
  return (etx_i32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
