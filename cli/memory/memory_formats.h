// The ways a memory map is shown, each in a file of its own. All of them write
// to a stream; whether that failed is the caller's to ask of the stream.

#ifndef ETX_CLI_MEMORY_MEMORY_FORMATS_H
#define ETX_CLI_MEMORY_MEMORY_FORMATS_H

#include <stdio.h>

#include "cli/memory/memory_map.h"

// memory_json: the map as one JSON object, safe within an HTML page. `path` is
// what the file is called.
void etx_memory_json_print(const etx_memory_map* map, const char* path,
                           FILE* out);

// memory_page: one HTML page that needs nothing else. It is put together from
// the files of cli/page with the map as JSON.
void etx_memory_html_print(const etx_memory_map* map, const char* path,
                           FILE* out);

// memory_text: for each method and arena a picture of at most 100 columns and
// 40 rows of letters, with its peak and its largest values.
ETX_MUST_USE etx_status etx_memory_text_print(const etx_memory_map* map,
                                              const char* path, FILE* out);

// memory_trace: the Trace Event Format of Chrome and Perfetto. A method is a
// process, a step a microsecond.
ETX_MUST_USE etx_status etx_memory_trace_print(const etx_memory_map* map,
                                               const char* path, FILE* out);

#endif
