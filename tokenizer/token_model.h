// The model that turns pieces into ids: reads it from the file, and encodes.
// Internal to tokenizer/.

#ifndef ETX_TOKENIZER_TOKEN_MODEL_H
#define ETX_TOKENIZER_TOKEN_MODEL_H

#include "tokenizer/json_cursor.h"
#include "tokenizer/model_data.h"

// Reads the model of the file. The vocabulary has room for ids below `id_count`.
ETX_MUST_USE etx_status etx_token_model_load(etx_cursor_value object,
                                             size_t id_count, etx_arena* arena,
                                             etx_token_model* out,
                                             etx_diag* diag);
// One more than the largest id of the vocabulary.
ETX_MUST_USE etx_status etx_token_model_id_count(etx_cursor_value model,
                                                 size_t* out, etx_diag* diag);

// Encodes bytes `begin` to `end` of the present text.
ETX_MUST_USE etx_status etx_token_model_encode(const etx_token_model* model,
                                               etx_encode_work* work,
                                               size_t begin, size_t end,
                                               etx_id_sink sink,
                                               etx_diag* diag);

#endif
