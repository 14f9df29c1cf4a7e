#define _DEFAULT_SOURCE

#include "tests/support/guarded_heap.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILLING = 0xa5, FILLED_BEFORE = 64, LARGEST_ALIGNMENT = 16 };

#if defined(__x86_64__)
enum { SMALLEST_ALIGNMENT = 1 };
#else
enum { SMALLEST_ALIGNMENT = LARGEST_ALIGNMENT };
#endif

// At the start of the pages of a block.
typedef struct guarded_pages {
  struct guarded_pages* before;
  size_t page_bytes;
  void* block;
} guarded_pages;

static guarded_pages* newest;

void __real_free(void* block);

// The largest power of two that divides `bytes`: no item of an array of so many
// bytes needs a larger alignment.
static size_t alignment_of(size_t bytes) {
  size_t alignment = SMALLEST_ALIGNMENT;
  while (alignment < LARGEST_ALIGNMENT && bytes % (2 * alignment) == 0) {
    alignment *= 2;
  }
  return alignment;
}

void* __wrap_calloc(size_t count, size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (bytes != 0 && count > SIZE_MAX / 4 / bytes) return NULL;
  const size_t size = count * bytes;
  const size_t usable = (size + sizeof(guarded_pages) + FILLED_BEFORE +
                         LARGEST_ALIGNMENT + page - 1) /
                        page * page;
  uint8_t* const pages = mmap(NULL, usable + page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  if (mprotect(pages + usable, page, PROT_NONE) != 0) {
    munmap(pages, usable + page);
    return NULL;
  }
  const size_t alignment = alignment_of(size);
  uint8_t* const block =
      pages + usable - (size + alignment - 1) / alignment * alignment;
  // New pages hold zeros.
  memset(block - FILLED_BEFORE, FILLING, FILLED_BEFORE);
  memset(block + size, FILLING, (size_t)(pages + usable - block) - size);
  guarded_pages* const own = (guarded_pages*)pages;
  *own = (guarded_pages){newest, usable + page, block};
  newest = own;
  return block;
}

void __wrap_free(void* block) {
  for (guarded_pages** at = &newest; *at != NULL; at = &(*at)->before) {
    guarded_pages* const own = *at;
    if (own->block != block) continue;
    *at = own->before;
    munmap(own, own->page_bytes);
    return;
  }
  __real_free(block);
}
