#include "cli/verify/verify_valid_values.h"

#include <string.h>

// Concatenations within concatenations.
enum { MAX_NESTING = 64 };

// ---- reading ----

// In a stock file a value without a writer shows the bytes of some other one
// that holds and has all of them; the file does not say whose. The content of
// a state is only ever changed through a value that is changed in place.
static bool may_show(const etx_verify_valid_values* h, uint32_t value,
                     uint32_t other) {
  const etx_verify_value* const shown = &h->m->values[other];
  return !h->m->values[value].is_state || shown->is_state || shown->is_changed;
}

static bool is_inside_another(const etx_verify_valid_values* h,
                              uint32_t value) {
  const etx_verify_value* const v = &h->m->values[value];
  if (v->home != ETX_VERIFY_STORAGE_PLANNED || v->is_rebound || v->is_written) {
    return false;
  }
  size_t piece = etx_verify_interval_tree_next(&h->intact, v->range, 0);
  while (piece != SIZE_MAX) {
    const etx_verify_interval* const other = &h->intact.pieces[piece];
    if (etx_verify_contains(other->range, v->range) &&
        may_show(h, value, other->owner)) {
      return true;
    }
    piece = etx_verify_interval_tree_next(&h->intact, v->range, piece + 1);
  }
  return false;
}

// The search through a value that is made of parts, which may be made of parts
// themselves. `depth` ends cycles, and `budget` ends searches that come to the
// same rows again and again.
typedef struct search {
  etx_verify_range range;
  size_t depth;
  size_t budget;
} search;

static bool holds_within(const etx_verify_valid_values* h, uint32_t value,
                         search* s);

static bool parts_hold(const etx_verify_valid_values* h,
                       const etx_verify_value* whole, search* s) {
  for (uint32_t i = 0; i < whole->part_count; ++i) {
    const uint32_t part = h->m->parts[whole->first_part + i];
    if (!etx_verify_overlap(h->m->values[part].range, s->range)) continue;
    if (s->budget == 0) return false;
    --s->budget;
    if (!holds_within(h, part, s)) return false;
  }
  return whole->part_count > 0;
}

// True if the bytes of `value` within the searched range hold it.
static bool holds_within(const etx_verify_valid_values* h, uint32_t value,
                         search* s) {
  const uint32_t top = h->m->values[value].top;
  const etx_verify_value* const v = &h->m->values[top];
  const etx_verify_range all = s->range;
  const etx_verify_range own = h->m->values[value].range;
  if (v->home == ETX_VERIFY_STORAGE_CONSTANT && !v->is_rebound) return true;
  if (own.start > s->range.start) s->range.start = own.start;
  if (own.end < s->range.end) s->range.end = own.end;
  bool is_held = etx_verify_interval_tree_has(&h->intact, top, s->range);
  if (!is_held && h->m->blob == NULL) is_held = is_inside_another(h, top);
  if (!is_held && s->depth > 0) {
    --s->depth;
    is_held = parts_hold(h, v, s);
    ++s->depth;
  }
  s->range = all;
  return is_held;
}

bool etx_verify_value_is_valid(const etx_verify_valid_values* h,
                               uint32_t value) {
  const etx_verify_value* const v = &h->m->values[value];
  search s = {v->range, MAX_NESTING, h->m->value_count};
  if (!v->is_rebound && v->range.start == v->range.end) return true;
  return holds_within(h, value, &s);
}

// True if `value` is a view of `other`, directly or not: by the blob or by a
// header that it took over.
static bool is_view_of(const etx_verify_valid_values* h, uint32_t value,
                       uint32_t other) {
  for (size_t i = 0; i <= h->m->value_count; ++i) {
    const etx_verify_value* const v = &h->m->values[value];
    if (v->parent != ETX_VERIFY_NONE) {
      value = v->parent;
    } else if (v->named_by != 0) {
      value = v->named_by - 1;
    } else {
      return false;
    }
    if (value == other) return true;
  }
  return false;
}

// ---- writing ----

static void note_killer(etx_verify_valid_values* h, uint32_t value,
                        uint32_t killer, size_t step) {
  h->killers[value] = killer + 1;
  h->killed_at[value] =
      step == h->m->step_count ? ETX_VERIFY_NONE : (uint32_t)step;
}

