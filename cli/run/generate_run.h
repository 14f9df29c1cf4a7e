// Generates text with the methods of a session: `prefill` and `decode`, or
// `encode` and `decode` (generate/generator.h).

#ifndef ETX_CLI_RUN_GENERATE_RUN_H
#define ETX_CLI_RUN_GENERATE_RUN_H

#include "cli/run/run_session.h"
#include "exporter/host/host_memory.h"
#include "generate/assistant.h"

// What to generate. Lists of the configuration that are empty are what the
// program states; see etx_generation_config.
typedef struct etx_generate_run {
  etx_generation_config config;
  etx_token_list prompt;              // what the model reads
  size_t cached_count;                // of these, in the caches already
  const etx_tensor* sound;            // what the encoder hears, instead of a
                                      // prompt; NULL: there is a prompt
  etx_token_list decoder_start;       // what a decoder behind an encoder begins
                                      // with; empty: what the program states
  const etx_generation_hooks* hooks;  // called meanwhile
  const etx_draft_source* drafts;     // NULL: none
  etx_assistant* assistant;  // that makes them, with the same configuration;
                             // NULL: none does
} etx_generate_run;

// The generator of a session, with `prefill` if it has this method.
ETX_MUST_USE etx_status etx_generate_run_open(etx_run_session* session,
                                              etx_generator* out_generator,
                                              etx_diag* diag);

// The input of `encode` for sound: samples (input_values) or features of them
// (input_features).
ETX_MUST_USE etx_status etx_generate_run_find_sound(etx_method* encode,
                                                    size_t* out_index,
                                                    bool* out_has_features,
                                                    etx_diag* diag);

// Writes the texts, in memory of the pool. `out_start` is how many tokens of
// each are in front of the new ones.
ETX_MUST_USE etx_status etx_generate_run_all(etx_run_session* session,
                                             const etx_generate_run* run,
                                             etx_pool* pool,
                                             etx_generation_result* out_result,
                                             size_t* out_start, etx_diag* diag);

#endif
