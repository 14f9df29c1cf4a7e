#include "cli/verify/verify_valid_values.h"

#include <string.h>

#include "cli/verify/verify_internal.h"

// The deepest nesting of concatenations.
enum { MAX_NESTING = 64 };

// ---- reading ----

// A stock file does not name the parents of views. So a value that no
// instruction writes is valid if all its bytes lie in another valid value. The
// exception is a state: its content changes only through another state, or
// through a value that an instruction changes in place. A value that takes over
// headers shows no other one: it may be at another of its possible ranges, be a
// constant, or have fewer bytes than the range.
static bool may_be_view_of(const etx_verify_valid_values* valid, uint32_t value,
                           uint32_t other) {
  const etx_verify_value* const shown = &valid->m->values[other];
  if (shown->is_rebound) return false;
  return !valid->m->values[value].is_state || shown->is_state ||
         shown->is_changed;
}

static bool is_inside_another(const etx_verify_valid_values* valid,
                              uint32_t value) {
  const etx_verify_value* const v = &valid->m->values[value];
  if (v->storage != ETX_VERIFY_STORAGE_PLANNED || v->is_rebound ||
      v->is_written) {
    return false;
  }
  size_t piece = etx_verify_interval_tree_next(&valid->intervals, v->range, 0);
  while (piece != SIZE_MAX) {
    const etx_verify_interval* const other = &valid->intervals.pieces[piece];
    if (etx_verify_contains(other->range, v->range) &&
        may_be_view_of(valid, value, other->owner)) {
      return true;
    }
    piece =
        etx_verify_interval_tree_next(&valid->intervals, v->range, piece + 1);
  }
  return false;
}

// The rest of a search through the parts of a value, which may have parts
// themselves. `depth` and `budget` end it for cyclic or repeated rows of the
// blob.
typedef struct search {
  etx_verify_range range;
  size_t depth;
  size_t budget;
} search;

static bool is_valid_within(const etx_verify_valid_values* valid,
                            uint32_t value, search* s);

static bool are_parts_valid(const etx_verify_valid_values* valid,
                            const etx_verify_value* whole, search* s) {
  for (uint32_t i = 0; i < whole->part_count; ++i) {
    const uint32_t part = valid->m->parts[whole->first_part + i];
    if (!etx_verify_overlap(valid->m->values[part].range, s->range)) continue;
    if (s->budget == 0) return false;
    --s->budget;
    if (!is_valid_within(valid, part, s)) return false;
  }
  return whole->part_count > 0;
}

// True if the bytes of `value` within the searched range are valid.
static bool is_valid_within(const etx_verify_valid_values* valid,
                            uint32_t value, search* s) {
  const uint32_t top = valid->m->values[value].top;
  const etx_verify_value* const v = &valid->m->values[top];
  const etx_verify_range all = s->range;
  const etx_verify_range own = valid->m->values[value].range;
  if (v->storage == ETX_VERIFY_STORAGE_CONSTANT && !v->is_rebound) return true;
  if (own.start > s->range.start) s->range.start = own.start;
  if (own.end < s->range.end) s->range.end = own.end;
  bool is_valid =
      etx_verify_interval_tree_has(&valid->intervals, top, s->range);
  if (!is_valid && valid->m->blob == NULL)
    is_valid = is_inside_another(valid, top);
  if (!is_valid && s->depth > 0 && !v->is_rebound) {
    --s->depth;
    is_valid = are_parts_valid(valid, v, s);
    ++s->depth;
  }
  s->range = all;
  return is_valid;
}

bool etx_verify_value_is_valid(const etx_verify_valid_values* valid,
                               uint32_t value) {
  const etx_verify_value* const v = &valid->m->values[value];
  search s = {v->range, MAX_NESTING, valid->m->value_count};
  if (!v->is_rebound && v->range.start == v->range.end) return true;
  // A view by its row has to have taken over a header, too.
  if (v->is_rebound && v->top != value &&
      !etx_verify_interval_tree_has(&valid->intervals, value, v->range)) {
    return false;
  }
  return is_valid_within(valid, value, &s);
}

// True if `value` is a view of `other`, directly or through other views: by the
// blob, or by a header that it took over. A part of a chain is not: its whole
// is only valid from the concatenation on.
static bool is_view_of(const etx_verify_valid_values* valid, uint32_t value,
                       uint32_t other) {
  for (size_t i = 0; i <= valid->m->value_count; ++i) {
    const etx_verify_value* const v = &valid->m->values[value];
    if (v->whole != 0) return false;
    if (v->parent != ETX_VERIFY_NONE) {
      value = v->parent;
    } else if (v->header_of != 0) {
      value = v->header_of - 1;
    } else {
      return false;
    }
    if (value == other) return true;
  }
  return false;
}

// ---- writing ----

static void note_overwriter(etx_verify_valid_values* valid, uint32_t value,
                            uint32_t overwriter, size_t step) {
  valid->overwriters[value] = overwriter + 1;
  valid->overwritten_at[value] =
      step == valid->m->step_count ? ETX_VERIFY_NONE : (uint32_t)step;
}

// If two outputs of one step overlap, both become invalid there, because the
// order of the two writes is unknown.
static void invalidate_both(etx_verify_valid_values* valid, uint32_t value,
                            size_t piece, size_t step) {
  const uint32_t top = valid->m->values[value].top;
  const size_t count = etx_verify_interval_count(&valid->intervals, top);
  for (size_t i = 0; i < count; ++i) {
    const size_t own = etx_verify_interval_at(&valid->intervals, top, i);
    if (!etx_verify_overlap(valid->intervals.pieces[own].range,
                            valid->intervals.pieces[piece].range)) {
      continue;
    }
    etx_verify_interval_tree_remove_one(&valid->intervals, own);
    note_overwriter(valid, top, valid->intervals.pieces[piece].owner, step);
  }
}

