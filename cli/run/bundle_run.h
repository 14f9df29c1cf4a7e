// Runs the calls that are recorded in a bundled program (.bpte) and compares
// their outputs with the recorded ones.
//
// States are reset before the first case of each method, not between its cases.

#ifndef ETX_CLI_RUN_BUNDLE_RUN_H
#define ETX_CLI_RUN_BUNDLE_RUN_H

#include "cli/tensors/tensor_compare.h"
#include "cli/run/run_session.h"

// Called after each case. `why` is NULL if it passed. Otherwise it says which
// output differs and how, or has the message of the failed call.
typedef struct etx_bundle_sink {
  void (*done)(void* context, etx_text method, size_t index, const char* why);
  void* context;
} etx_bundle_sink;

typedef struct etx_bundle_result {
  size_t passed;
  size_t failed;
} etx_bundle_result;

// Runs every case of the session's bundle. `tolerance` is for float32 and
// float64; float16 and bfloat16 get at least 2 ULP. Ends early only if memory
// or the system fails.
ETX_MUST_USE etx_status etx_bundle_run(etx_run_session* session,
                                       etx_tolerance tolerance,
                                       const etx_bundle_sink* sink,
                                       etx_bundle_result* out_result,
                                       etx_diag* diag);

#endif
