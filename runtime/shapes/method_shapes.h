// The shape phase of one record: sizes and roots of its results, its kernel.

#ifndef ETX_RUNTIME_SHAPES_METHOD_SHAPES_H
#define ETX_RUNTIME_SHAPES_METHOD_SHAPES_H

#include "runtime/method/method_types.h"

// Resets roots and sizes to those before the first record, with the current
// sizes of inputs.
void etx_method_restart(etx_method* method);
// Gives numbers that the caller sets their present values.
void etx_method_restart_integers(etx_method* method);
// The same as etx_method_restart for late values only. Sets their data
// pointers, too.
void etx_method_restart_late(etx_method* method);
// The same for one value, a tensor.
void etx_method_restart_value(etx_method* method, const etx_value* value);
// Sets all data pointers from storages and roots.
void etx_method_update_pointers(etx_method* method);
// Sets sizes and roots of one record's results and prepares its kernel. Records
// of scalars and views are run. A failure leaves its message in `kernel_diag`.
ETX_MUST_USE etx_status etx_method_shape_record(etx_method* method,
                                                etx_method_record* record);
// The rest for a record that was prepared ahead, while the memory of arguments
// was late: checks it, and binds results to it. Failures as above.
ETX_MUST_USE etx_status etx_method_bind_record(etx_method* method,
                                               etx_method_record* record);

// The end of both: binds results of a kernel or a view to memory. Failures as
// above.
ETX_MUST_USE etx_status
etx_method_bind_checked(etx_method* method, const etx_method_record* record);

// True if the kernel of a prepared record reads nothing that a change of sizes
// changes.
static inline bool etx_method_stays_prepared(const etx_method_record* record) {
  return ETX_DYNAMIC && record->is_prepared &&
         (record->has_fixed_sizes ||
          (record->has_fixed_reads && record->is_sized_by_data));
}

// Takes over what prepare left in an equal call.
static inline void etx_call_reuse_prepared(etx_call* call,
                                           const etx_call* from) {
  call->run = from->run;
  call->temporary_bytes = from->temporary_bytes;
  memcpy(call->prepared, from->prepared, sizeof call->prepared);
}

// Checks that the arguments of a call have memory, that outputs may be written
// and do not overlap other arguments. Failures as above.
ETX_MUST_USE etx_status etx_method_check_arguments(etx_method* method,
                                                   etx_method_record* record);

// Notes that a record of this phase uses a value.
void etx_method_mark_used(etx_method* method, const etx_value* value);

// Makes `target` use the memory of the tensor `root` from an offset in bytes
// on.
void etx_method_set_root(const etx_method* method, etx_method_tensor* target,
                         uint32_t root, size_t offset);
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
