// How a family of models writes a chat. The chat template of a checkpoint is a
// program in Jinja, which is not run here: the family is recognised by what its
// template contains, or named.

#ifndef ETX_CLI_TEXT_CHAT_FAMILY_H
#define ETX_CLI_TEXT_CHAT_FAMILY_H

#include "exporter/host/host_memory.h"
#include "format/base/diag.h"

enum { ETX_CHAT_MARKS = 3 };

// A row of chat_families.def, which describes the fields.
typedef struct etx_chat_family {
  const char* name;
  const char* marks[ETX_CHAT_MARKS];
  const char* trims;
  const char* start;
  const char* system_before;
  const char* system_behind;
  const char* user_before;
  const char* user_behind;
  const char* prompt;
  const char* lead;
  const char* answer_behind;
} etx_chat_family;

// Messages of the user and answers take turns; the first is the user's.
typedef struct etx_chat {
  const etx_chat_family* family;
  etx_text bos, eos;  // texts of these tokens; empty: there is none
  bool has_bos;       // the chat starts with bos, if the family has it
  etx_text system;    // the system's message; data NULL: none
  etx_text* messages;
  size_t count;
} etx_chat;

// True if a Jinja template has these bytes; never for none.
bool etx_chat_template_has(etx_text jinja, etx_text part);

// The family of a Jinja template; NULL: it is not known.
const etx_chat_family* etx_chat_family_recognise(etx_text jinja);
// The family of this name; NULL: there is none.
const etx_chat_family* etx_chat_family_find(const char* name);
// The system's message that a Jinja template writes when a chat has none: it is
// a string of the template as the family writes it. Data NULL: there is none.
etx_text etx_chat_family_default_system(const etx_chat_family* family,
                                        etx_text jinja);
// "chatml, llama3, ...": all names, in memory of the pool.
etx_text etx_chat_family_names(etx_pool* pool);

// Writes the chat, and behind it what the next answer continues.
ETX_MUST_USE etx_status etx_chat_write(const etx_chat* chat, etx_pool* pool,
                                       etx_text* out, etx_diag* diag);

// The text of the token that ends an answer, such as "<|im_end|>".
etx_text etx_chat_end_token(const etx_chat* chat, etx_pool* pool);

#endif
