// The commands for text. Each takes the arguments of main, with the name of the
// command as the first, and returns an exit code (cli/base/exit_code.h).

#ifndef ETX_CLI_COMMANDS_TEXT_TEXT_COMMANDS_H
#define ETX_CLI_COMMANDS_TEXT_TEXT_COMMANDS_H

int etx_cmd_generate(int argc, char** argv);
int etx_cmd_chat(int argc, char** argv);
int etx_cmd_translate(int argc, char** argv);
int etx_cmd_transcribe(int argc, char** argv);
int etx_cmd_embed(int argc, char** argv);
int etx_cmd_tokenize(int argc, char** argv);

#endif
