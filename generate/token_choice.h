// Chooses the next token of a text: changes its logits as the options say, and
// takes the most probable token or draws one.

#ifndef ETX_GENERATE_TOKEN_CHOICE_H
#define ETX_GENERATE_TOKEN_CHOICE_H

#include "generate/logits_processors.h"
#include "generate/token_sampling.h"

// What all choices of a call share, borrowed.
typedef struct etx_choice_scratch {
  size_t vocab_size;                // logits of a text
  uint8_t* marks;                   // etx_logits_process_needed
  etx_candidate_token* candidates;  // [vocab_size]; NULL without do_sample
  etx_token_random* random;         // where draws come from
} etx_choice_scratch;

// Chooses the token that follows `text`, from `logits` [vocab_size], which are
// changed. Draws one number if do_sample is set. Fails as etx_token_argmax and
// etx_token_candidates do.
ETX_MUST_USE etx_status etx_token_choose(const etx_generation_config* config,
                                         const etx_text_so_far* text,
                                         float* logits,
                                         const etx_choice_scratch* scratch,
                                         int64_t* out_id, etx_diag* diag);

#endif
