// Software prefetch into L2. L1 is too small for lines that are read much
// later, and it has few fill buffers: at one prefetch in about twenty cycles
// they are all in use, and the loads of the loop itself wait.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_PREFETCH_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_PREFETCH_H

enum {
  ETX_CACHE_LINE_BYTES = 64,
  // From this many rows on, each row prefetches so rarely that L1 does not
  // limit it.
  ETX_PREFETCH_L1_ROWS = 96,
};

#define ETX_PREFETCH_L2(at) __builtin_prefetch((at), 0, 2)

// Into L1 if `to_l1` is true, otherwise into L2.
#define ETX_PREFETCH(at, to_l1) \
  do {                          \
    if (to_l1) {                \
      __builtin_prefetch(at);   \
    } else {                    \
      ETX_PREFETCH_L2(at);      \
    }                           \
  } while (0)

#endif
