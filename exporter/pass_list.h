// The list of passes between reading a module and planning it, and their
// runner.
//
// The runner stops after a pass that has reported problems of the user's
// program. It verifies the IR after every pass.

#ifndef ETX_EXPORTER_PASS_LIST_H
#define ETX_EXPORTER_PASS_LIST_H

#include "exporter/passes/pass_context.h"

typedef struct etx_pass {
  const char* name;
  bool is_optional;  // can be switched off; results are the same without it
  bool is_lowered;   // all nodes are lowered after it
  const char* sentence;
  etx_status (*run)(etx_pass_context* context);
} etx_pass;

size_t etx_pass_count(void);

// The pass at `index`, in the order in which passes run.
const etx_pass* etx_pass_at(size_t index);

// Runs all passes that context->options->passes ("-name,-name") does not switch
// off. An unknown pass, a pass that is not optional, and a name without its
// dash are errors; tests can switch off any pass with "!name". ETX_UNSUPPORTED
// if a pass has reported problems; later passes have not run then.
ETX_MUST_USE etx_status etx_passes_run(etx_pass_context* context);

#endif
