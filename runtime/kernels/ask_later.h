// Asks memory for a line that is read a good while later: into the second
// cache. The first one has no room for it, and waits for few lines at a time:
// asked of it for a line every some twenty cycles, loads of the loop that asks
// would wait as well.

#ifndef ETX_RUNTIME_KERNELS_ASK_LATER_H
#define ETX_RUNTIME_KERNELS_ASK_LATER_H

enum {
  ETX_LINE_BYTES = 64,
  // So many rows that share the asking ask so rarely that the first cache does
  // not mind.
  ETX_RARE_ASKS_ROWS = 96,
};

#define ETX_ASK_LATER(at) __builtin_prefetch((at), 0, 2)

// The first cache instead, if that is true.
#define ETX_ASK(at, first_cache) \
  do {                           \
    if (first_cache) {           \
      __builtin_prefetch(at);    \
    } else {                     \
      ETX_ASK_LATER(at);         \
    }                            \
  } while (0)

#endif
