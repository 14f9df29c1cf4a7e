// Refuses outputs that overlap other arguments of a call.

#ifndef ETX_RUNTIME_SHAPES_CALL_OVERLAP_H
#define ETX_RUNTIME_SHAPES_CALL_OVERLAP_H

#include "runtime/method/method_types.h"

// Refuses a call that writes memory that it also reads, unless the operator's
// row allows it (etx_op_in_place). Notes in the record if that holds at all
// sizes; then the call is not checked again.
ETX_MUST_USE etx_status etx_method_check_overlap(const etx_method* method,
                                                 etx_method_record* record,
                                                 etx_diag* diag);

#endif
