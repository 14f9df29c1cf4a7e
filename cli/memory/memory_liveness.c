// When the content of a piece is needed: it has been written on some way to
// here, and is read on some way from here before all of it is written again.
//
// Both are found over blocks of steps, one forward and one backward, until
// nothing changes; inside a block the touches say it step by step. Without
// jumps there is one block.

#include "cli/memory/memory_liveness.h"

#include <string.h>

// Sets of all blocks together may take this much memory.
static const uint64_t max_set_bytes = UINT64_C(1) << 30;

typedef struct lifespans {
  const etx_verify_method* m;
  const etx_memory_uses* uses;
  etx_verify_basic_blocks blocks;
  size_t words;       // of a set of pieces
  uint64_t* written;  // by block: pieces that may be written when it starts
  uint64_t* needed;   // by block: pieces that are needed when it starts; one
                      // more for the end of the method
  uint64_t* set;      // the one that is worked on
  bool* is_reached;   // by block
  uint32_t* first_touch;  // by block, and one more
  // The span of each piece that is open.
  etx_memory_span* open;  // end 0: none
  uint32_t* opened;       // pieces that have one
  size_t opened_count;
  uint32_t* handed;  // by piece: 1 + the step that writes over it
  size_t* last;      // by piece: 1 + its last span in `spans`
  etx_memory_live_range* spans;
  size_t span_count, span_capacity;
} lifespans;

static bool has(const uint64_t* set, size_t item) {
  return (set[item / 64] >> (item % 64) & 1) != 0;
}
static void add(uint64_t* set, size_t item) {
  set[item / 64] |= UINT64_C(1) << (item % 64);
}
static void drop(uint64_t* set, size_t item) {
  set[item / 64] &= ~(UINT64_C(1) << (item % 64));
}

// True if the piece has an address that others may get after it.
static bool is_planned(const etx_memory_storage* piece) {
  return piece->home == ETX_VERIFY_STORAGE_PLANNED && !piece->is_state;
}

// ---- sets by block ----

static etx_status take_sets(lifespans* l) {
  etx_verify_arena* const memory = l->m->memory;
  const size_t blocks = l->blocks.count;
  const size_t pieces = l->uses->piece_count;
  l->words = (pieces + 63) / 64;
  if (2 * (uint64_t)(blocks + 1) * l->words * sizeof *l->set > max_set_bytes) {
    return etx_diag_fail(l->m->diag, ETX_UNSUPPORTED,
                         "method '%t' has %z jumps and %z tensors, too many to "
                         "follow",
                         l->m->name, blocks, pieces);
  }
  l->written =
      etx_verify_arena_take(memory, (blocks + 1) * l->words, sizeof *l->set);
  l->needed =
      etx_verify_arena_take(memory, (blocks + 1) * l->words, sizeof *l->set);
  l->set = etx_verify_arena_take(memory, l->words, sizeof *l->set);
  l->is_reached =
      etx_verify_arena_take(memory, blocks + 1, sizeof *l->is_reached);
  l->first_touch =
      etx_verify_arena_take(memory, blocks + 1, sizeof *l->first_touch);
  l->open = etx_verify_arena_take(memory, pieces, sizeof *l->open);
  l->opened = etx_verify_arena_take(memory, pieces, sizeof *l->opened);
  l->handed = etx_verify_arena_take(memory, pieces, sizeof *l->handed);
  l->last = etx_verify_arena_take(memory, pieces, sizeof *l->last);
  return l->written == NULL || l->needed == NULL || l->set == NULL ||
                 l->is_reached == NULL || l->first_touch == NULL ||
                 l->open == NULL || l->opened == NULL || l->handed == NULL ||
                 l->last == NULL
             ? ETX_OUT_OF_MEMORY
             : ETX_OK;
}

static void find_first_touches(lifespans* l) {
  uint32_t at = 0;
  for (size_t b = 0; b <= l->blocks.count; ++b) {
    while (at < l->uses->touch_count &&
           l->uses->touches[at].step < l->blocks.first[b]) {
      ++at;
    }
    l->first_touch[b] = at;
  }
}

// Adds `set` to the one of `block`. True if that is news.
static bool merge(lifespans* l, uint64_t* sets, size_t block) {
  uint64_t* const to = &sets[block * l->words];
  bool is_news = false;
  for (size_t w = 0; w < l->words; ++w) {
    if ((l->set[w] & ~to[w]) != 0) is_news = true;
    to[w] |= l->set[w];
  }
  return is_news;
}

