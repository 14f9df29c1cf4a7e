// A hypothesis that moves to another beam copies its ids and its table of cache
// indices, 12 bytes per position; keys and values stay where they are.

#include "samples/translate/beam_search.h"

#include <math.h>
#include <string.h>

// One continuation of an active hypothesis.
typedef struct etx_candidate {
  double sum;
  size_t parent;  // an active hypothesis
  int64_t id;
} etx_candidate;

static size_t align_16(size_t bytes) { return (bytes + 15) / 16 * 16; }

size_t etx_beam_search_needed(size_t width, size_t positions) {
  const size_t one = align_16(positions * sizeof(int64_t)) +
                     align_16(positions * sizeof(int32_t));
  return 3 * width * one + align_16(3 * width * sizeof(etx_hypothesis)) +
         align_16(2 * width * sizeof(etx_candidate));
}

static void* take(uint8_t** at, size_t bytes) {
  void* const taken = *at;
  *at += align_16(bytes);
  return taken;
}

void etx_beam_search_init(etx_beam_search* search, size_t width,
                          size_t positions, int64_t end_id, bool is_scored,
                          void* block) {
  uint8_t* at = block;
  etx_hypothesis* const lists = take(&at, 3 * width * sizeof(etx_hypothesis));
  for (size_t i = 0; i < 3 * width; ++i) {
    lists[i] = (etx_hypothesis){
        .ids = take(&at, positions * sizeof(int64_t)),
        .cache_indices = take(&at, positions * sizeof(int32_t)),
    };
  }
  *search = (etx_beam_search){
      .width = width,
      .positions = positions,
      .end_id = end_id,
      .is_scored = is_scored,
      .active = lists,
      .next = lists + width,
      .finished = lists + 2 * width,
      .candidates = take(&at, 2 * width * sizeof(etx_candidate))};
  etx_beam_search_reset(search);
}

void etx_beam_search_reset(etx_beam_search* search) {
  search->active_count = 1;
  search->finished_count = 0;
  search->active[0].sum = 0;
  search->active[0].length = 0;
}

static size_t argmax(const float* values, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

static double log_sum_exp(const float* values, size_t count) {
  const double top = (double)values[argmax(values, count)];
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += exp((double)values[i] - top);
  return top + log(sum);
}

static bool advance_greedy(etx_beam_search* search, const float* logits,
                           size_t pieces) {
  etx_hypothesis* const active = &search->active[0];
  const size_t best = argmax(logits, pieces);
  const int64_t id = (int64_t)best;
  if (search->is_scored) {
    active->sum += (double)logits[best] - log_sum_exp(logits, pieces);
  }
  active->ids[active->length++] = id;
  if (id != search->end_id && active->length + 1 != search->positions)
    return false;
  active->sum /= (double)active->length;
  return true;
}

// ---- beams ----

// Keeps the best `2 * width` candidates, best first; a tie keeps the earlier.
static void add_candidate(etx_beam_search* search, size_t* count,
                          etx_candidate candidate) {
  const size_t most = 2 * search->width;
  etx_candidate* const list = search->candidates;
  if (*count == most && !(candidate.sum > list[most - 1].sum)) return;
  size_t at = *count < most ? (*count)++ : most - 1;
  for (; at > 0 && candidate.sum > list[at - 1].sum; --at) {
    list[at] = list[at - 1];
  }
  list[at] = candidate;
}

static size_t find_candidates(etx_beam_search* search, const float* logits,
                              size_t pieces) {
  size_t count = 0;
  for (size_t row = 0; row < search->active_count; ++row) {
    const float* const values = logits + row * pieces;
    const double base = search->active[row].sum - log_sum_exp(values, pieces);
    for (size_t i = 0; i < pieces; ++i) {
      const etx_candidate candidate = {base + (double)values[i], row,
                                       (int64_t)i};
      add_candidate(search, &count, candidate);
    }
  }
  return count;
}

// Makes `to` a copy of its parent with one more token.
static void extend(etx_beam_search* search, etx_hypothesis* to,
                   const etx_candidate* candidate) {
  const etx_hypothesis* const parent = &search->active[candidate->parent];
  memcpy(to->ids, parent->ids, parent->length * sizeof *to->ids);
  // The last token has a cache index already, the new one gets it later.
  memcpy(to->cache_indices, parent->cache_indices,
         (parent->length + 1) * sizeof *to->cache_indices);
  to->ids[parent->length] = candidate->id;
  to->length = parent->length + 1;
  to->sum = candidate->sum;
}

static void add_finished(etx_beam_search* search,
                         const etx_candidate* candidate) {
  const double length = (double)search->active[candidate->parent].length + 1;
  const double score = candidate->sum / length;
  size_t at = search->finished_count;
  if (at == search->width) {
    if (!(score > search->finished[at - 1].sum)) return;
    --at;
  } else {
    ++search->finished_count;
  }
  etx_hypothesis spare = search->finished[at];
  for (; at > 0 && score > search->finished[at - 1].sum; --at) {
    search->finished[at] = search->finished[at - 1];
  }
  extend(search, &spare, candidate);
  spare.sum = score;
  search->finished[at] = spare;
}

static void add_active(etx_beam_search* search, size_t* count,
                       const etx_candidate* candidate) {
  etx_hypothesis* const to = &search->next[*count];
  if (*count == search->width) return;
  extend(search, to, candidate);
  search->moved_bytes +=
      to->length * (sizeof *to->ids + sizeof *to->cache_indices);
  if (candidate->parent != *count) search->avoided_copies += to->length;
  ++*count;
}

static bool is_finished(const etx_beam_search* search) {
  if (search->active_count == 0) return true;
  if (search->finished_count < search->width) return false;
  const etx_hypothesis* const best = &search->active[0];
  return best->sum / (double)best->length <=
         search->finished[search->width - 1].sum;
}

static bool advance_beams(etx_beam_search* search, const float* logits,
                          size_t pieces) {
  const size_t count = find_candidates(search, logits, pieces);
  const size_t length = search->active[0].length + 1;
  const bool is_full = length + 1 == search->positions;
  size_t next_count = 0;
  for (size_t i = 0; i < count; ++i) {
    const etx_candidate* const candidate = &search->candidates[i];
    if (candidate->id == search->end_id || is_full) {
      if (i < search->width) add_finished(search, candidate);
    } else {
      add_active(search, &next_count, candidate);
    }
  }
  etx_hypothesis* const spare = search->active;
  search->active = search->next;
  search->active_count = next_count;
  search->next = spare;
  return is_finished(search);
}

bool etx_beam_search_advance(etx_beam_search* search, const float* logits,
                             size_t pieces) {
  return search->width == 1 ? advance_greedy(search, logits, pieces)
                            : advance_beams(search, logits, pieces);
}

const etx_hypothesis* etx_beam_search_best(const etx_beam_search* search) {
  return search->width == 1 ? &search->active[0] : &search->finished[0];
}
