// Where a module takes its memory from.

#ifndef ETX_RUNTIME_MODULE_MODULE_MEMORY_H
#define ETX_RUNTIME_MODULE_MODULE_MEMORY_H

#include <stddef.h>

// The functions that allocate and free memory. Both get `context`.
typedef struct etx_module_memory {
  // Allocates. `bytes` is never 0, and `alignment` is 64. Returns NULL if there
  // is not enough memory.
  void* (*take)(void* context, size_t bytes, size_t alignment);
  // Frees memory that `take` returned.
  void (*give_back)(void* context, void* memory);
  void* context;  // handed to both unchanged
  // Bytes that are all zero, at any address, as fresh pages are; NULL if there
  // is none left. May be NULL itself: zeros are written then, and pages that no
  // cache has reached take memory, too.
  void* (*take_zeroed)(void* context, size_t bytes);
} etx_module_memory;

#endif
