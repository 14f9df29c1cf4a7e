// One text of a model, printed as it comes: as text, as tokens, or as JSON.

#ifndef ETX_CLI_TEXT_TEXT_ANSWER_H
#define ETX_CLI_TEXT_TEXT_ANSWER_H

#include "cli/base/exit_code.h"
#include "cli/run/generate_run.h"
#include "cli/text/text_model.h"

typedef enum etx_text_form {
  ETX_TEXT_AS_TEXT,    // each text, and a line end
  ETX_TEXT_AS_LINE,    // the same on one line: line ends become spaces
  ETX_TEXT_AS_TOKENS,  // numbers, and a line end
  ETX_TEXT_AS_JSON     // objects {"token", "text"}, then {"text", "ids", "end"}
} etx_text_form;

typedef struct etx_text_answer {
  const char* command;  // for messages
  const char* file;     // the same
  etx_text_model* model;
  etx_text_form form;
  etx_generate_run run;  // but for its hooks
} etx_text_answer;

// The tokens of the first text, without those that it continues.
typedef struct etx_text_answer_tokens {
  etx_token_list ids;      // in memory of the pool
  etx_generation_end end;  // why the text ended
} etx_text_answer_tokens;

// Generates and prints. Ctrl-C, which the command watches (interrupt.h), ends
// the text; then the code is ETX_EXIT_INTERRUPTED, and a line on standard error
// says how far it came. `out_tokens` may be NULL.
etx_exit etx_text_answer_run(etx_text_answer* answer, etx_pool* pool,
                             etx_text_answer_tokens* out_tokens);

#endif
