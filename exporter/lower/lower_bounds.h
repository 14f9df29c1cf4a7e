// Finds the smallest lower bounds of sizes that all nodes of a method can have.
// A symbol with a `fallback` above its lower bound (symbol.h) may have sizes
// below the fallback, but not every node need be valid for them. Sizes of
// inputs that a node needs to be equal become one symbol.

#ifndef ETX_EXPORTER_LOWER_LOWER_BOUNDS_H
#define ETX_EXPORTER_LOWER_LOWER_BOUNDS_H

#include "exporter/passes/pass_context.h"

// Lowers a method and reports problems to the context. `*out_blamed` has the
// symbols in the sizes of the nodes with problems, as bits.
typedef etx_status etx_lower_method(etx_pass_context* context,
                                    etx_ir_method* method,
                                    uint64_t* out_blamed);

// Calls `lower` with the smallest lower bounds that leave no problem. Problems
// that are left with the fallbacks are reported.
ETX_MUST_USE etx_status etx_lower_smallest_bounds(etx_pass_context* context,
                                                  etx_ir_method* method,
                                                  etx_lower_method* lower);

#endif
