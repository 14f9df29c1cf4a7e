// All subcommands, from commands.def, for the dispatch, the manual page and
// shell completion.

#ifndef ETX_CLI_COMMANDS_COMMAND_LIST_H
#define ETX_CLI_COMMANDS_COMMAND_LIST_H

#include "cli/commands/command_table.h"

// All commands, in the order of commands.def.
etx_command_table etx_command_list(void);

// The command of that name, or NULL.
const etx_command* etx_command_find(const char* name);

#endif
