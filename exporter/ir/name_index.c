#include "exporter/ir/name_index.h"

#include "exporter/host/content_hash.h"

enum { FIRST_SIZE = 64 };

static etx_text name_of(const etx_named_items* named, size_t item) {
  etx_text name;
  memcpy(&name, (const uint8_t*)named->items + item * named->item_bytes,
         sizeof name);
  return name;
}

static size_t first_entry(const etx_name_index* index, etx_text name) {
  const etx_bytes bytes = {(const uint8_t*)name.data, name.size};
  return (size_t)etx_content_hash(bytes) & (index->size - 1);
}

bool etx_name_index_find(const etx_name_index* index,
                         const etx_named_items* named, etx_text name,
                         uint32_t* out_item) {
  if (index->size == 0) return false;
  for (size_t at = first_entry(index, name); index->entries[at] != 0;
       at = (at + 1) & (index->size - 1)) {
    const uint32_t item = index->entries[at] - 1;
    if (!etx_text_equal(name_of(named, item), name)) continue;
    *out_item = item;
    return true;
  }
  return false;
}

static void put(const etx_name_index* index, const etx_named_items* named,
                uint32_t item) {
  size_t at = first_entry(index, name_of(named, item));
  while (index->entries[at] != 0) at = (at + 1) & (index->size - 1);
  index->entries[at] = item + 1;
}

// Makes the table large enough for `count` items. A table that moves is empty.
static etx_status make_room(etx_name_index* index, etx_pool* pool, size_t count,
                            bool* out_moved) {
  size_t size = index->size == 0 ? FIRST_SIZE : index->size;
  while (size < 2 * count) size *= 2;
  *out_moved = size != index->size;
  if (!*out_moved) return ETX_OK;
  uint32_t* const entries = etx_pool_take(pool, size * sizeof *entries);
  if (entries == NULL) return ETX_OUT_OF_MEMORY;
  *index = (etx_name_index){entries, size};
  return ETX_OK;
}

etx_status etx_name_index_add(etx_name_index* index, etx_pool* pool,
                              const etx_named_items* named, uint32_t item) {
  bool has_moved = false;
  ETX_TRY(make_room(index, pool, (size_t)item + 1, &has_moved));
  for (uint32_t i = 0; has_moved && i < item; ++i) put(index, named, i);
  put(index, named, item);
  return ETX_OK;
}

etx_status etx_name_index_rebuild(etx_name_index* index, etx_pool* pool,
                                  const etx_named_items* named) {
  bool has_moved = false;
  ETX_TRY(make_room(index, pool, named->count, &has_moved));
  memset(index->entries, 0, index->size * sizeof *index->entries);
  for (size_t i = 0; i < named->count; ++i) put(index, named, (uint32_t)i);
  return ETX_OK;
}
