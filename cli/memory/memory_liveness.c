// Liveness analysis. A storage is live at a step if it was written on some path
// to the step, and is read on some path from it before it is written completely
// again.
//
// The two conditions are a forward and a backward dataflow analysis over basic
// blocks, each repeated until nothing changes. Within a block the accesses are
// followed step by step. A method without jumps has one block.

#include "cli/memory/memory_liveness.h"

#include <string.h>

// The largest amount of memory for the sets of all blocks together.
static const uint64_t max_set_bytes = UINT64_C(1) << 30;

typedef struct liveness {
  const etx_verify_method* m;
  const etx_memory_uses* uses;
  etx_verify_basic_blocks blocks;
  size_t words;       // 64-bit words in a set of storages
  uint64_t* written;  // by block: storages that may be written at its start
  uint64_t* needed;   // by block: storages that may be read later, at its
                      // start; one more set for the end of the method
  uint64_t* set;      // the current set
  bool* is_reached;   // by block
  uint32_t* first_access;  // by block, and one more
  // Spans that are not closed yet.
  etx_memory_span* open;  // by storage; end 0: none
  uint32_t* opened;       // storages that have one
  size_t opened_count;
  uint32_t*
      overwritten;  // by storage: 1 + the step that overwrites it in place
  size_t* last;     // by storage: 1 + its last span in `spans`
  etx_memory_live_range* spans;
  size_t span_count, span_capacity;
} liveness;

static bool has(const uint64_t* set, size_t item) {
  return (set[item / 64] >> (item % 64) & 1) != 0;
}
static void add(uint64_t* set, size_t item) {
  set[item / 64] |= UINT64_C(1) << (item % 64);
}
static void drop(uint64_t* set, size_t item) {
  set[item / 64] &= ~(UINT64_C(1) << (item % 64));
}

// True if the bytes of the storage may be reused by others.
static bool is_planned(const etx_memory_storage* storage) {
  return storage->kind == ETX_VERIFY_STORAGE_PLANNED && !storage->is_state;
}

// ---- sets by block ----

static etx_status take_sets(liveness* l) {
  etx_verify_arena* const memory = l->m->memory;
  const size_t blocks = l->blocks.count;
  const size_t storages = l->uses->storage_count;
  l->words = (storages + 63) / 64;
  if (2 * (uint64_t)(blocks + 1) * l->words * sizeof *l->set > max_set_bytes) {
    return etx_diag_fail(l->m->diag, ETX_UNSUPPORTED,
                         "method '%t' has %z basic blocks and %z storages, too "
                         "many for a memory map",
                         l->m->name, blocks, storages);
  }
  l->written =
      etx_verify_arena_take(memory, (blocks + 1) * l->words, sizeof *l->set);
  l->needed =
      etx_verify_arena_take(memory, (blocks + 1) * l->words, sizeof *l->set);
  l->set = etx_verify_arena_take(memory, l->words, sizeof *l->set);
  l->is_reached =
      etx_verify_arena_take(memory, blocks + 1, sizeof *l->is_reached);
  l->first_access =
      etx_verify_arena_take(memory, blocks + 1, sizeof *l->first_access);
  l->open = etx_verify_arena_take(memory, storages, sizeof *l->open);
  l->opened = etx_verify_arena_take(memory, storages, sizeof *l->opened);
  l->overwritten =
      etx_verify_arena_take(memory, storages, sizeof *l->overwritten);
  l->last = etx_verify_arena_take(memory, storages, sizeof *l->last);
  return l->written == NULL || l->needed == NULL || l->set == NULL ||
                 l->is_reached == NULL || l->first_access == NULL ||
                 l->open == NULL || l->opened == NULL ||
                 l->overwritten == NULL || l->last == NULL
             ? ETX_OUT_OF_MEMORY
             : ETX_OK;
}

static void find_first_accesses(liveness* l) {
  uint32_t at = 0;
  for (size_t b = 0; b <= l->blocks.count; ++b) {
    while (at < l->uses->access_count &&
           l->uses->accesses[at].step < l->blocks.first[b]) {
      ++at;
    }
    l->first_access[b] = at;
  }
}

// Adds `set` to the set of `block`. True if that changed it.
static bool merge(liveness* l, uint64_t* sets, size_t block) {
  uint64_t* const to = &sets[block * l->words];
  bool has_changed = false;
  for (size_t w = 0; w < l->words; ++w) {
    if ((l->set[w] & ~to[w]) != 0) has_changed = true;
    to[w] |= l->set[w];
  }
  return has_changed;
}

static void load(liveness* l, const uint64_t* sets, size_t block) {
  memcpy(l->set, &sets[block * l->words], l->words * sizeof *l->set);
}

