// What calls did, as a trace for Chrome and Perfetto: each call, in it each
// instruction with its operator, its tensors, the time it took and, if the
// program says so, the lines it comes from; and the bytes of each arena that
// hold something while it runs.

#ifndef ETX_CLI_RUN_RUN_PROFILE_H
#define ETX_CLI_RUN_RUN_PROFILE_H

#include "cli/base/exit_code.h"
#include "runtime/method.h"

typedef struct etx_run_profile_event {
  double start;  // seconds on the machine's clock
  double end;
  size_t instruction;
  const etx_op* op;
  const char* types;  // of its arguments, "float32[2, 3], ..."; NULL: no memory
} etx_run_profile_event;

typedef struct etx_run_profile_call_record {
  etx_text method;  // as the program's file has it
  double start;     // seconds on the machine's clock
  double end;
  size_t first;  // its events start here
  size_t count;
} etx_run_profile_call_record;

typedef struct etx_run_profile {
  etx_run_profile_event* events;
  size_t count;
  size_t capacity;
  etx_run_profile_call_record* calls;
  size_t call_count;
  size_t call_capacity;
  size_t lost;  // events and calls for which there was no memory
} etx_run_profile;

void etx_run_profile_init(etx_run_profile* profile);
void etx_run_profile_close(etx_run_profile* profile);

// Runs a method, which is observed for it, and adds the call; one that fails
// too, as far as it came.
ETX_MUST_USE etx_status etx_run_profile_call(etx_run_profile* profile,
                                             etx_method* method,
                                             etx_diag* diag);

// Writes the recorded calls to `path`, which appears when it is complete.
// `program` has the bytes of the program `name`, from which arenas and source
// lines are read. A failure is reported on standard error.
etx_exit etx_run_profile_write(const etx_run_profile* profile,
                               etx_bytes program, const char* name,
                               const char* path);

#endif
