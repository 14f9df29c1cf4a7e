// The source lines of instructions as text, from the source map that a program
// file may have (format/source_map/source_map.h). A damaged source map is
// reported on standard error and then ignored.

#ifndef ETX_CLI_PROGRAM_INSTRUCTION_SOURCE_H
#define ETX_CLI_PROGRAM_INSTRUCTION_SOURCE_H

#include <jansson.h>

#include "format/source_map/source_map.h"

enum { ETX_INSTRUCTION_SOURCE_TEXT_BYTES = 512 };

typedef struct etx_instruction_source {
  etx_source_map source;
  bool has_any;
} etx_instruction_source;

// Opens the source map of a program, if it has one. `command` and `path` are
// for the report of a damaged one.
void etx_instruction_source_open(etx_instruction_source* notes,
                                 const etx_pte* pte, const char* command,
                                 const char* path);

// Writes the source lines of an instruction, such as "model.py:12 (encoder.fc),
// model.py:14", cut to the size of `out`. Returns false and writes an empty
// text if there are none.
bool etx_instruction_source_text(const etx_instruction_source* notes,
                                 etx_text method, size_t instruction,
                                 char out[ETX_INSTRUCTION_SOURCE_TEXT_BYTES]);

// The same as JSON: [{"file": ..., "line": ..., "module": ...}, ...]. The list
// may be empty. New reference.
json_t* etx_instruction_source_json(const etx_instruction_source* notes,
                                    etx_text method, size_t instruction);

// If the message of a failed run names an instruction ("method 'm', instruction
// 3") with known source lines, prints them on standard error.
void etx_instruction_source_explain(const etx_pte* pte, const etx_diag* diag,
                                    const char* command, const char* path);

#endif
