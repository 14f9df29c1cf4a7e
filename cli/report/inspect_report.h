// The report of etx inspect, as text and as JSON.

#ifndef ETX_CLI_REPORT_INSPECT_REPORT_H
#define ETX_CLI_REPORT_INSPECT_REPORT_H

#include <jansson.h>

#include "cli/program/operator_use.h"
#include "cli/program/state_list.h"
#include "cli/report/memory_at.h"
#include "runtime/program.h"

// What is reported.
typedef struct etx_inspect_facts {
  const char* path;
  const etx_program* program;
  const etx_operator_uses* uses;
  const etx_state_list* states;
  const etx_memory_at* memory;  // by method; `is_asked` false: not reported.
                                // NULL: of none
} etx_inspect_facts;

// Prints the report to standard output.
ETX_MUST_USE etx_status etx_inspect_print(const etx_inspect_facts* facts,
                                          etx_diag* diag);

// The same facts as JSON. The caller owns the reference, also after an error.
ETX_MUST_USE etx_status etx_inspect_json(const etx_inspect_facts* facts,
                                         json_t** out_root, etx_diag* diag);

#endif
