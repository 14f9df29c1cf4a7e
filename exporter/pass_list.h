// The list of passes between reading a module and planning its memory, and the
// runner.
//
// The runner verifies the IR after every pass. It stops after a pass that
// reported problems in the user's model.

#ifndef ETX_EXPORTER_PASS_LIST_H
#define ETX_EXPORTER_PASS_LIST_H

#include "exporter/passes/pass_context.h"

typedef struct etx_pass {
  const char* name;
  bool is_optional;      // can be switched off; results are the same without it
  bool is_lowered;       // all nodes are lowered after it
  const char* sentence;  // what the pass does, for --help and docs/cli.md
  etx_status (*run)(etx_pass_context* context);
} etx_pass;

size_t etx_pass_count(void);

// The pass at `index`, in the order in which passes run.
const etx_pass* etx_pass_at(size_t index);

// ETX_NOT_FOUND, with the nearest name as a hint, if no pass has this present
// or former name.
ETX_MUST_USE etx_status etx_pass_check_name(etx_text name, etx_diag* diag);

// Finds the next entry of `*list` that calls a pass by a former name, and moves
// `*list` behind it; false if there is none. The list is a single name, or is
// written as etx_export_options.passes.
bool etx_pass_next_former_name(const char** list, etx_text* out_former,
                               etx_text* out_present);

// Runs all passes that options.passes does not switch off. First checks the
// entries: each is "-name" with an optional pass. In tests, "!name" switches
// off any pass. ETX_UNSUPPORTED if a pass reported problems; later passes have
// then not run.
ETX_MUST_USE etx_status etx_passes_run(etx_pass_context* context);

#endif
