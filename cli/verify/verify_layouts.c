// Proves that the blocks of arena 1 stay apart at all sizes.
//
// The runtime moves blocks together at smaller sizes. Two blocks that share no
// byte in a layout share none after that (format/base/block_layout.h), so two
// blocks that are in use at the same time must share no byte in any layout: in
// the plan, and in each layout of the file's places. The main proof compares
// the bytes of values; here, a block counts with all its bytes.

#include <string.h>

#include "cli/verify/verify_block_flow.h"
#include "cli/verify/verify_internal.h"

typedef struct layout_proof {
  etx_verify_block_flow flow;
  etx_verify_effects effects;
  etx_verify_range* blocks;  // those of each layout in turn; the plan is first
  size_t layouts;
  uint64_t* live;         // values that are live after the present step
  uint64_t* written;      // blocks that may be written before it
  uint32_t* first_write;  // by block: first step of the present basic block
} layout_proof;

static etx_verify_range* block_at(const layout_proof* p, size_t layout,
                                  uint32_t block) {
  return &p->blocks[layout * p->flow.count + block];
}

// ---- layouts ----

static void widen(etx_verify_range* range, uint64_t start, uint64_t end) {
  const bool is_new = range->start == range->end;
  if (is_new || start < range->start) range->start = start;
  if (is_new || end > range->end) range->end = end;
}

static void read_plan(const layout_proof* p) {
  const etx_verify_method* const m = p->flow.m;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    const uint32_t block = p->flow.block_of[v];
    const etx_verify_range range = m->values[v].range;
    if (block == ETX_VERIFY_NONE || range.start == range.end) continue;
    widen(block_at(p, 0, block), range.start, range.end);
  }
}

static etx_status read_places(const layout_proof* p) {
  const etx_verify_method* const m = p->flow.m;
  const size_t count = etx_blob_place_count(m->blob, m->blob_method);
  for (size_t i = 0; i < count; ++i) {
    const etx_blob_place place = etx_blob_place_at(m->blob, m->blob_method, i);
    const uint32_t block = p->flow.block_of[place.value];
    const etx_verify_range planned = m->values[place.value].range;
    // read_plan leaves out values without bytes, too.
    if (block == ETX_VERIFY_NONE || planned.start == planned.end) continue;
    const uint64_t delta = planned.start - block_at(p, 0, block)->start;
    etx_verify_range* const range = block_at(p, 1 + place.layout, block);
    const etx_verify_range found = {place.offset - delta,
                                    place.offset + place.bytes};
    const bool is_first = range->start == range->end;
    if (place.offset < delta || found.end <= found.start ||
        (!is_first &&
         (range->start != found.start || range->end != found.end))) {
      return etx_verify_refuse(m,
                               "place '%z' moves value '%u' away from the "
                               "values that share its bytes",
                               i, (uint64_t)place.value);
    }
    *range = found;
  }
  // etx_blob_open has checked that all of arena 1 has places.
  for (size_t k = 1; k < p->layouts; ++k) {
    for (uint32_t b = 0; b < p->flow.count; ++b) {
      const etx_verify_range planned = *block_at(p, 0, b);
      const etx_verify_range moved = *block_at(p, k, b);
      if (planned.start == planned.end || moved.start != moved.end) continue;
      return etx_verify_refuse(m,
                               "layout '%z' has no place for a block of "
                               "another memory than the first one",
                               k);
    }
  }
  return ETX_OK;
}

