// The order of elements: each is mapped to an unsigned key with the same order,
// so that one sort serves all types. NaN is larger than all numbers and -0
// equals 0, as in PyTorch.

#ifndef ETX_RUNTIME_KERNELS_CORE_SORT_KEYS_H
#define ETX_RUNTIME_KERNELS_CORE_SORT_KEYS_H

#include "runtime/kernels/core/convert.h"

// An element: its key, and where it was before sorting.
typedef struct etx_sort_entry {
  uint64_t key;
  uint64_t position;
} etx_sort_entry;

// Elements `stride` elements apart.
typedef struct etx_key_source {
  const void* data;
  etx_dtype dtype;
  ptrdiff_t stride;
  bool descending;  // keys have the opposite order
} etx_key_source;

// The keys of at most ETX_BLOCK elements.
void etx_sort_keys_load(const etx_key_source* source, size_t count,
                        uint64_t* keys);

// The key of one element, in ascending order.
uint64_t etx_sort_key_at(etx_dtype dtype, const void* element);

// The key of NaN in ascending order. No number of a float type has this key,
// but an integer may have it.
uint64_t etx_sort_key_of_nan(etx_dtype dtype);

// Fills `entries` with the keys and positions of `count` elements.
void etx_sort_entries_load(const etx_key_source* source, size_t count,
                           etx_sort_entry* entries);

// Sorts `entries` by key with a stable radix sort. `spare` has room for `count`
// entries. Returns the one of the two that has the result.
const etx_sort_entry* etx_radix_sort(etx_sort_entry* entries,
                                     etx_sort_entry* spare, size_t count);

#endif
