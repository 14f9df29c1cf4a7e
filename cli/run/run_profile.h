// A profile of calls as a trace for Chrome and Perfetto: each call with its
// instructions; each instruction with its operator, tensors, time and, if the
// program has them, source lines; and the live bytes of each arena.

#ifndef ETX_CLI_RUN_RUN_PROFILE_H
#define ETX_CLI_RUN_RUN_PROFILE_H

#include "cli/base/exit_code.h"
#include "runtime/method.h"

typedef struct etx_run_profile_event {
  double start;  // seconds of etx_monotonic_clock_seconds
  double end;
  size_t instruction;
  const etx_op* op;
  const char* types;  // of its tensors, "float32[2, 3], ..."; NULL if there was
                      // no memory
} etx_run_profile_event;

typedef struct etx_run_profile_call_record {
  etx_text method;  // borrowed from the program file
  double start;     // seconds of etx_monotonic_clock_seconds
  double end;
  size_t first;  // position of its first event
  size_t count;
} etx_run_profile_call_record;

typedef struct etx_run_profile {
  etx_run_profile_event* events;
  size_t count;
  size_t capacity;
  etx_run_profile_call_record* calls;
  size_t call_count;
  size_t call_capacity;
  size_t lost;  // events and calls that were dropped for lack of memory
} etx_run_profile;

void etx_run_profile_init(etx_run_profile* profile);
void etx_run_profile_close(etx_run_profile* profile);

// Runs a method and records the call, even if it fails. Replaces the method's
// observer.
ETX_MUST_USE etx_status etx_run_profile_call(etx_run_profile* profile,
                                             etx_method* method,
                                             etx_diag* diag);

// Writes the trace to `path`; the file is renamed into place when it is
// complete. `program` is the bytes of the program file `name`, from which live
// bytes and source lines are read. Reports a failure on standard error.
etx_exit etx_run_profile_write(const etx_run_profile* profile,
                               etx_bytes program, const char* name,
                               const char* path);

#endif
