// One step of a normalizer, a pre-tokenizer or a decoder, as the file states
// it. Sequences are written out, so that a tokenizer has three flat lists of
// steps. Internal to tokenizer/.

#ifndef ETX_TOKENIZER_TOKEN_STEP_H
#define ETX_TOKENIZER_TOKEN_STEP_H

#include "format/base/arena.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/json_cursor.h"
#include "tokenizer/pattern/pattern.h"

enum { ETX_TOKEN_STEPS_MAX = 32 };  // in one list

typedef enum etx_token_step_kind {
#define STEP(list, symbol, name) ETX_STEP_##symbol,
#include "tokenizer/token_steps.def"
#undef STEP
  ETX_STEP_COUNT
} etx_token_step_kind;

typedef enum etx_step_list {
  ETX_NORMALIZER,
  ETX_PRE_TOKENIZER,
  ETX_DECODER
} etx_step_list;

// What becomes of the text that a division matches.
typedef enum etx_split_behavior {
  ETX_SPLIT_REMOVED,
  ETX_SPLIT_ISOLATED,
  ETX_SPLIT_WITH_PREVIOUS,
  ETX_SPLIT_WITH_NEXT,
  ETX_SPLIT_CONTIGUOUS
} etx_split_behavior;

typedef struct etx_token_step {
  etx_token_step_kind kind;
  etx_split_behavior behavior;
  bool invert;
  // Bert: clean text, Chinese, accents, lower case. Strip: left, right.
  // ByteLevel: prefix space, pattern. Metaspace: split; Digits: individual;
  // decoders: clean-up.
  bool options[4];
  bool first_only;   // Metaspace: only the first piece gets a prefix
  etx_text content;  // what is written, prepended or stripped
  etx_text literal;  // what is searched, if there is no pattern
  bool has_pattern;
  etx_pattern pattern;
  etx_charsmap charsmap;
  uint32_t start, stop;  // decoder Strip
} etx_token_step;

typedef struct etx_token_steps {
  etx_token_step* steps;
  size_t count;
} etx_token_steps;

// Reads a list; a value that is absent gives an empty one. With a counting
// arena only the memory is counted.
ETX_MUST_USE etx_status etx_token_steps_load(etx_cursor_value value,
                                             etx_step_list list,
                                             etx_arena* arena,
                                             etx_token_steps* out,
                                             etx_diag* diag);

// Copies a string to the arena. Counting: data is NULL.
ETX_MUST_USE etx_status etx_token_text_load(etx_cursor_value value,
                                            etx_arena* arena, etx_text* out,
                                            etx_diag* diag);

#endif
