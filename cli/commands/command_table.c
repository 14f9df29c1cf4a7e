#include "cli/commands/command_table.h"

#include <stdio.h>

int etx_command_table_run_help(etx_command_table table, const char* form) {
  char name[32];
  char help[32];
  char* arguments[] = {name, help, NULL};
  for (size_t i = 0; i < table.count; ++i) {
    snprintf(name, sizeof name, "%s", table.items[i].name);
    snprintf(help, sizeof help, "--help=%s", form);
    const int code = table.items[i].run(2, arguments);
    if (code != 0) return code;
  }
  return 0;
}
