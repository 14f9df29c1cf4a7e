// Completion scripts for shells, made from the option tables of all commands.

#ifndef ETX_CLI_COMMANDS_SHELL_COMPLETION_H
#define ETX_CLI_COMMANDS_SHELL_COMPLETION_H

#include "cli/commands/command_table.h"

typedef enum etx_shell {
  ETX_SHELL_BASH,
  ETX_SHELL_ZSH,
  ETX_SHELL_FISH,
} etx_shell;

// Prints the script to standard output. Returns the exit code.
int etx_shell_completion_print(etx_command_table commands, etx_shell shell);

#endif
