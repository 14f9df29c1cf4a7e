// The proof of a plan, from the bytes of the file alone.
//
// Two levels. Structure is the door of format/pte: a damaged file is refused
// with ETX_BAD_FILE. Allocation is the proof: whatever is wrong with an
// offset, a size, an arena, a view or the layout of state is refused with
// ETX_BAD_PLAN, also where the door saw it first.
//
// Nothing is believed that the planner or the exporter knew. The operators'
// rows say what an instruction reads and writes; jumps are followed; for every
// read it is shown that on every path its bytes were last written by the value
// itself, a caller, the state or the file.
//
// Shares no code with the planner: it includes format alone.

#ifndef ETX_CLI_VERIFY_VERIFY_PROGRAM_H
#define ETX_CLI_VERIFY_VERIFY_PROGRAM_H

#include "format/base/diag.h"
#include "format/base/span.h"

typedef enum etx_verify_level {
  ETX_VERIFY_LEVEL_PROVED,      // nothing was refused
  ETX_VERIFY_LEVEL_STRUCTURE,   // the file is damaged
  ETX_VERIFY_LEVEL_ALLOCATION,  // the plan is wrong
  ETX_VERIFY_LEVEL_UNPROVABLE,  // an operator or an instruction that is not
                                // known
  ETX_VERIFY_LEVEL_HOST,        // no memory
} etx_verify_level;

typedef struct etx_verify_report {
  etx_verify_level level;    // what refused the file
  bool is_stock;             // it has no blob of etx
  size_t method_count;       // methods proved, all others that came before
                             // the refused one
  size_t value_count;        // tensors of those methods
  size_t instruction_count;  // of those methods
  size_t state_count;        // states that all methods share; 0 if not stated
} etx_verify_report;

// Proves every method of `file`, whose bytes are aligned to 16. `report` and
// `diag` may be NULL. ETX_OK: proved. ETX_BAD_FILE, ETX_OUT_OF_RANGE:
// structure. ETX_BAD_PLAN: allocation. ETX_UNSUPPORTED, ETX_MISSING_OPERATOR:
// it holds something about which nothing can be proved. ETX_OUT_OF_MEMORY.
ETX_MUST_USE etx_status etx_verify_program(etx_bytes file,
                                           etx_verify_report* report,
                                           etx_diag* diag);

// A word for a level: "allocation".
const char* etx_verify_level_name(etx_verify_level level);

#endif
