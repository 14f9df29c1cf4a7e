#include <stdio.h>

#include "cli/command_list.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/help_forms.h"
#include "cli/options.h"

static const char about[] =
    "Prints the manual page of etx, made of what the commands' --help says.\n"
    "`cmake --install` puts it where `man etx` finds it.\n";

static const char examples[] = "  etx man | man -l -\n";

static void print_head(void) {
  puts(".TH ETX 1 \"\" \"etx\" \"etx\"\n.SH NAME");
  etx_roff_text(
      "etx - methods of one model in one program over shared state\n");
  puts(".SH SYNOPSIS\n\\fBetx\\fR \\fICOMMAND\\fR ...\n.SH DESCRIPTION");
  etx_roff_text(
      "etx compiles several methods of one model into one program file over\n"
      "shared state, and runs it.\n");
  for (size_t i = 0; i < etx_command_count; ++i) {
    printf(".TP\n\\fB%s\\fR\n", etx_commands[i].name);
    etx_roff_text(etx_commands[i].sentence);
    putchar('\n');
  }
  puts(".SH COMMANDS");
}

static void print_tail(void) {
  puts(".SH EXIT STATUS");
#define EXIT_CODE(NAME, number, sentence) \
  puts(".TP\n\\fB" #number "\\fR");       \
  etx_roff_text(sentence "\n");
#include "cli/exit_code.def"
#undef EXIT_CODE
  etx_roff_text("etx explain CODE says more.\n");
}

int etx_cmd_man(int argc, char** argv) {
  const etx_usage usage = {"man", about, NULL, 0, NULL, 0, examples, NULL};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  print_head();
  const int code = etx_commands_help("man");
  print_tail();
  return code;
}
