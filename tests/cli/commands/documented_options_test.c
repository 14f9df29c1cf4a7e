// docs/cli.md lists the options of every command, one row for each command. The
// expected rows are made from the option tables.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/command_list.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define DOCUMENT ETX_SOURCE "/docs/cli.md"

enum { ROW_BYTES = 2048 };

// "--output --json" -> "`--output`, `--json`".
static void append_options(char* row, const char* options) {
  const char* separator = "";
  for (const char* at = options; *at == ' ';) {
    const int size = (int)strcspn(at + 1, " '");
    const size_t used = strlen(row);
    snprintf(row + used, ROW_BYTES - used, "%s`%.*s`", separator, size, at + 1);
    separator = ", ";
    at += 1 + size;
  }
}

// Reads the names of the options from the completion rules for bash, which
// contain "options='--help --output --json'".
static void make_row(const char* command, char row[ROW_BYTES]) {
  static const char start[] = "options='--help";
  command_result result = command_run(WORDS(ETX, command, "--help=bash"));
  const char* const options = strstr(result.out, start);
  assert_non_null(options);
  snprintf(row, ROW_BYTES, "\n| `etx %s` | ", command);
  append_options(row, options + sizeof start - 1);
  if (options[sizeof start - 1] == '\'') strncat(row, "none", 5);
  strncat(row, " |\n", 4);
  command_end(&result);
}

static void the_document_lists_the_options_of_every_command(void** state) {
  (void)state;
  char* const document = command_read_file(DOCUMENT, NULL);
  int missing = 0;
  for (size_t i = 0; i < etx_command_list().count; ++i) {
    const char* const name = etx_command_list().items[i].name;
    char row[ROW_BYTES];
    make_row(name, row);
    if (strstr(document, row) != NULL) continue;
    ++missing;
    print_error(
        "docs/cli.md, section 'Options by command': the row of etx %s differs "
        "from the options in cli/commands. Describe a new option in the "
        "section "
        "of the command, and make the row:%s",
        name, row);
  }
  free(document);
  assert_int_equal(missing, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_document_lists_the_options_of_every_command),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
