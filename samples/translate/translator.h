// Translates many sentences at once: `encode` is called once for each sentence,
// `decode` for every token of the translations.
//
//   encode(ids) --writes--> cross-attention cache <--reads-- decode(token, pos)
//                                    own cache <--reads, appends--'
//
// Both methods are in one program file and share its state. There are two forms
// of programs: for one sentence (model/pt2), and with many rows (model/batch),
// whose methods take indices of cache entries as inputs (translate_steps.h).
//
// Ownership  a translator owns its module and memory until it is closed.

#ifndef ETX_SAMPLES_TRANSLATE_TRANSLATOR_H
#define ETX_SAMPLES_TRANSLATE_TRANSLATOR_H

#include "runtime/module/module.h"
#include "samples/translate/translate_tokenizer.h"

enum { ETX_TRANSLATOR_MAX_TOKENS = 1024 };

typedef struct etx_translator {
  etx_translate_tokenizer tokenizer;
  etx_module module;
  etx_module_shared shared;
  size_t positions;  // most tokens of a sentence, from the program
  size_t rows;       // most rows of a call of `decode`; 1 in model/pt2
  bool has_rows;     // whether the program has the form of model/batch
  const char* file;  // the last file opened, borrowed; for error messages
} etx_translator;

// One sentence and its translation; etx_sentence_close frees the ids.
typedef struct etx_sentence {
  int64_t* source;  // token ids, the last is the end mark
  size_t source_count;
  int64_t* target;  // as source; NULL: not translated yet
  size_t target_count;
  double score;  // mean log probability of the target's tokens, or 0
} etx_sentence;

// Counts, summed over all calls.
typedef struct etx_search_counts {
  size_t tokens;  // of all translations
  size_t encode_calls;
  size_t decode_calls;
  size_t decode_rows;  // rows of all calls of decode
  size_t moved_bytes;  // ids and cache indices that beam search copied
  // Cache entries that would have been copied if each beam had its own cache.
  size_t avoided_copies;
} etx_search_counts;

typedef struct etx_search {
  size_t beams;      // 0 or 1: greedy
  size_t sentences;  // at once; 0: as many as the program has rows for
  bool scores;       // compute scores; beam search always does
  // Called after each step with the number of finished sentences; may be NULL.
  void (*progress)(void* context, size_t done);
  void* context;
  etx_search_counts counts;  // each search adds to these
} etx_search;

typedef struct etx_translation {
  int64_t ids[ETX_TRANSLATOR_MAX_TOKENS];  // the last is the end mark
  size_t count;
} etx_translation;

// `parallel` is the hook through which kernels use more threads, such as those
// of a thread pool. It must outlive the translator; NULL: one thread.
// Translations do not depend on it.
ETX_MUST_USE etx_status etx_translator_open(etx_translator* translator,
                                            const char* model_path,
                                            const char* vocabulary_path,
                                            const etx_parallel* parallel,
                                            etx_diag* diag);
void etx_translator_close(etx_translator* translator);

// Splits a text into tokens. ETX_OUT_OF_RANGE if they are more than the model
// has positions. After a failure there is nothing to close.
ETX_MUST_USE etx_status etx_sentence_open(etx_sentence* sentence,
                                          const etx_translator* translator,
                                          etx_text text, etx_diag* diag);
void etx_sentence_close(etx_sentence* sentence);

#endif
