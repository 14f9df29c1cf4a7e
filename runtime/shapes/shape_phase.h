// The shape phase of a whole method.

#ifndef ETX_RUNTIME_SHAPES_SHAPE_PHASE_H
#define ETX_RUNTIME_SHAPES_SHAPE_PHASE_H

#include "runtime/method/method_types.h"

// Prepares all records whose values are not late, and builds the steps. A
// record that cannot be prepared in a method with late values or jumps is left
// to the run, which may not reach it.
ETX_MUST_USE etx_status etx_method_shape_all(etx_method* method,
                                             etx_diag* diag);

// In builds without ETX_CONTROL_FLOW: refuses a method of which something is
// known during the run only. Returns ETX_UNSUPPORTED.
static inline etx_status etx_method_refuse_late(const etx_method* method,
                                                etx_diag* diag) {
  (void)method;  // without messages
  return etx_diag_fail(diag, ETX_UNSUPPORTED,
                       "method '%t' depends on data, which this build leaves "
                       "out (ETX_CONTROL_FLOW)",
                       etx_pte_plan_name(&method->plan));
}

#endif
