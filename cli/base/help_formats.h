// The options of one command in other forms than the text of --help: a section
// of the manual page, and completion rules for shells. All are made from the
// option table. manual_page.c and shell_completion.c print the text around
// them.

#ifndef ETX_CLI_BASE_HELP_FORMATS_H
#define ETX_CLI_BASE_HELP_FORMATS_H

#include <stdbool.h>

#include "cli/base/option_table.h"

// Prints the table in a form of help_formats.def to standard output; false if
// there is no form of that name.
bool etx_help_print(const etx_usage* usage, const char* form);

// Prints text for roff: escapes backslashes, dashes, and dots and quotes at the
// beginning of a line.
void etx_help_print_roff(const char* text);

// Prints text for the inside of a '...' string of bash, zsh or fish.
void etx_help_print_quoted(const char* text);

#endif
