// The table of commands, and etx man and etx completion: they are rows of the
// table and also print all of it.

#include "cli/commands/command_list.h"

#include <string.h>

#include "cli/commands/commands.h"
#include "cli/commands/manual_page.h"
#include "cli/commands/shell_completion.h"
#include "cli/base/exit_code.h"
#include "cli/base/options.h"

#define COMMAND(name, sentence)
#define LIST_COMMAND(name, sentence) \
  static int etx_cmd_##name(int argc, char** argv);
#include "cli/commands/commands.def"
#undef COMMAND
#undef LIST_COMMAND

static const etx_command commands[] = {
#define COMMAND(name, sentence) {#name, etx_cmd_##name, sentence},
#define LIST_COMMAND COMMAND
#include "cli/commands/commands.def"
#undef COMMAND
#undef LIST_COMMAND
};

etx_command_table etx_command_list(void) {
  return (etx_command_table){commands, sizeof commands / sizeof *commands};
}

const etx_command* etx_command_find(const char* name) {
  const etx_command_table all = etx_command_list();
  for (size_t i = 0; i < all.count; ++i) {
    if (strcmp(all.items[i].name, name) == 0) return &all.items[i];
  }
  return NULL;
}

// ---- etx man ----

static const char man_about[] =
    "Prints the manual page of etx, made from the help of all commands.\n"
    "`cmake --install` installs it for `man etx`.\n";

static const char man_examples[] = "  etx man | man -l -\n";

static int etx_cmd_man(int argc, char** argv) {
  const etx_usage usage = {
      .command = "man", .about = man_about, .examples = man_examples};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  return etx_manual_page_print(etx_command_list());
}

// ---- etx completion ----

static const char completion_about[] =
    "Prints a completion script for a shell: it completes commands, options,\n"
    "the values of options that accept a few words, and file names. `cmake\n"
    "--install` installs the scripts.\n";

static const char completion_examples[] =
    "  source <(etx completion bash)\n"
    "  etx completion zsh > ~/.zfunc/_etx\n"
    "  etx completion fish > ~/.config/fish/completions/etx.fish\n";

static int etx_cmd_completion(int argc, char** argv) {
  const char* shell = NULL;
  const etx_usage usage = {
      .command = "completion",
      .about = completion_about,
      .examples = completion_examples,
      .positionals =
          ETX_POSITIONALS({"SHELL", "bash, zsh or fish", &shell, true}),
  };
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  const int position = etx_option_choice("bash|zsh|fish", shell);
  if (position >= 0) {
    return etx_shell_completion_print(etx_command_list(), (etx_shell)position);
  }
  return (int)etx_usage_error_report(
      "completion", "SHELL is bash, zsh or fish, not '%s'", shell);
}
