// Asks memory for a line that is read a good while later: into the second
// cache. The first one has no room for it, and waits for few lines at a time:
// asked of it for a line every some twenty cycles, loads of the loop that asks
// would wait as well.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_PREFETCH_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_PREFETCH_H

enum {
  ETX_CACHE_LINE_BYTES = 64,
  // So many rows that share the asking ask so rarely that the first cache does
  // not mind.
  ETX_PREFETCH_L1_ROWS = 96,
};

#define ETX_PREFETCH_L2(at) __builtin_prefetch((at), 0, 2)

// The first cache instead, if that is true.
#define ETX_PREFETCH(at, first_cache) \
  do {                                \
    if (first_cache) {                \
      __builtin_prefetch(at);         \
    } else {                          \
      ETX_PREFETCH_L2(at);            \
    }                                 \
  } while (0)

#endif
