// Registers of 64 bytes, as the loops of bytes use them. Read by files for
// processors with AVX-512 and VNNI.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/kernels/loop_unrolled.h"

typedef int ints __attribute__((vector_size(64)));
typedef long long longs __attribute__((vector_size(64)));
typedef float floats __attribute__((vector_size(64)));

enum {
  BYTES = 64,  // of a register
  LANES = 16,  // of four bytes
};

static inline ints load_bytes(const void* from) {
  ints x;
  memcpy(&x, from, sizeof(x));
  return x;
}

// The first bytes, at most 64, followed by zeros. Nothing behind them is read.
static inline ints load_some_bytes(const void* from, size_t count) {
  typedef char chars __attribute__((vector_size(64)));
  const unsigned long long mask = count < BYTES ? (1ULL << count) - 1 : ~0ULL;
#ifdef __clang__
  typedef const chars* place;
#else
  typedef const char* place;
#endif
  return (ints)__builtin_ia32_loaddquqi512_mask((place)from, (chars){0}, mask);
}

static inline ints all_ints(int x) {
  return (ints){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}
