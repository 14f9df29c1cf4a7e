// Methods that may run at the same time over one block of scratch.
//
//   offset ^         +--------+
//          |         |   b    |        a and b are concurrent, b and c are not
//          +--------+--------+--------+
//          |   a    |        |   c    |
//          +--------+--------+--------+--> method
//
// Each method's shared range of arena 1 starts where no method that may run
// beside it has bytes; all others overlap as far as they can.

#ifndef ETX_EXPORTER_PLACEMENT_CONCURRENT_METHODS_H
#define ETX_EXPORTER_PLACEMENT_CONCURRENT_METHODS_H

#include "exporter/ir/ir.h"

// Declares every two of these methods concurrent; what was declared before
// stays. ETX_BAD_ARGUMENT if there is no such method, a method is named twice,
// or there are fewer than two; `out_at` is the position of the name at fault.
ETX_MUST_USE etx_status etx_concurrent_methods_add(etx_ir_module* module,
                                                   const etx_text* names,
                                                   size_t count, size_t* out_at,
                                                   etx_diag* diag);

// True if methods `a` and `b` of the module may run at the same time.
bool etx_concurrent_methods_has(const etx_ir_module* module, uint32_t a,
                                uint32_t b);

// Where the range of each method starts that needs `bytes` of it: multiples of
// the module's alignment, as low as can be, the largest method first.
// ETX_OUT_OF_RANGE if they do not fit 64 bits.
ETX_MUST_USE etx_status etx_concurrent_methods_ranges(
    const etx_ir_module* module, const uint64_t* bytes, uint64_t* out_starts);

#endif
