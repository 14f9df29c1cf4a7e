// Changes the logits of a text's next token before it is chosen: what the
// `LogitsProcessorList` of transformers does, in its order.
//
//   sequence_bias, repetition_penalty, frequency_penalty and presence_penalty,
//   no_repeat_ngram_size, bad_words_ids, min_length, min_new_tokens,
//   forced_bos_token_id, forced_eos_token_id, suppress_tokens,
//   begin_suppress_tokens
//
// frequency_penalty and presence_penalty are those of the OpenAI API, which
// transformers does not have.

#ifndef ETX_GENERATE_LOGITS_PROCESSORS_H
#define ETX_GENERATE_LOGITS_PROCESSORS_H

#include "generate/generation_config.h"

// The tokens so far.
typedef struct etx_text_so_far {
  const int64_t* ids;   // prompt and new tokens, each a token of the vocabulary
  size_t count;         // of ids
  size_t prompt_count;  // how many of them are the prompt, padding included
  size_t padding;     // tokens at the start that repetition_penalty leaves out,
                      // as transformers 5 does
  size_t max_length;  // the most tokens that the text may have in all
} etx_text_so_far;

// Bytes of `scratch` for a vocabulary.
size_t etx_logits_process_needed(size_t vocab_size);

// Changes `logits` [vocab_size] in place. A token that must not be chosen gets
// minus infinity. `scratch` may have any content and alignment. `config` passed
// etx_generation_config_check for this vocabulary.
void etx_logits_process(const etx_generation_config* config,
                        const etx_text_so_far* text, float* logits,
                        size_t vocab_size, uint8_t* scratch);

#endif
