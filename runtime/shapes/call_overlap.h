// Outputs that lie in the same memory as another argument of a call.

#ifndef ETX_RUNTIME_SHAPES_CALL_OVERLAP_H
#define ETX_RUNTIME_SHAPES_CALL_OVERLAP_H

#include "runtime/method/method_types.h"

// Refuses a call that writes where it also reads, unless its operator allows
// exactly that.
ETX_MUST_USE etx_status etx_method_check_overlap(
    const etx_method* method, const etx_method_record* record, etx_diag* diag);

#endif
