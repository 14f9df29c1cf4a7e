// One sentence in, one sentence out: tokens, `encode` once, `decode` for every
// token of the answer, always taking the likeliest.
//
//   encode(ids) --writes--> cross-attention cache <--reads-- decode(token, pos)
//                                    own cache <--reads, appends--'
//
// Both methods come from one program file and meet in its state.
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
} etx_translator;

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

// Translates one sentence. ETX_OUT_OF_RANGE if it has more tokens than the
// model has positions.
ETX_MUST_USE etx_status etx_translator_translate(etx_translator* translator,
                                                 etx_text sentence,
                                                 etx_translation* out_answer,
                                                 etx_diag* diag);

#endif
