// Finds the instructions that copy a part of a constant or a state because it
// cannot be a view, for the report: slices that are not contiguous, permutes.

#ifndef ETX_EXPORTER_REPORT_COPIED_SLICES_H
#define ETX_EXPORTER_REPORT_COPIED_SLICES_H

#include "exporter/placement/placement_copy.h"

// Those that copy a part of a computed value or of an input.
typedef struct etx_copied_parts {
  size_t count;
  uint64_t bytes;  // of their results, at the upper bounds
} etx_copied_parts;

etx_copied_parts etx_copied_parts_count(const etx_ir_method* method,
                                        const etx_placement* placement);

// Appends a row for each of them, method by method. Call it after all passes.
ETX_MUST_USE etx_status etx_copied_slices_find(const etx_ir_module* module,
                                               const etx_placement* placements,
                                               etx_placement_copies* copies);

#endif
