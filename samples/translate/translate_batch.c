// Continuous batching: sentences are sorted by length and take batch slots. A
// slot has `beams` rows of the caches.
//
//   sorted   | long ........................... short |
//                 next ^
//   slots    [ a: 4 rows ][ free ][ b: 4 rows ] ...
//
// A call of `decode` gets only the rows that are in use. The next sentences
// take free slots when a quarter of all slots is free, so that `encode` gets
// several sentences at a time. They are sorted, so few of their tokens are
// padding.

#include "samples/translate/translate_batch.h"

#include <stdlib.h>

#include "samples/translate/beam_search.h"
#include "samples/translate/translate_steps.h"

typedef struct batch_slot {
  etx_sentence* sentence;  // NULL: free
  size_t first_row;        // its first row of the caches
  etx_beam_search search;
} batch_slot;

typedef struct translate_batch {
  etx_translator* translator;
  etx_search* search;
  etx_sentence** sorted;  // all of them, longest first
  size_t count, next, done;
  batch_slot* slots;
  size_t slot_count, taken_count;
  size_t width;  // rows of a slot
  int64_t* memory;
  etx_encode_step encode;
  etx_decode_step decode;
  void* search_memory;  // of the beam searches of all slots
} translate_batch;

// Longest first; sentences of equal length keep their order.
static int compare_lengths(const void* a, const void* b) {
  const etx_sentence* const first = *(etx_sentence* const*)a;
  const etx_sentence* const second = *(etx_sentence* const*)b;
  if (first->source_count != second->source_count) {
    return first->source_count > second->source_count ? -1 : 1;
  }
  return first < second ? -1 : first > second;
}

// ---- memory ----

static void split_tables(translate_batch* b) {
  const size_t rows = b->slot_count * b->width;
  const size_t table = rows * b->translator->positions;
  int64_t* at = b->memory;
  b->encode = (etx_encode_step){.ids = at, .last = at + table};
  b->encode.cache_indices = b->encode.last + rows;
  at = b->encode.cache_indices + table;
  b->decode =
      (etx_decode_step){.own_indices = at, .source_indices = at + table};
  b->decode.tokens = b->decode.source_indices + table;
  b->decode.positions = b->decode.tokens + rows;
  b->decode.cache_indices = b->decode.positions + rows;
  b->decode.last = b->decode.cache_indices + rows;
}

static bool allocate(translate_batch* b) {
  const size_t positions = b->translator->positions;
  const size_t rows = b->slot_count * b->width;
  const size_t needed = etx_beam_search_needed(b->width, positions);
  b->sorted = calloc(b->count, sizeof *b->sorted);
  b->slots = calloc(b->slot_count, sizeof *b->slots);
  b->memory = calloc(4 * positions + 5, rows * sizeof *b->memory);
  b->search_memory = calloc(b->slot_count, needed);
  if (b->sorted == NULL || b->slots == NULL || b->memory == NULL ||
      b->search_memory == NULL) {
    return false;
  }
  split_tables(b);
  for (size_t i = 0; i < b->slot_count; ++i) {
    b->slots[i].first_row = i * b->width;
    etx_beam_search_init(&b->slots[i].search, b->width, positions,
                         b->translator->tokenizer.end_id, b->search->scores,
                         (uint8_t*)b->search_memory + i * needed);
  }
  return true;
}

static void release(translate_batch* b) {
  free(b->sorted);
  free(b->slots);
  free(b->memory);
  free(b->search_memory);
}

// ---- filling and finishing slots ----

// Stores the sentence's translation.
static etx_status set_target(translate_batch* b, etx_sentence* sentence,
                             const int64_t* ids, size_t count, etx_diag* diag) {
  sentence->target = malloc(count * sizeof *ids);
  if (sentence->target == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for a translation");
  }
  memcpy(sentence->target, ids, count * sizeof *ids);
  sentence->target_count = count;
  b->search->counts.tokens += count;
  ++b->done;
  return ETX_OK;
}

