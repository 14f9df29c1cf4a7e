// Parses the command line of one command, whose table (option_table.h) lists
// the options.
//
// Options are written as --name VALUE, --name=VALUE or -o VALUE; "--" ends the
// options. An option with one value may be given once. --help prints the
// table; --help=FORM prints it in another form (help_formats.def).
//
// Values point into argv.

#ifndef ETX_CLI_BASE_OPTIONS_H
#define ETX_CLI_BASE_OPTIONS_H

#include "cli/base/option_table.h"

typedef enum etx_options_result {
  ETX_OPTIONS_READ,          // all values are in their targets
  ETX_OPTIONS_HELP_PRINTED,  // --help was given and printed: end with 0
  ETX_OPTIONS_INVALID,       // the reason was printed: end with 2
} etx_options_result;

// Reads the arguments after argv[0]. Errors are printed to standard error.
// Aborts if the table itself is wrong: too many rows, or two options with one
// name or letter.
etx_options_result etx_options_read(const etx_usage* usage, int argc,
                                    char** argv);

// Position of `word` in "a|b|c", from 0, or -1.
int etx_option_choice(const char* choices, const char* word);

// The exit code of a result that is not ETX_OPTIONS_READ.
int etx_options_exit(etx_options_result result);

#endif