static void load(lifespans* l, const uint64_t* sets, size_t block) {
  memcpy(l->set, &sets[block * l->words], l->words * sizeof *l->set);
}

static etx_status find_written(lifespans* l) {
  bool* const pending =
      etx_verify_arena_take(l->m->memory, l->blocks.count + 1, sizeof *pending);
  if (pending == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t p = 0; p < l->uses->piece_count; ++p) {
    if (l->uses->pieces[p].is_input) add(l->written, p);
  }
  pending[0] = l->is_reached[0] = true;
  for (uint32_t b = 0; b < l->blocks.count;) {
    uint32_t next[2];
    uint32_t back = b + 1;
    if (pending[b]) {
      pending[b] = false;
      load(l, l->written, b);
      for (uint32_t t = l->first_touch[b]; t < l->first_touch[b + 1]; ++t) {
        if (l->uses->touches[t].is_write)
          add(l->set, l->uses->touches[t].piece);
      }
      const size_t count = etx_verify_successors(l->m, &l->blocks, b, next);
      for (size_t i = 0; i < count; ++i) {
        const bool is_news = merge(l, l->written, next[i]);
        if (next[i] == l->blocks.count) continue;
        if (is_news || !l->is_reached[next[i]]) {
          pending[next[i]] = true;
          if (next[i] < back) back = next[i];
        }
        l->is_reached[next[i]] = true;
      }
    }
    b = back;
  }
  return ETX_OK;
}

// What is needed when block `b` ends, into `set`.
static void load_end(lifespans* l, uint32_t b) {
  uint32_t next[2];
  const size_t count = etx_verify_successors(l->m, &l->blocks, b, next);
  load(l, l->needed, next[0]);
  if (count < 2) return;
  for (size_t w = 0; w < l->words; ++w) {
    l->set[w] |= l->needed[next[1] * l->words + w];
  }
}

static void find_needed(lifespans* l) {
  bool is_news = true;
  for (size_t p = 0; p < l->uses->piece_count; ++p) {
    if (!l->uses->pieces[p].is_output) continue;
    add(&l->needed[l->blocks.count * l->words], p);
  }
  while (is_news) {
    is_news = false;
    for (uint32_t b = (uint32_t)l->blocks.count; b-- > 0;) {
      load_end(l, b);
      for (uint32_t t = l->first_touch[b + 1]; t-- > l->first_touch[b];) {
        const etx_memory_access* const touch = &l->uses->touches[t];
        if (!touch->is_write) add(l->set, touch->piece);
        if (touch->is_full) drop(l->set, touch->piece);
      }
      if (merge(l, l->needed, b)) is_news = true;
    }
  }
}

// ---- spans ----

static void open_span(lifespans* l, uint32_t piece, uint32_t start,
                      uint32_t end) {
  etx_memory_span* const span = &l->open[piece];
  if (span->end == 0) {
    l->opened[l->opened_count++] = piece;
    span->start = start;
    span->end = end;
  }
  if (end > span->end) span->end = end;
}

