// All subcommands, from commands.def, for those who need every one: the
// dispatch, the manual, completion.

#ifndef ETX_CLI_COMMAND_LIST_H
#define ETX_CLI_COMMAND_LIST_H

#include <stddef.h>

typedef struct etx_command {
  const char* name;
  int (*run)(int argc, char** argv);  // argv[0] is the name
  const char* sentence;               // lower case, without full stop
} etx_command;

extern const etx_command etx_commands[];
extern const size_t etx_command_count;

// The command of that name, or NULL.
const etx_command* etx_command_find(const char* name);

// Has every command print its help in a form: --help=FORM (options.h).
// Returns the first exit code that is not 0.
int etx_commands_help(const char* form);

#endif
