// Proves that the regions which the runtime would run at the same time are
// independent: the steps come from a loaded method, the proof from
// cli/verify/verify_regions.h, which reads nothing but the file.

#ifndef ETX_CLI_RUN_REGION_PROOF_H
#define ETX_CLI_RUN_REGION_PROOF_H

#include "cli/run/run_session.h"

typedef struct etx_region_proof_report {
  size_t method_count;  // with regions
  size_t step_count;    // instructions in regions
  size_t pair_count;    // pairs of instructions that may run at the same time
} etx_region_proof_report;

// Proves the regions of all methods, at their largest sizes, for runs of at
// most `limit` regions at a time. `session` has the program open; its methods
// are loaded. ETX_BAD_PLAN: two regions share bytes that one of them writes.
ETX_MUST_USE etx_status
etx_region_proof_run(etx_run_session* session, size_t limit,
                     etx_region_proof_report* out_report, etx_diag* diag);

#endif
