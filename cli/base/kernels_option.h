// The option --kernels of the commands that run programs.

#ifndef ETX_CLI_BASE_KERNELS_OPTION_H
#define ETX_CLI_BASE_KERNELS_OPTION_H

#include "cli/base/options.h"

// A row of ETX_OPTIONS(...); `list` is an etx_option_list*. The files are
// opened by etx_kernel_set_open (cli/kernels).
#define ETX_KERNELS_OPTION(list)                                       \
  ETX_LIST("kernels", 'k', "LIBRARY",                                  \
           "a shared library with kernels of your own operators; its " \
           "code runs; may be given several times",                    \
           list)

#endif
