// "1 method", "2 methods".

#ifndef ETX_CLI_BASE_PLURAL_H
#define ETX_CLI_BASE_PLURAL_H

#include <stdint.h>

// The plural ending of a noun after a count.
static inline const char* etx_plural(uint64_t count) {
  return count == 1 ? "" : "s";
}

#endif