static etx_status grow_spans(lifespans* l) {
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

// Ends the open span of a piece. One that starts where the last one of the
// piece ended goes on with it.
static etx_status close_span(lifespans* l, uint32_t piece) {
  etx_memory_span span = l->open[piece];
  l->open[piece].end = 0;
  if (l->handed[piece] == span.end && span.start + 1 < span.end) span.end -= 1;
  if (span.start >= span.end) return ETX_OK;
  if (l->last[piece] != 0 &&
      l->spans[l->last[piece] - 1].span.end == span.start) {
    l->spans[l->last[piece] - 1].span.end = span.end;
    return ETX_OK;
  }
  ETX_TRY(grow_spans(l));
  l->spans[l->span_count++] = (etx_memory_live_range){piece, span};
  l->last[piece] = l->span_count;
  return ETX_OK;
}

// A step reads `read` and writes `written` over it: where they share bytes, the
// one ends as the other starts.
static void hand_over(lifespans* l, uint32_t read, uint32_t written,
                      uint32_t step) {
  enum { MOST_PADDING = 64 };
  const etx_memory_storage* const from = &l->uses->pieces[read];
  const etx_memory_storage* const to = &l->uses->pieces[written];
  if (read == written || !is_planned(from)) return;
  if (to->home != ETX_VERIFY_STORAGE_PLANNED ||
      from->range.start < to->range.start) {
    return;
  }
  if (etx_verify_overlap(from->range, to->range) &&
      from->range.end <= to->range.end + MOST_PADDING) {
    l->handed[read] = step + 1;
  }
}

static void note_handing_over(lifespans* l, uint32_t first, uint32_t writer) {
  const etx_memory_access* const touches = l->uses->touches;
  for (uint32_t t = first; t < writer; ++t) {
    if (touches[t].is_write) continue;
    hand_over(l, touches[t].piece, touches[writer].piece, touches[writer].step);
  }
}

static etx_status touch(lifespans* l, uint32_t index, uint32_t first_of_step) {
  const etx_memory_access* const t = &l->uses->touches[index];
  etx_memory_span* const span = &l->open[t->piece];
  if (!is_planned(&l->uses->pieces[t->piece])) return ETX_OK;
  if (t->is_write) note_handing_over(l, first_of_step, index);
  if (t->is_full && span->end != 0 && span->end < t->step) {
    ETX_TRY(close_span(l, t->piece));
    *span = (etx_memory_span){t->step, t->step + 1};  // it stays in `opened`
  }
  open_span(l, t->piece, t->step, t->step + 1);
  return ETX_OK;
}

// The caller writes inputs before the first step, even those that are not
// needed.
static void open_inputs(lifespans* l) {
  for (uint32_t p = 0; p < l->uses->piece_count; ++p) {
    const etx_memory_storage* const piece = &l->uses->pieces[p];
    if (piece->is_input && is_planned(piece)) open_span(l, p, 0, 1);
  }
}

static void open_at_start(lifespans* l, uint32_t block) {
  const uint32_t start = l->blocks.first[block];
  for (size_t w = 0; w < l->words; ++w) {
    uint64_t both =
        l->written[block * l->words + w] & l->needed[block * l->words + w];
    for (uint32_t bit = 0; both != 0; ++bit, both >>= 1) {
      const uint32_t piece = (uint32_t)(64 * w + bit);
      if ((both & 1) == 0 || !is_planned(&l->uses->pieces[piece])) continue;
      open_span(l, piece, start, start + 1);
    }
  }
}

static etx_status close_at_end(lifespans* l, uint32_t block) {
  const uint32_t end = l->blocks.first[block + 1];
  load_end(l, block);
  for (size_t i = 0; i < l->opened_count; ++i) {
    const uint32_t piece = l->opened[i];
    if (l->open[piece].end == 0) continue;
    if (has(l->set, piece)) l->open[piece].end = end;
    ETX_TRY(close_span(l, piece));
  }
  l->opened_count = 0;
  return ETX_OK;
}

static etx_status span_block(lifespans* l, uint32_t block) {
  const etx_memory_access* const touches = l->uses->touches;
  uint32_t first = l->first_touch[block];
  open_at_start(l, block);
  if (block == 0) open_inputs(l);
  for (uint32_t t = first; t < l->first_touch[block + 1]; ++t) {
    if (touches[t].step != touches[first].step) first = t;
    ETX_TRY(touch(l, t, first));
  }
  return close_at_end(l, block);
}

// Without steps there is what the caller writes and reads.
static etx_status span_callers(lifespans* l) {
  open_inputs(l);
  for (uint32_t p = 0; p < l->uses->piece_count; ++p) {
    const etx_memory_storage* const piece = &l->uses->pieces[p];
    if (piece->is_output && is_planned(piece)) open_span(l, p, 0, 1);
    if (l->open[p].end != 0) ETX_TRY(close_span(l, p));
  }
  return ETX_OK;
}

etx_status etx_memory_liveness_find(const etx_verify_method* m,
                                    const etx_memory_uses* uses,
                                    etx_memory_live_range** out_spans,
                                    size_t* out_count) {
  lifespans l;
  memset(&l, 0, sizeof l);
  l.m = m;
  l.uses = uses;
  if (m->step_count > 0) ETX_TRY(etx_verify_find_basic_blocks(m, &l.blocks));
  ETX_TRY(take_sets(&l));
  if (l.blocks.count > 0) {
    find_first_touches(&l);
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
