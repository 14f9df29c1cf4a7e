// Values that take over the header (address, sizes, strides) of another tensor:
// the result of et_view, the target of a move, the return value of an operator
// that changes its argument. From then on such a value names the bytes of the
// other one. It keeps the header until it takes over the next one, possibly
// until the next call. So its possible ranges are those of all headers that it
// can take over. They are computed as a fixed point.

#include "cli/verify/verify_internal.h"
#include "format/base/assertion.h"

enum {
  MAX_RANGES = 16,  // possible ranges of a value; a branch gives two
  MAX_ROUNDS = 64,  // of the fixed point; one is enough without loops
};

typedef struct header_list {
  etx_verify_range ranges[MAX_RANGES];
  uint32_t count;
} header_list;

typedef struct rebinding {
  etx_verify_method* m;
  uint32_t* lists;  // by value: 1 + position in `headers`, 0: not rebound
  header_list* headers;
  size_t count;
  bool* is_part;   // by value: some instruction makes it a part of a chain
  bool* is_loose;  // by value: it can be anywhere in its ranges, because the
                   // place of a part depends on sizes
  bool* has_row;   // by value: a view row names it
  bool* varies;    // by value: a number that may change at run time
  bool changed;
} rebinding;

static etx_status mark(rebinding* r, etx_verify_effects* effects) {
  etx_verify_method* const m = r->m;
  for (size_t s = 0; s < m->step_count; ++s) {
    ETX_TRY(etx_verify_effects_of(m, s, effects));
    for (size_t i = 0; i < effects->write_count; ++i) {
      etx_verify_value* const written = &m->values[effects->writes[i].value];
      written->is_written = true;
      if (effects->writes[i].is_changed) written->is_changed = true;
    }
    if (effects->rebound == ETX_VERIFY_NONE) continue;
    etx_verify_value* const value = &m->values[effects->rebound];
    const uint32_t from = effects->rebound_from + 1;
    const etx_op* const op = m->steps[s].op;
    if (op != NULL && op->id == ETX_OP_part_after_default) {
      r->is_part[effects->rebound] = true;
    }
    if (!value->is_rebound) {
      value->is_rebound = true;
      value->header_of = from;
      r->lists[effects->rebound] = (uint32_t)++r->count;
    } else if (value->header_of != from) {
      value->header_of = 0;
    }
  }
  return ETX_OK;
}

static etx_status add_range(rebinding* r, uint32_t value,
                            etx_verify_range range) {
  header_list* const list = &r->headers[r->lists[value] - 1];
  if (range.start == range.end) return ETX_OK;
  for (uint32_t i = 0; i < list->count; ++i) {
    if (list->ranges[i].start == range.start &&
        list->ranges[i].end == range.end) {
      return ETX_OK;
    }
  }
  if (list->count == MAX_RANGES) {
    return etx_diag_fail(r->m->diag, ETX_UNSUPPORTED,
                         "value '%u' can be at more than %u addresses, too "
                         "many for a proof (method '%t')",
                         (uint64_t)value, (uint64_t)MAX_RANGES, r->m->name);
  }
  list->ranges[list->count++] = range;
  r->changed = true;
  return ETX_OK;
}

// The bytes of a range that et_part_view shows: from its start element on, as
// many as its output has at the upper bounds. If the start is not a constant,
// it can be anywhere in the range.
static etx_verify_range part_of(const rebinding* r, size_t step, uint32_t to,
                                etx_verify_range range) {
  const etx_verify_step* const s = &r->m->steps[step];
  if (s->op == NULL || s->op->id != ETX_OP_part_view_default ||
      r->is_loose[to]) {
    return range;
  }
  const uint32_t start = (uint32_t)s->instruction.arguments[1];
  const etx_pte_value number = etx_pte_value_at(&r->m->plan, start);
  if (number.kind != ETX_PTE_INT) return range;
  const etx_pte_tensor tensor = etx_pte_value_at(&r->m->plan, to).as.tensor;
  const uint64_t element = etx_dtype_bytes(tensor.dtype);
  const uint64_t bytes = etx_pte_tensor_bytes(&tensor);
  const uint64_t elements = (range.end - range.start) / element;
  if (number.as.integer < 0 || (uint64_t)number.as.integer > elements) {
    return range;
  }
  range.start += (uint64_t)number.as.integer * element;
  if (bytes < range.end - range.start) range.end = range.start + bytes;
  return range;
}

// True if the instruction makes a part whose place depends on sizes.
static bool is_loose_part(const rebinding* r, const etx_verify_step* step) {
  if (step->op == NULL) return false;
  return step->op->id == ETX_OP_part_after_default ||
         (step->op->id == ETX_OP_part_view_default &&
          r->varies[step->instruction.arguments[1]]);
}

