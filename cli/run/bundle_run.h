// Makes the calls that a bundled program (.bpte) contains, and compares the
// results with the expected ones in it.
//
// State starts with its initial values at the first case of a method and goes
// on from case to case.

#ifndef ETX_CLI_RUN_BUNDLE_RUN_H
#define ETX_CLI_RUN_BUNDLE_RUN_H

#include "cli/tensors/tensor_compare.h"
#include "cli/run/run_session.h"

// Called after each case. `why` is NULL if it passed; otherwise it says which
// output differs and how, or why the call was refused.
typedef struct etx_bundle_sink {
  void (*done)(void* context, etx_text method, size_t index, const char* why);
  void* context;
} etx_bundle_sink;

typedef struct etx_bundle_result {
  size_t passed;
  size_t failed;
} etx_bundle_result;

// Runs every case of the session's bundle. `tolerance` is for 32 and 64-bit
// floats; narrower ones get at least two units of their last place. Ends early
// only if the machine fails.
ETX_MUST_USE etx_status etx_bundle_run(etx_run_session* session,
                                       etx_tolerance tolerance,
                                       const etx_bundle_sink* sink,
                                       etx_bundle_result* out_result,
                                       etx_diag* diag);

#endif
