// Traces: what programs have used while they ran (runtime/trace/call_trace.h),
// read from their files and compared with what programs can use.

#ifndef ETX_CLI_SELECT_TRACE_READ_H
#define ETX_CLI_SELECT_TRACE_READ_H

#include "cli/select/select_program.h"

// What several traces have used together.
typedef struct etx_traced {
  etx_selection selection;
  uint32_t features;  // a bit for each row of build_features.def
} etx_traced;

// Reads a trace, whose text must outlive `out_traced`. ETX_BAD_FILE, with line
// and column: it is no trace, or it has an operator, a kernel or a feature that
// the programs of `selection` and `facts` do not have.
ETX_MUST_USE etx_status etx_trace_read(etx_pool* pool, etx_text text,
                                       const etx_selection* selection,
                                       const etx_selected_facts* facts,
                                       etx_traced* out_traced, etx_diag* diag);

// Adds all that `other` has used. Like the union of selections, this does not
// depend on order or repetition.
ETX_MUST_USE etx_status etx_traced_unite(etx_traced* traced, etx_pool* pool,
                                         const etx_traced* other);

#endif
