// Subcommands of etx as rows of a table.

#ifndef ETX_CLI_COMMANDS_COMMAND_TABLE_H
#define ETX_CLI_COMMANDS_COMMAND_TABLE_H

#include <stddef.h>

typedef struct etx_command {
  const char* name;
  int (*run)(int argc, char** argv);  // argv[0] is the name
  const char* sentence;               // lower case, without full stop
} etx_command;

// All subcommands, for functions that print something about each of them.
typedef struct etx_command_table {
  const etx_command* items;
  size_t count;
} etx_command_table;

// Has every command print its help in a form: --help=FORM (options.h).
// Returns the first exit code that is not 0.
int etx_command_table_help(etx_command_table table, const char* form);

#endif
