// The list of passes between reading a module and planning its memory, and the
// runner.
//
// The runner verifies the IR after every pass, and stops after a pass that
// reported problems of the user's program.

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

// ETX_NOT_FOUND, with the nearest name as a hint, if no pass has this present
// or former name.
ETX_MUST_USE etx_status etx_pass_check_name(etx_text name, etx_diag* diag);

// The next entry of a list as in etx_export_options.passes that calls a pass by
// a former name; false at the end. A single name is such a list too.
bool etx_pass_next_former_name(const char** list, etx_text* out_former,
                               etx_text* out_present);

// Runs all passes that options.passes does not switch off. Before that, it
// refuses an entry that names an unknown pass or one that is not optional, or
// that has no dash. Tests may switch off any pass with "!name".
// ETX_UNSUPPORTED if a pass reported problems; later passes have then not run.
ETX_MUST_USE etx_status etx_passes_run(etx_pass_context* context);

#endif
