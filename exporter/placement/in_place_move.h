// Moves a computed value, and the values that it is computed from, into another
// storage: that of a state, of a mutable input or of a carried value of a loop.
//
// The chain select -> index_copy -> select_scatter then works in the selected
// part of that storage, and the scatter needs no instruction. Only the
// operators and the storages are checked here. The caller asks placement_check
// whether all nodes still read the right values, and restores the placements if
// not.

#ifndef ETX_EXPORTER_PLACEMENT_IN_PLACE_MOVE_H
#define ETX_EXPORTER_PLACEMENT_IN_PLACE_MOVE_H

#include "exporter/placement/placement.h"

// Which values move together with the value.
typedef enum etx_move_reach {
  ETX_MOVE_VALUE_ONLY,       // none
  ETX_MOVE_SCATTER_SOURCES,  // sources of scatters, into the range that the
                             // scatter writes
  ETX_MOVE_ALL_IN_PLACE,     // and operands that an operator changes in place
} etx_move_reach;

enum { ETX_MOVE_REACH_COUNT = 3 };

typedef struct etx_in_place_move {
  etx_pool* pool;
  const etx_ir_method* method;
  etx_placement* placement;
  uint32_t target;       // storage
  uint32_t old_content;  // the value of the target before; for inputs only
  etx_move_reach reach;
  etx_value_placement* saved;  // by etx_in_place_move_save
  size_t saved_count, saved_capacity;
} etx_in_place_move;

// Places `value` at the start of the target. False if that is impossible;
// placements may have changed all the same.
bool etx_in_place_move_value(etx_in_place_move* m, uint32_t value);

// Saves the placements of all values.
ETX_MUST_USE etx_status etx_in_place_move_save(etx_in_place_move* m);

// Restores what was saved. Values that were added since then keep their
// placements.
void etx_in_place_move_restore(const etx_in_place_move* m);

#endif