static etx_status finish_slot(translate_batch* b, batch_slot* s,
                              etx_diag* diag) {
  const etx_hypothesis* const best = etx_beam_search_best(&s->search);
  ETX_TRY(set_target(b, s->sentence, best->ids, best->length, diag));
  s->sentence->score = best->sum;
  s->sentence = NULL;
  --b->taken_count;
  return ETX_OK;
}

// Writes the slot's sentence as row i of the call of `encode`.
static void write_source(translate_batch* b, const batch_slot* s, size_t i) {
  const etx_encode_step* const step = &b->encode;
  const size_t positions = b->translator->positions;
  const size_t count = s->sentence->source_count;
  for (size_t j = 0; j < step->length; ++j) {
    const size_t at = i * step->length + j;
    step->ids[at] = j < count ? s->sentence->source[j]
                              : b->translator->tokenizer.padding_id;
    step->cache_indices[at] = (int64_t)(s->first_row * positions + j);
  }
  step->last[i] = (int64_t)count - 1;
}

// Puts the next sentences into free slots and encodes them.
static etx_status fill_slots(translate_batch* b, etx_diag* diag) {
  b->encode.rows = 0;
  b->encode.length = b->sorted[b->next]->source_count;
  for (size_t i = 0; i < b->slot_count && b->next < b->count; ++i) {
    batch_slot* const s = &b->slots[i];
    if (s->sentence != NULL) continue;
    s->sentence = b->sorted[b->next++];
    etx_beam_search_reset(&s->search);
    write_source(b, s, b->encode.rows++);
    ++b->taken_count;
  }
  ++b->search->counts.encode_calls;
  return etx_translate_encode(b->translator, &b->encode, diag);
}

// An empty sentence is not decoded: its translation is the end mark. Empty
// sentences are last in the order.
static etx_status skip_empty(translate_batch* b, etx_diag* diag) {
  const int64_t end_id = b->translator->tokenizer.end_id;
  while (b->count > b->next && b->sorted[b->count - 1]->source_count <= 1) {
    ETX_TRY(set_target(b, b->sorted[--b->count], &end_id, 1, diag));
  }
  return ETX_OK;
}

// ---- steps ----

// Writes hypothesis `i` of the slot as row `row` of the call.
static void write_row(translate_batch* b, const batch_slot* s, size_t i,
                      size_t row) {
  const etx_decode_step* const step = &b->decode;
  const size_t positions = b->translator->positions;
  const etx_hypothesis* const h = &s->search.active[i];
  const size_t at = h->length;
  h->cache_indices[at] = (int32_t)((s->first_row + i) * positions + at);
  step->tokens[row] =
      at == 0 ? b->translator->tokenizer.padding_id : h->ids[at - 1];
  step->positions[row] = (int64_t)at;
  step->cache_indices[row] = h->cache_indices[at];
  step->last[row] = (int64_t)s->sentence->source_count - 1;
  // Indices after the last position are read, but masked.
  for (size_t j = 0; j < step->length; ++j) {
    step->own_indices[row * step->length + j] =
        h->cache_indices[j <= at ? j : at];
  }
  for (size_t j = 0; j < step->source_length; ++j) {
    step->source_indices[row * step->source_length + j] =
        (int64_t)(s->first_row * positions + j);
  }
}

static void write_rows(translate_batch* b) {
  etx_decode_step* const step = &b->decode;
  step->rows = 0;
  step->length = 1;
  step->source_length = 1;
  for (size_t i = 0; i < b->slot_count; ++i) {
    const batch_slot* const s = &b->slots[i];
    if (s->sentence == NULL) continue;
    const size_t length = s->search.active[0].length + 1;
    const size_t source = s->sentence->source_count;
    if (length > step->length) step->length = length;
    if (source > step->source_length) step->source_length = source;
  }
  for (size_t i = 0; i < b->slot_count; ++i) {
    const batch_slot* const s = &b->slots[i];
    if (s->sentence == NULL) continue;
    for (size_t k = 0; k < s->search.active_count; ++k) {
      write_row(b, s, k, step->rows++);
    }
  }
}

