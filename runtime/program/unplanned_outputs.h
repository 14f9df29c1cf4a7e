// Outputs of instructions that the file gives no memory, and where the arenas
// are behind which they are placed.

#ifndef ETX_RUNTIME_PROGRAM_UNPLANNED_OUTPUTS_H
#define ETX_RUNTIME_PROGRAM_UNPLANNED_OUTPUTS_H

#include "runtime/program/operator_cache.h"
#include "runtime/program.h"

// Start of every arena in the scratch block; SIZE_MAX for the shared one.
// Returns the end of the last. False on overflow. `out_offsets` may be NULL.
bool etx_program_arena_offsets(const etx_program* program,
                               const etx_pte_plan* plan, size_t* out_offsets,
                               size_t* out_end);

typedef struct etx_unplanned_outputs_cursor {
  size_t chain, instruction, argument, item;
  size_t examined;  // writes to values without memory so far
} etx_unplanned_outputs_cursor;

// The next value that an instruction writes, the file gives no memory, and the
// runtime therefore has to: each once, in order of first write. False at the
// end.
ETX_MUST_USE etx_status etx_unplanned_outputs_next(
    const etx_program* program, const etx_pte_plan* plan,
    etx_operator_cache* operators, etx_unplanned_outputs_cursor* cursor,
    bool* out_found, uint32_t* out_value, etx_diag* diag);

// True if some instruction of the method writes the value.
bool etx_program_plan_writes(const etx_pte_plan* plan, uint32_t value);

#endif
