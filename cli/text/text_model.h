// A program that reads or writes text: a session, and the tokenizer that the
// program carries or that a file has.

#ifndef ETX_CLI_TEXT_TEXT_MODEL_H
#define ETX_CLI_TEXT_TEXT_MODEL_H

#include "cli/run/run_session.h"
#include "exporter/host/host_memory.h"
#include "generate/generation_config.h"
#include "tokenizer/tokenizer.h"

typedef struct etx_text_model {
  etx_run_session session;
  etx_tokenizer tokenizer;  // content NULL: there is none
  void* block;              // of the tokenizer
  etx_bytes_mut memory;     // of encoding and decoding, grown as needed
  etx_pool pool;            // of ids, texts and calls; ends with the model
} etx_text_model;

// Where a text comes from and goes to, which decides what stands around it.
typedef enum etx_text_use {
  ETX_TEXT_PLAIN,   // no special tokens around it
  ETX_TEXT_PROMPT,  // what a decoder continues
  ETX_TEXT_SOURCE,  // what an encoder reads
} etx_text_use;

// Opens the program at `path` with the options of its session. The tokenizer is
// the file at `tokenizer_path`, or, if that is NULL, the one that the program
// carries. Without one the model opens if `needs_tokenizer` is false. On
// failure nothing stays open.
ETX_MUST_USE etx_status
etx_text_model_open(etx_text_model* model, const char* path,
                    const char* tokenizer_path, bool needs_tokenizer,
                    const etx_run_session_options* session, etx_diag* diag);
void etx_text_model_close(etx_text_model* model);

// Encodes a text. The ids are in memory of `pool`.
ETX_MUST_USE etx_status etx_text_model_encode(etx_text_model* model,
                                              etx_text text, etx_text_use use,
                                              etx_pool* pool,
                                              etx_token_list* out,
                                              etx_diag* diag);

// Decodes ids without special tokens. The text stays until the next call.
ETX_MUST_USE etx_status etx_text_model_decode(etx_text_model* model,
                                              const int64_t* ids, size_t count,
                                              etx_text* out, etx_diag* diag);

// What a token adds to a text: etx_token_texts.text_of. `context` is the model.
// The text stays until the next call of a function of this file.
etx_text etx_text_model_text_of(void* context, int64_t id);

// What a constant method of the program states; `otherwise`, or false, if there
// is none of this type.
int64_t etx_text_model_integer(const etx_text_model* model, const char* name,
                               int64_t otherwise);
bool etx_text_model_string(const etx_text_model* model, const char* name,
                           etx_text* out);

// The token that a constant method states, the first of several; -1: none.
int64_t etx_text_model_token(const etx_text_model* model, const char* name);
bool etx_text_model_has_method(const etx_text_model* model, const char* name);

#endif
