#include "cli/verify_memory.h"

#include <stdlib.h>

#include "format/base/checked_math.h"

typedef struct etx_verify_block {
  struct etx_verify_block* before;
  max_align_t content[];
} etx_verify_block;

void* etx_verify_take(etx_verify_memory* memory, size_t count,
                      size_t item_bytes) {
  size_t bytes = 0;
  if (!etx_multiply_size(count, item_bytes, &bytes) ||
      !etx_add_size(bytes, sizeof(etx_verify_block), &bytes)) {
    return NULL;
  }
  etx_verify_block* const block = calloc(1, bytes);
  if (block == NULL) return NULL;
  block->before = memory->blocks;
  memory->blocks = block;
  return block->content;
}

void etx_verify_release(etx_verify_memory* memory) {
  while (memory->blocks != NULL) {
    etx_verify_block* const before = memory->blocks->before;
    free(memory->blocks);
    memory->blocks = before;
  }
}
