// The options that all commands that generate text have. They mean what they
// mean for generate of the Python package transformers.

#ifndef ETX_CLI_TEXT_GENERATION_OPTIONS_H
#define ETX_CLI_TEXT_GENERATION_OPTIONS_H

#include "cli/base/option_table.h"
#include "exporter/host/host_memory.h"
#include "generate/generation_config.h"

typedef struct etx_generation_options {
  const char* tokenizer;     // a file; NULL: the program's
  const char* eos_token_id;  // "2,3"; NULL: the program's
  uint64_t max_new_tokens, min_new_tokens;
  bool do_sample;
  double temperature, top_p, min_p, typical_p;
  uint64_t top_k, seed;
  uint64_t num_beams, num_return_sequences;
  double length_penalty;
  int early_stopping;
  double repetition_penalty, frequency_penalty, presence_penalty;
  uint64_t no_repeat_ngram_size;
  etx_option_list stop;  // strings that end a text
  uint64_t threads;
  bool prefault, mlock;
  bool json;
} etx_generation_options;

// The defaults, with the most new tokens as the command has it.
void etx_generation_options_init(etx_generation_options* options,
                                 uint64_t max_new_tokens);

// Writes the rows of `own`, which an empty row ends, and then those of
// `options`, for ETX_OPTION_MAX rows and an empty one. Returns `rows`.
const etx_option* etx_generation_options_rows(etx_generation_options* options,
                                              const etx_option* own,
                                              etx_option* rows);

// Reads "1,2,3" as the value of an option. False after a message.
bool etx_token_option_read(const char* command, const char* option,
                           const char* text, etx_pool* pool,
                           etx_token_list* out);

// Writes the configuration. Lists are in memory of the pool. eos_token_id is
// empty if the program decides. False after a message.
bool etx_generation_options_config(const char* command,
                                   const etx_generation_options* options,
                                   etx_pool* pool, etx_generation_config* out);

#endif
