// Does every read still find the value it means?
//
// The IR is functional: a value never changes. Once several values lie in the
// same bytes (an updated state, a block that is used again) that has to be
// shown. One storage is followed through the method: which value's bytes lie
// where after each node, against which value's bytes a reader expects.
//
//   bytes of S   |  S S S S S S |      before
//   node 3       |  S S a a S S |      a is computed in place
//   node 4 reads |  S S a a S S |      S patched with a: as expected
//   node 5 reads |  S S S S S S |      S itself: a conflict
//
// Nothing here knows how the values got their places, so it serves as the
// oracle of the passes that choose them and as the judge of their result.

#ifndef ETX_EXPORTER_PLACEMENT_PLACEMENT_CHECK_H
#define ETX_EXPORTER_PLACEMENT_PLACEMENT_CHECK_H

#include "exporter/placement/placement.h"

typedef struct etx_placement_conflict {
  size_t reader;   // position of the node; node_count: outputs and mutations
                   // at the end of the method
  uint32_t value;  // what it means to read
  // The value could be copied in front of any node from `first` to `last`:
  // after its bytes are complete, before they are overwritten. False if they
  // never lie there all at once.
  bool can_be_saved;
  size_t first;
  size_t last;
} etx_placement_conflict;

typedef struct etx_placement_conflicts {
  etx_placement_conflict* items;  // in order of the readers
  size_t count, capacity;
} etx_placement_conflicts;

typedef enum etx_placement_check_scope {
  ETX_PLACEMENT_CHECK_NODES,  // what nodes read, and mutations that are placed
  ETX_PLACEMENT_CHECK_MUTATIONS,  // and the values of mutations not placed yet
  ETX_PLACEMENT_CHECK_ALL,        // and outputs
} etx_placement_check_scope;

// Appends every conflict in `storage` to `conflicts`, whose items come from
// `pool`. `end` says what is read when the method ends.
ETX_MUST_USE etx_status etx_placement_check(etx_pool* pool,
                                            const etx_ir_method* method,
                                            const etx_placement* placement,
                                            uint32_t storage,
                                            etx_placement_check_scope end,
                                            etx_placement_conflicts* conflicts);

#endif