static etx_status find_written(liveness* l) {
  bool* const pending =
      etx_verify_arena_take(l->m->memory, l->blocks.count + 1, sizeof *pending);
  if (pending == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t p = 0; p < l->uses->storage_count; ++p) {
    if (l->uses->storages[p].is_input) add(l->written, p);
  }
  pending[0] = l->is_reached[0] = true;
  for (uint32_t b = 0; b < l->blocks.count;) {
    uint32_t back = b + 1;
    if (pending[b]) {
      pending[b] = false;
      load(l, l->written, b);
      for (uint32_t t = l->first_access[b]; t < l->first_access[b + 1]; ++t) {
        if (l->uses->accesses[t].is_write)
          add(l->set, l->uses->accesses[t].storage);
      }
      etx_verify_ways ways;
      etx_verify_successors(l->m, &l->blocks, b, &ways);
      for (size_t i = 0; i < ways.count; ++i) {
        const uint32_t next = ways.next[i];
        const bool has_changed = merge(l, l->written, next);
        if (next == l->blocks.count) continue;
        if (has_changed || !l->is_reached[next]) {
          pending[next] = true;
          if (next < back) back = next;
        }
        l->is_reached[next] = true;
      }
    }
    b = back;
  }
  return ETX_OK;
}

// Loads the set of storages that are needed at the end of block `b`.
static void load_end(liveness* l, uint32_t b) {
  etx_verify_ways ways;
  etx_verify_successors(l->m, &l->blocks, b, &ways);
  load(l, l->needed, ways.next[0]);
  if (ways.count < 2) return;
  for (size_t w = 0; w < l->words; ++w) {
    l->set[w] |= l->needed[ways.next[1] * l->words + w];
  }
}

static void find_needed(liveness* l) {
  bool has_changed = true;
  for (size_t p = 0; p < l->uses->storage_count; ++p) {
    if (!l->uses->storages[p].is_output) continue;
    add(&l->needed[l->blocks.count * l->words], p);
  }
  while (has_changed) {
    has_changed = false;
    for (uint32_t b = (uint32_t)l->blocks.count; b-- > 0;) {
      load_end(l, b);
      for (uint32_t t = l->first_access[b + 1]; t-- > l->first_access[b];) {
        const etx_memory_access* const access = &l->uses->accesses[t];
        if (!access->is_write) add(l->set, access->storage);
        if (access->is_full) drop(l->set, access->storage);
      }
      if (merge(l, l->needed, b)) has_changed = true;
    }
  }
}

// ---- spans ----

static void open_span(liveness* l, uint32_t storage, uint32_t start,
                      uint32_t end) {
  etx_memory_span* const span = &l->open[storage];
  if (span->end == 0) {
    l->opened[l->opened_count++] = storage;
    span->start = start;
    span->end = end;
  }
  if (end > span->end) span->end = end;
}

static etx_status grow_spans(liveness* l) {
  if (l->span_count < l->span_capacity) return ETX_OK;
  const size_t more = l->span_capacity == 0 ? 256 : 2 * l->span_capacity;
  etx_memory_live_range* const grown =
      etx_verify_arena_take(l->m->memory, more, sizeof *grown);
  if (grown == NULL) return ETX_OUT_OF_MEMORY;
  if (l->span_count > 0) {
    memcpy(grown, l->spans, l->span_count * sizeof *grown);
  }
  l->spans = grown;
  l->span_capacity = more;
  return ETX_OK;
}

// Closes the open span of a storage. If it starts where the last span of the
// storage ended, it extends that one. The step that overwrites the storage does
// not count, unless the span consists of it alone.
static etx_status close_span(liveness* l, uint32_t storage) {
  etx_memory_span span = l->open[storage];
  etx_memory_span* const last =
      l->last[storage] == 0 ? NULL : &l->spans[l->last[storage] - 1].span;
  const bool extends = last != NULL && last->end == span.start;
  l->open[storage].end = 0;
  if (l->overwritten[storage] == span.end &&
      (extends || span.start + 1 < span.end)) {
    span.end -= 1;
  }
  if (span.start >= span.end) return ETX_OK;
  if (extends) {
    last->end = span.end;
    return ETX_OK;
  }
  ETX_TRY(grow_spans(l));
  l->spans[l->span_count++] = (etx_memory_live_range){storage, span};
  l->last[storage] = l->span_count;
  return ETX_OK;
}

