// The option --ops of the commands that read methods.

#ifndef ETX_CLI_PLAN_OPERATORS_OPTION_H
#define ETX_CLI_PLAN_OPERATORS_OPTION_H

#include "cli/base/options.h"
#include "exporter/export.h"

// A row of ETX_OPTIONS(...); `list` is an etx_option_list*.
#define ETX_OPERATORS_OPTION(list)                                          \
  ETX_LIST("ops", 0, "FILE",                                                \
           "operators of your own that the methods use: their schemas and " \
           "the rules of their sizes; may be given several times",          \
           list)

// Adds the operators of the files to a module, before its methods are read.
ETX_MUST_USE etx_status etx_operators_option_apply(const etx_option_list* files,
                                                   etx_ir_module* module,
                                                   etx_diag* diag);

#endif
