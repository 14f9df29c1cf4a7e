#include "cli/commands/manual_page.h"

#include <stdio.h>

#include "cli/base/help_formats.h"

static void print_head(etx_command_table commands) {
  puts(".TH ETX 1 \"\" \"etx\" \"etx\"\n.SH NAME");
  etx_help_print_roff(
      "etx - compile methods of one model into one program with shared "
      "state\n");
  puts(".SH SYNOPSIS\n\\fBetx\\fR \\fICOMMAND\\fR ...\n.SH DESCRIPTION");
  etx_help_print_roff(
      "etx compiles several methods of one model into one program file whose\n"
      "methods share state, and runs it.\n");
  for (size_t i = 0; i < commands.count; ++i) {
    printf(".TP\n\\fB%s\\fR\n", commands.items[i].name);
    etx_help_print_roff(commands.items[i].sentence);
    putchar('\n');
  }
  puts(".SH COMMANDS");
}

static void print_tail(void) {
  puts(".SH EXIT STATUS");
#define EXIT_CODE(NAME, number, sentence) \
  puts(".TP\n\\fB" #number "\\fR");       \
  etx_help_print_roff(sentence "\n");
#include "cli/base/exit_code.def"
#undef EXIT_CODE
  etx_help_print_roff("etx explain CODE says what to do.\n");
}

int etx_manual_page_print(etx_command_table commands) {
  print_head(commands);
  // Every command prints its section.
  const int code = etx_command_table_run_help(commands, "man");
  print_tail();
  return code;
}
