// Blocks double in size, so a pool of n bytes makes O(log n) calls to malloc.

#include "exporter/host/host_memory.h"

#include <stdarg.h>
#include <stdlib.h>

#include "exporter/host/address_sanitizer.h"
#include "format/base/checked_math.h"
#include "format/base/diag.h"

// AddressSanitizer sees an access beyond a block of malloc. So that it sees one
// beyond what was taken from a block, too, the rest is forbidden.
#ifdef ETX_HAS_ADDRESS_SANITIZER
enum { LEAST_GAP_BYTES = 16 };
#else
enum { LEAST_GAP_BYTES = 0 };
#endif

// A cache line for data of kernels. Nodes and texts are many and small.
enum { FIRST_BLOCK_BYTES = 64 * 1024, ALIGNMENT = 64, SMALL_ALIGNMENT = 16 };
enum { SMALL_BYTES = 1024 };

typedef struct etx_pool_block {
  struct etx_pool_block* older;
  size_t capacity;
  size_t used;
  uint8_t* bytes;
} etx_pool_block;

typedef struct etx_pool_release {
  struct etx_pool_release* older;
  void (*release)(void* data, size_t size);
  void* data;
  size_t size;
} etx_pool_release;

// An array follows its entry in the list of the pool, which any pool may change:
// a copy of a method may be extended in another pool than it was made in.
typedef struct etx_pool_array {
  struct etx_pool_array* next;
  struct etx_pool_array** link;  // what points to this one
} etx_pool_array;

void etx_pool_init(etx_pool* pool) {
  pool->newest = NULL;
  pool->arrays = NULL;
  pool->releases = NULL;
  pool->pages = NULL;
  pool->total_bytes = 0;
}

void etx_pool_close(etx_pool* pool) {
  for (etx_pool_release* at = pool->releases; at != NULL; at = at->older) {
    at->release(at->data, at->size);
  }
  etx_pool_block* block = pool->newest;
  while (block != NULL) {
    etx_pool_block* const older = block->older;
    free(block);
    block = older;
  }
  etx_pool_array* array = pool->arrays;
  while (array != NULL) {
    etx_pool_array* const next = array->next;
    free(array);
    array = next;
  }
  etx_pool_init(pool);
}

static etx_pool_block* new_block(etx_pool* pool, size_t bytes) {
  size_t capacity = FIRST_BLOCK_BYTES;
  if (pool->newest != NULL) capacity = 2 * pool->newest->capacity;
  if (capacity > (size_t)64 << 20) capacity = (size_t)64 << 20;
  if (capacity < bytes) capacity = bytes;
  size_t total = 0;
  if (!etx_add_size(capacity, sizeof(etx_pool_block) + ALIGNMENT, &total)) {
    return NULL;
  }
  etx_pool_block* const block = calloc(1, total);
  if (block == NULL) return NULL;
  block->older = pool->newest;
  block->capacity = capacity;
  block->used = 0;
  const uintptr_t start = (uintptr_t)(block + 1);
  block->bytes =
      (uint8_t*)(block + 1) + ((ALIGNMENT - start % ALIGNMENT) % ALIGNMENT);
  etx_forbid_bytes(block->bytes, capacity);
  pool->newest = block;
  pool->total_bytes += total;
  return block;
}

size_t etx_pool_alignment(size_t bytes) {
  return bytes < SMALL_BYTES ? SMALL_ALIGNMENT : ALIGNMENT;
}

void* etx_pool_take(etx_pool* pool, size_t bytes) {
  const size_t alignment = etx_pool_alignment(bytes);
  size_t rounded = 0;
  if (!etx_add_size(bytes == 0 ? 1 : bytes, LEAST_GAP_BYTES, &rounded) ||
      !etx_align_up(rounded, alignment, &rounded)) {
    return NULL;
  }
  etx_pool_block* block = pool->newest;
  size_t gap = block == NULL ? 0 : -block->used % alignment;
  if (block == NULL || block->capacity - block->used < gap ||
      block->capacity - block->used - gap < rounded) {
    block = new_block(pool, rounded);
    if (block == NULL) return NULL;
    gap = 0;
  }
  void* const out = block->bytes + block->used + gap;
  block->used += gap + rounded;
  etx_permit_bytes(out, bytes);
  return out;
}