// In a stock file a value that shows bytes of another one may be changed in
// place, and then the other is changed, not lost.
static bool is_changed_through(const etx_verify_valid_values* h, uint32_t value,
                               uint32_t other) {
  return h->m->blob == NULL && h->m->values[value].place_count == 1 &&
         h->m->values[other].place_count == 1 &&
         etx_verify_contains(etx_verify_address_range(h->m, other, 0),
                             etx_verify_address_range(h->m, value, 0));
}

// Nobody knows which of two outputs of a step is written last, so neither
// holds where both lie.
static void lose_both(etx_verify_valid_values* h, uint32_t value, size_t piece,
                      size_t step) {
  const uint32_t top = h->m->values[value].top;
  const size_t count = etx_verify_interval_count(&h->intact, top);
  for (size_t i = 0; i < count; ++i) {
    const size_t own = etx_verify_interval_at(&h->intact, top, i);
    if (!etx_verify_overlap(h->intact.pieces[own].range,
                            h->intact.pieces[piece].range)) {
      continue;
    }
    etx_verify_interval_tree_remove_one(&h->intact, own);
    note_killer(h, top, h->intact.pieces[piece].owner, step);
  }
}

// Takes down whatever else has a byte in one of the places of `value`.
static void take_down(etx_verify_valid_values* h, uint32_t value, size_t step,
                      bool changes_others) {
  for (uint32_t i = 0; i < h->m->values[value].place_count; ++i) {
    const etx_verify_range range = etx_verify_address_range(h->m, value, i);
    size_t piece = etx_verify_interval_tree_next(&h->intact, range, 0);
    for (; piece != SIZE_MAX;
         piece = etx_verify_interval_tree_next(&h->intact, range, piece + 1)) {
      const uint32_t other = h->intact.pieces[piece].owner;
      if (other == value || is_view_of(h, value, other) ||
          (changes_others && is_changed_through(h, value, other))) {
        continue;
      }
      if (h->written_at[other] == step + 1) lose_both(h, value, piece, step);
      etx_verify_interval_tree_remove_one(&h->intact, piece);
      note_killer(h, other, value, step);
    }
  }
}

void etx_verify_value_write(etx_verify_valid_values* h, uint32_t value,
                            size_t step, bool is_update) {
  const etx_verify_value* const v = &h->m->values[value];
  const bool held = etx_verify_interval_tree_has(&h->intact, v->top, v->range);
  etx_verify_interval_tree_add(&h->intact, v->top, v->range);
  take_down(h, value, step, is_update && !held);
  h->written_at[v->top] = (uint32_t)step + 1;
}

void etx_verify_value_set_valid(etx_verify_valid_values* h, uint32_t value) {
  const etx_verify_value* const v = &h->m->values[value];
  etx_verify_interval_tree_add(&h->intact, v->top, v->range);
}

void etx_verify_value_rebind(etx_verify_valid_values* h, uint32_t value,
                             uint32_t from) {
  const etx_verify_range anywhere = {0, 0};
  const bool is_good = etx_verify_value_is_valid(h, from);
  etx_verify_interval_tree_remove(&h->intact, value);
  if (is_good) etx_verify_interval_tree_add(&h->intact, value, anywhere);
}

void etx_verify_value_invalidate(etx_verify_valid_values* h, uint32_t value,
                                 size_t step) {
  const uint32_t top = h->m->values[value].top;
  etx_verify_interval_tree_remove(&h->intact, top);
  note_killer(h, top, value, step);
}

// ---- beginning ----

etx_status etx_verify_valid_values_init(etx_verify_valid_values* h,
                                        const etx_verify_method* m) {
  memset(h, 0, sizeof *h);
  h->m = m;
  h->killers =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *h->killers);
  h->killed_at =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *h->killed_at);
  h->written_at =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *h->written_at);
  if (h->killers == NULL || h->killed_at == NULL || h->written_at == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  return etx_verify_interval_tree_init(&h->intact, m);
}

void etx_verify_valid_values_clear(etx_verify_valid_values* h) {
  const size_t values = h->m->value_count;
  memset(h->killers, 0, values * sizeof *h->killers);
  memset(h->written_at, 0, values * sizeof *h->written_at);
  memset(h->intact.bits, 0, h->intact.word_count * sizeof *h->intact.bits);
  etx_verify_interval_tree_load(&h->intact, h->intact.bits);
}
