// The output formats of a memory map, one file each. All of them write to a
// stream; the caller checks it for errors (ferror).

#ifndef ETX_CLI_MEMORY_MEMORY_FORMATS_H
#define ETX_CLI_MEMORY_MEMORY_FORMATS_H

#include <stdio.h>

#include "cli/memory/memory_map.h"

// memory_json: the map as one JSON object, escaped for use in an HTML page.
// `path` is the file name that is shown.
void etx_memory_json_print(const etx_memory_map* map, const char* path,
                           FILE* out);

// memory_html: one self-contained HTML page: the files of cli/memory/page with
// the map as JSON.
void etx_memory_html_print(const etx_memory_map* map, const char* path,
                           FILE* out);

// memory_text: for each method and arena a diagram of at most 100 columns and
// 40 rows of letters, its peak and its largest values.
ETX_MUST_USE etx_status etx_memory_text_print(const etx_memory_map* map,
                                              const char* path, FILE* out);

// memory_trace: the Trace Event Format of Chrome and Perfetto. A method is
// shown as a process, a step as a microsecond.
ETX_MUST_USE etx_status etx_memory_trace_print(const etx_memory_map* map,
                                               const char* path, FILE* out);

#endif
