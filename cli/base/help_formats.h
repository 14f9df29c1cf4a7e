// The options of one command in other forms than --help's text: a section of
// the manual, and what shells complete words with. They come from the same
// table, so they cannot say anything else. cmd_man.c and cmd_completion.c put
// what belongs around them.

#ifndef ETX_CLI_BASE_HELP_FORMATS_H
#define ETX_CLI_BASE_HELP_FORMATS_H

#include <stdbool.h>

#include "cli/base/option_table.h"

// Prints to standard output.
#define FORM(name) void etx_help_##name(const etx_usage* usage);
#include "cli/base/help_formats.def"
#undef FORM

// Prints the form of that name; false if there is none.
bool etx_help_print(const etx_usage* usage, const char* form);

// Prints text for roff: backslashes, dashes, dots and quotes at the beginning
// of a line are what they look like.
void etx_help_print_roff(const char* text);

// Prints the inside of a '...' string for bash, zsh or fish.
void etx_help_print_quoted(const char* text);

#endif
