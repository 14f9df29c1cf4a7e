// Where instructions come from, for people: the source lines that a program
// file may hold (format/source_map/source_map.h). Broken ones are said to be so
// on standard error, and do without.

#ifndef ETX_CLI_PROGRAM_INSTRUCTION_SOURCE_H
#define ETX_CLI_PROGRAM_INSTRUCTION_SOURCE_H

#include <jansson.h>

#include "format/source_map/source_map.h"

enum { ETX_INSTRUCTION_SOURCE_TEXT_BYTES = 512 };

typedef struct etx_instruction_source {
  etx_source_map source;
  bool has_any;
} etx_instruction_source;

// Opens the source lines of a program, if it has any. `command` and `path` are
// for the warning if they are damaged.
void etx_instruction_source_open(etx_instruction_source* notes,
                                 const etx_pte* pte, const char* command,
                                 const char* path);

// "model.py:12 (encoder.fc), model.py:14": where instruction `instruction` of a
// method comes from, cut to what fits. False, and an empty text, if nothing is
// known.
bool etx_instruction_source_text(const etx_instruction_source* notes,
                                 etx_text method, size_t instruction,
                                 char out[ETX_INSTRUCTION_SOURCE_TEXT_BYTES]);

// The same as [{"file": ..., "line": ..., "module": ...}, ...], which may be
// empty.
json_t* etx_instruction_source_json(const etx_instruction_source* notes,
                                    etx_text method, size_t instruction);

// Writes, on standard error, where the instruction comes from that the message
// of a failed run names ("method 'm', instruction 3"). Nothing if it names none
// or nothing is known.
void etx_instruction_source_explain(const etx_pte* pte, const etx_diag* diag,
                                    const char* command, const char* path);

#endif
