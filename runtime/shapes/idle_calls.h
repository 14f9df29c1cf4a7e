// Calls of kernels that have nothing to do for the present sizes.

#ifndef ETX_RUNTIME_SHAPES_IDLE_CALLS_H
#define ETX_RUNTIME_SHAPES_IDLE_CALLS_H

#include "runtime/method/method_types.h"

// True for a concatenation whose operands all lie where it would copy them.
// Then its operands may share bytes with its output.
bool etx_call_is_joined(const etx_method* method,
                        const etx_method_record* record);

// True if a run need not call the kernel: the call is joined, its outputs have
// no elements, or its operator only sets sizes. Roots and sizes of all
// arguments must be known.
bool etx_call_is_idle(const etx_method* method,
                      const etx_method_record* record);

#endif
