// A change of places copies an answer's ids and its table of places, 12 bytes a
// position; keys and values stay where they are.

#include "samples/translate/hypotheses.h"

#include <math.h>
#include <string.h>

// One continuation of a running answer.
typedef struct etx_candidate {
  double sum;
  size_t parent;  // among the running ones
  int64_t id;
} etx_candidate;

static size_t whole(size_t bytes) { return (bytes + 15) / 16 * 16; }

size_t etx_hypotheses_needed(size_t width, size_t positions) {
  const size_t one =
      whole(positions * sizeof(int64_t)) + whole(positions * sizeof(int32_t));
  return 3 * width * one + whole(3 * width * sizeof(etx_hypothesis)) +
         whole(2 * width * sizeof(etx_candidate));
}

static void* take(uint8_t** at, size_t bytes) {
  void* const taken = *at;
  *at += whole(bytes);
  return taken;
}

void etx_hypotheses_init(etx_hypotheses* all, size_t width, size_t positions,
                         int64_t end_id, bool is_scored, void* block) {
  uint8_t* at = block;
  etx_hypothesis* const lists = take(&at, 3 * width * sizeof(etx_hypothesis));
  for (size_t i = 0; i < 3 * width; ++i) {
    lists[i] = (etx_hypothesis){
        .ids = take(&at, positions * sizeof(int64_t)),
        .own = take(&at, positions * sizeof(int32_t)),
    };
  }
  *all = (etx_hypotheses){
      .width = width,
      .positions = positions,
      .end_id = end_id,
      .is_scored = is_scored,
      .running = lists,
      .next = lists + width,
      .ended = lists + 2 * width,
      .candidates = take(&at, 2 * width * sizeof(etx_candidate))};
  etx_hypotheses_reset(all);
}

void etx_hypotheses_reset(etx_hypotheses* all) {
  all->running_count = 1;
  all->ended_count = 0;
  all->running[0].sum = 0;
  all->running[0].length = 0;
}

static size_t likeliest(const float* values, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

// The logarithm of the sum of all exponentials.
static double log_of_sum(const float* values, size_t count) {
  const double top = (double)values[likeliest(values, count)];
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += exp((double)values[i] - top);
  return top + log(sum);
}

static bool advance_one(etx_hypotheses* all, const float* logits,
                        size_t pieces) {
  etx_hypothesis* const only = &all->running[0];
  const size_t best = likeliest(logits, pieces);
  const int64_t id = (int64_t)best;
  if (all->is_scored) {
    only->sum += (double)logits[best] - log_of_sum(logits, pieces);
  }
  only->ids[only->length++] = id;
  if (id != all->end_id && only->length + 1 != all->positions) return false;
  only->sum /= (double)only->length;
  return true;
}

// ---- beams ----

// Keeps the best `2 * width`, best first; of equals the earlier one stays.
static void offer(etx_hypotheses* all, size_t* count, etx_candidate candidate) {
  const size_t most = 2 * all->width;
  etx_candidate* const list = all->candidates;
  if (*count == most && !(candidate.sum > list[most - 1].sum)) return;
  size_t at = *count < most ? (*count)++ : most - 1;
  for (; at > 0 && candidate.sum > list[at - 1].sum; --at) {
    list[at] = list[at - 1];
  }
  list[at] = candidate;
}

static size_t find_candidates(etx_hypotheses* all, const float* logits,
                              size_t pieces) {
  size_t count = 0;
  for (size_t row = 0; row < all->running_count; ++row) {
    const float* const values = logits + row * pieces;
    const double base = all->running[row].sum - log_of_sum(values, pieces);
    for (size_t i = 0; i < pieces; ++i) {
      const etx_candidate candidate = {base + (double)values[i], row,
                                       (int64_t)i};
      offer(all, &count, candidate);
    }
  }
  return count;
}

// `to` becomes its parent with one token more.
static void grow(etx_hypotheses* all, etx_hypothesis* to,
                 const etx_candidate* candidate) {
  const etx_hypothesis* const parent = &all->running[candidate->parent];
  memcpy(to->ids, parent->ids, parent->length * sizeof *to->ids);
  // Its last token has a place already, its new one has none yet.
  memcpy(to->own, parent->own, (parent->length + 1) * sizeof *to->own);
  to->ids[parent->length] = candidate->id;
  to->length = parent->length + 1;
  to->sum = candidate->sum;
}

static void keep_ended(etx_hypotheses* all, const etx_candidate* candidate) {
  const double length = (double)all->running[candidate->parent].length + 1;
  const double score = candidate->sum / length;
  size_t at = all->ended_count;
  if (at == all->width) {
    if (!(score > all->ended[at - 1].sum)) return;
    --at;
  } else {
    ++all->ended_count;
  }
  etx_hypothesis spare = all->ended[at];
  for (; at > 0 && score > all->ended[at - 1].sum; --at) {
    all->ended[at] = all->ended[at - 1];
  }
  grow(all, &spare, candidate);
  spare.sum = score;
  all->ended[at] = spare;
}

static void run_on(etx_hypotheses* all, size_t* count,
                   const etx_candidate* candidate) {
  etx_hypothesis* const to = &all->next[*count];
  if (*count == all->width) return;
  grow(all, to, candidate);
  all->moved_bytes += to->length * (sizeof *to->ids + sizeof *to->own);
  if (candidate->parent != *count) all->spared_places += to->length;
  ++*count;
}

static bool is_over(const etx_hypotheses* all) {
  if (all->running_count == 0) return true;
  if (all->ended_count < all->width) return false;
  const etx_hypothesis* const best = &all->running[0];
  return best->sum / (double)best->length <= all->ended[all->width - 1].sum;
}

static bool advance_beams(etx_hypotheses* all, const float* logits,
                          size_t pieces) {
  const size_t count = find_candidates(all, logits, pieces);
  const size_t length = all->running[0].length + 1;
  const bool is_full = length + 1 == all->positions;
  size_t next_count = 0;
  for (size_t i = 0; i < count; ++i) {
    const etx_candidate* const candidate = &all->candidates[i];
    if (candidate->id == all->end_id || is_full) {
      if (i < all->width) keep_ended(all, candidate);
    } else {
      run_on(all, &next_count, candidate);
    }
  }
  etx_hypothesis* const spare = all->running;
  all->running = all->next;
  all->running_count = next_count;
  all->next = spare;
  return is_over(all);
}

bool etx_hypotheses_advance(etx_hypotheses* all, const float* logits,
                            size_t pieces) {
  return all->width == 1 ? advance_one(all, logits, pieces)
                         : advance_beams(all, logits, pieces);
}

const etx_hypothesis* etx_hypotheses_best(const etx_hypotheses* all) {
  return all->width == 1 ? &all->running[0] : &all->ended[0];
}
