// Calls of kernels that have nothing to do for the present sizes.

#ifndef ETX_RUNTIME_SHAPES_IDLE_CALLS_H
#define ETX_RUNTIME_SHAPES_IDLE_CALLS_H

#include "runtime/method/method_types.h"

// For a concatenation: true if its operands all lie where it would copy them.
bool etx_call_joins_in_place(const etx_method* method, const etx_call* call);

// True for such a concatenation. Then its operands may share bytes with its
// output. Inline, because most calls are of other operators.
static inline bool etx_call_is_joined(const etx_method* method,
                                      const etx_method_record* record) {
  return record->call.op->id == ETX_OP_cat_out &&
         etx_call_joins_in_place(method, &record->call);
}

// True if a call whose outputs have no elements has nothing to do: its kernel
// need not check any index.
bool etx_call_without_elements_is_idle(const etx_method* method,
                                       const etx_method_record* record);

// True if the outputs of a call have no elements, or its operator only sets
// sizes, so that its kernel has nothing to do.
static inline bool etx_call_writes_nothing(const etx_method* method,
                                           const etx_method_record* record) {
  return etx_op_only_sizes(record->call.op) ||
         (!record->writes_elements &&
          etx_call_without_elements_is_idle(method, record));
}

// True if a run need not call the kernel: the call is joined or writes nothing.
// Roots and sizes of all arguments must be known.
static inline bool etx_call_is_idle(const etx_method* method,
                                    const etx_method_record* record) {
  return etx_call_is_joined(method, record) ||
         etx_call_writes_nothing(method, record);
}

#endif
