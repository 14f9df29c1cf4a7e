// Replaces calloc and free in the program of a suite, so that each block ends
// before an inaccessible page: an access past its end stops the suite, in
// builds without sanitizers, too. A suite has it if it is linked with
// guarded_heap.c and the options --wrap=calloc and --wrap=free.
//
// Where processors have no need for aligned pointers, a block ends exactly at
// the page. Elsewhere its start is aligned to 16, and up to 15 bytes behind it
// hold 0xa5. So do 64 bytes before it. One thread at a time may call it.

#ifndef ETX_TESTS_SUPPORT_GUARDED_HEAP_H
#define ETX_TESTS_SUPPORT_GUARDED_HEAP_H

#include <stddef.h>

void* __wrap_calloc(size_t count, size_t bytes);
// Blocks of others are passed on to free.
void __wrap_free(void* block);

#endif
