// Sentences in, sentences out, many at once: tokens, `encode` once for each,
// `decode` for every token of the answers.
//
//   encode(ids) --writes--> cross-attention cache <--reads-- decode(token, pos)
//                                    own cache <--reads, appends--'
//
// Both methods come from one program file and meet in its state. There are two
// forms of programs: of one sentence (pt2/), and of many rows (batch/), whose
// methods are told which rows of the caches to use (translate_steps.h).
//
// Ownership  a translator owns its module and memory until it is closed.

#ifndef ETX_SAMPLES_TRANSLATE_TRANSLATOR_H
#define ETX_SAMPLES_TRANSLATE_TRANSLATOR_H

#include "runtime/module/module.h"
#include "samples/translate/tokenizer.h"

enum { ETX_TRANSLATOR_MOST_TOKENS = 1024 };

typedef struct etx_translator {
  etx_tokenizer tokenizer;
  etx_module module;
  etx_module_shared shared;
  size_t positions;  // tokens that a sentence may have, from the program
  size_t rows;       // that a call of `decode` may have; 1 for one sentence
  bool has_rows;     // the program is of the form with rows
  const char* file;  // opened last, borrowed: what a failure to open is about
} etx_translator;

// One sentence and its answer; ids are malloc's, freed by the closing call.
typedef struct etx_sentence {
  int64_t* source;  // the end mark included
  size_t source_count;
  int64_t* answer;  // the end mark included; NULL: not translated
  size_t answer_count;
  double score;  // the mean logarithm of its tokens' probabilities, or 0
} etx_sentence;

// What a translation did, in sums over its calls.
typedef struct etx_search_counts {
  size_t tokens;         // of all answers
  size_t encode_calls;   // of the method
  size_t decode_calls;   // of the method
  size_t decode_rows;    // over all its calls
  size_t moved_bytes;    // of tables and ids, when beams changed places
  size_t spared_places;  // positions of a cache that had to be copied otherwise
} etx_search_counts;

typedef struct etx_search {
  size_t beams;      // 0 or 1: always the likeliest token
  size_t sentences;  // at once; 0: as many as the program has rows for
  bool scores;       // of the likeliest tokens, too; beams always have them
  // Told after each step how many sentences are done; may be NULL.
  void (*progress)(void* context, size_t done);
  void* context;
  etx_search_counts counts;  // added to
} etx_search;

typedef struct etx_translation {
  int64_t ids[ETX_TRANSLATOR_MOST_TOKENS];  // the end mark included
  size_t count;
} etx_translation;

// `parallel` gives the model more threads, such as a pool's, and must outlive
// the translator; NULL: one. The answers do not depend on it.
ETX_MUST_USE etx_status etx_translator_open(etx_translator* translator,
                                            const char* model_path,
                                            const char* vocabulary_path,
                                            const etx_parallel* parallel,
                                            etx_diag* diag);
void etx_translator_close(etx_translator* translator);

// Splits a text into tokens. ETX_OUT_OF_RANGE if there are more than the model
// has positions; then, as in any failure, there is nothing to close.
ETX_MUST_USE etx_status etx_sentence_open(etx_sentence* sentence,
                                          const etx_translator* translator,
                                          etx_text text, etx_diag* diag);
void etx_sentence_close(etx_sentence* sentence);

// Translates all of them, long ones first, as many at once as `search` says.
// An answer depends on its sentence alone, not on its company.
ETX_MUST_USE etx_status etx_translator_translate_all(etx_translator* translator,
                                                     etx_sentence* sentences,
                                                     size_t count,
                                                     etx_search* search,
                                                     etx_diag* diag);

// Translates one sentence, always taking the likeliest token.
ETX_MUST_USE etx_status etx_translator_translate(etx_translator* translator,
                                                 etx_text sentence,
                                                 etx_translation* out_answer,
                                                 etx_diag* diag);

#endif
