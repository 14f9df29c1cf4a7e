// Regions of a method on shadow memory: runs in which nothing orders the
// instructions of different regions, and a search for bytes that two of them
// share. Uses the same steps as the proof, and none of its code.

#ifndef ETX_TESTS_CLI_VERIFY_SHADOW_REGIONS_H
#define ETX_TESTS_CLI_VERIFY_SHADOW_REGIONS_H

#include "cli/verify/verify_regions.h"
#include "tests/cli/verify/shadow_execution.h"

// Runs the method of a schedule in one of many orders in which its regions may
// run: 0 is the order of the file, 1 the last region first, 2 in turns, others
// are random. Instructions are kernel calls of one chain, and all are steps.
byte_verdict shadow_regions_run(etx_bytes file,
                                const etx_verify_schedule* schedule,
                                uint64_t order);

// Marks every byte with the regions that read and write it, group by group. The
// verdict is wrong if one region writes a byte that another one uses, or if the
// file is wrong by itself; `out_is_shared` is true in the first case.
byte_verdict shadow_regions_compare(etx_bytes file,
                                    const etx_verify_schedule* schedule,
                                    bool* out_is_shared);

#endif
