// The exporter's memory: a pool of blocks from malloc, freed all at once.
//
// Everything that the exporter builds (IR, expressions, constants) lives in one
// pool until the command ends; no object is freed on its own. Working memory of
// a single pass, reader or planner is in a pool of its own, which ends with it.
// No other file of the exporter calls malloc.

#ifndef ETX_EXPORTER_HOST_HOST_MEMORY_H
#define ETX_EXPORTER_HOST_HOST_MEMORY_H

#include "format/base/span.h"
#include "format/base/status.h"

struct etx_pool_array;
struct etx_pool_block;
struct etx_pool_release;
struct etx_page_file;

typedef struct etx_pool {
  struct etx_pool_block* newest;      // NULL when empty
  struct etx_pool_array* arrays;      // of etx_pool_extend
  struct etx_pool_release* releases;  // what etx_pool_close calls
  struct etx_page_file* pages;        // of paged_memory.h, or NULL
  size_t total_bytes;                 // requested from malloc so far
} etx_pool;

void etx_pool_init(etx_pool* pool);
// Frees all blocks; the pool is empty afterwards.
void etx_pool_close(etx_pool* pool);

// Makes etx_pool_close call release(data, size), the latest request first.
// ETX_OUT_OF_MEMORY: it will not be called.
ETX_MUST_USE etx_status etx_pool_on_close(etx_pool* pool,
                                          void (*release)(void* data,
                                                          size_t size),
                                          void* data, size_t size);

// Zeroed bytes, or NULL if the host has no more memory. They are aligned to 16,
// and to 64 if there are 1024 or more.
void* etx_pool_take(etx_pool* pool, size_t bytes);

// The alignment of memory of that many bytes from etx_pool_take.
size_t etx_pool_alignment(size_t bytes);

// A NUL-terminated copy of `text`; data is NULL if the host has no memory.
etx_text etx_pool_copy_text(etx_pool* pool, etx_text text);

// Formats (see diag.h for the conversions) into a copy in the pool.
etx_text etx_pool_format(etx_pool* pool, const char* format, ...);

// Makes room for one more item in a growing array: `items` points at the
// array's pointer, `count` items are in use, `*capacity` is what it holds.
// The old array stays in the pool.
ETX_MUST_USE etx_status etx_pool_grow(etx_pool* pool, void* items, size_t count,
                                      size_t* capacity, size_t item_bytes);

// The same for `wanted` items in all, if their number is known.
ETX_MUST_USE etx_status etx_pool_reserve(etx_pool* pool, void* items,
                                         size_t count, size_t* capacity,
                                         size_t wanted, size_t item_bytes);

// Like the two above, for tables that become large: the array is a block of its
// own, and the old one is freed, so nothing may point into it. New entries are
// not zeroed. An array with capacity comes from one of these two functions, and
// the pool stays where it is until it is closed.
ETX_MUST_USE etx_status etx_pool_extend(etx_pool* pool, void* items,
                                        size_t count, size_t* capacity,
                                        size_t item_bytes);
ETX_MUST_USE etx_status etx_pool_extend_to(etx_pool* pool, void* items,
                                           size_t* capacity, size_t wanted,
                                           size_t item_bytes);

#endif
