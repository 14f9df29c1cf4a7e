// The program's table of states, with name, offset and initial value of each.
//
// A file made by etx has the table in its blob, sorted by name. A stock file
// has only tensors in arena 2. There a state appears once for every method that
// names it, and any of them may have its initial value.

#ifndef ETX_SHARED_MEMORY_SHARED_PLAN_H
#define ETX_SHARED_MEMORY_SHARED_PLAN_H

#include "runtime/program.h"

typedef struct etx_shared_state {
  // The row of the blob, or what it would be. In a stock file the name may be
  // empty.
  etx_blob_state row;
  const uint8_t* dim_order;  // NULL: default
  size_t bytes;
  // The initial value: all bytes, or one element that is repeated (is_uniform).
  // Size 0: zeros.
  etx_bytes initial;
} etx_shared_state;

// A position in the table. Initialise it with zeros.
typedef struct etx_shared_cursor {
  size_t plan;
  size_t row;
} etx_shared_cursor;

// Reads the next row; returns false at the end. In a stock file a state may
// appear several times.
bool etx_shared_plan_next(const etx_program* program, etx_shared_cursor* cursor,
                          etx_shared_state* out_state);

// Finds the first row with a name; returns false if there is none.
bool etx_shared_plan_find(const etx_program* program, etx_text name,
                          etx_shared_state* out_state);

// Reads the next row whose name no earlier row has.
bool etx_shared_plan_next_name(const etx_program* program,
                               etx_shared_cursor* cursor,
                               etx_shared_state* out_state);

// Fills memory with one element, whose size divides `bytes`: copies it, then
// doubles what is copied.
static inline void etx_shared_repeat(uint8_t* out, size_t bytes,
                                     etx_bytes element) {
  size_t done = element.size;
  memcpy(out, element.data, done);
  while (done < bytes) {
    const size_t rest = bytes - done;
    const size_t more = done < rest ? done : rest;
    memcpy(out + done, out, more);
    done += more;
  }
}

// True if `prefix` is the name itself, a module that contains it, or empty.
static inline bool etx_shared_name_matches(etx_text name, etx_text prefix) {
  if (!etx_text_starts_with(name, prefix)) return false;
  return prefix.size == 0 || name.size == prefix.size ||
         name.data[prefix.size] == '.';
}

#endif
