// The manual page, in roff, made from the help of all commands.

#ifndef ETX_CLI_COMMANDS_MANUAL_PAGE_H
#define ETX_CLI_COMMANDS_MANUAL_PAGE_H

#include "cli/commands/command_table.h"

// Prints the page to standard output. Returns the exit code.
int etx_manual_page_print(etx_command_table commands);

#endif