static etx_status step(translate_batch* b, etx_diag* diag) {
  const size_t pieces = b->translator->tokenizer.piece_count;
  const float* logits = NULL;
  write_rows(b);
  ETX_TRY(etx_translate_decode(b->translator, &b->decode, &logits, diag));
  ++b->search->counts.decode_calls;
  b->search->counts.decode_rows += b->decode.rows;
  for (size_t i = 0; i < b->slot_count; ++i) {
    batch_slot* const s = &b->slots[i];
    if (s->sentence == NULL) continue;
    const size_t rows = s->search.active_count;
    if (etx_beam_search_advance(&s->search, logits, pieces)) {
      ETX_TRY(finish_slot(b, s, diag));
    }
    logits += rows * pieces;
  }
  return ETX_OK;
}

static etx_status run(translate_batch* b, etx_diag* diag) {
  ETX_TRY(skip_empty(b, diag));
  while (b->next < b->count || b->taken_count != 0) {
    const size_t free_count = b->slot_count - b->taken_count;
    const bool are_enough = 4 * free_count >= b->slot_count;
    if (b->next < b->count && free_count != 0 && are_enough) {
      ETX_TRY(fill_slots(b, diag));
    }
    ETX_TRY(step(b, diag));
    if (b->search->progress != NULL) {
      b->search->progress(b->search->context, b->done);
    }
  }
  return ETX_OK;
}

static etx_status check_search(const etx_translator* translator, size_t width,
                               etx_diag* diag) {
  if (width <= translator->rows &&
      2 * width <= translator->tokenizer.piece_count) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                       "%z beams, the program has %z row%s", width,
                       translator->rows, translator->rows == 1 ? "" : "s");
}

static void add_counts(translate_batch* b) {
  for (size_t i = 0; i < b->slot_count; ++i) {
    b->search->counts.moved_bytes += b->slots[i].search.moved_bytes;
    b->search->counts.avoided_copies += b->slots[i].search.avoided_copies;
  }
}

etx_status etx_translator_translate_all(etx_translator* translator,
                                        etx_sentence* sentences, size_t count,
                                        etx_search* search, etx_diag* diag) {
  translate_batch b = {.translator = translator,
                       .search = search,
                       .count = count,
                       .width = search->beams > 1 ? search->beams : 1};
  if (count == 0) return ETX_OK;
  ETX_TRY(check_search(translator, b.width, diag));
  b.slot_count = translator->rows / b.width;
  if (search->sentences != 0 && search->sentences < b.slot_count) {
    b.slot_count = search->sentences;
  }
  if (count < b.slot_count) b.slot_count = count;
  if (!allocate(&b)) {
    release(&b);
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for %z sentences",
                         count);
  }
  for (size_t i = 0; i < count; ++i) b.sorted[i] = &sentences[i];
  qsort(b.sorted, count, sizeof *b.sorted, compare_lengths);
  const etx_status status = run(&b, diag);
  add_counts(&b);
  release(&b);
  return status;
}

etx_status etx_translator_translate(etx_translator* translator,
                                    etx_text sentence,
                                    etx_translation* out_translation,
                                    etx_diag* diag) {
  etx_sentence one;
  etx_search search = {.beams = 1};
  ETX_TRY(etx_sentence_open(&one, translator, sentence, diag));
  const etx_status status =
      etx_translator_translate_all(translator, &one, 1, &search, diag);
  if (status == ETX_OK) {
    memcpy(out_translation->ids, one.target,
           one.target_count * sizeof *one.target);
    out_translation->count = one.target_count;
  }
  etx_sentence_close(&one);
  return status;
}
