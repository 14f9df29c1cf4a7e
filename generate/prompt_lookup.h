// Drafts from the text itself: what followed the last time that its last tokens
// appeared. Good for answers that quote their prompt: summaries, corrections,
// code (Saxena, "Prompt lookup decoding", 2023).

#ifndef ETX_GENERATE_PROMPT_LOOKUP_H
#define ETX_GENERATE_PROMPT_LOOKUP_H

#include "generate/draft_source.h"

// Options; names as in transformers.
typedef struct etx_prompt_lookup {
  size_t prompt_lookup_num_tokens;  // the most tokens of a draft
  size_t max_matching_ngram_size;   // at most so many last tokens are looked
                                    // for, then fewer; 0: 2
} etx_prompt_lookup;

// A source, which borrows `lookup`. A draft takes time in proportion to the
// length of the text.
etx_draft_source etx_prompt_lookup_source(etx_prompt_lookup* lookup);

#endif
