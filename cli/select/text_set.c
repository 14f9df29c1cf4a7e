#include "cli/select/text_set.h"

// The position of `text`, or where it would be inserted.
static size_t place_of(const etx_text_set* set, etx_text text) {
  size_t low = 0, high = set->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (etx_text_compare(set->items[middle], text) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool is_at(const etx_text_set* set, size_t at, etx_text text) {
  return at < set->count && etx_text_compare(set->items[at], text) == 0;
}

bool etx_text_set_has(const etx_text_set* set, etx_text text) {
  return is_at(set, place_of(set, text), text);
}

etx_status etx_text_set_add(etx_text_set* set, etx_pool* pool, etx_text text) {
  const size_t at = place_of(set, text);
  if (is_at(set, at, text)) return ETX_OK;
  ETX_TRY(etx_pool_grow(pool, &set->items, set->count, &set->capacity,
                        sizeof *set->items));
  for (size_t i = set->count; i > at; --i) set->items[i] = set->items[i - 1];
  set->items[at] = text;
  ++set->count;
  return ETX_OK;
}

etx_status etx_text_set_unite(etx_text_set* set, etx_pool* pool,
                              const etx_text_set* other) {
  for (size_t i = 0; i < other->count; ++i) {
    ETX_TRY(etx_text_set_add(set, pool, other->items[i]));
  }
  return ETX_OK;
}
