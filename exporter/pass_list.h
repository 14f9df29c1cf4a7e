// The passes between reading a module and planning it: one list, one runner.
//
// The runner stops after a pass that reported problems of the user's program.
// The IR is verified after every pass.

#ifndef ETX_EXPORTER_PASS_LIST_H
#define ETX_EXPORTER_PASS_LIST_H

#include "exporter/passes/pass_context.h"

typedef struct etx_pass {
  const char* name;
  bool is_optional;  // may be switched off with equal results
  bool is_lowered;   // nodes are lowered after it
  const char* sentence;
  etx_status (*run)(etx_pass_context* context);
} etx_pass;

size_t etx_pass_count(void);

// The pass at `index`, in the order in which passes run.
const etx_pass* etx_pass_at(size_t index);

// Refuses a list of passes to switch off ("-name,-name") that names an unknown
// pass, one that is not optional, or one without its dash. Tests may switch off
// any pass by writing
// "!name" instead. NULL is the empty list.
ETX_MUST_USE etx_status etx_passes_check(const char* switched_off,
                                         etx_diag* diag);

// Runs all passes that are not switched off. ETX_UNSUPPORTED if a pass
// reported problems; later passes have then not run.
ETX_MUST_USE etx_status etx_passes_run(etx_pass_context* context);

#endif
