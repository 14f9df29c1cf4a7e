// In which order to run the nodes of a method, so that few bytes live at once.
//
// Items (nodes) touch blocks. A block is live from the first item that touches
// it to the last. Which item comes first is free as far as the edges allow:
//
//   given    a b c d | live: a ab abc abcd          c is read by d alone
//   better   a c d b | live: a ac  ad  adb          and dies sooner
//
// An item whose result may take over the block of an argument that dies in it
// needs no second block at that moment (see reuse_operand_storage).
//
// The live bytes depend on the set of items that are done and not on their
// order, and the more is done, the less an item adds. So an item that leaves no
// more bytes live than it found can always run at once; everything here does
// that first.
//
// Effort is counted in steps (items looked at), never in seconds: the same
// problem gives the same order everywhere. Ties break by the given order.

#ifndef ETX_EXPORTER_SCHEDULE_FIND_SCHEDULE_H
#define ETX_EXPORTER_SCHEDULE_FIND_SCHEDULE_H

#include "exporter/schedule/schedule_problem.h"

typedef struct etx_schedule_result {
  uint32_t* items;      // in the order in which to run; from the pool
  uint64_t peak;        // most bytes live at once then
  uint64_t given_peak;  // and in the given order
  uint64_t bound;       // what no order can go below: 0 is always one
  uint64_t steps;       // spent
} etx_schedule_result;

// Looks for a better order within about `steps` steps beyond a few passes over
// the problem. The result is never worse than the given order, and is it where
// nothing better was found.
ETX_MUST_USE etx_status etx_schedule_find(etx_pool* pool,
                                          const etx_schedule_problem* problem,
                                          uint64_t steps,
                                          etx_schedule_result* out_result);

#endif
