// Drafts of a smaller model with the same tokenizer (Leviathan and others,
// "Fast inference from transformers via speculative decoding", 2023).
//
// The assistant chooses with the options of the text, and draws with the same
// random numbers as the model does, so that models of similar distributions
// draw the same tokens, and the text stays that of the model alone. (Rejection
// sampling accepts more tokens of unlike models, but its texts differ from
// those without drafts.)
//
//   etx_assistant_needed(&small_generator, &config, &bytes, &diag);
//   etx_assistant_init(&assistant, &small_generator, &config, memory, &diag);
//   const etx_draft_source drafts = etx_assistant_source(&assistant);
//   prompt.drafts = &drafts;
//
// Ownership  generator and config are borrowed; all memory is of one block.
// Threads    one assistant, one thread.

#ifndef ETX_GENERATE_ASSISTANT_H
#define ETX_GENERATE_ASSISTANT_H

#include "generate/draft_source.h"
#include "generate/generator_call.h"
#include "generate/token_choice.h"

// An assistant. It knows what its caches hold, so a text that continues an
// earlier one runs only what is new, also in a later call of etx_generate.
// Only functions here write its fields, but for the first two.
typedef struct etx_assistant {
  const etx_generation_config* config;  // of the text. May be set after init,
                                        // but do_sample stays.
  size_t num_assistant_tokens;  // the most tokens of a draft; 0: as many as
                                // verify takes. May be set after init.
  etx_generator_call call;      // of the smaller program
  etx_choice_scratch scratch;   // for choosing tokens
  etx_token_random random;      // set anew for each token
  float* row;                   // [vocab_size]: logits that are being changed
  int64_t* cached;         // [cached_capacity]: tokens that the caches hold
  size_t cached_count;     // of them; padding included
  size_t cached_padding;   // how many of them are padding
  size_t cached_capacity;  // positions of its caches
} etx_assistant;

// Bytes of the block for etx_assistant_init. ETX_OUT_OF_RANGE: more than this
// machine can address.
ETX_MUST_USE etx_status etx_assistant_needed(
    const etx_generator* generator, const etx_generation_config* config,
    size_t* out_bytes, etx_diag* diag);

// Begins with empty caches. `generator` has one text at a time, whatever its
// rows. ETX_OUT_OF_MEMORY: `memory`, aligned to 16, has fewer bytes than
// etx_assistant_needed states.
ETX_MUST_USE etx_status etx_assistant_init(etx_assistant* assistant,
                                           const etx_generator* generator,
                                           const etx_generation_config* config,
                                           etx_bytes_mut memory,
                                           etx_diag* diag);

// A source, which borrows `assistant`. It proposes nothing once the text has a
// token that the assistant's vocabulary does not have, or is longer than its
// caches.
etx_draft_source etx_assistant_source(etx_assistant* assistant);

#endif
