// Sentences sorted by length take seats; a seat has `beams` rows of the caches.
//
//   sorted   | long ........................... short |
//                 next ^
//   seats    [ a: 4 rows ][ free ][ b: 4 rows ] ...
//
// A call of `decode` gets the rows that run, and no others, wherever in the
// caches they lie. Free seats are given to the next sentences as soon as a
// quarter of all is free, so that `encode` has several at a time; as they are
// sorted, little of what it computes is padding.

#include <stdlib.h>

#include "samples/translate/hypotheses.h"
#include "samples/translate/translate_steps.h"

typedef struct seat {
  etx_sentence* sentence;  // NULL: free
  size_t first_row;        // of its rows of the caches
  etx_hypotheses answers;
} seat;

typedef struct batch {
  etx_translator* translator;
  etx_search* search;
  etx_sentence** sorted;  // all of them, longest first
  size_t count, next, done;
  seat* seats;
  size_t seat_count, taken_count;
  size_t width;  // rows of a seat
  int64_t* memory;
  etx_encode_step encode;
  etx_decode_step decode;
  void* answers;  // what the hypotheses of all seats lie in
} batch;

// Longest first; of equals the earlier one.
static int compare_lengths(const void* a, const void* b) {
  const etx_sentence* const first = *(etx_sentence* const*)a;
  const etx_sentence* const second = *(etx_sentence* const*)b;
  if (first->source_count != second->source_count) {
    return first->source_count > second->source_count ? -1 : 1;
  }
  return first < second ? -1 : first > second;
}

// ---- memory ----

static void take_tables(batch* b) {
  const size_t rows = b->seat_count * b->width;
  const size_t table = rows * b->translator->positions;
  int64_t* at = b->memory;
  b->encode = (etx_encode_step){.ids = at, .last = at + table};
  b->encode.places = b->encode.last + rows;
  at = b->encode.places + table;
  b->decode = (etx_decode_step){.own = at, .sources = at + table};
  b->decode.tokens = b->decode.sources + table;
  b->decode.positions = b->decode.tokens + rows;
  b->decode.places = b->decode.positions + rows;
  b->decode.last = b->decode.places + rows;
}

static bool take_memory(batch* b) {
  const size_t positions = b->translator->positions;
  const size_t rows = b->seat_count * b->width;
  const size_t needed = etx_hypotheses_needed(b->width, positions);
  b->sorted = calloc(b->count, sizeof *b->sorted);
  b->seats = calloc(b->seat_count, sizeof *b->seats);
  b->memory = calloc(4 * positions + 5, rows * sizeof *b->memory);
  b->answers = calloc(b->seat_count, needed);
  if (b->sorted == NULL || b->seats == NULL || b->memory == NULL ||
      b->answers == NULL) {
    return false;
  }
  take_tables(b);
  for (size_t i = 0; i < b->seat_count; ++i) {
    b->seats[i].first_row = i * b->width;
    etx_hypotheses_init(&b->seats[i].answers, b->width, positions,
                        b->translator->tokenizer.end_id, b->search->scores,
                        (uint8_t*)b->answers + i * needed);
  }
  return true;
}

static void give_memory_back(batch* b) {
  free(b->sorted);
  free(b->seats);
  free(b->memory);
  free(b->answers);
}

// ---- ends and beginnings ----

// Gives the sentence its answer.
static etx_status answer(batch* b, etx_sentence* sentence, const int64_t* ids,
                         size_t count, etx_diag* diag) {
  sentence->answer = malloc(count * sizeof *ids);
  if (sentence->answer == NULL) {
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for an answer");
  }
  memcpy(sentence->answer, ids, count * sizeof *ids);
  sentence->answer_count = count;
  b->search->counts.tokens += count;
  ++b->done;
  return ETX_OK;
}

static etx_status stand_up(batch* b, seat* s, etx_diag* diag) {
  const etx_hypothesis* const best = etx_hypotheses_best(&s->answers);
  ETX_TRY(answer(b, s->sentence, best->ids, best->length, diag));
  s->sentence->score = best->sum;
  s->sentence = NULL;
  --b->taken_count;
  return ETX_OK;
}

// Row i of the call of `encode` is the sentence of this seat.
static void write_source(batch* b, const seat* s, size_t i) {
  const etx_encode_step* const step = &b->encode;
  const size_t positions = b->translator->positions;
  const size_t count = s->sentence->source_count;
  for (size_t j = 0; j < step->length; ++j) {
    const size_t at = i * step->length + j;
    step->ids[at] = j < count ? s->sentence->source[j]
                              : b->translator->tokenizer.padding_id;
    step->places[at] = (int64_t)(s->first_row * positions + j);
  }
  step->last[i] = (int64_t)count - 1;
}

// Gives free seats to the next sentences and encodes these.
static etx_status sit_down(batch* b, etx_diag* diag) {
  b->encode.rows = 0;
  b->encode.length = b->sorted[b->next]->source_count;
  for (size_t i = 0; i < b->seat_count && b->next < b->count; ++i) {
    seat* const s = &b->seats[i];
    if (s->sentence != NULL) continue;
    s->sentence = b->sorted[b->next++];
    etx_hypotheses_reset(&s->answers);
    write_source(b, s, b->encode.rows++);
    ++b->taken_count;
  }
  ++b->search->counts.encode_calls;
  return etx_translate_encode(b->translator, &b->encode, diag);
}

