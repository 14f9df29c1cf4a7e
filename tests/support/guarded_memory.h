// Blocks that end where a page begins that nobody may touch.

#ifndef ETX_TESTS_SUPPORT_GUARDED_MEMORY_H
#define ETX_TESTS_SUPPORT_GUARDED_MEMORY_H

#include "format/base/span.h"

typedef struct test_block {
  etx_bytes_mut bytes;  // aligned as asked, filled with 0xa5
  void* pages;
  size_t page_bytes;
  size_t slack;  // bytes between the block's end and the forbidden page
} test_block;

// Takes `size` bytes. The end is as near to the forbidden page as the alignment
// lets it be; what lies between is checked by test_block_end.
test_block test_block_new(size_t size, size_t alignment);
// Gives the block back; false if the bytes behind its end were written.
bool test_block_end(test_block* block);
// The last byte that a file may be read at: a copy of `bytes` before a
// forbidden page.
test_block test_block_of(etx_bytes bytes, size_t alignment);

#endif
