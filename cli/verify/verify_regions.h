// The proof that parts of a method may run at the same time.
//
//   step    0 1 2 3 4 5 6        a group: steps 1 to 4
//   region    0 1 0 1            1 and 3 run in order, 2 and 4 too; nothing
//                                orders 1 and 2
//
// A file states nothing about regions: the runtime finds them from addresses
// (runtime/regions.h). This proof takes what the runtime found as a claim and
// checks it against the file, with the reads and writes that the rest of the
// proof uses. It shares no code with the runtime.
//
// It proves for every two instructions of a group that are in different
// regions that neither writes a byte that the other reads or writes, and that
// the temporary memory of regions shares no bytes with any other block. An
// instruction with a late or a random number, or in a method with jumps, may be
// in no group. So every order in which regions may run gives the results of the
// order of the file, which etx_verify_program proves.

#ifndef ETX_CLI_VERIFY_VERIFY_REGIONS_H
#define ETX_CLI_VERIFY_VERIFY_REGIONS_H

#include "format/base/diag.h"
#include "format/base/span.h"

typedef struct etx_verify_region_step {
  size_t instruction;  // position among the instructions of all chains
  size_t group_end;    // one past the last step of its group; 0: it runs alone
  size_t region;       // of the group
} etx_verify_region_step;

// Memory that a run uses: bytes [start, end) of the machine's addresses.
typedef struct etx_verify_block {
  const char* what;  // for messages: "temporary memory of region"
  size_t number;     // of the region; 0 for other blocks
  uint64_t start;
  uint64_t end;
} etx_verify_block;

// What a run of one method does.
typedef struct etx_verify_schedule {
  etx_text method;
  const etx_verify_region_step* steps;  // in order
  size_t step_count;
  const etx_verify_block* blocks;  // that must share no bytes
  size_t block_count;
} etx_verify_schedule;

// Proves a schedule. `out_pairs` is the number of pairs of instructions that
// may run at the same time; it may be NULL. ETX_BAD_PLAN: two of them share
// bytes; the message names both and the bytes. ETX_BAD_ARGUMENT: the schedule
// contradicts the file or itself. Other failures are those of
// etx_verify_program.
ETX_MUST_USE etx_status etx_verify_regions(etx_bytes file,
                                           const etx_verify_schedule* schedule,
                                           size_t* out_pairs, etx_diag* diag);

#endif
