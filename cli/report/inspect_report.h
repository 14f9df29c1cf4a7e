// The report of etx inspect, as text and as JSON.

#ifndef ETX_CLI_REPORT_INSPECT_REPORT_H
#define ETX_CLI_REPORT_INSPECT_REPORT_H

#include <jansson.h>

#include "cli/program/operator_use.h"
#include "cli/program/state_list.h"
#include "runtime/program.h"

// Prints the report to standard output.
ETX_MUST_USE etx_status etx_inspect_print(const char* path,
                                          const etx_program* program,
                                          const etx_operator_uses* uses,
                                          const etx_state_list* states,
                                          etx_diag* diag);

// The same facts as JSON. The caller owns the reference, also after an error.
ETX_MUST_USE etx_status etx_inspect_json(const char* path,
                                         const etx_program* program,
                                         const etx_operator_uses* uses,
                                         const etx_state_list* states,
                                         json_t** out_root, etx_diag* diag);

#endif