// Adds the possible ranges of `from` to those of `to`.
static etx_status propagate(rebinding* r, size_t step, uint32_t to,
                            uint32_t from) {
  etx_verify_value* const target = &r->m->values[to];
  const etx_verify_value* const source = &r->m->values[from];
  const bool is_constant =
      source->may_be_constant || source->storage == ETX_VERIFY_STORAGE_CONSTANT;
  const bool is_loose =
      r->is_loose[from] || is_loose_part(r, &r->m->steps[step]);
  if (is_loose && !r->is_loose[to]) r->is_loose[to] = r->changed = true;
  if (is_constant && !target->may_be_constant) {
    target->may_be_constant = true;
    r->changed = true;
  }
  if (r->lists[from] == 0) {
    return is_constant ? ETX_OK
                       : add_range(r, to, part_of(r, step, to, source->range));
  }
  const header_list* const list = &r->headers[r->lists[from] - 1];
  for (uint32_t i = 0; i < list->count; ++i) {
    ETX_TRY(add_range(r, to, part_of(r, step, to, list->ranges[i])));
  }
  return ETX_OK;
}

// The first range of a list has room.
static void add_first_range(rebinding* r, uint32_t value) {
  const etx_status status = add_range(r, value, r->m->values[value].range);
  ETX_ASSERT(status == ETX_OK);
  (void)status;
}

// A value that is also written, or is an input, can be at its planned range
// too.
static void add_own(rebinding* r) {
  etx_verify_method* const m = r->m;
  const size_t inputs = etx_pte_input_count(&m->plan);
  for (uint32_t v = 0; v < m->value_count; ++v) {
    if (r->lists[v] != 0 && m->values[v].is_written) add_first_range(r, v);
  }
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&m->plan, i);
    if (r->lists[v] != 0) add_first_range(r, v);
  }
}

// A value that is a view by its row takes over headers of views of the same
// tensor alone: it is valid when that tensor is.
static etx_status check_parent(const rebinding* r, uint32_t to, uint32_t from) {
  const uint32_t top = r->m->values[to].top;
  if (top == to || r->m->values[from].top == top) return ETX_OK;
  return etx_verify_refuse(r->m,
                           "value '%u' is a view of value '%u' by its row, but "
                           "takes over the header of value '%u'",
                           (uint64_t)to, (uint64_t)top, (uint64_t)from);
}

// ---- writes without a header ----

// `bare`: lists of values that some path has given no header yet. A value that
// is written then, at its own address or at that of an earlier call, is no view
// of what it takes over.
static void run_bare(const rebinding* r, etx_verify_effects* effects,
                     size_t step, uint64_t* bare) {
  etx_verify_effects_again(r->m, step, effects);
  for (size_t i = 0; i < effects->write_count; ++i) {
    const uint32_t value = effects->writes[i].value;
    if (r->lists[value] == 0 || !etx_verify_set_has(bare, r->lists[value] - 1))
      continue;
    r->m->values[value].header_of = 0;
  }
  if (effects->rebound == ETX_VERIFY_NONE) return;
  const uint32_t list = r->lists[effects->rebound] - 1;
  etx_verify_set_remove(bare, list);
}

static etx_status find_bare_writes(const rebinding* r,
                                   etx_verify_effects* effects) {
  etx_verify_method* const m = r->m;
  const size_t words = r->count / 64 + 1;
  etx_verify_basic_blocks blocks;
  ETX_TRY(etx_verify_find_basic_blocks(m, &blocks));
  uint64_t* starts = NULL;
  ETX_TRY(etx_verify_take_states(m, &blocks, words, &starts));
  uint64_t* const bare = etx_verify_arena_take(m->memory, words, sizeof *bare);
  if (bare == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < words; ++i) starts[i] = UINT64_MAX;
  for (bool is_news = true; is_news;) {
    is_news = false;
    for (uint32_t b = 0; b < blocks.count; ++b) {
      for (size_t i = 0; i < words; ++i) bare[i] = starts[b * words + i];
      for (uint32_t s = blocks.first[b]; s < blocks.first[b + 1]; ++s) {
        run_bare(r, effects, s, bare);
      }
      etx_verify_ways ways;
      etx_verify_successors(m, &blocks, b, &ways);
      for (size_t i = 0; i < ways.count; ++i) {
        if (ways.next[i] == blocks.count) continue;  // nothing follows
        is_news |=
            etx_verify_set_unite(starts + ways.next[i] * words, bare, words);
      }
    }
  }
  for (size_t i = 0; i < etx_pte_input_count(&m->plan); ++i) {
    m->values[etx_pte_input_at(&m->plan, i)].header_of = 0;
  }
  return ETX_OK;
}

static etx_status find_fixed_point(rebinding* r, etx_verify_effects* effects) {
  r->changed = true;
  for (size_t round = 0; r->changed; ++round) {
    if (round == MAX_ROUNDS) {
      return etx_diag_fail(r->m->diag, ETX_UNSUPPORTED,
                           "the addresses of views and moved values are not "
                           "final after %u rounds (method '%t')",
                           (uint64_t)MAX_ROUNDS, r->m->name);
    }
    r->changed = false;
    for (size_t s = 0; s < r->m->step_count; ++s) {
      etx_verify_effects_again(r->m, s, effects);
      if (effects->rebound == ETX_VERIFY_NONE) continue;
      ETX_TRY(check_parent(r, effects->rebound, effects->rebound_from));
      ETX_TRY(propagate(r, s, effects->rebound, effects->rebound_from));
    }
  }
  return ETX_OK;
}

