// Memory-aware scheduling: an order of the nodes of a method with a low peak of
// live bytes.
//
// Items (nodes) read and write blocks. A block is live from the first item that
// touches it to the last. Any topological order of the dependencies is allowed:
//
//   given    a b c d | live: a ab abc abcd          only d reads c,
//   better   a c d b | live: a ac  ad  adb          so c is freed sooner
//
// An item whose result may take over the block of an operand that dies in it
// needs no second block (see reuse_operand_storage).
//
// The live bytes depend on the set of items that have run, not on their order,
// and each item adds less the more items have run. So an item that does not
// increase the live bytes can run as soon as it is ready; all algorithms here
// run such items first.
//
// Effort is counted in steps (items that are examined), never in seconds, so
// that the same problem gives the same order on every machine. Ties are broken
// by the given order.

#ifndef ETX_EXPORTER_SCHEDULE_FIND_SCHEDULE_H
#define ETX_EXPORTER_SCHEDULE_FIND_SCHEDULE_H

#include "exporter/schedule/schedule_problem.h"

typedef struct etx_schedule_result {
  uint32_t* items;      // in the order in which to run; from the pool
  uint64_t peak;        // most bytes live at once in this order
  uint64_t given_peak;  // the same in the given order
  uint64_t bound;       // a lower bound of the peak of every order
  uint64_t steps;       // steps used
} etx_schedule_result;

// Searches for a better order with about `steps` steps, in addition to a few
// passes over the problem. The result is the given order if no better one is
// found.
ETX_MUST_USE etx_status etx_schedule_find(etx_pool* pool,
                                          const etx_schedule_problem* problem,
                                          uint64_t steps,
                                          etx_schedule_result* out_result);

#endif
