#include "cli/command_list.h"

#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

const etx_command etx_commands[] = {
#define COMMAND(name, sentence) {#name, etx_cmd_##name, sentence},
#include "cli/commands.def"
#undef COMMAND
};

const size_t etx_command_count = sizeof etx_commands / sizeof *etx_commands;

const etx_command* etx_command_find(const char* name) {
  for (size_t i = 0; i < etx_command_count; ++i) {
    if (strcmp(etx_commands[i].name, name) == 0) return &etx_commands[i];
  }
  return NULL;
}

int etx_commands_help(const char* form) {
  char name[32];
  char help[32];
  char* words[] = {name, help, NULL};
  for (size_t i = 0; i < etx_command_count; ++i) {
    snprintf(name, sizeof name, "%s", etx_commands[i].name);
    snprintf(help, sizeof help, "--help=%s", form);
    const int code = etx_commands[i].run(2, words);
    if (code != 0) return code;
  }
  return 0;
}
