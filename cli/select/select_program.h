// What the methods of a program file need of a build.

#ifndef ETX_CLI_SELECT_SELECT_PROGRAM_H
#define ETX_CLI_SELECT_SELECT_PROGRAM_H

#include "cli/select/selection.h"
#include "runtime/method.h"

// What a selection does not say and a build depends on. Those of two programs
// are united: bits by "or", bytes by the larger one.
typedef struct etx_selected_facts {
  bool is_dynamic;          // needs ETX_DYNAMIC
  bool has_data_files;      // some tensors are in data files
  etx_memory_needed bytes;  // of the most demanding method, by kind of memory
} etx_selected_facts;

// Adds what an opened program needs. `path` is the name under which the file
// is listed as the reason; it and the file outlive the selection.
ETX_MUST_USE etx_status etx_select_program(const etx_program* program,
                                           etx_text path, etx_pool* pool,
                                           etx_selection* selection,
                                           etx_selected_facts* facts,
                                           etx_diag* diag);

#endif
