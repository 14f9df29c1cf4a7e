// The options for drafts (generate/draft_source.h), and what they open.

#ifndef ETX_CLI_TEXT_DRAFT_OPTIONS_H
#define ETX_CLI_TEXT_DRAFT_OPTIONS_H

#include "cli/base/option_table.h"
#include "cli/run/generate_run.h"
#include "generate/prompt_lookup.h"

// No drafts if all are zero. Names as in transformers.
typedef struct etx_draft_options {
  const char* assistant_model;  // a program's path
  uint64_t num_assistant_tokens;
  uint64_t prompt_lookup_num_tokens, max_matching_ngram_size;
} etx_draft_options;

// The rows of `options`, for ETX_OPTIONS.
#define ETX_DRAFT_OPTION_ROWS(options)                                     \
  ETX_TEXT("assistant-model", 0, "FILE",                                   \
           "a smaller program whose tokens this one checks, several in a " \
           "call of its method verify; the text is the same",              \
           &(options)->assistant_model),                                   \
      ETX_COUNT("num-assistant-tokens", 0, "N",                            \
                "its tokens at a time (default: as many as verify takes)", \
                &(options)->num_assistant_tokens),                         \
      ETX_COUNT("prompt-lookup-num-tokens", 0, "N",                        \
                "check N tokens that follow an earlier place of the last " \
                "ones, for answers that quote the prompt",                 \
                &(options)->prompt_lookup_num_tokens),                     \
      ETX_COUNT("max-matching-ngram-size", 0, "N",                         \
                "the most last tokens that are looked for (default: 2)",   \
                &(options)->max_matching_ngram_size)

// A source of drafts. Must not be moved in memory.
typedef struct etx_drafts {
  etx_run_session session;  // of the assistant
  bool has_session;
  etx_generator generator;   // of the assistant
  etx_assistant assistant;   // the same
  etx_prompt_lookup lookup;  // of prompt-lookup-num-tokens
  etx_draft_source source;   // propose NULL: no drafts
} etx_drafts;

// Opens what the options name with the options of a session, and sets `run` to
// take drafts from it. An error is reported, and the code is ETX_EXIT_DONE
// without one. Memory is of the pool.
etx_exit etx_drafts_open(etx_drafts* drafts, const char* command,
                         const etx_draft_options* options,
                         const etx_run_session_options* session, etx_pool* pool,
                         etx_generate_run* run);
void etx_drafts_close(etx_drafts* drafts);

#endif
