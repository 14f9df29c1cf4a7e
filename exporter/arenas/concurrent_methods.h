// Methods that may run at the same time over one block of scratch.
//
//   offset ^         +--------+
//          |         |   b    |        a and b are concurrent, b and c are not
//          +--------+--------+--------+
//          |   a    |        |   c    |
//          +--------+--------+--------+--> method
//
// The range of a method does not overlap those of methods that may run at the
// same time. All other ranges overlap as far as possible.

#ifndef ETX_EXPORTER_ARENAS_CONCURRENT_METHODS_H
#define ETX_EXPORTER_ARENAS_CONCURRENT_METHODS_H

#include "exporter/ir/ir.h"

// Declares every two of these methods concurrent, in addition to earlier
// declarations. ETX_BAD_ARGUMENT if there is no such method, a method is named
// twice, or there are fewer than two; `out_at` is the position of the wrong
// name.
ETX_MUST_USE etx_status etx_concurrent_methods_add(etx_ir_module* module,
                                                   const etx_text* names,
                                                   size_t count, size_t* out_at,
                                                   etx_diag* diag);

// Gives the range of each method, which needs bytes[i], a start: a multiple of
// the module's alignment, as low as possible, the largest method first.
// ETX_OUT_OF_RANGE if they do not fit 64 bits.
ETX_MUST_USE etx_status etx_concurrent_methods_ranges(
    const etx_ir_module* module, const uint64_t* bytes, uint64_t* out_starts);

#endif
