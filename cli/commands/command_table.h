// Subcommands of etx as rows of a table.

#ifndef ETX_CLI_COMMANDS_COMMAND_TABLE_H
#define ETX_CLI_COMMANDS_COMMAND_TABLE_H

#include <stddef.h>

typedef struct etx_command {
  const char* name;
  int (*run)(int argc, char** argv);  // argv[0] is the name
  const char* sentence;               // lower case, without full stop
} etx_command;

// A list of subcommands, for functions that print something about each.
typedef struct etx_command_table {
  const etx_command* items;
  size_t count;
} etx_command_table;

// Runs every command with --help=FORM (help_formats.def). Stops at the first
// exit code that is not 0 and returns it.
int etx_command_table_run_help(etx_command_table table, const char* form);

#endif
