#define _DEFAULT_SOURCE

#include "tests/support/guarded_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exporter/host/address_sanitizer.h"

// A block has two pages at least, so that as many bytes are before it.
enum { FILLING = 0xa5, CHECKED_BEFORE = 64 };

// Bytes of the pages of a block that may be accessed.
static size_t usable_bytes(size_t size, size_t page) {
  return (size / page + 2) * page;
}

test_block test_block_new(size_t size, size_t alignment) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t usable = usable_bytes(size, page);
  test_block block;
  block.page_bytes = usable + page;
  block.pages = mmap(NULL, block.page_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block.pages == MAP_FAILED ||
      mprotect((uint8_t*)block.pages + usable, page, PROT_NONE) != 0) {
    perror("guarded memory");
    abort();
  }
  memset(block.pages, FILLING, usable);
  block.slack = (alignment - size % alignment) % alignment;
  block.bytes.data = (uint8_t*)block.pages + usable - size - block.slack;
  block.bytes.size = size;
  return block;
}

test_block test_block_of(etx_bytes bytes, size_t alignment) {
  test_block block = test_block_new(bytes.size, alignment);
  if (bytes.size > 0) memcpy(block.bytes.data, bytes.data, bytes.size);
  return block;
}

test_block test_block_at(etx_bytes_mut bytes, size_t alignment) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t usable = usable_bytes(bytes.size, page);
  test_block block = {.bytes = bytes, .page_bytes = usable + page};
  block.slack = (alignment - bytes.size % alignment) % alignment;
  block.pages = bytes.data + bytes.size + block.slack - usable;
  return block;
}

bool test_block_end(test_block* block) {
  const uint8_t* const before = block->bytes.data - CHECKED_BEFORE;
  bool is_whole = true;
  for (size_t i = 0; i < CHECKED_BEFORE; ++i) {
    if (before[i] != FILLING) is_whole = false;
  }
  for (size_t i = 0; i < block->slack; ++i) {
    if (block->bytes.data[block->bytes.size + i] != FILLING) is_whole = false;
  }
  // What an arena has forbidden would be forbidden in the next mapping, too.
  etx_permit_bytes(block->pages, block->page_bytes);
  munmap(block->pages, block->page_bytes);
  return is_whole;
}
