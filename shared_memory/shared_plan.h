// The program's table of states: name, place and initial value of each.
//
// A file of etx's own has the table in its blob, sorted by name. A stock file
// has only tensors that lie in arena 2; the same state then appears once for
// every method that names it, and may have its initial data in any of them.

#ifndef ETX_SHARED_MEMORY_SHARED_PLAN_H
#define ETX_SHARED_MEMORY_SHARED_PLAN_H

#include "runtime/program.h"

typedef struct etx_shared_state {
  etx_blob_state row;  // the blob's, or as it would have it. A stock file may
                       // give no name: its size is 0
  const uint8_t* dim_order;  // NULL: default
  size_t bytes;
  // Initial value: its own bytes, or one element's that is repeated
  // (is_uniform). Size 0: none is stated, which means zeros.
  etx_bytes initial;
} etx_shared_state;

// Position in the table; starts as zeros.
typedef struct etx_shared_cursor {
  size_t plan;
  size_t row;
} etx_shared_cursor;

// The next row; false at the end. Rows of a stock file repeat.
bool etx_shared_plan_next(const etx_program* program, etx_shared_cursor* cursor,
                          etx_shared_state* out_state);

// The first row of that name; false if there is none.
bool etx_shared_plan_find(const etx_program* program, etx_text name,
                          etx_shared_state* out_state);

// The next row with a name that no row before it has.
bool etx_shared_plan_next_name(const etx_program* program,
                               etx_shared_cursor* cursor,
                               etx_shared_state* out_state);

#endif