// A step reads `read` and writes `written`. If they share bytes (an in-place
// update), the span of `read` ends where that of `written` starts.
static void note_in_place(liveness* l, uint32_t read, uint32_t written,
                          uint32_t step) {
  enum { MOST_PADDING = 64 };
  const etx_memory_storage* const from = &l->uses->storages[read];
  const etx_memory_storage* const to = &l->uses->storages[written];
  if (read == written || !is_planned(from)) return;
  if (to->kind != ETX_VERIFY_STORAGE_PLANNED ||
      from->range.start < to->range.start) {
    return;
  }
  if (etx_verify_overlap(from->range, to->range) &&
      from->range.end <= to->range.end + MOST_PADDING) {
    l->overwritten[read] = step + 1;
  }
}

static void note_in_place_updates(liveness* l, uint32_t first,
                                  uint32_t writer) {
  const etx_memory_access* const accesses = l->uses->accesses;
  for (uint32_t t = first; t < writer; ++t) {
    if (accesses[t].is_write) continue;
    note_in_place(l, accesses[t].storage, accesses[writer].storage,
                  accesses[writer].step);
  }
}

static etx_status follow_access(liveness* l, uint32_t index,
                                uint32_t first_of_step) {
  const etx_memory_access* const t = &l->uses->accesses[index];
  etx_memory_span* const span = &l->open[t->storage];
  if (!is_planned(&l->uses->storages[t->storage])) return ETX_OK;
  if (t->is_write) note_in_place_updates(l, first_of_step, index);
  if (t->is_full && span->end != 0 && span->end < t->step) {
    ETX_TRY(close_span(l, t->storage));
    *span = (etx_memory_span){t->step, t->step + 1};  // it stays in `opened`
  }
  open_span(l, t->storage, t->step, t->step + 1);
  return ETX_OK;
}

// The caller writes all inputs before the first step, even unused ones.
static void open_inputs(liveness* l) {
  for (uint32_t p = 0; p < l->uses->storage_count; ++p) {
    const etx_memory_storage* const storage = &l->uses->storages[p];
    if (storage->is_input && is_planned(storage)) open_span(l, p, 0, 1);
  }
}

static void open_at_start(liveness* l, uint32_t block) {
  const uint32_t start = l->blocks.first[block];
  for (size_t w = 0; w < l->words; ++w) {
    uint64_t both =
        l->written[block * l->words + w] & l->needed[block * l->words + w];
    for (uint32_t bit = 0; both != 0; ++bit, both >>= 1) {
      const uint32_t storage = (uint32_t)(64 * w + bit);
      if ((both & 1) == 0 || !is_planned(&l->uses->storages[storage])) continue;
      open_span(l, storage, start, start + 1);
    }
  }
}

static etx_status close_at_end(liveness* l, uint32_t block) {
  const uint32_t end = l->blocks.first[block + 1];
  load_end(l, block);
  for (size_t i = 0; i < l->opened_count; ++i) {
    const uint32_t storage = l->opened[i];
    if (l->open[storage].end == 0) continue;
    if (has(l->set, storage)) l->open[storage].end = end;
    ETX_TRY(close_span(l, storage));
  }
  l->opened_count = 0;
  return ETX_OK;
}

static etx_status span_block(liveness* l, uint32_t block) {
  const etx_memory_access* const accesses = l->uses->accesses;
  uint32_t first = l->first_access[block];
  open_at_start(l, block);
  if (block == 0) open_inputs(l);
  for (uint32_t t = first; t < l->first_access[block + 1]; ++t) {
    if (accesses[t].step != accesses[first].step) first = t;
    ETX_TRY(follow_access(l, t, first));
  }
  return close_at_end(l, block);
}

// A method without steps has only its inputs and outputs.
static etx_status span_callers(liveness* l) {
  open_inputs(l);
  for (uint32_t p = 0; p < l->uses->storage_count; ++p) {
    const etx_memory_storage* const storage = &l->uses->storages[p];
    if (storage->is_output && is_planned(storage)) open_span(l, p, 0, 1);
    if (l->open[p].end != 0) ETX_TRY(close_span(l, p));
  }
  return ETX_OK;
}

etx_status etx_memory_liveness_find(const etx_verify_method* m,
                                    const etx_memory_uses* uses,
                                    etx_memory_live_range** out_spans,
                                    size_t* out_count) {
  liveness l;
  memset(&l, 0, sizeof l);
  l.m = m;
  l.uses = uses;
  if (m->step_count > 0) ETX_TRY(etx_verify_find_basic_blocks(m, &l.blocks));
  ETX_TRY(take_sets(&l));
  if (l.blocks.count > 0) {
    find_first_accesses(&l);
    ETX_TRY(find_written(&l));
    find_needed(&l);
  }
  for (uint32_t b = 0; b < l.blocks.count; ++b) {
    if (l.is_reached[b]) ETX_TRY(span_block(&l, b));
  }
  if (l.blocks.count == 0) ETX_TRY(span_callers(&l));
  *out_spans = l.spans;
  *out_count = l.span_count;
  return ETX_OK;
}
