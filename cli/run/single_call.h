// One call of a method from the command line, with inputs and outputs by name.

#ifndef ETX_CLI_RUN_SINGLE_CALL_H
#define ETX_CLI_RUN_SINGLE_CALL_H

#include "cli/base/exit_code.h"
#include "cli/base/options.h"
#include "cli/run/run_session.h"
#include "exporter/host/host_memory.h"

typedef struct etx_single_call {
  const char* file;  // path of the program, for messages
  const char* method;
  const etx_option_list* inputs;   // "NAME=VALUE"
  const etx_option_list* outputs;  // "NAME=FILE": outputs, inputs that the
                                   // method changes, and states
  bool json;
  const char* profile;  // path for a trace of the run, or NULL
} etx_single_call;

// Runs the method once. Prints the outputs and changed inputs that are not
// written to files. Reports a failure on standard error and returns the exit
// code.
etx_exit etx_single_call_run(etx_run_session* session,
                             const etx_single_call* what, etx_pool* pool);

#endif
