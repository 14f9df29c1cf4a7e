// Where drafts come from: tokens that may follow a text, guessed cheaply. The
// model checks several of them in one call of `verify` and keeps those that it
// would have chosen itself, so drafts change how long a text takes, and never
// the text.
//
// Sources are prompt_lookup.h, assistant.h, and functions of the caller's.

#ifndef ETX_GENERATE_DRAFT_SOURCE_H
#define ETX_GENERATE_DRAFT_SOURCE_H

#include "generate/logits_processors.h"

// A function that proposes tokens, and what it is given.
typedef struct etx_draft_source {
  // Writes up to `most` tokens that may follow `text`, of which there is at
  // least one, to `out_ids` [most]. Tokens that the vocabulary does not have,
  // and what is behind them, are dropped. A failure ends etx_generate.
  etx_status (*propose)(void* context, const etx_text_so_far* text, size_t most,
                        int64_t* out_ids, size_t* out_count, etx_diag* diag);
  void* context;  // handed to propose unchanged
} etx_draft_source;

#endif
