// Finds out whether a text ends in a stop string, which may begin and end
// inside of tokens.

#ifndef ETX_GENERATE_STOP_STRINGS_H
#define ETX_GENERATE_STOP_STRINGS_H

#include "generate/generation_config.h"

// The text of tokens, from a tokenizer.
typedef struct etx_token_texts {
  // The bytes that a token adds to a text; they stay until the next call.
  etx_text (*text_of)(void* context, int64_t id);
  void* context;  // handed to text_of unchanged
} etx_token_texts;

// True if a stop string ends in the last of `count` tokens. Earlier tokens,
// those of a prompt among them, may have its beginning, as in transformers.
bool etx_stop_strings_found(const etx_generation_config* config,
                            const etx_token_texts* texts, const int64_t* ids,
                            size_t count);

#endif
