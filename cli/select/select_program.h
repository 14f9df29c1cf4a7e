// What the methods of a program file need of a build.

#ifndef ETX_CLI_SELECT_SELECT_PROGRAM_H
#define ETX_CLI_SELECT_SELECT_PROGRAM_H

#include "cli/select/selection.h"
#include "runtime/method.h"

// What a selection does not say and a build depends on. Those of two programs
// are united: bits by "or", bytes by the larger one.
typedef struct etx_selected_facts {
  uint32_t features;         // a bit for each row of build_features.def
  uint64_t chain_steps;      // of all calls that compute chains: bits of
                             // etx_chain_step_bit
  bool changes_used_values;  // a call gives a value another size, number or
                             // memory after it was used: ETX_CONTROL_FLOW
  bool has_views;            // a call makes one: ETX_VIEWS
  etx_memory_needed bytes;   // of the most demanding method, by kind of memory
} etx_selected_facts;

// Where what a program needs is added.
typedef struct etx_selecting {
  etx_text path;                // of the file, as the reason of its operators;
                                // it outlives the selection
  const etx_selection* traced;  // adds only calls that a trace has; NULL: all
  etx_selection* selection;
  etx_selected_facts* facts;
  etx_pool* pool;
} etx_selecting;

// Adds the operators and features of one method of an opened program, whose
// file outlives the selection.
ETX_MUST_USE etx_status etx_select_method(const etx_program* program,
                                          const etx_pte_plan* plan,
                                          const etx_selecting* to,
                                          etx_diag* diag);

// Adds the bytes of memory that the method needs.
ETX_MUST_USE etx_status etx_select_bytes(const etx_program* program,
                                         const etx_pte_plan* plan,
                                         const etx_selecting* to,
                                         etx_diag* diag);

// Adds all of these for each method of a program, variants included.
ETX_MUST_USE etx_status etx_select_program(const etx_program* program,
                                           const etx_selecting* to,
                                           etx_diag* diag);

#endif
