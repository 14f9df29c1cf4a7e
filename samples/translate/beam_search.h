// Beam search over the translations of one sentence; with a width of 1, greedy
// search.
//
// Each step considers the 2 * width best continuations of the active
// hypotheses, by the sum of their log probabilities. If one of the best `width`
// ends, it is finished, and its score is its sum divided by its length. The
// `width` best that do not end become active. The search ends when `width`
// hypotheses are finished and the best active one, divided by its present
// length, is not better than the worst of them. This is the search of the
// package transformers.
//
// Ownership  all memory is one block that the caller gives.

#ifndef ETX_SAMPLES_TRANSLATE_BEAM_SEARCH_H
#define ETX_SAMPLES_TRANSLATE_BEAM_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A partial or finished translation; arrays have room for all positions.
typedef struct etx_hypothesis {
  double sum;     // of log probabilities; if finished: divided by the length
  size_t length;  // tokens
  int64_t* ids;   // [positions]
  int32_t* cache_indices;  // [positions]: the cache entry of each position
} etx_hypothesis;

typedef struct etx_beam_search {
  size_t width;      // beams; 1: greedy
  size_t positions;  // one more than the most tokens of a translation
  int64_t end_id;
  bool is_scored;  // with a width of 1; wider searches always have scores
  size_t active_count;
  etx_hypothesis* active;  // [width], best first
  etx_hypothesis* next;    // [width]: those of the next step
  size_t finished_count;
  etx_hypothesis* finished;          // [width], best first
  struct etx_candidate* candidates;  // [2 * width]
  size_t moved_bytes;                // of ids and cache indices, over all steps
  // Cache entries that would have been copied if each beam had its own cache.
  size_t avoided_copies;
} etx_beam_search;

// Bytes of the block for `init`; the block is aligned to 16.
size_t etx_beam_search_needed(size_t width, size_t positions);
// A greedy search has a score only if `is_scored`, because argmax needs no
// probabilities, and these cost an exponential for each piece.
void etx_beam_search_init(etx_beam_search* search, size_t width,
                          size_t positions, int64_t end_id, bool is_scored,
                          void* block);

// Starts a sentence with one empty hypothesis.
void etx_beam_search_reset(etx_beam_search* search);

// Extends the active hypotheses by one token, from `logits` [active, pieces].
// Returns true when the search is finished.
bool etx_beam_search_advance(etx_beam_search* search, const float* logits,
                             size_t pieces);

// The best hypothesis, after `advance` returned true.
const etx_hypothesis* etx_beam_search_best(const etx_beam_search* search);

#endif
