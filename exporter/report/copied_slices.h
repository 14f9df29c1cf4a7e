// Instructions that copy what a constant or a state holds, for the report: a
// part that does not lie in one piece, elements in another order.

#ifndef ETX_EXPORTER_REPORT_COPIED_SLICES_H
#define ETX_EXPORTER_REPORT_COPIED_SLICES_H

#include "exporter/placement/placement_copy.h"

// Appends a row for each of them, method by method. To be called when all
// passes are through.
ETX_MUST_USE etx_status etx_copied_slices_find(const etx_ir_module* module,
                                               const etx_placement* placements,
                                               etx_placement_copies* copies);

#endif
