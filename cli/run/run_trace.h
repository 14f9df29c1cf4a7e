// What a program uses while it runs, written as YAML for `etx select --trace`.

#ifndef ETX_CLI_RUN_RUN_TRACE_H
#define ETX_CLI_RUN_RUN_TRACE_H

#include "cli/base/exit_code.h"
#include "runtime/trace/call_trace.h"

// The traces of the methods that ran.
typedef struct etx_run_trace {
  etx_call_trace** traces;
  size_t count;
} etx_run_trace;

void etx_run_trace_init(etx_run_trace* trace);
void etx_run_trace_close(etx_run_trace* trace);

// Runs a method and records what it uses, even if it fails. Replaces the
// method's observer.
ETX_MUST_USE etx_status etx_run_trace_call(etx_run_trace* trace,
                                           etx_method* method, etx_diag* diag);

// Writes the trace to `path`; the file is renamed into place when it is
// complete. `name` is that of the program file. Reports a failure on standard
// error, with the name of the command.
etx_exit etx_run_trace_write(const etx_run_trace* trace, const char* command,
                             const char* name, const char* path);

#endif
