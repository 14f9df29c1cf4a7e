// Where instructions come from, for people: the source lines that a program
// file may hold (format/pte/etx_source.h). Broken ones are said to be so on
// standard error, and do without.

#ifndef ETX_CLI_SOURCE_NOTES_H
#define ETX_CLI_SOURCE_NOTES_H

#include <jansson.h>

#include "format/pte/etx_source.h"

enum { ETX_SOURCE_TEXT_BYTES = 512 };

typedef struct etx_source_notes {
  etx_source source;
  bool has_any;
} etx_source_notes;

// Opens the lines of a program, if it has any; `command` and `path` are for
// what is said of broken ones.
void etx_source_notes_open(etx_source_notes* notes, const etx_pte* pte,
                           const char* command, const char* path);

// "model.py:12 (encoder.fc), model.py:14": where instruction `instruction` of a
// method comes from, cut to what fits. False, and an empty text, if nothing is
// known.
bool etx_source_notes_text(const etx_source_notes* notes, etx_text method,
                           size_t instruction, char out[ETX_SOURCE_TEXT_BYTES]);

// The same as [{"file": ..., "line": ..., "module": ...}, ...], which may be
// empty.
json_t* etx_source_notes_json(const etx_source_notes* notes, etx_text method,
                              size_t instruction);

// Writes, on standard error, where the instruction comes from that the message
// of a failed run names ("method 'm', instruction 3"). Nothing if it names none
// or nothing is known.
void etx_source_notes_explain(const etx_pte* pte, const etx_diag* diag,
                              const char* command, const char* path);

#endif
