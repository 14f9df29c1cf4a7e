// Executes a recorded sequence of calls in one session and compares every
// output, changed input and state after each call.
//
// State starts with its initial values and gets them again at each reset.
// What a call is not recorded to have changed must be unchanged: inputs, and
// state of up to 64 KiB (larger ones are not recorded).

#ifndef ETX_CLI_RUN_CASE_RUN_H
#define ETX_CLI_RUN_CASE_RUN_H

#include "cli/run/case_file.h"
#include "cli/run/run_session.h"

struct etx_run_profile;

// `difference` is called for each thing that differs: `what` is "output
// 'logits'", "state 'cache'", `why` as of etx_tensor_compare.
typedef struct etx_case_sink {
  void (*difference)(void* context, size_t call, const char* method,
                     const char* what, const char* why);
  void* context;
  struct etx_run_profile* profile;  // sees every call; may be NULL
} etx_case_sink;

typedef struct etx_case_result {
  size_t call_count;  // executed, resets not counted
  size_t difference_count;
  size_t refused_call;  // if the status is not ETX_OK: which call failed
} etx_case_result;

// Returns what a call was refused with; the rest of the sequence is then not
// executed. Differences are not a failure of this function.
ETX_MUST_USE etx_status etx_case_run(etx_run_session* session,
                                     const etx_case_file* file,
                                     const etx_case_sink* sink,
                                     etx_case_result* out_result,
                                     etx_diag* diag);

#endif