// True if the value is a part of a chain, or a view of one.
static bool is_in_part(const rebinding* r, uint32_t value) {
  for (size_t i = 0; i < MAX_ROUNDS; ++i) {
    if (r->is_part[value]) return true;
    if (r->m->values[value].header_of == 0) return false;
    value = r->m->values[value].header_of - 1;
  }
  return false;
}

static void mark_rows(const rebinding* r) {
  const etx_verify_method* const m = r->m;
  if (m->blob_method == SIZE_MAX) return;
  for (size_t i = 0; i < etx_blob_view_count(m->blob, m->blob_method); ++i) {
    const etx_blob_view row = etx_blob_view_at(m->blob, m->blob_method, i);
    r->has_row[row.value] = r->has_row[row.base] = true;
  }
}

// What a view row says about a value has to be true of each header: they are at
// the planned address and have all planned bytes.
static etx_status check_row(const rebinding* r, uint32_t value) {
  const etx_verify_value* const v = &r->m->values[value];
  const header_list* const list = &r->headers[r->lists[value] - 1];
  for (uint32_t i = 0; i < list->count; ++i) {
    if (list->ranges[i].start == v->range.start && !r->is_loose[value] &&
        list->ranges[i].end >= v->range.end) {
      continue;
    }
    return etx_verify_refuse(r->m,
                             "value '%u' has a view row, but takes over the "
                             "header of a value with other bytes",
                             (uint64_t)value);
  }
  return ETX_OK;
}

// In a file of etx a planned view has the address of the tensor that it shows.
// That of a part, which depends on sizes, is compared in verify_parts.c.
static etx_status check_planned(const rebinding* r, uint32_t value) {
  const etx_verify_value* const v = &r->m->values[value];
  const header_list* const list = &r->headers[r->lists[value] - 1];
  if (r->m->blob == NULL) return ETX_OK;
  if (r->has_row[value]) return check_row(r, value);
  if (v->storage != ETX_VERIFY_STORAGE_PLANNED) return ETX_OK;
  for (uint32_t i = 0; i < list->count; ++i) {
    if (list->ranges[i].start == v->range.start) continue;
    if (etx_verify_contains(list->ranges[i], v->range) &&
        is_in_part(r, value)) {
      continue;
    }
    return etx_verify_refuse(r->m,
                             "value '%u' takes over the header of a value at "
                             "another address, expected its planned address",
                             (uint64_t)value);
  }
  return ETX_OK;
}

static etx_status store(rebinding* r) {
  etx_verify_method* const m = r->m;
  size_t total = m->value_count;
  for (size_t i = 0; i < r->count; ++i) total += r->headers[i].count;
  etx_verify_range* const ranges =
      etx_verify_arena_take(m->memory, total, sizeof *ranges);
  if (ranges == NULL) return ETX_OUT_OF_MEMORY;
  size_t next = m->value_count;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    ranges[v] = m->values[v].range;
    if (r->lists[v] == 0) continue;
    const header_list* const list = &r->headers[r->lists[v] - 1];
    ETX_TRY(check_planned(r, v));
    m->values[v].first_range = (uint32_t)next;
    m->values[v].range_count = list->count;
    for (uint32_t i = 0; i < list->count; ++i) {
      ranges[next++] = list->ranges[i];
    }
  }
  m->ranges = ranges;
  m->range_count = total;
  return ETX_OK;
}

etx_status etx_verify_find_rebinding(etx_verify_method* m) {
  etx_verify_effects effects;
  rebinding r = {.m = m};
  ETX_TRY(etx_verify_effects_init(&effects, m));
  ETX_TRY(etx_verify_find_varying(m, &r.varies));
  r.lists = etx_verify_arena_take(m->memory, m->value_count, sizeof *r.lists);
  r.is_part = etx_verify_arena_take(m->memory, m->value_count, sizeof(bool));
  r.is_loose = etx_verify_arena_take(m->memory, m->value_count, sizeof(bool));
  r.has_row = etx_verify_arena_take(m->memory, m->value_count, sizeof(bool));
  if (r.lists == NULL || r.is_part == NULL || r.is_loose == NULL ||
      r.has_row == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  mark_rows(&r);
  ETX_TRY(mark(&r, &effects));
  if (r.count == 0) return ETX_OK;
  r.headers = etx_verify_arena_take(m->memory, r.count, sizeof *r.headers);
  if (r.headers == NULL) return ETX_OUT_OF_MEMORY;
  add_own(&r);
  ETX_TRY(find_fixed_point(&r, &effects));
  ETX_TRY(store(&r));
  return find_bare_writes(&r, &effects);
}
