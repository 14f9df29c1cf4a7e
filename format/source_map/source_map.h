// The source map of a program: optional named data with the key
// "etx.source.v1", which `etx plan --source-lines` writes.
//
// It holds, for each instruction of a method, the source lines that it was
// compiled from, and the module of each line. A fused operator has the lines of
// all its parts. The runtime never reads it: a program without a source map, or
// with a damaged one, runs all the same.
//
// The data is a FlatBuffer of its own (identifier "ETXS"). Each file name,
// module path and line is stored once; methods refer to lines by position.

#ifndef ETX_FORMAT_SOURCE_MAP_SOURCE_MAP_H
#define ETX_FORMAT_SOURCE_MAP_SOURCE_MAP_H

#include "format/base/diag.h"
#include "format/pte/pte_program.h"

#define ETX_SOURCE_MAP_KEY "etx.source.v1"

// A source line.
typedef struct etx_source_map_line {
  etx_text file;    // as PyTorch or `etx plan` saw it; empty: not known
  uint32_t line;    // counts from 1; 0: not known
  etx_text module;  // path in the model, "encoder.layers.0"; may be empty
} etx_source_map_line;

// The same for writing: positions in the content's lists, or -1.
typedef struct etx_source_map_row {
  int32_t file;
  int32_t line;
  int32_t module;
} etx_source_map_row;

typedef struct etx_source_map_method {
  etx_text name;          // of the plan
  const int32_t* starts;  // first line of each instruction, then the end
  size_t instruction_count;
  const int32_t* lines;  // positions among the content's lines
} etx_source_map_method;

// Content for writing.
typedef struct etx_source_map_content {
  const etx_text* files;  // without control characters, as `modules`
  size_t file_count;
  const etx_text* modules;
  size_t module_count;
  const etx_source_map_row* lines;
  size_t line_count;
  const etx_source_map_method* methods;
  size_t method_count;
} etx_source_map_content;

ETX_MUST_USE etx_status etx_source_map_write_needed(
    const etx_source_map_content* content, size_t* out_bytes);
// Builds the data at the end of `work`; `out_data` borrows from it.
ETX_MUST_USE etx_status
etx_source_map_write(const etx_source_map_content* content, etx_bytes_mut work,
                     etx_bytes* out_data, etx_diag* diag);

// An opened source map. Fields are private.
typedef struct etx_source_map {
  etx_fb_buffer fb;
  uint32_t root;
} etx_source_map;

// Opens and verifies the source map of `pte` against the program: methods
// exist, each has as many instructions, all positions are within their lists.
// ETX_NOT_FOUND without message if the file has none.
ETX_MUST_USE etx_status etx_source_map_open(etx_source_map* source,
                                            const etx_pte* pte, etx_diag* diag);

// Position of a method among those that have lines; false if it has none.
bool etx_source_map_method_find(const etx_source_map* source, etx_text name,
                                size_t* out_index);
// How many lines an instruction has; 0 beyond the last.
size_t etx_source_map_line_count(const etx_source_map* source, size_t method,
                                 size_t instruction);
etx_source_map_line etx_source_map_line_at(const etx_source_map* source,
                                           size_t method, size_t instruction,
                                           size_t index);

#endif
