// The table that describes the options of one command. The parser (options.h)
// and the help texts (help_formats.h) both read it.

#ifndef ETX_CLI_BASE_OPTION_TABLE_H
#define ETX_CLI_BASE_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum etx_option_kind {
  ETX_OPTION_FLAG,    // target: bool
  ETX_OPTION_TEXT,    // target: const char*
  ETX_OPTION_REAL,    // target: double, at least 0, finite
  ETX_OPTION_COUNT,   // target: uint64_t, at least 1
  ETX_OPTION_CHOICE,  // target: int, the position among the words of value_name
  ETX_OPTION_LIST,    // target: etx_option_list; may be given several times
} etx_option_kind;

enum { ETX_OPTION_LIST_MAX = 256 };

typedef struct etx_option_list {
  const char* items[ETX_OPTION_LIST_MAX];
  size_t count;
} etx_option_list;

typedef struct etx_option {
  etx_option_kind kind;
  const char* name;        // long name without dashes
  char letter;             // short name, or 0
  const char* value_name;  // for the help; of a choice its words: "etx|stock"
  const char* help;        // one sentence, lower case, without full stop
  void* target;            // where the value goes, see the kind
} etx_option;

// A word without dashes, by position.
typedef struct etx_positional {
  const char* name;     // "DIR"
  const char* help;     // as an option's
  const char** target;  // keeps its value if the word is not given
  bool is_required;
} etx_positional;

typedef struct etx_usage {
  const char* command;  // "plan"
  const char* about;    // paragraphs, each line at most 76 wide
  const etx_positional* positionals;
  size_t positional_count;
  const etx_option* options;
  size_t option_count;   // at most 64
  const char* examples;  // lines, or NULL
  const char* more;      // text between options and examples, or NULL
} etx_usage;


#endif
