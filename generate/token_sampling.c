// Candidates are a heap at the beginning of the array, whose best is taken to
// the end of the array as often as an option needs it:
//
//   | heap, in no order | taken, best last |
//
// So a step costs one pass over the vocabulary and some logarithms, and only a
// flat distribution with a large top_p is sorted as a whole.

#include "generate/token_sampling.h"

#include <math.h>

#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/math/philox.h"

typedef struct candidate_heap {
  etx_candidate_token* items;
  size_t heap;   // candidates in the heap
  size_t count;  // with those taken
} candidate_heap;

double etx_token_random_next(etx_token_random* random) {
  const etx_philox_block block = etx_philox(random->seed, random->counter++);
  const uint64_t bits =
      ((uint64_t)block.words[0] << 21) ^ ((uint64_t)block.words[1] >> 11);
  return (double)(bits & ((UINT64_C(1) << 53) - 1)) * 0x1p-53;
}

enum { LANES = 8 };

// Each lane has the largest of every eighth logit, so that compilers vectorise
// the loop.
float etx_logits_largest(const float* logits, size_t count) {
  float lanes[LANES];
  size_t i = 0;
  for (size_t k = 0; k < LANES; ++k) lanes[k] = -INFINITY;
  for (; i + LANES <= count; i += LANES) {
    for (size_t k = 0; k < LANES; ++k) {
      lanes[k] = logits[i + k] > lanes[k] ? logits[i + k] : lanes[k];
    }
  }
  for (; i < count; ++i) {
    lanes[0] = logits[i] > lanes[0] ? logits[i] : lanes[0];
  }
  for (size_t k = 1; k < LANES; ++k) {
    lanes[0] = lanes[k] > lanes[0] ? lanes[k] : lanes[0];
  }
  return lanes[0];
}

static bool has_nan(const float* logits, size_t count) {
  uint32_t found = 0;
  for (size_t i = 0; i < count; ++i) found |= logits[i] != logits[i];
  return found != 0;
}

static etx_status find_largest(const float* logits, size_t vocab_size,
                               int64_t* out_id, etx_diag* diag) {
  const float largest = etx_logits_largest(logits, vocab_size);
  const bool is_number = !has_nan(logits, vocab_size);
  size_t best = 0;
  if (!is_number || largest == -INFINITY) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT, "%s",
                         is_number ? "the options leave no token"
                                   : "a logit is not a number (NaN)");
  }
  while (logits[best] != largest) ++best;
  *out_id = (int64_t)best;
  return ETX_OK;
}

etx_status etx_token_argmax(const float* logits, size_t vocab_size,
                            int64_t* out_id, etx_diag* diag) {
  return etx_diag_seal(diag, find_largest(logits, vocab_size, out_id, diag));
}

// ---- the heap ----

// Equal keys are sorted by id, so that the order does not depend on the steps.
static bool is_better(const etx_candidate_token* a,
                      const etx_candidate_token* b) {
  return a->key != b->key ? a->key > b->key : a->id < b->id;
}

static void sift_down(candidate_heap* heap, size_t at) {
  const etx_candidate_token moved = heap->items[at];
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= heap->heap) break;
    if (child + 1 < heap->heap &&
        is_better(&heap->items[child + 1], &heap->items[child])) {
      ++child;
    }
    if (!is_better(&heap->items[child], &moved)) break;
    heap->items[at] = heap->items[child];
    at = child;
  }
  heap->items[at] = moved;
}

static void make_heap(candidate_heap* heap) {
  heap->heap = heap->count;
  for (size_t i = heap->count / 2; i-- > 0;) sift_down(heap, i);
}

// The `rank`-th best candidate, which is below the count.
static const etx_candidate_token* best_at(candidate_heap* heap, size_t rank) {
  while (heap->count - heap->heap <= rank) {
    const size_t last = --heap->heap;
    const etx_candidate_token best = heap->items[0];
    heap->items[0] = heap->items[last];
    heap->items[last] = best;
    if (heap->heap > 1) sift_down(heap, 0);
  }
  return &heap->items[heap->count - 1 - rank];
}

// Keeps the `count` best, which were taken.
static void keep_best(candidate_heap* heap, size_t count) {
  memmove(heap->items, heap->items + heap->count - count,
          count * sizeof *heap->items);
  heap->heap = 0;
  heap->count = count;
}

// ---- options ----

static double weight_of(const etx_candidate_token* token, float top) {
  return etx_exp_f64((double)token->logit - (double)top);
}

static double sum_weights(const candidate_heap* heap, float top) {
  double sum = 0.0;
  for (size_t i = 0; i < heap->count; ++i) {
    sum += weight_of(&heap->items[i], top);
  }
  return sum;
}

// Tokens with the logit of the k-th stay, too, as in transformers.
static void keep_top_k(candidate_heap* heap, size_t k) {
  if (k >= heap->count) return;
  const float least = best_at(heap, k - 1)->key;
  size_t kept = k;
  while (kept < heap->count && best_at(heap, kept)->key == least) ++kept;
  keep_best(heap, kept);
}

