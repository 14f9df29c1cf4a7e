// Exit codes, and how commands report errors:
//
//   etx plan: methods/decode.yaml:12:9: unknown operator 'aten.ad.Tensor'
//             |                         |
//             location, if known        message of the diag

#ifndef ETX_CLI_BASE_EXIT_CODE_H
#define ETX_CLI_BASE_EXIT_CODE_H

#include "format/base/diag.h"

typedef enum etx_exit {
#define EXIT_CODE(NAME, number, sentence) ETX_EXIT_##NAME = number,
#include "cli/base/exit_code.def"
#undef EXIT_CODE
} etx_exit;

// The exit code for a status of reading, planning or loading.
etx_exit etx_exit_from_status(etx_status status);

// The exit code for a status of setting inputs or running a method: refused
// values and states become ETX_EXIT_RUN_REFUSED.
etx_exit etx_exit_from_run_status(etx_status status);

// Prints "etx <command>: <path>:<line>:<column>: <message>" to standard error.
// `path` may be NULL; line and column, or a byte offset, are printed if the
// diag has them. An empty diag prints the text of the status. Returns
// etx_exit_from_status(status).
etx_exit etx_error_report(const char* command, const char* path,
                          etx_status status, const etx_diag* diag);

// Reports a wrong command line: "etx <command>: <text>", with the format of
// diag.h. Returns ETX_EXIT_REFUSED.
etx_exit etx_usage_error_report(const char* command, const char* format, ...);

#endif
