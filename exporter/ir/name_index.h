// A hash table that finds the items of an array by name. The items are structs
// whose first member is their name, an etx_text; no two have the same name.
//
// Open addressing with linear probing. An entry is the index of the item + 1,
// so zeroed memory is an empty table; at most half of the entries are used.

#ifndef ETX_EXPORTER_IR_NAME_INDEX_H
#define ETX_EXPORTER_IR_NAME_INDEX_H

#include "exporter/host/host_memory.h"

typedef struct etx_name_index {
  uint32_t* entries;  // in the pool; NULL until an item was added
  size_t size;        // a power of two, or 0
} etx_name_index;

// The items that an index is over: `count` structs of `item_bytes` bytes.
typedef struct etx_named_items {
  const void* items;
  size_t count;
  size_t item_bytes;
} etx_named_items;

bool etx_name_index_find(const etx_name_index* index,
                         const etx_named_items* named, etx_text name,
                         uint32_t* out_item);

// Adds item `item`, whose name no item of the index has. The table may move
// within `pool` and then takes in the items from 0 to `item`.
// ETX_OUT_OF_MEMORY: the index is as it was.
ETX_MUST_USE etx_status etx_name_index_add(etx_name_index* index,
                                           etx_pool* pool,
                                           const etx_named_items* named,
                                           uint32_t item);

// Indexes all items anew, after some were removed or have moved.
ETX_MUST_USE etx_status etx_name_index_rebuild(etx_name_index* index,
                                               etx_pool* pool,
                                               const etx_named_items* named);

#endif
