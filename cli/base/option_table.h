// The table that describes the command line of one command. The parser
// (options.h) and the help texts (help_formats.h) both read it, so they cannot
// differ.
//
//   typedef struct dump_options {
//     const char* input;
//     const char* output;
//     bool json;
//   } dump_options;
//
//   dump_options options = {.input = NULL};
//   const etx_usage usage = {
//       .command = "dump",
//       .about = "Writes methods as YAML.\n",
//       .positionals = ETX_POSITIONALS(
//           {"INPUT", "a file or a directory", &options.input, true}),
//       .options = ETX_OPTIONS(
//           ETX_TEXT("output", 'o', "DIR", "write to DIR", &options.output),
//           ETX_FLAG("json", 0, "print JSON", &options.json)),
//   };
//
// An empty row ends each table, so rows need not be counted.

#ifndef ETX_CLI_BASE_OPTION_TABLE_H
#define ETX_CLI_BASE_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum etx_option_kind {
  ETX_OPTION_FLAG,    // no value
  ETX_OPTION_TEXT,    // any value
  ETX_OPTION_REAL,    // a number, at least 0, finite
  ETX_OPTION_COUNT,   // an integer, at least 1
  ETX_OPTION_BYTES,   // an integer; K, M or G behind it multiply by 1024
  ETX_OPTION_CHOICE,  // one of the words of value_name
  ETX_OPTION_LIST,    // any value; may be given several times
} etx_option_kind;

enum { ETX_OPTION_LIST_MAX = 256 };

typedef struct etx_option_list {
  const char* items[ETX_OPTION_LIST_MAX];
  size_t count;
} etx_option_list;

// One option. Rows are written with the macros below, which match the kind to
// the type of the variable.
typedef struct etx_option {
  etx_option_kind kind;
  const char* name;        // long name without dashes; NULL ends the table
  char letter;             // short name, or 0
  const char* value_name;  // in the help; words of a choice: "etx|executorch"
  const char* help;        // one phrase, lower case, without full stop
  union {                  // the variable that gets the value, by kind
    bool* flag;
    const char** text;
    double* real;
    uint64_t* count;  // or bytes
    int* choice;      // position of the word in value_name, from 0
    etx_option_list* list;
  } target;
} etx_option;

#define ETX_FLAG(name, letter, help, variable)                      \
  {                                                                 \
    ETX_OPTION_FLAG, name, letter, NULL, help, { .flag = variable } \
  }
#define ETX_TEXT(name, letter, value_name, help, variable)                \
  {                                                                       \
    ETX_OPTION_TEXT, name, letter, value_name, help, { .text = variable } \
  }
#define ETX_REAL(name, letter, value_name, help, variable)                \
  {                                                                       \
    ETX_OPTION_REAL, name, letter, value_name, help, { .real = variable } \
  }
#define ETX_COUNT(name, letter, value_name, help, variable)                 \
  {                                                                         \
    ETX_OPTION_COUNT, name, letter, value_name, help, { .count = variable } \
  }
#define ETX_BYTES(name, letter, value_name, help, variable)                 \
  {                                                                         \
    ETX_OPTION_BYTES, name, letter, value_name, help, { .count = variable } \
  }
#define ETX_CHOICE(name, letter, words, help, variable)                  \
  {                                                                      \
    ETX_OPTION_CHOICE, name, letter, words, help, { .choice = variable } \
  }
#define ETX_LIST(name, letter, value_name, help, variable)                \
  {                                                                       \
    ETX_OPTION_LIST, name, letter, value_name, help, { .list = variable } \
  }

// An argument without dashes, found by its position.
typedef struct etx_positional {
  const char* name;     // "DIR"; NULL ends the table
  const char* help;     // as etx_option.help
  const char** target;  // keeps its value if the argument is not given
  bool is_required;
} etx_positional;

// The most rows of a table, not counting the empty row that ends it. A table
// lives as long as the C block in which it is written. A longer one does not
// compile with -Werror, and without it etx_options_read ends the program.
enum { ETX_OPTION_MAX = 64, ETX_POSITIONAL_MAX = 8 };

#define ETX_OPTIONS(...) ((const etx_option[ETX_OPTION_MAX + 1]){__VA_ARGS__})
#define ETX_POSITIONALS(...) \
  ((const etx_positional[ETX_POSITIONAL_MAX + 1]){__VA_ARGS__})

typedef struct etx_usage {
  const char* command;                // "plan"
  const char* about;                  // paragraphs, each line at most 76 wide
  const etx_positional* positionals;  // ETX_POSITIONALS(...), or NULL
  const etx_option* options;          // ETX_OPTIONS(...), or NULL
  const char* examples;               // lines, or NULL
  // Lines between options and examples; the list ends with NULL. NULL: none.
  const char* const* more;
  // Gets the arguments after those of `positionals`; NULL: there may be none.
  etx_option_list* rest;
} etx_usage;

// The number of rows, without the empty one; 0 if there is no table.
size_t etx_option_count(const etx_usage* usage);
size_t etx_positional_count(const etx_usage* usage);

#endif
