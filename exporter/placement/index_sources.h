// The values that indices are computed from: arguments `index` and `indices` of
// nodes, and all that is read on the way to them.

#ifndef ETX_EXPORTER_PLACEMENT_INDEX_SOURCES_H
#define ETX_EXPORTER_PLACEMENT_INDEX_SOURCES_H

#include "exporter/ir/ir.h"

// Sets is_source[v] for each such value v of the nodes [begin, end). There is
// one element for each value of the method.
ETX_MUST_USE etx_status etx_index_sources_find(const etx_ir_method* method,
                                               size_t begin, size_t end,
                                               bool* is_source);

// True if some result of the node is such a value.
bool etx_index_sources_has(const bool* is_source, const etx_ir_node* node);

#endif
