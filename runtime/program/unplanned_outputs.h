// Outputs of instructions for which the file plans no memory, and the offsets
// of arenas, after which they are placed.

#ifndef ETX_RUNTIME_PROGRAM_UNPLANNED_OUTPUTS_H
#define ETX_RUNTIME_PROGRAM_UNPLANNED_OUTPUTS_H

#include "runtime/program/operator_cache.h"
#include "runtime/program.h"

// The offset of every arena in the scratch block; SIZE_MAX for shared state.
// `out_end` is the end of the last. False on overflow. `out_offsets` may be
// NULL.
bool etx_program_arena_offsets(const etx_program* program,
                               const etx_pte_plan* plan, size_t* out_offsets,
                               size_t* out_end);

typedef struct etx_unplanned_outputs_cursor {
  size_t chain, instruction, argument, item;
  size_t examined;  // writes to values without memory so far
} etx_unplanned_outputs_cursor;

// Finds the next value that an instruction writes and that the file has not
// planned, so that the runtime must place it: each once, in order of first
// write. `out_found` is false at the end.
ETX_MUST_USE etx_status etx_unplanned_outputs_next(
    const etx_program* program, etx_operator_cache* operators,
    etx_unplanned_outputs_cursor* cursor, bool* out_found, uint32_t* out_value,
    etx_diag* diag);

// True if some instruction of the method writes the value.
bool etx_program_plan_writes(const etx_program* program,
                             const etx_pte_plan* plan, uint32_t value);

#endif
