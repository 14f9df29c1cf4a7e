// How commands end, and how they say why.
//
//   etx plan: methods/decode.yaml:12:9: unknown operator 'aten.ad.Tensor'
//             |                         |
//             where, if known           what, from the diag

#ifndef ETX_CLI_BASE_EXIT_CODE_H
#define ETX_CLI_BASE_EXIT_CODE_H

#include "format/base/diag.h"

typedef enum etx_exit {
#define EXIT_CODE(NAME, number, sentence) ETX_EXIT_##NAME = number,
#include "cli/base/exit_code.def"
#undef EXIT_CODE
} etx_exit;

// The exit code for a status that came from reading, planning or loading.
etx_exit etx_exit_from_status(etx_status status);

// The exit code for a status that came from giving inputs to a method or
// running it: refused values and states become ETX_EXIT_RUN_REFUSED.
etx_exit etx_exit_from_run_status(etx_status status);

// Prints "etx <command>: <path>: <message>" to standard error. `path` may be
// NULL; the message is the diag's, or the status's sentence if it is empty.
// Line and column, or byte offset, stand behind the path where the diag has
// them. Returns etx_exit_from_status(status).
etx_exit etx_error_report(const char* command, const char* path,
                          etx_status status, const etx_diag* diag);

// Prints a refusal of the user's words: "etx <command>: <text>", formatted as
// diag.h does. Returns ETX_EXIT_REFUSED.
etx_exit etx_usage_error_report(const char* command, const char* format, ...);

#endif
