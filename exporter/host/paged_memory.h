// Memory for weights that the exporter makes: pages of a temporary file without
// a name. A rounded or packed weight is written once, hashed, and read again
// when the program is written; in between the process need not have its pages,
// and the host can write them to the disk when memory is short.
//
// The memory belongs to a pool and ends with it. Without a directory, and
// wherever the host cannot make the file or its disk has less than four times
// the room, it is memory of the pool as any other.

#ifndef ETX_EXPORTER_HOST_PAGED_MEMORY_H
#define ETX_EXPORTER_HOST_PAGED_MEMORY_H

#include "exporter/host/host_memory.h"

// Makes the pool keep such memory in a file of the directory `directory`, which
// is copied; the empty text is the current directory. ETX_OUT_OF_MEMORY only.
ETX_MUST_USE etx_status etx_pages_use(etx_pool* pool, etx_text directory);

// As etx_pool_take. For one thread at a time; the bytes may be used by several.
void* etx_pages_take(etx_pool* pool, size_t bytes);

// Lets go of the pages of some bytes, which keep their values: the next read or
// write gets them back. Does nothing for other memory.
void etx_pages_rest(const etx_pool* pool, const void* data, size_t bytes);

#endif
