// Which lines of the author's files an instruction comes from.
//
// Passes fuse, split and move nodes and know nothing of lines. So the graph is
// remembered as it was read, and asked when everything is done: what lies in it
// between the results of a node that is left and the values that are still
// there in front of it has become that node. A value keeps its name through
// all passes, and a node the imported one that it stands for
// (etx_source_location.imported); these two lead back.
//
// What depends on constants only was computed when the program was planned: its
// lines count for its own instruction, if there still is one, and for no other.

#ifndef ETX_EXPORTER_REPORT_SOURCE_LINES_H
#define ETX_EXPORTER_REPORT_SOURCE_LINES_H

#include "exporter/ir/ir.h"
#include "format/source_map/source_map.h"

struct etx_source_graph;  // one method as it was read

typedef struct etx_source_lines {
  etx_pool* pool;
  etx_text* files;  // each once, as modules and rows
  size_t file_count, file_capacity;
  etx_text* modules;
  size_t module_count, module_capacity;
  etx_source_map_row* rows;
  size_t row_count, row_capacity;
  struct etx_source_graph* graphs;  // by method, as it was read
  size_t graph_count;
} etx_source_lines;

// Remembers the graphs of a module that was read and not changed yet, and
// numbers its nodes (etx_source_location.imported). Lives in the module's pool.
ETX_MUST_USE etx_status etx_source_lines_take(etx_ir_module* module,
                                              etx_source_lines* out_lines);

// Lines of the instructions of a method: `node_starts` has for each of its
// nodes the first instruction. Nothing is known of a method that was not read.
ETX_MUST_USE etx_status etx_source_lines_of(const etx_source_lines* lines,
                                            const etx_ir_method* method,
                                            const int32_t* node_starts,
                                            size_t instruction_count,
                                            etx_source_map_method* out_method);

#endif
