#include "cli/verify/verify_arena.h"

#include <stdlib.h>

#include "format/base/checked_math.h"

typedef struct etx_verify_arena_block {
  struct etx_verify_arena_block* before;
  max_align_t content[];
} etx_verify_arena_block;

void* etx_verify_arena_take(etx_verify_arena* memory, size_t count,
                            size_t item_bytes) {
  size_t bytes = 0;
  if (!etx_multiply_size(count, item_bytes, &bytes) ||
      !etx_add_size(bytes, sizeof(etx_verify_arena_block), &bytes)) {
    return NULL;
  }
  etx_verify_arena_block* const block = calloc(1, bytes);
  if (block == NULL) return NULL;
  block->before = memory->blocks;
  memory->blocks = block;
  return block->content;
}

void etx_verify_arena_release(etx_verify_arena* memory) {
  while (memory->blocks != NULL) {
    etx_verify_arena_block* const before = memory->blocks->before;
    free(memory->blocks);
    memory->blocks = before;
  }
}
