// What a file states of a result, against what its operator gives.

#ifndef ETX_EXPORTER_STATED_TYPES_H
#define ETX_EXPORTER_STATED_TYPES_H

#include "exporter/ir.h"

// Compares the stated type of value `stated` with `found` and reports a problem
// at `place` if they differ for some sizes within bounds. torch.export traces
// with sizes of two and more and states what is true of those: a slice of one
// row of [n, 4] is stated as one row. If that is wrong for empty tensors alone,
// the method takes none: bounds of sizes that may be 0 are raised to 1, and
// `*out_raised` is set. Sizes are then to be made again (etx_ir_refresh_sizes).
bool etx_stated_type_fits(etx_ir_method* method, etx_problems* problems,
                          const etx_ir_place* place, uint32_t stated,
                          const etx_shape* found, bool* out_raised);

#endif