// Invalidates all other values that share a byte with a possible range of
// `value`.
static void invalidate_overlapping(etx_verify_valid_values* valid,
                                   uint32_t value, size_t step) {
  for (uint32_t i = 0; i < valid->m->values[value].range_count; ++i) {
    const etx_verify_range range = etx_verify_address_range(valid->m, value, i);
    size_t piece = etx_verify_interval_tree_next(&valid->intervals, range, 0);
    for (; piece != SIZE_MAX; piece = etx_verify_interval_tree_next(
                                  &valid->intervals, range, piece + 1)) {
      const uint32_t other = valid->intervals.pieces[piece].owner;
      if (other == value || is_view_of(valid, value, other) ||
          etx_verify_are_disjoint_parts(valid->m, value, other) ||
          (valid->joins && etx_verify_is_part_of(valid->m, other, value))) {
        continue;
      }
      if (valid->written_at[other] == step + 1) {
        invalidate_both(valid, value, piece, step);
      }
      etx_verify_interval_tree_remove_one(&valid->intervals, piece);
      note_overwriter(valid, other, value, step);
    }
  }
}

// A value that takes over headers is valid as a whole or not at all, so a write
// of a view of it says too little.
static void make_valid(etx_verify_valid_values* valid, uint32_t value) {
  const etx_verify_value* const v = &valid->m->values[value];
  if (valid->m->values[v->top].is_rebound && v->top != value) return;
  etx_verify_interval_tree_add(&valid->intervals, v->top, v->range);
}

void etx_verify_value_write(etx_verify_valid_values* valid, uint32_t value,
                            size_t step) {
  const etx_verify_value* const v = &valid->m->values[value];
  make_valid(valid, value);
  invalidate_overlapping(valid, value, step);
  valid->written_at[v->top] = (uint32_t)step + 1;
}

// Invalidates all that has bytes of a range: what two results show, too.
static void spoil_range(etx_verify_valid_values* valid, uint32_t by,
                        size_t step, etx_verify_range range) {
  size_t piece = etx_verify_interval_tree_next(&valid->intervals, range, 0);
  for (; piece != SIZE_MAX; piece = etx_verify_interval_tree_next(
                                &valid->intervals, range, piece + 1)) {
    const uint32_t owner = valid->intervals.pieces[piece].owner;
    etx_verify_interval_tree_remove_one(&valid->intervals, piece);
    note_overwriter(valid, owner, by, step);
  }
}

void etx_verify_value_spoil(etx_verify_valid_values* valid, uint32_t a,
                            uint32_t b, size_t step) {
  const etx_verify_method* const m = valid->m;
  if (etx_verify_are_disjoint_parts(m, a, b)) return;
  for (uint32_t i = 0; i < m->values[a].range_count; ++i) {
    for (uint32_t k = 0; k < m->values[b].range_count; ++k) {
      const etx_verify_range x = etx_verify_address_range(m, a, i);
      const etx_verify_range y = etx_verify_address_range(m, b, k);
      if (!etx_verify_overlap(x, y)) continue;
      spoil_range(valid, a, step,
                  (etx_verify_range){x.start > y.start ? x.start : y.start,
                                     x.end < y.end ? x.end : y.end});
    }
  }
}

void etx_verify_value_set_valid(etx_verify_valid_values* valid,
                                uint32_t value) {
  make_valid(valid, value);
}

void etx_verify_value_rebind(etx_verify_valid_values* valid, uint32_t value,
                             uint32_t from) {
  const etx_verify_range anywhere = {0, 0};
  const bool is_valid = etx_verify_value_is_valid(valid, from);
  etx_verify_interval_tree_remove(&valid->intervals, value);
  if (is_valid)
    etx_verify_interval_tree_add(&valid->intervals, value, anywhere);
}

void etx_verify_value_invalidate(etx_verify_valid_values* valid, uint32_t value,
                                 size_t step) {
  const uint32_t top = valid->m->values[value].top;
  etx_verify_interval_tree_remove(&valid->intervals, top);
  note_overwriter(valid, top, value, step);
}

// ---- start ----

etx_status etx_verify_valid_values_init(etx_verify_valid_values* valid,
                                        const etx_verify_method* m) {
  valid->m = m;
  valid->overwriters = etx_verify_arena_take(m->memory, m->value_count,
                                             sizeof *valid->overwriters);
  valid->overwritten_at = etx_verify_arena_take(m->memory, m->value_count,
                                                sizeof *valid->overwritten_at);
  valid->written_at = etx_verify_arena_take(m->memory, m->value_count,
                                            sizeof *valid->written_at);
  if (valid->overwriters == NULL || valid->overwritten_at == NULL ||
      valid->written_at == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  return etx_verify_interval_tree_init(&valid->intervals, m);
}

void etx_verify_valid_values_clear(etx_verify_valid_values* valid) {
  const size_t values = valid->m->value_count;
  memset(valid->overwriters, 0, values * sizeof *valid->overwriters);
  memset(valid->written_at, 0, values * sizeof *valid->written_at);
  memset(valid->intervals.bits, 0,
         valid->intervals.word_count * sizeof *valid->intervals.bits);
  etx_verify_interval_tree_load(&valid->intervals, valid->intervals.bits);
}
