// Generates text with the methods of a loaded program: runs the prompt, chooses
// tokens, and runs each of them, until the text ends.
//
//   etx_generator generator;
//   etx_generation_config config;
//   etx_generation_config_init(&config);
//   etx_generator_init(&generator, prefill, decode, &diag);
//   etx_generator_defaults(&generator, &config);
//   etx_generate_needed(&generator, &config, &prompt, &bytes, &diag);
//   etx_generate(&generator, &config, &prompt, memory, &result, &diag);
//
// The methods have the inputs that programs of `etx.hf` have
// (python/etx/hf/README.md), by name:
//
//   input_ids  int64 [B, S]   tokens of B rows; decode takes S = 1
//   position   int64 [1]      tokens that the caches hold already
//   padding    int64 [B]      optional: padding at the start of each row
//   beam_rows  int64 [B, L]   optional: the row that has each position's entry
//
// and `logits`, float32 [B, V] or [B, S, V], as their first output; of the
// second form the last token counts. Rows that no text needs repeat another
// one.
//
// `verify`, for drafts (draft_source.h), takes S tokens and has logits
// [B, S, V]. It stores their entries by position, as the others do, so that
// those of tokens that are not kept are written again; the program states
// get_max_context_len, so that no draft reaches beyond the caches.
//
// Ownership  methods, config and prompt are borrowed; all memory is one
//            block of the caller's. The methods' inputs lie in it after the
//            call, so they are set again before another run.
// Threads    as for methods: one generator, one thread.

#ifndef ETX_GENERATE_GENERATOR_H
#define ETX_GENERATE_GENERATOR_H

#include "generate/draft_source.h"
#include "generate/program_tokens.h"
#include "generate/stop_strings.h"
#include "runtime/method.h"

// A method and the positions of its inputs.
typedef struct etx_generator_method {
  etx_method* method;   // NULL: the program has no such method
  size_t input_ids;     // place of this input among its inputs
  size_t position;      // the same of position
  size_t padding;       // the same of padding; SIZE_MAX: it has none
  size_t beam_rows;     // the same of beam_rows; SIZE_MAX: it has none
  size_t rows;          // B
  size_t least_tokens;  // the smallest S: 1, or the only one
  size_t most_tokens;   // the largest S
  size_t most_entries;  // L, of beam_rows; 0 without it
  size_t vocab_size;    // V
  bool has_all_logits;  // its logits are [B, S, V]
} etx_generator_method;

// The methods and what they take. Fields may be read; only functions here
// write them.
typedef struct etx_generator {
  etx_generator_method prefill;  // its method may be NULL
  etx_generator_method decode;   // method of one token
  etx_generator_method verify;   // its method may be NULL
  size_t rows;                   // B
  size_t vocab_size;             // V
  size_t context_length;  // positions of the caches; SIZE_MAX: not stated
  int64_t eos_ids[ETX_PROGRAM_TOKENS_MAX];  // that the program states as
                                            // integers, not as a tensor
  size_t eos_count;                         // of them
} etx_generator;

// Finds the inputs of the methods, which are loaded and outlive the generator.
// `prefill` may be NULL: then prompts run through `decode`, token by token.
// ETX_BAD_ARGUMENT: a method does not have the form above.
ETX_MUST_USE etx_status etx_generator_init(etx_generator* generator,
                                           etx_method* prefill,
                                           etx_method* decode, etx_diag* diag);

// Adds the method that checks drafts, which is loaded and outlives the
// generator. ETX_BAD_ARGUMENT: it does not have the form above, or other sizes
// than the generator has.
ETX_MUST_USE etx_status etx_generator_add_verify(etx_generator* generator,
                                                 etx_method* verify,
                                                 etx_diag* diag);

// Sets what the program's constant methods state: eos_token_id from
// get_eos_ids, pad_token_id from get_pad_id, suppress_tokens and
// begin_suppress_tokens. Lists are borrowed from program and generator.
void etx_generator_defaults(const etx_generator* generator,
                            etx_generation_config* config);

// Functions of the caller's. All may be NULL.
typedef struct etx_generation_hooks {
  // Called for each new token of each text, end tokens included, without beams.
  // False ends all texts.
  bool (*token)(void* context, size_t text, int64_t id);
  // Called after each step with the number of new tokens. False ends all texts.
  bool (*step)(void* context, size_t new_tokens);
  void* context;          // handed to token and step unchanged
  etx_token_texts texts;  // needed for stop strings
} etx_generation_hooks;

// The texts to be continued, all of one length.
typedef struct etx_generation_prompt {
  const int64_t* ids;      // [rows, count]
  size_t rows;             // texts
  size_t count;            // tokens of each, padding included; at least 1
  const int64_t* padding;  // [rows]: tokens at the start of each row that are
                           // padding; NULL: none
  size_t cached_count;  // tokens of each that the caches hold already, from an
                        // earlier call or a restored session; below count
  size_t row_stride;    // rows of the methods from one text to the next, as
                        // their encoder laid them out; 0: num_beams
  const etx_generation_hooks* hooks;  // called meanwhile; NULL: none
  // Guesses tokens, which `verify` checks; NULL: none. For one text without
  // beams; the text is the same as without.
  const etx_draft_source* drafts;
} etx_generation_prompt;

// Why a text ended.
typedef enum etx_generation_end {
  ETX_GENERATION_END_TOKEN,    // its last token is one of eos_token_id
  ETX_GENERATION_STOP_STRING,  // its last token completed a stop string
  ETX_GENERATION_LENGTH,       // max_new_tokens, or the caches are full
  ETX_GENERATION_CANCELLED     // a hook returned false
} etx_generation_end;

// A generated text.
typedef struct etx_generated_text {
  const int64_t* ids;      // prompt and new tokens, in the caller's block
  size_t count;            // of ids
  double score;            // of beam search; 0 without
  etx_generation_end end;  // why it ended
} etx_generated_text;

// All texts: num_return_sequences for each row of the prompt, the best first.
typedef struct etx_generation_result {
  const etx_generated_text* texts;  // in the caller's block
  size_t count;                     // of texts
  size_t steps;                     // tokens that were chosen one after another
  size_t drafted;                   // tokens of drafts that were checked
  size_t accepted;                  // how many of them the text has
} etx_generation_result;

// Bytes of the block for etx_generate. ETX_BAD_ARGUMENT, ETX_OUT_OF_RANGE: the
// options, the prompt or both do not fit the methods.
ETX_MUST_USE etx_status etx_generate_needed(const etx_generator* generator,
                                            const etx_generation_config* config,
                                            const etx_generation_prompt* prompt,
                                            size_t* out_bytes, etx_diag* diag);

// Generates. After it returns, also after a cancellation,
// the session may be used for anything; its caches hold all tokens of the texts
// but the last, without beams, and those of the prompt with beams. Entries
// behind them may be those of drafts, which the next call writes again.
// ETX_OUT_OF_MEMORY: `memory`, aligned to 16, has fewer bytes than
// etx_generate_needed states; for the rest see there and etx_method_run.
ETX_MUST_USE etx_status etx_generate(const etx_generator* generator,
                                     const etx_generation_config* config,
                                     const etx_generation_prompt* prompt,
                                     etx_bytes_mut memory,
                                     etx_generation_result* out_result,
                                     etx_diag* diag);

#endif
