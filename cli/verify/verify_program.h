// The proof of a memory plan, from the bytes of the file alone.
//
// It has two levels. Structure: the file verifier of format/pte refuses a
// damaged file with ETX_BAD_FILE. Allocation: the proof refuses a wrong offset,
// size, arena, view or layout of state with ETX_BAD_PLAN, even where the file
// verifier finds it first.
//
// Nothing is taken from the planner or the exporter. The operators' schemas say
// what an instruction reads and writes, and all jumps are followed. For every
// read the proof shows that on every path the bytes were last written as the
// value that is read: by an instruction, by the caller, in an earlier call (a
// state), or in the file (a constant).
//
// It shares no code with the planner: it includes format only.

#ifndef ETX_CLI_VERIFY_VERIFY_PROGRAM_H
#define ETX_CLI_VERIFY_VERIFY_PROGRAM_H

#include "format/base/diag.h"
#include "format/base/span.h"

typedef enum etx_verify_level {
  ETX_VERIFY_LEVEL_PROVED,      // the plan is correct
  ETX_VERIFY_LEVEL_STRUCTURE,   // the file is damaged
  ETX_VERIFY_LEVEL_ALLOCATION,  // the plan is wrong
  ETX_VERIFY_LEVEL_UNPROVABLE,  // an unknown operator, a delegate, or a plan
                                // above a limit of the proof
  ETX_VERIFY_LEVEL_HOST,        // not enough memory for the proof
} etx_verify_level;

typedef struct etx_verify_report {
  etx_verify_level level;    // the level that refused the file, or PROVED
  bool is_stock;             // the file has no blob of etx
  size_t method_count;       // methods proved: all, or those before the one
                             // that was refused
  size_t value_count;        // tensors of those methods
  size_t instruction_count;  // of those methods
  size_t state_count;        // states in the blob; 0 for a stock file
} etx_verify_report;

// Proves every method of `file`, whose bytes are aligned to 16. `report` and
// `diag` may be NULL. ETX_OK: proved. ETX_BAD_FILE, ETX_OUT_OF_RANGE:
// structure. ETX_BAD_PLAN: allocation. ETX_UNSUPPORTED, ETX_MISSING_OPERATOR:
// something in the file cannot be proved. ETX_OUT_OF_MEMORY.
ETX_MUST_USE etx_status etx_verify_program(etx_bytes file,
                                           etx_verify_report* report,
                                           etx_diag* diag);

// The name of a level in JSON reports: "allocation".
const char* etx_verify_level_name(etx_verify_level level);

#endif
