// Finds the copies into the results of conditionals and the carried values of
// loops, for the report.

#ifndef ETX_EXPORTER_REPORT_COPIED_RESULTS_H
#define ETX_EXPORTER_REPORT_COPIED_RESULTS_H

#include "exporter/placement/placement_copy.h"

// Appends a row for each of them, method by method. The bytes are those of one
// branch or one iteration. Call it after all passes.
ETX_MUST_USE etx_status etx_copied_results_find(const etx_ir_module* module,
                                                const etx_placement* placements,
                                                etx_placement_copies* copies);

#endif
