// How tokens are chosen and when a text ends. Fields have the names and the
// meaning of `GenerationConfig` of the Python package transformers.
//
// Ownership  lists are borrowed from the caller as long as the struct is used.
// Threads    a const config may be read by many threads.

#ifndef ETX_GENERATE_GENERATION_CONFIG_H
#define ETX_GENERATE_GENERATION_CONFIG_H

#include "format/base/diag.h"

// Token ids, from 0 to below the number of tokens of the vocabulary.
typedef struct etx_token_list {
  const int64_t* ids;  // may be NULL if there are none
  size_t count;        // of ids
} etx_token_list;

// What is added to the logit of the last token of a sequence when the tokens
// before it are the last of the text.
typedef struct etx_sequence_bias {
  etx_token_list sequence;  // one or more tokens
  float bias;               // may be infinite
} etx_sequence_bias;

// When beam search ends.
typedef enum etx_early_stopping {
  // When the best active beam, at its present length, cannot be better than the
  // worst finished one.
  ETX_EARLY_STOPPING_FALSE,
  // As soon as there are num_beams finished texts.
  ETX_EARLY_STOPPING_TRUE,
  // When no active beam can become better at any length.
  ETX_EARLY_STOPPING_NEVER
} etx_early_stopping;

// All options of one text. etx_generation_config_init gives the defaults:
// greedy search for 20 tokens.
typedef struct etx_generation_config {
  // Lengths, in tokens.
  size_t max_new_tokens;  // at least 1
  size_t min_new_tokens;  // no end token before so many new ones
  size_t min_length;      // the same with the prompt counted

  // Search.
  size_t num_beams;                   // 1: greedy search, or sampling
  float length_penalty;               // a score is sum / length^penalty
  etx_early_stopping early_stopping;  // of beam search
  size_t num_return_sequences;        // the best beams; at most num_beams

  // Sampling, in this order, if do_sample is set.
  bool do_sample;      // draw tokens by their probabilities
  double temperature;  // divides logits; above 0
  size_t top_k;        // keep the k most probable; 0: all; at first 50
  double top_p;        // keep the most probable with this sum; 1: all
  double min_p;        // keep those of min_p times the largest; 0: all
  double typical_p;    // keep the most typical with this sum; 1: all
  uint64_t seed;       // equal seeds draw equal tokens on every machine

  // Changes of logits, in this order.
  const etx_sequence_bias* sequence_bias;  // added to logits
  size_t sequence_bias_count;              // of sequence_bias
  float repetition_penalty;     // of tokens of prompt and text; 1: none
  float frequency_penalty;      // times the count among new tokens, subtracted
  float presence_penalty;       // subtracted if among the new tokens
  size_t no_repeat_ngram_size;  // no sequence of so many tokens twice; 0: any
  const etx_token_list* bad_words_ids;  // sequences that must not appear
  size_t bad_words_count;               // of bad_words_ids
  int64_t forced_bos_token_id;  // the token after a prompt of one; -1: any
  etx_token_list forced_eos_token_id;    // the last token at the largest length
  etx_token_list suppress_tokens;        // never chosen
  etx_token_list begin_suppress_tokens;  // not chosen as the first new one

  // Ends.
  etx_token_list eos_token_id;   // tokens that end a text
  int64_t pad_token_id;          // behind a text that ended; -1: the first of
                                 // eos_token_id, or 0
  const etx_text* stop_strings;  // a text ends when one of them appears
  size_t stop_string_count;      // of stop_strings
} etx_generation_config;

// Writes the defaults of transformers.
void etx_generation_config_init(etx_generation_config* config);

// True if the token ends a text.
static inline bool etx_is_end_token(const etx_generation_config* config,
                                    int64_t id) {
  const etx_token_list ends = config->eos_token_id;
  for (size_t i = 0; i < ends.count; ++i) {
    if (ends.ids[i] == id) return true;
  }
  return false;
}

// Refuses options out of their range, and ids that are not below `vocab_size`.
// ETX_BAD_ARGUMENT: the message names the field, what it is and what it may be.
ETX_MUST_USE etx_status etx_generation_config_check(
    const etx_generation_config* config, size_t vocab_size, etx_diag* diag);

#endif