// What says nothing has nothing to translate: its answer is the end mark. Such
// sentences come last.
static etx_status skip_empty(batch* b, etx_diag* diag) {
  const int64_t end_id = b->translator->tokenizer.end_id;
  while (b->count > b->next && b->sorted[b->count - 1]->source_count <= 1) {
    ETX_TRY(answer(b, b->sorted[--b->count], &end_id, 1, diag));
  }
  return ETX_OK;
}

// ---- steps ----

// Row `row` of the call is answer `i` of the seat.
static void write_row(batch* b, const seat* s, size_t i, size_t row) {
  const etx_decode_step* const step = &b->decode;
  const size_t positions = b->translator->positions;
  const etx_hypothesis* const h = &s->answers.running[i];
  const size_t at = h->length;
  h->own[at] = (int32_t)((s->first_row + i) * positions + at);
  step->tokens[row] =
      at == 0 ? b->translator->tokenizer.padding_id : h->ids[at - 1];
  step->positions[row] = (int64_t)at;
  step->places[row] = h->own[at];
  step->last[row] = (int64_t)s->sentence->source_count - 1;
  // Places after the last one are read and not used.
  for (size_t j = 0; j < step->length; ++j) {
    step->own[row * step->length + j] = h->own[j <= at ? j : at];
  }
  for (size_t j = 0; j < step->source_length; ++j) {
    step->sources[row * step->source_length + j] =
        (int64_t)(s->first_row * positions + j);
  }
}

static void write_rows(batch* b) {
  etx_decode_step* const step = &b->decode;
  step->rows = 0;
  step->length = 1;
  step->source_length = 1;
  for (size_t i = 0; i < b->seat_count; ++i) {
    const seat* const s = &b->seats[i];
    if (s->sentence == NULL) continue;
    const size_t length = s->answers.running[0].length + 1;
    const size_t source = s->sentence->source_count;
    if (length > step->length) step->length = length;
    if (source > step->source_length) step->source_length = source;
  }
  for (size_t i = 0; i < b->seat_count; ++i) {
    const seat* const s = &b->seats[i];
    if (s->sentence == NULL) continue;
    for (size_t k = 0; k < s->answers.running_count; ++k) {
      write_row(b, s, k, step->rows++);
    }
  }
}

static etx_status step(batch* b, etx_diag* diag) {
  const size_t pieces = b->translator->tokenizer.piece_count;
  const float* logits = NULL;
  write_rows(b);
  ETX_TRY(etx_translate_decode(b->translator, &b->decode, &logits, diag));
  ++b->search->counts.decode_calls;
  b->search->counts.decode_rows += b->decode.rows;
  for (size_t i = 0; i < b->seat_count; ++i) {
    seat* const s = &b->seats[i];
    if (s->sentence == NULL) continue;
    const size_t rows = s->answers.running_count;
    if (etx_hypotheses_advance(&s->answers, logits, pieces)) {
      ETX_TRY(stand_up(b, s, diag));
    }
    logits += rows * pieces;
  }
  return ETX_OK;
}

static etx_status run(batch* b, etx_diag* diag) {
  ETX_TRY(skip_empty(b, diag));
  while (b->next < b->count || b->taken_count != 0) {
    const size_t free_count = b->seat_count - b->taken_count;
    const bool is_time = 4 * free_count >= b->seat_count;
    if (b->next < b->count && free_count != 0 && is_time) {
      ETX_TRY(sit_down(b, diag));
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

static void count_moves(batch* b) {
  for (size_t i = 0; i < b->seat_count; ++i) {
    b->search->counts.moved_bytes += b->seats[i].answers.moved_bytes;
    b->search->counts.spared_places += b->seats[i].answers.spared_places;
  }
}

etx_status etx_translator_translate_all(etx_translator* translator,
                                        etx_sentence* sentences, size_t count,
                                        etx_search* search, etx_diag* diag) {
  batch b = {.translator = translator,
             .search = search,
             .count = count,
             .width = search->beams > 1 ? search->beams : 1};
  if (count == 0) return ETX_OK;
  ETX_TRY(check_search(translator, b.width, diag));
  b.seat_count = translator->rows / b.width;
  if (search->sentences != 0 && search->sentences < b.seat_count) {
    b.seat_count = search->sentences;
  }
  if (count < b.seat_count) b.seat_count = count;
  if (!take_memory(&b)) {
    give_memory_back(&b);
    return etx_diag_fail(diag, ETX_HOST_FAILED, "no memory for %z sentences",
                         count);
  }
  for (size_t i = 0; i < count; ++i) b.sorted[i] = &sentences[i];
  qsort(b.sorted, count, sizeof *b.sorted, compare_lengths);
  const etx_status status = run(&b, diag);
  count_moves(&b);
  give_memory_back(&b);
  return status;
}
