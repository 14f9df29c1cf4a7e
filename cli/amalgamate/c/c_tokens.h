// Words of C: the lexer, and the table of names that gives each identifier a
// number.

#ifndef ETX_CLI_AMALGAMATE_C_C_TOKENS_H
#define ETX_CLI_AMALGAMATE_C_C_TOKENS_H

#include <stdint.h>

#include "exporter/host/host_memory.h"

typedef enum etx_c_kind {
  ETX_C_NAME,
  ETX_C_NUMBER,
  ETX_C_TEXT,  // a string or a character
  ETX_C_SIGN,  // an operator or a bracket
} etx_c_kind;

typedef struct etx_c_token {
  etx_text text;
  uint32_t name;  // number of an identifier; 0 for other tokens
  uint8_t kind;   // etx_c_kind
  bool follows_space;
  bool is_uncertain;  // comes from a macro that another build may define
  bool is_final;      // a macro's own name in its text, not expanded again
} etx_c_token;

typedef struct etx_c_tokens {
  etx_pool* pool;
  etx_c_token* items;
  size_t count;
  size_t capacity;
} etx_c_tokens;

// Identifiers by number, from 1 on.
typedef struct etx_c_names {
  etx_pool* pool;
  etx_text* texts;
  size_t count;  // and one for number 0, which no name has
  size_t capacity;
  uint32_t* slots;  // a hash table of numbers; 0: free
  size_t slot_count;
} etx_c_names;

ETX_MUST_USE etx_status etx_c_names_init(etx_c_names* names, etx_pool* pool);

// The number of an identifier, which is added if it is new; 0 if the host has
// no memory.
uint32_t etx_c_name(etx_c_names* names, etx_text text);

ETX_MUST_USE etx_status etx_c_token_add(etx_c_tokens* tokens,
                                        const etx_c_token* token);

// Appends the tokens of some lines. Comments and the ends of lines that are
// continued count as space. What is no token of C becomes a sign of one byte.
ETX_MUST_USE etx_status etx_c_tokens_read(etx_c_tokens* tokens,
                                          etx_c_names* names, etx_text text);

// True if the token is this sign.
static inline bool etx_c_is(const etx_c_token* token, const char* sign) {
  return token->kind == ETX_C_SIGN && etx_text_is(token->text, sign);
}

#endif
