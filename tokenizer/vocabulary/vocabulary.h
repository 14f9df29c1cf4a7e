// Tokens by id and ids by text. Internal to tokenizer/.

#ifndef ETX_TOKENIZER_VOCABULARY_H
#define ETX_TOKENIZER_VOCABULARY_H

#include "format/base/arena.h"
#include "format/base/diag.h"
#include "format/base/span.h"

enum {
  ETX_TOKEN_ID_MAX = (1 << 24) - 1,
  ETX_TOKEN_NONE = -1  // no such token
};

// A text with its id, in a list or in a table of ids.
typedef struct etx_vocabulary_token {
  etx_text text;  // data NULL: no token has this id
} etx_vocabulary_token;

// Tokens and a hash table with linear probing over their texts (FNV-1a).
typedef struct etx_vocabulary {
  etx_vocabulary_token* tokens;  // by id
  uint32_t* slots;               // id + 1, or 0
  size_t id_count;               // one more than the largest id
  size_t slot_mask;              // number of slots - 1
  size_t longest;                // bytes of the longest text
} etx_vocabulary;

// A power of two, at least twice `count` and at least 2.
size_t etx_hash_slots(size_t count);

// Takes an empty table for ids below `id_count` and `entry_count` texts. With a
// counting arena nothing else may be called.
ETX_MUST_USE etx_status etx_vocabulary_init(etx_vocabulary* vocabulary,
                                            size_t entry_count, size_t id_count,
                                            etx_arena* arena, etx_diag* diag);
// Adds a token; the last of two with one text or id wins. `text` is borrowed.
void etx_vocabulary_add(etx_vocabulary* vocabulary, etx_text text, uint32_t id);

// The id of a text, or ETX_TOKEN_NONE.
int32_t etx_vocabulary_find(const etx_vocabulary* vocabulary, etx_text text);
// The text of an id; data NULL: none has it.
etx_text etx_vocabulary_at(const etx_vocabulary* vocabulary, uint32_t id);

// Sorts ids by their texts, byte by byte.
void etx_vocabulary_sort(const etx_vocabulary* vocabulary, uint32_t* ids,
                         size_t count);

// The id of the token <0xHH>, or ETX_TOKEN_NONE.
int32_t etx_vocabulary_byte(const etx_vocabulary* vocabulary, uint8_t byte);

#endif
