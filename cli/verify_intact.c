#include "cli/verify_intact.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

typedef struct place {
  etx_verify_range range;
  uint32_t owner;
  uint32_t ordinal;  // among the owner's places
} place;

// A total order, so that every C library sorts alike.
static int compare_places(const void* left, const void* right) {
  const place* const a = left;
  const place* const b = right;
  if (a->range.start != b->range.start) {
    return a->range.start < b->range.start ? -1 : 1;
  }
  if (a->owner != b->owner) return a->owner < b->owner ? -1 : 1;
  return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

// A view is as intact as its parent, so it needs no entry.
static bool has_entries(const etx_verify_value* value) {
  return value->home != ETX_VERIFY_NO_TENSOR &&
         (value->home != ETX_VERIFY_CONSTANT || value->is_rebound) &&
         value->parent == ETX_VERIFY_NONE;
}

static size_t collect(const etx_verify_method* m, place* places) {
  size_t count = 0;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    if (!has_entries(&m->values[v])) continue;
    for (uint32_t i = 0; i < m->values[v].place_count; ++i) {
      if (places != NULL) {
        places[count] = (place){etx_verify_place(m, v, i), v, i};
      }
      ++count;
    }
  }
  return count;
}

static void fill(etx_verify_intact* intact, const place* places) {
  uint32_t next = 0;
  for (uint32_t v = 0; v < intact->m->value_count; ++v) {
    intact->first_entry[v] = next;
    if (has_entries(&intact->m->values[v])) {
      next += intact->m->values[v].place_count;
    }
  }
  for (size_t i = 0; i < intact->count; ++i) {
    intact->owners[i] = places[i].owner;
    intact->ranges[i] = places[i].range;
    intact->entries[intact->first_entry[places[i].owner] + places[i].ordinal] =
        (uint32_t)i;
  }
}

etx_status etx_verify_intact_init(etx_verify_intact* intact,
                                  const etx_verify_method* m) {
  memset(intact, 0, sizeof *intact);
  intact->m = m;
  intact->count = collect(m, NULL);
  intact->leaves = 1;
  while (intact->leaves < intact->count) intact->leaves *= 2;
  intact->word_count = m->value_count / WORD_BITS + 1;
  place* const places =
      etx_verify_take(m->memory, intact->count, sizeof *places);
  intact->owners =
      etx_verify_take(m->memory, intact->count, sizeof *intact->owners);
  intact->ranges =
      etx_verify_take(m->memory, intact->count, sizeof *intact->ranges);
  intact->entries =
      etx_verify_take(m->memory, intact->count, sizeof *intact->entries);
  intact->first_entry =
      etx_verify_take(m->memory, m->value_count, sizeof *intact->first_entry);
  intact->reach =
      etx_verify_take(m->memory, 2 * intact->leaves, sizeof *intact->reach);
  intact->bits =
      etx_verify_take(m->memory, intact->word_count, sizeof *intact->bits);
  if (places == NULL || intact->owners == NULL || intact->ranges == NULL ||
      intact->entries == NULL || intact->first_entry == NULL ||
      intact->reach == NULL || intact->bits == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  (void)collect(m, places);
  qsort(places, intact->count, sizeof *places, compare_places);
  fill(intact, places);
  return ETX_OK;
}

bool etx_verify_intact_has(const etx_verify_intact* intact, uint32_t value) {
  return (intact->bits[value / WORD_BITS] >> (value % WORD_BITS) & 1) != 0;
}

static void set_reach(etx_verify_intact* intact, uint32_t entry,
                      uint64_t reach) {
  size_t node = intact->leaves + entry;
  intact->reach[node] = reach;
  for (node /= 2; node > 0; node /= 2) {
    const uint64_t left = intact->reach[2 * node];
    const uint64_t right = intact->reach[2 * node + 1];
    intact->reach[node] = left > right ? left : right;
  }
}

static void set_entries(etx_verify_intact* intact, uint32_t value,
                        bool is_intact) {
  const etx_verify_value* const v = &intact->m->values[value];
  if (!has_entries(v)) return;
  for (uint32_t i = 0; i < v->place_count; ++i) {
    const uint32_t entry = intact->entries[intact->first_entry[value] + i];
    set_reach(intact, entry, is_intact ? intact->ranges[entry].end : 0);
  }
}

void etx_verify_intact_add(etx_verify_intact* intact, uint32_t value) {
  if (etx_verify_intact_has(intact, value)) return;
  intact->bits[value / WORD_BITS] |= UINT64_C(1) << (value % WORD_BITS);
  set_entries(intact, value, true);
}

void etx_verify_intact_remove(etx_verify_intact* intact, uint32_t value) {
  if (!etx_verify_intact_has(intact, value)) return;
  intact->bits[value / WORD_BITS] &= ~(UINT64_C(1) << (value % WORD_BITS));
  set_entries(intact, value, false);
}

void etx_verify_intact_load(etx_verify_intact* intact, const uint64_t* bits) {
  memcpy(intact->bits, bits, intact->word_count * sizeof *bits);
  for (size_t i = 0; i < intact->count; ++i) {
    intact->reach[intact->leaves + i] =
        etx_verify_intact_has(intact, intact->owners[i]) ? intact->ranges[i].end
                                                         : 0;
  }
  for (size_t node = intact->leaves - 1; node > 0; --node) {
    const uint64_t left = intact->reach[2 * node];
    const uint64_t right = intact->reach[2 * node + 1];
    intact->reach[node] = left > right ? left : right;
  }
}

// Entries that start before `position`.
static size_t starts_before(const etx_verify_intact* intact,
                            uint64_t position) {
  size_t low = 0;
  size_t high = intact->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (intact->ranges[middle].start < position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

size_t etx_verify_intact_next(const etx_verify_intact* intact,
                              etx_verify_range range, size_t from) {
  const size_t limit = starts_before(intact, range.end);
  if (from >= limit || range.start >= range.end) return SIZE_MAX;
  size_t node = intact->leaves + from;
  // Up and to the right until something reaches far enough, then down to it.
  while (intact->reach[node] <= range.start) {
    while ((node & 1) != 0) node /= 2;
    if (node == 0) return SIZE_MAX;
    node += 1;
  }
  while (node < intact->leaves) {
    node *= 2;
    if (intact->reach[node] <= range.start) node += 1;
  }
  const size_t entry = node - intact->leaves;
  return entry < limit ? entry : SIZE_MAX;
}
