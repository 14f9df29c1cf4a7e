// Checks that every read of a method finds the value that it should read.
//
// The IR is functional: a value never changes. When several values share bytes
// (an updated state, a reused block), this must be verified. The check goes
// through the nodes and tracks which value wrote each byte of one storage, and
// compares that with what each reader expects:
//
//   bytes of S   |  S S S S S S |      before
//   node 3       |  S S a a S S |      a is computed in place
//   node 4 reads |  S S a a S S |      scatter of a into S: as expected
//   node 5 reads |  S S S S S S |      S itself: a conflict
//
// The check shares no code with the passes that choose placements. They call it
// for each attempt, and write_back checks their result with it.

#ifndef ETX_EXPORTER_PLACEMENT_PLACEMENT_CHECK_H
#define ETX_EXPORTER_PLACEMENT_PLACEMENT_CHECK_H

#include "exporter/placement/placement.h"

typedef struct etx_placement_conflict {
  size_t reader;   // position of the node; node_count: outputs and mutations
                   // at the end of the method
  uint32_t value;  // the value that the node should read
  // The value could be copied in front of any node from `first` to `last`:
  // after it is complete and before it is overwritten. False if its bytes are
  // never there all at once.
  bool can_be_saved;
  size_t first;
  size_t last;
} etx_placement_conflict;

typedef struct etx_placement_conflicts {
  etx_placement_conflict* items;  // in order of the readers
  size_t count, capacity;
} etx_placement_conflicts;

typedef enum etx_placement_check_scope {
  ETX_PLACEMENT_CHECK_NODES,      // reads by nodes, and mutations in place
  ETX_PLACEMENT_CHECK_MUTATIONS,  // and mutations that are not in place yet
  ETX_PLACEMENT_CHECK_ALL,        // and outputs
} etx_placement_check_scope;

// Appends every conflict in `storage` to `conflicts`, whose items come from
// `pool`. `end` says what counts as read at the end of the method.
ETX_MUST_USE etx_status etx_placement_check(etx_pool* pool,
                                            const etx_ir_method* method,
                                            const etx_placement* placement,
                                            uint32_t storage,
                                            etx_placement_check_scope end,
                                            etx_placement_conflicts* conflicts);

#endif