etx_status etx_pool_on_close(etx_pool* pool,
                             void (*release)(void* data, size_t size),
                             void* data, size_t size) {
  etx_pool_release* const added = etx_pool_take(pool, sizeof *added);
  if (added == NULL) return ETX_OUT_OF_MEMORY;
  *added = (etx_pool_release){pool->releases, release, data, size};
  pool->releases = added;
  return ETX_OK;
}

etx_text etx_pool_copy_text(etx_pool* pool, etx_text text) {
  char* const copy = etx_pool_take(pool, text.size + 1);
  if (copy != NULL && text.size != 0) memcpy(copy, text.data, text.size);
  const etx_text out = {copy, copy == NULL ? 0 : text.size};
  return out;
}

etx_text etx_pool_format(etx_pool* pool, const char* format, ...) {
  char buffer[1024];
  va_list list;
  va_start(list, format);
  const size_t size = etx_format_text_list(buffer, sizeof buffer, format, list);
  va_end(list);
  const etx_text text = {buffer, size};
  return etx_pool_copy_text(pool, text);
}

etx_status etx_pool_reserve(etx_pool* pool, void* items, size_t count,
                            size_t* capacity, size_t wanted,
                            size_t item_bytes) {
  if (wanted <= *capacity) return ETX_OK;
  size_t bytes = 0;
  if (!etx_multiply_size(wanted, item_bytes, &bytes)) return ETX_OUT_OF_MEMORY;
  void* const bigger = etx_pool_take(pool, bytes);
  if (bigger == NULL) return ETX_OUT_OF_MEMORY;
  void* old = NULL;
  memcpy(&old, items, sizeof old);
  if (count != 0) memcpy(bigger, old, count * item_bytes);
  memcpy(items, &bigger, sizeof bigger);
  *capacity = wanted;
  return ETX_OK;
}

etx_status etx_pool_grow(etx_pool* pool, void* items, size_t count,
                         size_t* capacity, size_t item_bytes) {
  if (count < *capacity) return ETX_OK;
  return etx_pool_reserve(pool, items, count, capacity,
                          *capacity == 0 ? 8 : 2 * *capacity, item_bytes);
}

// Moves the array at `old` to one of `bytes`; NULL: makes one.
static void* resize_array(etx_pool* pool, void* old, size_t bytes) {
  size_t total = 0;
  if (!etx_add_size(bytes, sizeof(etx_pool_array), &total)) return NULL;
  etx_pool_array* const array =
      realloc(old == NULL ? NULL : (etx_pool_array*)old - 1, total);
  if (array == NULL) return NULL;
  if (old == NULL) *array = (etx_pool_array){pool->arrays, &pool->arrays};
  *array->link = array;
  if (array->next != NULL) array->next->link = &array->next;
  return array + 1;
}

etx_status etx_pool_extend_to(etx_pool* pool, void* items, size_t* capacity,
                              size_t wanted, size_t item_bytes) {
  if (wanted <= *capacity) return ETX_OK;
  size_t bytes = 0;
  if (!etx_multiply_size(wanted, item_bytes, &bytes)) return ETX_OUT_OF_MEMORY;
  void* old = NULL;
  if (*capacity != 0) memcpy(&old, items, sizeof old);
  void* const bigger = resize_array(pool, old, bytes);
  if (bigger == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(items, &bigger, sizeof bigger);
  pool->total_bytes += bytes - *capacity * item_bytes;
  *capacity = wanted;
  return ETX_OK;
}

etx_status etx_pool_extend(etx_pool* pool, void* items, size_t count,
                           size_t* capacity, size_t item_bytes) {
  if (count < *capacity) return ETX_OK;
  return etx_pool_extend_to(pool, items, capacity,
                            *capacity == 0 ? 8 : 2 * *capacity, item_bytes);
}
