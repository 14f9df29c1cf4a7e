#include "cli/verify/verify_block_flow.h"

#include <string.h>

#include "cli/verify/verify_internal.h"
#include "format/pte/reserved_names.h"

// ---- blocks ----

static bool is_in_scratch(const etx_verify_method* m, uint32_t value) {
  if (m->values[value].storage != ETX_VERIFY_STORAGE_PLANNED) return false;
  const etx_pte_tensor tensor = etx_pte_value_at(&m->plan, value).as.tensor;
  // 0 without memory. Arenas above that of states are scratch of other
  // memories: with one block of scratch, their blocks move, too.
  return tensor.memory_id != 0 && tensor.memory_id != ETX_MEMORY_STATE;
}

static bool is_input(const etx_verify_method* m, uint32_t value) {
  for (size_t i = 0; i < etx_pte_input_count(&m->plan); ++i) {
    if ((uint32_t)etx_pte_input_at(&m->plan, i) == value) return true;
  }
  return false;
}

// A view that an instruction sets up never shows the bytes that are planned
// for it.
static void find_views(const etx_verify_method* m, etx_verify_effects* effects,
                       bool* is_view) {
  for (size_t s = 0; s < m->step_count; ++s) {
    etx_verify_effects_again(m, s, effects);
    if (effects->rebound != ETX_VERIFY_NONE && m->steps[s].op != NULL &&
        !is_input(m, effects->rebound)) {
      is_view[effects->rebound] = true;
    }
  }
}

static uint32_t first_of(uint32_t* parents, uint32_t at) {
  while (parents[at] != at) {
    parents[at] = parents[parents[at]];
    at = parents[at];
  }
  return at;
}

// Joins values that a view row ties together, and numbers the sets that have
// memory in arena 1. A view without memory of its own belongs to its parent. A
// view that an instruction sets up has no block, so the runtime would move a
// value that is a part of it away from it.
static etx_status find_blocks(etx_verify_block_flow* f, const bool* is_view) {
  etx_verify_method* const m = f->m;
  uint32_t* const parents =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *parents);
  f->block_of =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *f->block_of);
  if (parents == NULL || f->block_of == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t v = 0; v < m->value_count; ++v) parents[v] = v;
  const size_t rows = etx_blob_view_count(m->blob, m->blob_method);
  for (size_t i = 0; i < rows; ++i) {
    const etx_blob_view row = etx_blob_view_at(m->blob, m->blob_method, i);
    if (is_view[row.value]) continue;
    if (is_view[row.base]) {
      if (!is_in_scratch(m, row.value)) continue;
      return etx_verify_refuse(
          m,
          "value '%u' is a view of value '%u', which an instruction sets up, "
          "but has memory in scratch, which moves on its own",
          (uint64_t)row.value, (uint64_t)row.base);
    }
    parents[first_of(parents, row.value)] = first_of(parents, row.base);
  }
  for (uint32_t v = 0; v < m->value_count; ++v)
    f->block_of[v] = ETX_VERIFY_NONE;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    const uint32_t first = first_of(parents, v);
    if (!is_in_scratch(m, v) || is_view[v] ||
        f->block_of[first] != ETX_VERIFY_NONE) {
      continue;
    }
    f->block_of[first] = (uint32_t)f->count++;
  }
  for (uint32_t v = 0; v < m->value_count; ++v) {
    const uint32_t block = f->block_of[first_of(parents, v)];
    f->block_of[v] =
        is_view[v] || m->values[v].storage != ETX_VERIFY_STORAGE_PLANNED
            ? ETX_VERIFY_NONE
            : block;
  }
  return ETX_OK;
}

// The blocks that values may show: their own, and those of all headers that
// they may take over.
static etx_status find_shown(etx_verify_block_flow* f,
                             etx_verify_effects* effects) {
  etx_verify_method* const m = f->m;
  f->words = f->count / 64 + 1;
  f->shown = etx_verify_arena_take(m->memory, m->value_count * f->words,
                                   sizeof *f->shown);
  if (f->shown == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t v = 0; v < m->value_count; ++v) {
    if (f->block_of[v] == ETX_VERIFY_NONE) continue;
    etx_verify_set_add(etx_verify_shown(f, v), f->block_of[v]);
  }
  for (bool is_news = true; is_news;) {
    is_news = false;
    for (size_t s = 0; s < m->step_count; ++s) {
      etx_verify_effects_again(m, s, effects);
      if (effects->rebound == ETX_VERIFY_NONE) continue;
      is_news |= etx_verify_set_unite(
          etx_verify_shown(f, effects->rebound),
          etx_verify_shown(f, effects->rebound_from), f->words);
    }
  }
  return ETX_OK;
}

// ---- written ----

static void write_basic_block(const etx_verify_block_flow* f,
                              etx_verify_effects* effects, uint32_t at,
                              uint64_t* written) {
  for (uint32_t s = f->basic.first[at]; s < f->basic.first[at + 1]; ++s) {
    etx_verify_effects_again(f->m, s, effects);
    for (size_t i = 0; i < effects->write_count; ++i) {
      etx_verify_set_unite(
          written, etx_verify_shown(f, effects->writes[i].value), f->words);
    }
  }
}

