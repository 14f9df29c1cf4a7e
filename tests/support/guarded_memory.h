// Blocks of memory before an inaccessible page, so that an access past the end
// fails.

#ifndef ETX_TESTS_SUPPORT_GUARDED_MEMORY_H
#define ETX_TESTS_SUPPORT_GUARDED_MEMORY_H

#include "format/base/span.h"

typedef struct test_block {
  etx_bytes_mut bytes;  // aligned as asked, filled with 0xa5
  void* pages;
  size_t page_bytes;
  size_t slack;  // bytes between the block's end and that page
} test_block;

// Allocates `size` bytes. The end is as near to the inaccessible page as the
// alignment allows; test_block_end checks the bytes between them.
test_block test_block_new(size_t size, size_t alignment);
// Frees the block. False if bytes just before it or behind its end were
// written.
bool test_block_end(test_block* block);
// The block that test_block_new has returned with these bytes and alignment.
test_block test_block_at(etx_bytes_mut bytes, size_t alignment);
// A copy of `bytes` before an inaccessible page, so that reading a file past
// its end fails.
test_block test_block_of(etx_bytes bytes, size_t alignment);

#endif