// A token stays if the more probable ones have less than `share` together.
static void keep_top_p(candidate_heap* heap, double share, float top,
                       size_t least) {
  const double limit = share * sum_weights(heap, top);
  double before = 0.0;
  size_t kept = 0;
  for (; kept < heap->count; ++kept) {
    if (kept >= least && !(before < limit)) break;
    before += weight_of(best_at(heap, kept), top);
  }
  keep_best(heap, kept);
}

static void keep_min_p(candidate_heap* heap, double share, float top,
                       size_t least) {
  size_t kept = 0;
  while (kept < heap->count &&
         (kept < least || weight_of(best_at(heap, kept), top) >= share)) {
    ++kept;
  }
  keep_best(heap, kept);
}

// A token is typical if its information is near the mean information, the
// entropy (Meister and others, "Locally typical sampling", 2022).
static void keep_typical(candidate_heap* heap, double share, float top,
                         size_t least) {
  const double sum = sum_weights(heap, top);
  const double log_sum = etx_log_f64(sum);
  double entropy = 0.0;
  for (size_t i = 0; i < heap->count; ++i) {
    const double information =
        log_sum - ((double)heap->items[i].logit - (double)top);
    entropy += weight_of(&heap->items[i], top) / sum * information;
  }
  for (size_t i = 0; i < heap->count; ++i) {
    const double information =
        log_sum - ((double)heap->items[i].logit - (double)top);
    heap->items[i].key = (float)-etx_abs_f64(information - entropy);
  }
  make_heap(heap);
  double before = weight_of(best_at(heap, 0), top);
  size_t last = 0;
  while (last + 1 < heap->count && before < share * sum) {
    before += weight_of(best_at(heap, ++last), top);
  }
  const float key = best_at(heap, last)->key;
  size_t kept = last + 1;
  while (kept < heap->count &&
         (kept < least || best_at(heap, kept)->key == key)) {
    ++kept;
  }
  keep_best(heap, kept);
}

static etx_status collect(const etx_generation_config* config,
                          const float* logits, size_t vocab_size,
                          candidate_heap* heap, float* out_top,
                          etx_diag* diag) {
  const float temperature = (float)config->temperature;
  int64_t best = 0;
  ETX_TRY(etx_token_argmax(logits, vocab_size, &best, diag));
  *out_top = logits[best] / temperature;
  if (isinf(*out_top) || isnan(*out_top)) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "a logit divided by the temperature is infinite");
  }
  for (size_t i = 0; i < vocab_size; ++i) {
    const float logit = logits[i] / temperature;
    if (logit == -INFINITY) continue;
    heap->items[heap->count++] =
        (etx_candidate_token){.id = (int32_t)i, .logit = logit, .key = logit};
  }
  return ETX_OK;
}

// With beams, one token that does not end a text must be among them.
static size_t least_of(const etx_generation_config* config) {
  const size_t ends = config->eos_token_id.count;
  if (config->num_beams < 2) return 1;
  return ends == 0 ? 2 : ends + 1;
}

static void write_probabilities(candidate_heap* heap, float top) {
  const double sum = sum_weights(heap, top);
  for (size_t i = 0; i < heap->count; ++i) {
    etx_candidate_token* const token = &heap->items[i];
    token->probability = (float)(weight_of(token, top) / sum);
  }
}

static etx_status find_candidates(const etx_generation_config* config,
                                  const float* logits, size_t vocab_size,
                                  etx_candidate_token* candidates,
                                  size_t* out_count, etx_diag* diag) {
  candidate_heap heap = {.items = candidates};
  const size_t least = least_of(config);
  float top = 0.0f;
  ETX_TRY(collect(config, logits, vocab_size, &heap, &top, diag));
  if (config->top_k != 0 || config->top_p < 1.0 || config->min_p > 0.0) {
    make_heap(&heap);
  }
  if (config->top_k != 0) {
    keep_top_k(&heap, config->top_k < least ? least : config->top_k);
  }
  if (config->top_p < 1.0) keep_top_p(&heap, config->top_p, top, least);
  if (config->min_p > 0.0) keep_min_p(&heap, config->min_p, top, least);
  if (config->typical_p < 1.0) {
    keep_typical(&heap, config->typical_p, top, least);
  }
  write_probabilities(&heap, top);
  *out_count = heap.count;
  return ETX_OK;
}

etx_status etx_token_candidates(const etx_generation_config* config,
                                const float* logits, size_t vocab_size,
                                etx_candidate_token* candidates,
                                size_t* out_count, etx_diag* diag) {
  return etx_diag_seal(diag, find_candidates(config, logits, vocab_size,
                                             candidates, out_count, diag));
}

int64_t etx_token_draw(const etx_candidate_token* candidates, size_t count,
                       etx_token_random* random) {
  double sum = 0.0;
  for (size_t i = 0; i < count; ++i) sum += (double)candidates[i].probability;
  const double target = etx_token_random_next(random) * sum;
  // A probability that was rounded to 0 is not drawn.
  size_t last = 0;
  double before = 0.0;
  for (size_t i = 0; i < count; ++i) {
    if (!(candidates[i].probability > 0.0f)) continue;
    last = i;
    before += (double)candidates[i].probability;
    if (target < before) break;
  }
  return candidates[last].id;
}
