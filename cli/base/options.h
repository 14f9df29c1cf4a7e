// The words of a command line, from a table: what may be given, what it means,
// and where the value goes. The help text comes from the same table, so the
// two cannot differ.
//
//   const char* output = NULL;
//   bool json = false;
//   const etx_option options[] = {
//       {ETX_OPTION_TEXT, "output", 'o', "FILE", "write the program to FILE",
//       &output}, {ETX_OPTION_FLAG, "json", 0, NULL, "print facts as JSON",
//       &json},
//   };
//
// --help=FORM prints the table in another form: help_formats.def.
//
// Written as --name VALUE, --name=VALUE, -o VALUE; "--" ends the options. An
// option with one value may be given once.
// Values borrow argv.

#ifndef ETX_CLI_BASE_OPTIONS_H
#define ETX_CLI_BASE_OPTIONS_H

#include "cli/base/option_table.h"

typedef enum etx_options_result {
  ETX_OPTIONS_READ,          // all values are in their targets
  ETX_OPTIONS_HELP_PRINTED,  // --help was given and printed: end with 0
  ETX_OPTIONS_INVALID,       // the reason was printed: end with 2
} etx_options_result;

// Reads the words after argv[0].
etx_options_result etx_options_read(const etx_usage* usage, int argc,
                                    char** argv);

// Prints the help text to standard output.
void etx_options_help(const etx_usage* usage);

// Position of `word` in "a|b|c", or -1.
int etx_option_choice(const char* words, const char* word);

// The exit code of a result that is not ETX_OPTIONS_READ.
int etx_options_exit(etx_options_result result);

#endif
