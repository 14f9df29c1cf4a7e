// Cuts values into pieces and sorts them.

#include <stdlib.h>
#include <string.h>

#include "cli/verify/verify_interval_tree.h"

enum { WORD_BITS = 64 };

// A value that has pieces: not a constant, and not a view, which has those of
// the value that it lies in.
static bool has_pieces(const etx_verify_value* value) {
  return value->is_rebound || (value->home != ETX_VERIFY_STORAGE_NONE &&
                               value->home != ETX_VERIFY_STORAGE_CONSTANT &&
                               value->parent == ETX_VERIFY_NONE);
}

// ---- cuts ----

typedef struct cut {
  uint32_t owner;
  uint64_t position;
} cut;

static int compare_cuts(const void* left, const void* right) {
  const cut* const a = left;
  const cut* const b = right;
  if (a->owner != b->owner) return a->owner < b->owner ? -1 : 1;
  return a->position < b->position ? -1 : a->position > b->position;
}

static size_t find_cuts(const etx_verify_method* m, cut* cuts) {
  size_t count = 0;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    const etx_verify_value* const value = &m->values[v];
    if (value->home == ETX_VERIFY_STORAGE_NONE || value->is_rebound ||
        value->range.start == value->range.end ||
        !has_pieces(&m->values[value->top]) ||
        m->values[value->top].is_rebound) {
      continue;
    }
    cuts[count++] = (cut){value->top, value->range.start};
    cuts[count++] = (cut){value->top, value->range.end};
  }
  qsort(cuts, count, sizeof *cuts, compare_cuts);
  return count;
}

// ---- pieces ----

static void add_piece(etx_verify_interval_tree* intact, uint32_t owner,
                      uint64_t start, uint64_t end) {
  intact->pieces[intact->count++] = (etx_verify_interval){{start, end}, owner};
}

static void add_cut_pieces(etx_verify_interval_tree* intact, const cut* cuts,
                           size_t count) {
  for (size_t i = 1; i < count; ++i) {
    if (cuts[i].owner != cuts[i - 1].owner ||
        cuts[i].position == cuts[i - 1].position) {
      continue;
    }
    add_piece(intact, cuts[i].owner, cuts[i - 1].position, cuts[i].position);
  }
}

// One piece for each place; an empty one if there is none, so that it can be
// said whether the value got a header at all.
static void add_places(etx_verify_interval_tree* intact) {
  const etx_verify_method* const m = intact->m;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    if (!m->values[v].is_rebound) continue;
    for (uint32_t i = 0; i < m->values[v].place_count; ++i) {
      const etx_verify_range place = etx_verify_address_range(m, v, i);
      add_piece(intact, v, place.start, place.end);
    }
    if (m->values[v].place_count == 0) add_piece(intact, v, 0, 0);
  }
}

// A total order, so that every C library sorts alike.
static int compare_pieces(const void* left, const void* right) {
  const etx_verify_interval* const a = left;
  const etx_verify_interval* const b = right;
  if (a->range.start != b->range.start) {
    return a->range.start < b->range.start ? -1 : 1;
  }
  if (a->owner != b->owner) return a->owner < b->owner ? -1 : 1;
  return a->range.end < b->range.end ? -1 : a->range.end > b->range.end;
}

// By owner, and for each by start, since pieces are in that order already.
static void order_pieces(etx_verify_interval_tree* intact) {
  const size_t values = intact->m->value_count;
  for (size_t i = 0; i < intact->count; ++i) {
    intact->first[intact->pieces[i].owner + 1] += 1;
  }
  for (size_t v = 0; v < values; ++v) {
    intact->first[v + 1] += intact->first[v];
  }
  for (size_t i = intact->count; i > 0; --i) {
    const uint32_t owner = intact->pieces[i - 1].owner;
    intact->order[--intact->first[owner + 1]] = (uint32_t)(i - 1);
  }
  // Every entry went down to the start of its own pieces, one place too high.
  for (size_t v = 0; v < values; ++v) intact->first[v] = intact->first[v + 1];
  intact->first[values] = (uint32_t)intact->count;
}

etx_status etx_verify_interval_tree_init(etx_verify_interval_tree* intact,
                                         const etx_verify_method* m) {
  memset(intact, 0, sizeof *intact);
  intact->m = m;
  const size_t most = 2 * m->value_count + m->place_count + 1;
  cut* const cuts = etx_verify_arena_take(m->memory, most, sizeof *cuts);
  intact->pieces =
      etx_verify_arena_take(m->memory, most, sizeof *intact->pieces);
  if (cuts == NULL || intact->pieces == NULL) return ETX_OUT_OF_MEMORY;
  add_cut_pieces(intact, cuts, find_cuts(m, cuts));
  add_places(intact);
  qsort(intact->pieces, intact->count, sizeof *intact->pieces, compare_pieces);

  intact->leaves = 1;
  while (intact->leaves < intact->count) intact->leaves *= 2;
  intact->word_count = intact->count / WORD_BITS + 1;
  intact->order =
      etx_verify_arena_take(m->memory, intact->count, sizeof *intact->order);
  intact->first = etx_verify_arena_take(m->memory, m->value_count + 1,
                                        sizeof *intact->first);
  intact->reach = etx_verify_arena_take(m->memory, 2 * intact->leaves,
                                        sizeof *intact->reach);
  intact->bits = etx_verify_arena_take(m->memory, intact->word_count,
                                       sizeof *intact->bits);
  if (intact->order == NULL || intact->first == NULL || intact->reach == NULL ||
      intact->bits == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  order_pieces(intact);
  return ETX_OK;
}