static etx_status read_layouts(layout_proof* p) {
  const etx_verify_method* const m = p->flow.m;
  const size_t places = etx_blob_place_count(m->blob, m->blob_method);
  p->layouts = places == 0 ? 1
                           : 2 + (size_t)etx_blob_place_at(
                                     m->blob, m->blob_method, places - 1)
                                     .layout;
  p->blocks = etx_verify_arena_take(m->memory, p->layouts * p->flow.count,
                                    sizeof *p->blocks);
  p->live =
      etx_verify_arena_take(m->memory, p->flow.value_words, sizeof *p->live);
  p->first_write =
      etx_verify_arena_take(m->memory, p->flow.count, sizeof *p->first_write);
  if (p->blocks == NULL || p->live == NULL || p->first_write == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  read_plan(p);
  return read_places(p);
}

// ---- conflicts ----

static bool are_apart(const layout_proof* p, size_t layout, uint32_t a,
                      uint32_t b) {
  return !etx_verify_overlap(*block_at(p, layout, a), *block_at(p, layout, b));
}

static bool start_together(const layout_proof* p, size_t layout, uint32_t a,
                           uint32_t b) {
  return block_at(p, layout, a)->start == block_at(p, layout, b)->start;
}

// `may_be_in_place`: the same call reads one and writes the other; the main
// proof has checked whether the operator allows that.
static etx_status check_pair(const layout_proof* p, uint32_t written,
                             uint32_t needed, bool may_be_in_place) {
  bool is_in_place = may_be_in_place;
  for (size_t k = 0; k < p->layouts; ++k) {
    is_in_place &= start_together(p, k, written, needed);
  }
  for (size_t k = 0; k < p->layouts && !is_in_place; ++k) {
    if (are_apart(p, k, written, needed)) continue;
    return etx_verify_refuse(p->flow.m,
                             "an instruction writes a block while another one "
                             "is in use, and the two share bytes in layout "
                             "'%z' (0 is the plan)",
                             k);
  }
  return ETX_OK;
}

static bool is_written_before(const layout_proof* p, uint32_t block,
                              size_t step) {
  return etx_verify_set_has(p->written, block) || p->first_write[block] < step;
}

// Checks the blocks of a written value against those of a needed one.
static etx_status check_values(const layout_proof* p, size_t step,
                               uint32_t written, uint32_t needed,
                               bool may_be_in_place) {
  const uint64_t* const a = etx_verify_shown(&p->flow, written);
  const uint64_t* const b = etx_verify_shown(&p->flow, needed);
  const size_t count = p->flow.count;
  for (uint32_t i = 0; (i = etx_verify_set_next(a, count, i)) < count; ++i) {
    for (uint32_t k = 0; (k = etx_verify_set_next(b, count, k)) < count; ++k) {
      if (i == k || !is_written_before(p, k, step)) continue;
      ETX_TRY(check_pair(p, i, k, may_be_in_place));
    }
  }
  return ETX_OK;
}

static etx_status check_live(const layout_proof* p, size_t step,
                             uint32_t written) {
  const size_t count = p->flow.m->value_count;
  uint32_t value = 0;
  for (; (value = etx_verify_set_next(p->live, count, value)) < count;
       ++value) {
    if (value == written) continue;
    ETX_TRY(check_values(p, step, written, value, false));
  }
  return ETX_OK;
}

// What a step writes must not lie in a block that it reads, or that a later
// step reads, or that it writes as another result.
static etx_status check_step(const layout_proof* p, size_t step) {
  const etx_verify_effects* const e = &p->effects;
  for (size_t i = 0; i < e->write_count; ++i) {
    const uint32_t written = e->writes[i].value;
    ETX_TRY(check_live(p, step, written));
    for (size_t k = 0; k < e->read_count; ++k) {
      ETX_TRY(check_values(p, step, written, e->reads[k].value, true));
    }
    for (size_t k = 0; k < i; ++k) {
      ETX_TRY(check_values(p, step + 1, written, e->writes[k].value, false));
    }
  }
  return ETX_OK;
}

static void find_first_writes(layout_proof* p, uint32_t basic) {
  const etx_verify_block_flow* const f = &p->flow;
  for (size_t i = 0; i < f->count; ++i) p->first_write[i] = UINT32_MAX;
  for (uint32_t s = f->basic.first[basic + 1]; s-- > f->basic.first[basic];) {
    etx_verify_effects_again(f->m, s, &p->effects);
    for (size_t i = 0; i < p->effects.write_count; ++i) {
      const uint64_t* const shown =
          etx_verify_shown(f, p->effects.writes[i].value);
      uint32_t b = 0;
      for (; (b = etx_verify_set_next(shown, f->count, b)) < f->count; ++b) {
        p->first_write[b] = s;
      }
    }
  }
}

static etx_status check_basic_block(layout_proof* p, uint32_t basic) {
  const etx_verify_block_flow* const f = &p->flow;
  p->written = f->written + basic * f->words;
  memcpy(p->live, f->live + basic * f->value_words,
         f->value_words * sizeof *p->live);
  find_first_writes(p, basic);
  for (uint32_t s = f->basic.first[basic + 1]; s-- > f->basic.first[basic];) {
    etx_verify_effects_again(f->m, s, &p->effects);
    const etx_status status = check_step(p, s);
    if (status != ETX_OK) return etx_verify_at(f->m, s, status);
    etx_verify_live_before(f, &p->effects, p->live);
  }
  return ETX_OK;
}

// Inputs that the caller writes are all in use at the start.
static etx_status check_inputs(const layout_proof* p) {
  const etx_verify_method* const m = p->flow.m;
  const size_t count = etx_pte_input_count(&m->plan);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t a = (uint32_t)etx_pte_input_at(&m->plan, i);
    if (p->flow.block_of[a] == ETX_VERIFY_NONE) continue;
    for (size_t other = 0; other < i; ++other) {
      const uint32_t b = (uint32_t)etx_pte_input_at(&m->plan, other);
      if (p->flow.block_of[b] == ETX_VERIFY_NONE ||
          p->flow.block_of[a] == p->flow.block_of[b]) {
        continue;
      }
      ETX_TRY(check_pair(p, p->flow.block_of[a], p->flow.block_of[b], false));
    }
  }
  return ETX_OK;
}

