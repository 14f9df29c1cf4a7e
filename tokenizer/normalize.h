// Normalizers and pre-tokenizers at work. Internal to tokenizer/.

#ifndef ETX_TOKENIZER_NORMALIZE_H
#define ETX_TOKENIZER_NORMALIZE_H

#include "tokenizer/aligned_text.h"
#include "tokenizer/token_step.h"

// Applies all steps to the pieces that are text.
ETX_MUST_USE etx_status etx_normalize(const etx_token_steps* steps,
                                      etx_encode_work* work, etx_diag* diag);

// Replaces what `step` matches by its content, in one piece.
ETX_MUST_USE etx_status etx_replace_piece(const etx_token_step* step,
                                          etx_encode_work* work, size_t index,
                                          etx_diag* diag);
// Puts a text before a piece.
void etx_prepend_piece(etx_text text, etx_encode_work* work, size_t index);
// The error of a search, or ETX_OK.
ETX_MUST_USE etx_status etx_pattern_failed(etx_status status, etx_diag* diag);

// Writes a piece as the characters that ByteLevel has for its bytes.
void etx_byte_level_piece(etx_encode_work* work, size_t index);
// The character that ByteLevel has for a byte, and back (or -1).
uint32_t etx_byte_to_code(uint8_t byte);
int etx_code_to_byte(uint32_t code);

// Divides the pieces that are text.
ETX_MUST_USE etx_status etx_pre_tokenize(const etx_token_steps* steps,
                                         etx_encode_work* work, etx_diag* diag);

// Finds a literal or pattern. False: no further match, or *status.
bool etx_step_find(const etx_token_step* step, etx_pattern_search* search,
                   size_t from, size_t* begin, size_t* end);

#endif
