// The shape phase: sizes, roots and prepared kernels of all records.

#ifndef ETX_RUNTIME_SHAPES_METHOD_SHAPES_H
#define ETX_RUNTIME_SHAPES_METHOD_SHAPES_H

#include "runtime/method/method_types.h"

// Back to the start of a run: roots and sizes as they are before the first
// record, with the inputs' present sizes.
void etx_method_restart(etx_method* method);
// All data pointers from homes and roots.
void etx_method_update_pointers(etx_method* method);
// Sizes, root and prepared kernel of one record; runs scalars and views.
ETX_MUST_USE etx_status etx_method_shape_record(etx_method* method,
                                                etx_method_record* record,
                                                etx_diag* diag);
// The whole phase, and the steps. Leaves `is_prepared` false if the method
// turns out to need the other mode.
ETX_MUST_USE etx_status etx_method_shape_all(etx_method* method,
                                             etx_diag* diag);

// Makes `target` use the memory and the sizes of `source`, which has the same
// type and rank.
ETX_MUST_USE etx_status etx_method_rebind(etx_method* method,
                                          etx_method_tensor* target,
                                          const etx_method_tensor* source,
                                          etx_diag* diag);
// Checks that the new content of each mutable input fits where it is copied to.
ETX_MUST_USE etx_status
etx_method_check_mutated_inputs(const etx_method* method, etx_diag* diag);
// Checks that a tensor has memory for its present sizes.
ETX_MUST_USE etx_status etx_method_check_memory(const etx_method* method,
                                                const etx_value* value,
                                                etx_diag* diag);

#endif