// ---- rows of loops ----

// True if the values may show two blocks that share bytes in some layout. Those
// of one block keep their distance, which the proof of the plan has judged.
static bool meet_in_a_layout(const void* context, uint32_t a, uint32_t b) {
  const layout_proof* const p = context;
  const uint64_t* const x = etx_verify_shown(&p->flow, a);
  const uint64_t* const y = etx_verify_shown(&p->flow, b);
  const size_t count = p->flow.count;
  for (uint32_t i = 0; (i = etx_verify_set_next(x, count, i)) < count; ++i) {
    for (uint32_t k = 0; (k = etx_verify_set_next(y, count, k)) < count; ++k) {
      if (i == k) continue;
      for (size_t layout = 0; layout < p->layouts; ++layout) {
        if (!are_apart(p, layout, i, k)) return true;
      }
    }
  }
  return false;
}

static etx_status check_rows(const layout_proof* p) {
  const etx_status status =
      etx_verify_loop_rows_meeting(p->flow.m, meet_in_a_layout, p);
  if (status == ETX_BAD_PLAN) {
    etx_diag_append(p->flow.m->diag, ", if blocks move at smaller sizes");
  }
  return status;
}

static bool has_dynamic_sizes(const etx_verify_method* m) {
  etx_pte_totals totals;
  etx_pte_plan_totals(&m->plan, &totals);
  return totals.dynamic_dims > 0;
}

etx_status etx_verify_layouts(etx_verify_method* m) {
  layout_proof p;
  if (m->blob == NULL || m->blob_method == SIZE_MAX || !has_dynamic_sizes(m)) {
    return ETX_OK;
  }
  ETX_TRY(etx_verify_block_flow_find(m, &p.flow));
  if (m->step_count == 0) return ETX_OK;
  ETX_TRY(etx_verify_effects_init(&p.effects, m));
  ETX_TRY(read_layouts(&p));
  ETX_TRY(check_inputs(&p));
  for (uint32_t b = 0; b < p.flow.basic.count; ++b) {
    ETX_TRY(check_basic_block(&p, b));
  }
  return check_rows(&p);
}
