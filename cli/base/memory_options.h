// The options --prefault and --mlock of the commands that run programs.

#ifndef ETX_CLI_BASE_MEMORY_OPTIONS_H
#define ETX_CLI_BASE_MEMORY_OPTIONS_H

#include "cli/base/options.h"

// Rows of ETX_OPTIONS(...); `flag` is a bool*.
#define ETX_PREFAULT_OPTION(flag)                                       \
  ETX_FLAG("prefault", 0,                                               \
           "read the program into memory before the first call, which " \
           "then does not wait for the disk",                           \
           flag)
#define ETX_MLOCK_OPTION(flag)                                          \
  ETX_FLAG("mlock", 0,                                                  \
           "read the program into memory and keep it there, also when " \
           "the system is short of memory; ulimit -l has to allow it",  \
           flag)

#endif
