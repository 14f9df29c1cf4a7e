// The option --cap of the commands that read methods.

#ifndef ETX_CLI_PLAN_SIZE_CAP_OPTION_H
#define ETX_CLI_PLAN_SIZE_CAP_OPTION_H

#include "cli/base/options.h"
#include "exporter/export.h"

// A row of ETX_OPTIONS(...); `list` is an etx_option_list*.
#define ETX_SIZE_CAP_OPTION(list)                                     \
  ETX_LIST("cap", 0, "NAME=N",                                        \
           "the most that a size or integer may be that the data of " \
           "tensors decide, such as u0=64 or method.u0=64; may be "   \
           "given several times",                                     \
           list)

// Adds the caps of the option to a module, before its methods are read.
// ETX_BAD_ARGUMENT: one is not of that form.
ETX_MUST_USE etx_status etx_size_cap_option_apply(const etx_option_list* caps,
                                                  etx_ir_module* module,
                                                  etx_diag* diag);

#endif
