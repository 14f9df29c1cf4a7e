// A record of what a method uses while it runs: operators, the types of their
// calls, and features of the build. `etx select --trace` reads it
// (docs/size.md).
//
//   etx_call_trace trace;
//   etx_call_trace_start(&trace, method, memory, &diag);
//   ... etx_method_run(method, &diag), with representative inputs ...
//   etx_call_trace_stop(&trace);
//   const etx_call_trace* const all[] = {&trace};
//   etx_call_trace_write(all, 1, etx_text_of("model.pte"), &sink);
//
// A trace marks the instructions whose kernels ran, also of the method's
// variants. Some instructions need no run of a kernel: they compute numbers,
// or have nothing to do because all bytes are in their place. They count as
// run with their method.
//
// Ownership  the trace borrows the method and the memory. The method must
//            neither move nor be closed before the trace was written.
// Threads    those of the method.

#ifndef ETX_RUNTIME_TRACE_CALL_TRACE_H
#define ETX_RUNTIME_TRACE_CALL_TRACE_H

#include "format/base/sink.h"
#include "runtime/method.h"

// The trace of one method. Must not be moved between start and stop.
typedef struct etx_call_trace {
  // What the method is observed by. Whatever removes a method's observer
  // (etx_method_forget, etx_method_reset) interrupts the trace, and
  // etx_method_observe with this one continues it.
  etx_run_observer observer;
  etx_method* method;  // that is traced
  uint8_t* marks;      // a bit for each instruction: those of the method, then
                       // those of its variants in turn
  size_t mark_count;   // bits
} etx_call_trace;

// Bytes of memory for the trace of a loaded method, with its variants if it
// uses them.
size_t etx_call_trace_needed(const etx_method* method);

// Starts an empty trace: replaces the method's observer. ETX_OUT_OF_MEMORY: the
// memory is smaller than etx_call_trace_needed states.
ETX_MUST_USE etx_status etx_call_trace_start(etx_call_trace* trace,
                                             etx_method* method,
                                             etx_bytes_mut memory,
                                             etx_diag* diag);

// Removes the observer. The trace keeps what it has.
void etx_call_trace_stop(etx_call_trace* trace);

// Writes what several methods of one program have used, as YAML with the keys
// of ExecuTorch's selected_operators.yaml. `file` names the program in it.
// Returns the status of the sink, or of reading the features of a method.
ETX_MUST_USE etx_status
etx_call_trace_write(const etx_call_trace* const* traces, size_t count,
                     etx_text file, const etx_sink* sink);

#endif
