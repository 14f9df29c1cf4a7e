// The beams of one prompt: the beam search of transformers.
//
// Each step takes the K best continuations of all active beams, by the sum of
// the log probabilities of new tokens; K is num_beams times one more than there
// are end tokens, so that num_beams of them go on. Those of the best num_beams
// that end are finished, with the score sum / length^length_penalty. The best
// num_beams that do not end are the active ones of the next step.
//
// With do_sample, continuations are drawn without replacement (Kool and others,
// "Stochastic beams and where to find them", 2019), and the first num_beams
// that are drawn count as the best.
//
// Ownership  all memory is of the arena given to `init`.

#ifndef ETX_GENERATE_BEAM_GROUP_H
#define ETX_GENERATE_BEAM_GROUP_H

#include "format/base/arena.h"
#include "generate/stop_strings.h"
#include "generate/token_choice.h"

// A text, active or finished.
typedef struct etx_beam {
  int64_t* ids;   // [max_length]: prompt and new tokens
  size_t count;   // of ids
  double sum;     // of log probabilities; of a finished beam the score
  size_t parent;  // the active beam that it continues
} etx_beam;

// A continuation that is considered.
typedef struct etx_beam_step {
  double key;     // the sum, or the sum with noise if sampled
  double sum;     // of log probabilities
  size_t parent;  // an active beam
  int64_t id;     // the token
} etx_beam_step;

// One search. Fields may be read; only functions here write them.
typedef struct etx_beam_group {
  const etx_generation_config* config;  // borrowed
  const etx_token_texts* texts;         // for stop strings, borrowed
  size_t prompt_count;                  // tokens of the prompt
  size_t padding;                       // how many of them are padding
  size_t max_length;                    // the most tokens in all
  etx_beam* active;                     // [num_beams], best first
  size_t active_count;                  // of active
  etx_beam* next;                       // [num_beams]: of the next step
  etx_beam* finished;     // [num_beams + 1], best first; one spare
  size_t finished_count;  // of finished
  etx_beam_step* steps;   // [step_room]
  size_t step_room;       // K
  size_t step_count;      // of steps
  bool is_done;           // the search has ended
} etx_beam_group;

// Takes memory for `max_length` tokens. False if the arena has too little; a
// counting arena counts it.
bool etx_beam_group_init(etx_beam_group* group,
                         const etx_generation_config* config,
                         const etx_token_texts* texts, size_t prompt_count,
                         size_t max_length, etx_arena* arena);

// Begins with one beam, the prompt [prompt_count], whose first `padding` tokens
// are padding.
void etx_beam_group_start(etx_beam_group* group, const int64_t* prompt,
                          size_t padding);

// Considers the continuations of active beam `index`, from `logits`
// [vocab_size], which are changed. All active beams are considered, in order,
// before etx_beam_group_advance. Fails as etx_token_candidates does.
ETX_MUST_USE etx_status
etx_beam_group_consider(etx_beam_group* group, size_t index, float* logits,
                        const etx_choice_scratch* scratch, etx_diag* diag);

// Makes the best continuations the active beams, whose `parent` is then their
// beam of the step before. Sets is_done.
void etx_beam_group_advance(etx_beam_group* group);

#endif
