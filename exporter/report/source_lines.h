// Finds the source lines that an instruction comes from.
//
// Passes fuse, split and move nodes without tracking lines. Instead, a copy of
// the imported graph is kept, and searched after all passes: the imported nodes
// between the results of a final node and the values that still exist in front
// of it have become that node. Final nodes and values are found in the imported
// graph by two things: a value keeps its name through all passes, and a node
// keeps the number of the imported node that it replaces
// (etx_source_location.imported).
//
// Nodes that depend on constants only were folded. Their lines count only for
// their own instruction, if there is one.

#ifndef ETX_EXPORTER_REPORT_SOURCE_LINES_H
#define ETX_EXPORTER_REPORT_SOURCE_LINES_H

#include "exporter/ir/ir.h"
#include "format/source_map/source_map.h"

struct etx_source_graph;  // one method as it was read

typedef struct etx_source_lines {
  etx_pool* pool;
  etx_text* files;  // each once, as are modules and rows
  size_t file_count, file_capacity;
  etx_text* modules;
  size_t module_count, module_capacity;
  etx_source_map_row* rows;
  size_t row_count, row_capacity;
  struct etx_source_graph* graphs;  // the imported graph of each method
  size_t graph_count;
} etx_source_lines;

// Copies the graphs of a module that was just imported, and numbers its nodes
// (etx_source_location.imported). The copy lives in the module's pool.
ETX_MUST_USE etx_status etx_source_lines_take(etx_ir_module* module,
                                              etx_source_lines* out_lines);

// The lines of the instructions of a method. `node_starts` has the first
// instruction of each node. Methods that were not imported have no lines.
ETX_MUST_USE etx_status etx_source_lines_of(const etx_source_lines* lines,
                                            const etx_ir_method* method,
                                            const int32_t* node_starts,
                                            size_t instruction_count,
                                            etx_source_map_method* out_method);

#endif
