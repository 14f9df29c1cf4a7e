// Executes a recorded sequence of calls in one session. After each call it
// compares every output, input and state.
//
// States have their initial values at the start and after each reset. Inputs
// and states without a recorded change must be unchanged. States of more than
// 64 KiB are compared only if the case has a recorded value.

#ifndef ETX_CLI_RUN_CASE_RUN_H
#define ETX_CLI_RUN_CASE_RUN_H

#include "cli/run/case_file.h"
#include "cli/run/run_session.h"

struct etx_run_profile;

// `difference` is called for each difference: `what` is, for instance, "output
// 'logits'" or "state 'cache'", `why` the text of etx_tensor_compare.
typedef struct etx_case_sink {
  void (*difference)(void* context, size_t call, const char* method,
                     const char* what, const char* why);
  void* context;
  struct etx_run_profile* profile;  // records every call; may be NULL
} etx_case_sink;

typedef struct etx_case_result {
  size_t call_count;  // executed, resets not counted
  size_t difference_count;
  size_t refused_call;  // if the status is not ETX_OK: the call that failed
} etx_case_result;

// If a call fails, returns its status and does not execute the rest.
// Differences do not change the status.
ETX_MUST_USE etx_status etx_case_run(etx_run_session* session,
                                     const etx_case_file* file,
                                     const etx_case_sink* sink,
                                     etx_case_result* out_result,
                                     etx_diag* diag);

#endif
