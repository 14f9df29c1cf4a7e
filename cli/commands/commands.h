// The functions behind the subcommands, from commands.def.
//
// argv[0] is the name of the subcommand. The result is the exit code of the
// process. Results go to standard output, everything else to standard error.

#ifndef ETX_CLI_COMMANDS_COMMANDS_H
#define ETX_CLI_COMMANDS_COMMANDS_H

#define COMMAND(name, sentence) int etx_cmd_##name(int argc, char** argv);
#define LIST_COMMAND(name, sentence)
#include "cli/commands/commands.def"
#undef COMMAND
#undef LIST_COMMAND

#endif