static etx_status find_written(etx_verify_block_flow* f,
                               etx_verify_effects* effects) {
  etx_verify_method* const m = f->m;
  uint64_t* const now = etx_verify_arena_take(m->memory, f->words, sizeof *now);
  f->written = etx_verify_arena_take(m->memory, (f->basic.count + 1) * f->words,
                                     sizeof *f->written);
  if (now == NULL || f->written == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < etx_pte_input_count(&m->plan); ++i) {
    const uint32_t v = (uint32_t)etx_pte_input_at(&m->plan, i);
    etx_verify_set_unite(f->written, etx_verify_shown(f, v), f->words);
  }
  for (bool is_news = true; is_news;) {
    is_news = false;
    for (uint32_t b = 0; b < f->basic.count; ++b) {
      memcpy(now, f->written + b * f->words, f->words * sizeof *now);
      write_basic_block(f, effects, b, now);
      etx_verify_ways ways;
      etx_verify_successors(m, &f->basic, b, &ways);
      for (size_t i = 0; i < ways.count; ++i) {
        is_news |= etx_verify_set_unite(f->written + ways.next[i] * f->words,
                                        now, f->words);
      }
    }
  }
  return ETX_OK;
}

// ---- live ----

// A view is live as its parent. A value that is made of parts needs no more
// than itself: its parts lie in its block, and no write ends its life.
static void add_live(const etx_verify_block_flow* f, uint32_t value,
                     uint64_t* live) {
  etx_verify_set_add(live, f->m->values[value].top);
}

void etx_verify_live_before(const etx_verify_block_flow* f,
                            const etx_verify_effects* e, uint64_t* live) {
  if (e->rebound != ETX_VERIFY_NONE && etx_verify_set_has(live, e->rebound)) {
    etx_verify_set_remove(live, e->rebound);
    add_live(f, e->rebound_from, live);
  }
  // A view is not in the set: a write to it leaves its parent live.
  for (size_t i = 0; i < e->write_count; ++i) {
    if (!e->writes[i].updates) etx_verify_set_remove(live, e->writes[i].value);
  }
  for (size_t i = 0; i < e->write_count; ++i) {
    if (e->writes[i].updates) add_live(f, e->writes[i].value, live);
  }
  for (size_t i = 0; i < e->read_count; ++i) {
    add_live(f, e->reads[i].value, live);
  }
}

static void add_outputs(const etx_verify_block_flow* f, uint64_t* live) {
  const etx_verify_method* const m = f->m;
  for (size_t i = 0; i < etx_pte_output_count(&m->plan); ++i) {
    add_live(f, (uint32_t)etx_pte_output_at(&m->plan, i), live);
  }
  for (size_t i = 0; i < etx_pte_input_count(&m->plan); ++i) {
    if (!etx_blob_input_at(m->blob, m->blob_method, i).is_mutable) continue;
    add_live(f, (uint32_t)etx_pte_input_at(&m->plan, i), live);
  }
}

// Values that may be read before they are written, from the start of a basic
// block on.
static void live_at_start(const etx_verify_block_flow* f,
                          etx_verify_effects* effects, uint32_t at,
                          uint64_t* live) {
  for (uint32_t s = f->basic.first[at + 1]; s-- > f->basic.first[at];) {
    etx_verify_effects_again(f->m, s, effects);
    etx_verify_live_before(f, effects, live);
  }
}

static etx_status find_live(etx_verify_block_flow* f,
                            etx_verify_effects* effects) {
  etx_verify_method* const m = f->m;
  f->value_words = m->value_count / 64 + 1;
  const size_t words = f->value_words;
  const size_t count = f->basic.count;
  // By basic block: live at its start; the last one is the end of the method.
  uint64_t* const starts =
      etx_verify_arena_take(m->memory, (count + 1) * words, sizeof *starts);
  uint64_t* const now = etx_verify_arena_take(m->memory, words, sizeof *now);
  f->live = etx_verify_arena_take(m->memory, count * words, sizeof *f->live);
  if (starts == NULL || now == NULL || f->live == NULL) {
    return ETX_OUT_OF_MEMORY;
  }
  add_outputs(f, starts + count * words);
  for (bool is_news = true; is_news;) {
    is_news = false;
    for (uint32_t b = (uint32_t)count; b-- > 0;) {
      etx_verify_ways ways;
      etx_verify_successors(m, &f->basic, b, &ways);
      for (size_t i = 0; i < ways.count; ++i) {
        etx_verify_set_unite(f->live + b * words, starts + ways.next[i] * words,
                             words);
      }
      memcpy(now, f->live + b * words, words * sizeof *now);
      live_at_start(f, effects, b, now);
      is_news |= etx_verify_set_unite(starts + b * words, now, words);
    }
  }
  return ETX_OK;
}

etx_status etx_verify_block_flow_find(etx_verify_method* m,
                                      etx_verify_block_flow* out) {
  etx_verify_effects effects;
  *out = (etx_verify_block_flow){.m = m};
  bool* const is_view =
      etx_verify_arena_take(m->memory, m->value_count, sizeof *is_view);
  if (is_view == NULL) return ETX_OUT_OF_MEMORY;
  ETX_TRY(etx_verify_effects_init(&effects, m));
  find_views(m, &effects, is_view);
  ETX_TRY(find_blocks(out, is_view));
  ETX_TRY(find_shown(out, &effects));
  if (m->step_count == 0) return ETX_OK;
  ETX_TRY(etx_verify_find_basic_blocks(m, &out->basic));
  ETX_TRY(find_written(out, &effects));
  return find_live(out, &effects);
}
