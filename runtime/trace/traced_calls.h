// Which instructions a trace has.

#ifndef ETX_RUNTIME_TRACE_TRACED_CALLS_H
#define ETX_RUNTIME_TRACE_TRACED_CALLS_H

#include "runtime/trace/call_trace.h"

// True if the method has run since the trace began. Of a method without kernels
// nothing shows that; it counts as run.
bool etx_traced_calls_exist(const etx_call_trace* trace);

// A cursor over the kernel calls that have run; it starts with zeros.
typedef struct etx_traced_calls {
  size_t variant;            // 0: the method itself, then its variants
  size_t record;             // the next instruction of that method
  size_t first_mark;         // position of that method's first mark
  etx_pte_cursor position;   // in the plan
  const etx_pte_plan* plan;  // of the instruction that was found
} etx_traced_calls;

// Finds the next kernel call that has run; false at the end.
bool etx_traced_calls_next(const etx_call_trace* trace,
                           etx_traced_calls* cursor,
                           etx_pte_instruction* out_call);

#endif
