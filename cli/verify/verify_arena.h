// Memory for one proof: allocated in pieces, freed all at once.

#ifndef ETX_CLI_VERIFY_VERIFY_ARENA_H
#define ETX_CLI_VERIFY_VERIFY_ARENA_H

#include <stddef.h>

typedef struct etx_verify_arena {
  struct etx_verify_arena_block* blocks;  // newest first
} etx_verify_arena;

// Allocates `count` zeroed items of `item_bytes`; NULL if there is not enough
// memory. A count of 0 gives a valid pointer.
void* etx_verify_arena_take(etx_verify_arena* memory, size_t count,
                            size_t item_bytes);

// Frees everything that was allocated. `memory` is empty afterwards.
void etx_verify_arena_release(etx_verify_arena* memory);

#endif
