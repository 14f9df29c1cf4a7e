// Short copies whose size is known only at run time.

#ifndef ETX_RUNTIME_KERNELS_CORE_SHORT_COPY_H
#define ETX_RUNTIME_KERNELS_CORE_SHORT_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// True if ETX_SWITCH_BYTES (dtype_switch.h) has a type of that size.
static inline bool etx_is_element_size(size_t bytes) {
  return bytes > 0 && bytes <= 16 && (bytes & (bytes - 1)) == 0;
}

// Copies up to 64 bytes without a call, in two pieces of fixed size that may
// overlap in the middle. `to` and `from` do not overlap.
static inline void etx_copy_short(char* to, const char* from, size_t bytes) {
  if (bytes > 64) {
    memcpy(to, from, bytes);
  } else if (bytes >= 32) {
    memcpy(to, from, 32);
    memcpy(to + bytes - 32, from + bytes - 32, 32);
  } else if (bytes >= 16) {
    memcpy(to, from, 16);
    memcpy(to + bytes - 16, from + bytes - 16, 16);
  } else if (bytes >= 8) {
    memcpy(to, from, 8);
    memcpy(to + bytes - 8, from + bytes - 8, 8);
  } else if (bytes >= 4) {
    memcpy(to, from, 4);
    memcpy(to + bytes - 4, from + bytes - 4, 4);
  } else {
    for (size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

#endif
