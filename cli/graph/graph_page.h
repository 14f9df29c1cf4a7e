// The page of `etx inspect --html`: one self-contained HTML file with the graph
// of each method, the memory map and the facts of the program. Same program,
// same bytes.

#ifndef ETX_CLI_GRAPH_GRAPH_PAGE_H
#define ETX_CLI_GRAPH_GRAPH_PAGE_H

#include <jansson.h>
#include <stdio.h>

#include "cli/memory/memory_map.h"

// Writes the page. `title` is the file name that is shown, `facts` the report
// of `etx inspect` as a JSON object. ETX_OUT_OF_MEMORY: the page is not
// complete. The caller checks the stream for errors (ferror).
ETX_MUST_USE etx_status etx_graph_page_print(const etx_memory_map* map,
                                             const char* title,
                                             const json_t* facts, FILE* out);

#endif
