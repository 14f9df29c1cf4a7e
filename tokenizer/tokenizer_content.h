// What a tokenizer has read from its file. Internal to tokenizer/.

#ifndef ETX_TOKENIZER_TOKENIZER_CONTENT_H
#define ETX_TOKENIZER_TOKENIZER_CONTENT_H

#include "tokenizer/token_model.h"
#include "tokenizer/token_step.h"

// A token that is found in the text before the model sees it.
typedef struct etx_added_token {
  etx_text content;  // as in the file
  etx_text match;    // what is searched: normalized if `normalized` is set
  uint32_t id;
  bool special, single_word, left_strip, right_strip, normalized;
} etx_added_token;

// Added tokens, those with `normalized` and those without.
typedef struct etx_added_tokens {
  etx_added_token* tokens;
  size_t count;
  uint32_t* sorted[2];  // positions in `tokens` by match; [1]: normalized
  size_t sorted_count[2];
  uint32_t* by_id;  // position + 1 of an id, or 0
} etx_added_tokens;

enum {
  ETX_TEMPLATE_MAX = 64,  // items of a template
  ETX_TEMPLATE_TEXT = -1,
  ETX_TEMPLATE_PAIR = -2
};

// One id, or one of the texts.
typedef struct etx_template_item {
  int32_t id;  // or ETX_TEMPLATE_*
  uint8_t type;
} etx_template_item;

typedef struct etx_template {
  etx_template_item items[ETX_TEMPLATE_MAX];
  size_t count;
} etx_template;

typedef struct etx_tokenizer_content {
  // Of a SentencePiece model; NULL: the file is a tokenizer.json. Besides, only
  // the vocabulary of `model`, the templates and the number of ids are used.
  struct etx_sentence_piece* pieces;
  etx_token_model model;
  etx_token_steps normalizer, pre_tokenizer, decoder;
  etx_added_tokens added;
  etx_template single, pair;
  bool trims;         // spans leave spaces out
  bool prefix_space;  // but not the one that was put before a text
  size_t id_count;
} etx_tokenizer_content;

// Reads `added_tokens`. `normalizer` is applied to those that ask for it.
ETX_MUST_USE etx_status etx_added_tokens_load(
    etx_cursor_value list, size_t id_count, const etx_token_steps* normalizer,
    etx_arena* arena, etx_added_tokens* out, etx_diag* diag);
// Divides the pieces that are text where added tokens stand.
void etx_added_tokens_divide(const etx_added_tokens* added, bool normalized,
                             etx_encode_work* work);
// The token of an id, or NULL.
const etx_added_token* etx_added_token_at(const etx_added_tokens* added,
                                          uint32_t id, size_t id_count);

// Reads `post_processor` into templates and `trims`.
ETX_MUST_USE etx_status etx_post_processor_load(etx_cursor_value value,
                                                etx_tokenizer_content* out,
                                                etx_diag* diag);

// The token of an id, added or of the model.
etx_text etx_content_token(const etx_tokenizer_content* content, uint32_t id);

#endif
