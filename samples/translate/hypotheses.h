// The answers to one sentence that are still being written, and of beam search
// those that ended: which continuations live on.
//
// Of all continuations the 2 * width best by summed logarithms of
// probabilities are looked at. One of the first `width` that ends is kept,
// worth its sum divided by its length; the `width` best that do not end run
// on. The search is over when `width` are kept and the best that runs, at its
// present length, is not above the worst of them.
//
// Ownership  all memory is one block that the caller gives.

#ifndef ETX_SAMPLES_TRANSLATE_HYPOTHESES_H
#define ETX_SAMPLES_TRANSLATE_HYPOTHESES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// An answer of `length` tokens; arrays have room for all positions.
typedef struct etx_hypothesis {
  double sum;     // of logarithms; when it ended: divided by its length
  size_t length;  // tokens
  int64_t* ids;   // [positions]
  int32_t* own;   // [positions]: where in the cache each position lies
} etx_hypothesis;

typedef struct etx_hypotheses {
  size_t width;      // beams; 1: always the likeliest token
  size_t positions;  // tokens of an answer at most, and one more
  int64_t end_id;
  bool is_scored;  // of a width of 1; wider ones always are
  size_t running_count;
  etx_hypothesis* running;  // [width], best first
  etx_hypothesis* next;     // [width]: those of the next step
  size_t ended_count;
  etx_hypothesis* ended;             // [width], best first
  struct etx_candidate* candidates;  // [2 * width]
  size_t moved_bytes;    // of tables and ids, over all changes of place
  size_t spared_places;  // that would have moved with a cache for each answer
} etx_hypotheses;

// Bytes of the block that init takes, aligned to 16.
size_t etx_hypotheses_needed(size_t width, size_t positions);
// An answer of the likeliest tokens has a sum only if `is_scored`: taking the
// likeliest needs no probabilities, and they cost exponentials of all pieces.
void etx_hypotheses_init(etx_hypotheses* all, size_t width, size_t positions,
                         int64_t end_id, bool is_scored, void* block);

// Starts a sentence: one empty answer.
void etx_hypotheses_reset(etx_hypotheses* all);

// Continues every running answer by what `logits` [running, pieces] say.
// Returns true when the best answer is found.
bool etx_hypotheses_advance(etx_hypotheses* all, const float* logits,
                            size_t pieces);

// The best answer, after `advance` returned true.
const etx_hypothesis* etx_hypotheses_best(const etx_hypotheses* all);

#endif
