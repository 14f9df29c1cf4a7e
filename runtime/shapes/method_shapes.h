// The shape phase: sizes, roots and prepared kernels of all records.

#ifndef ETX_RUNTIME_SHAPES_METHOD_SHAPES_H
#define ETX_RUNTIME_SHAPES_METHOD_SHAPES_H

#include "runtime/method/method_types.h"

// Resets roots and sizes to those before the first record, with the current
// sizes of inputs.
void etx_method_restart(etx_method* method);
// Sets all data pointers from storages and roots.
void etx_method_update_pointers(etx_method* method);
// Sets sizes and roots of one record's results and prepares its kernel. Records
// of scalars and views are run.
ETX_MUST_USE etx_status etx_method_shape_record(etx_method* method,
                                                etx_method_record* record,
                                                etx_diag* diag);
// The whole phase, which also builds the steps. `is_prepared` stays false if
// the method must be prepared during the run.
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
// Checks that a tensor has memory for its current sizes.
ETX_MUST_USE etx_status etx_method_check_memory(const etx_method* method,
                                                const etx_value* value,
                                                etx_diag* diag);

#endif
