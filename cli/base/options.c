// One pass over argv. An option's value is the text after '=' or the next
// argument, even if that begins with a dash, so that a value such as "-fold"
// needs no quoting.

#include "cli/base/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/help_formats.h"
#include "format/base/span.h"

// Columns of the help text: where descriptions begin, and its width.
enum { HELP_COLUMN = 28, HELP_WIDTH = 80, CONTINUATION_INDENT = 6 };

static const etx_option* find_long(const etx_usage* usage, const char* name,
                                   size_t size) {
  for (size_t i = 0; i < etx_option_count(usage); ++i) {
    const char* const candidate = usage->options[i].name;
    if (strlen(candidate) == size && memcmp(candidate, name, size) == 0) {
      return &usage->options[i];
    }
  }
  return NULL;
}

static const etx_option* find_letter(const etx_usage* usage, char letter) {
  for (size_t i = 0; i < etx_option_count(usage); ++i) {
    if (usage->options[i].letter == letter) return &usage->options[i];
  }
  return NULL;
}

int etx_option_choice(const char* choices, const char* word) {
  const size_t size = strlen(word);
  int position = 0;
  for (const char* at = choices; at != NULL; ++position) {
    const char* const bar = strchr(at, '|');
    const size_t length = bar == NULL ? strlen(at) : (size_t)(bar - at);
    if (length == size && memcmp(at, word, size) == 0) return position;
    at = bar == NULL ? NULL : bar + 1;
  }
  return -1;
}

static bool store_real(const etx_usage* usage, const etx_option* option,
                       const char* value) {
  char* end = NULL;
  const double number = strtod(value, &end);
  if (end == value || *end != '\0' || !(number >= 0) || isinf(number)) {
    etx_usage_error_report(
        usage->command,
        "option '--%s' expects a number that is not negative, not '%s'",
        option->name, value);
    return false;
  }
  *option->target.real = number;
  return true;
}

static bool store_count(const etx_usage* usage, const etx_option* option,
                        const char* value) {
  char* end = NULL;
  errno = 0;
  const unsigned long long number = strtoull(value, &end, 10);
  if (*value < '0' || *value > '9' || *end != '\0' || errno != 0 ||
      number == 0) {
    etx_usage_error_report(
        usage->command,
        "option '--%s' expects an integer of at least 1, not '%s'",
        option->name, value);
    return false;
  }
  *option->target.count = number;
  return true;
}

// How many times `suffix` doubles a number of bytes; 64: it is no suffix.
static unsigned doublings(const char* suffix) {
  static const char letters[] = "KMG";
  if (*suffix == '\0') return 0;
  const char* const at = strchr(letters, *suffix);
  return at == NULL || suffix[1] != '\0' ? 64
                                         : 10 * (unsigned)(at - letters + 1);
}

static bool store_bytes(const etx_usage* usage, const etx_option* option,
                        const char* value) {
  char* end = NULL;
  errno = 0;
  const unsigned long long number = strtoull(value, &end, 10);
  const unsigned shift = doublings(end);
  if (*value < '0' || *value > '9' || errno != 0 || shift == 64 ||
      number > UINT64_MAX >> shift) {
    etx_usage_error_report(usage->command,
                           "option '--%s' expects a number of bytes, such as "
                           "4096, 64K, 16M or 1G, not '%s'",
                           option->name, value);
    return false;
  }
  *option->target.count = number << shift;
  return true;
}

static bool store_item(const etx_usage* usage, const etx_option* option,
                       const char* value) {
  etx_option_list* const list = option->target.list;
  if (list->count == ETX_OPTION_LIST_MAX) {
    etx_usage_error_report(usage->command,
                           "option '--%s' is given more than %i times",
                           option->name, (int64_t)ETX_OPTION_LIST_MAX);
    return false;
  }
  list->items[list->count++] = value;
  return true;
}

static bool store(const etx_usage* usage, const etx_option* option,
                  const char* value) {
  if (option->kind == ETX_OPTION_REAL) return store_real(usage, option, value);
  if (option->kind == ETX_OPTION_COUNT) {
    return store_count(usage, option, value);
  }
  if (option->kind == ETX_OPTION_BYTES) {
    return store_bytes(usage, option, value);
  }
  if (option->kind == ETX_OPTION_LIST) return store_item(usage, option, value);
  if (option->kind == ETX_OPTION_TEXT) {
    *option->target.text = value;
    return true;
  }
  const int position = etx_option_choice(option->value_name, value);
  if (position < 0) {
    etx_usage_error_report(usage->command,
                           "option '--%s' expects one of %s, not '%s'",
                           option->name, option->value_name, value);
    return false;
  }
  *option->target.choice = position;
  return true;
}

typedef struct option_parser {
  const etx_usage* usage;
  int argc;
  char** argv;
  int at;          // the current argument
  uint64_t given;  // bit i: option i has its value
} option_parser;

// A second value would silently replace the first one, so it is refused. A
// repeated flag changes nothing.
static bool check_not_repeated(option_parser* p, const etx_option* option) {
  const uint64_t bit = UINT64_C(1) << (option - p->usage->options);
  const bool is_given = (p->given & bit) != 0;
  p->given |= bit;
  if (!is_given || option->kind == ETX_OPTION_LIST) return true;
  etx_usage_error_report(p->usage->command, "option '--%s' is given twice",
                         option->name);
  return false;
}

// Handles one option. `value` is the text after '=', or NULL; then the next
// argument is the value of an option that takes one.
static bool read_option(option_parser* p, const etx_option* option,
                        const char* value) {
  if (option->kind == ETX_OPTION_FLAG) {
    if (value != NULL) {
      etx_usage_error_report(p->usage->command, "option '--%s' takes no value",
                             option->name);
      return false;
    }
    *option->target.flag = true;
    return true;
  }
  if (value == NULL) {
    if (p->at + 1 >= p->argc) {
      etx_usage_error_report(p->usage->command,
                             "option '--%s' expects a value: %s", option->name,
                             option->value_name);
      return false;
    }
    value = p->argv[++p->at];
  }
  return check_not_repeated(p, option) && store(p->usage, option, value);
}

static bool unknown_option(const etx_usage* usage, const char* argument) {
  etx_usage_error_report(usage->command,
                         "unknown option '%s'; see 'etx %s --help'", argument,
                         usage->command);
  return false;
}

static bool read_dashed(option_parser* p) {
  const char* const argument = p->argv[p->at];
  if (argument[1] != '-') {
    const etx_option* const option = argument[2] == '\0' || argument[2] == '='
                                         ? find_letter(p->usage, argument[1])
                                         : NULL;
    if (option == NULL) return unknown_option(p->usage, argument);
    return read_option(p, option, argument[2] == '=' ? argument + 3 : NULL);
  }
  const char* const equals = strchr(argument, '=');
  const size_t size =
      equals == NULL ? strlen(argument + 2) : (size_t)(equals - argument) - 2;
  const etx_option* const option = find_long(p->usage, argument + 2, size);
  if (option == NULL) return unknown_option(p->usage, argument);
  return read_option(p, option, equals == NULL ? NULL : equals + 1);
}

static bool add_to_rest(const etx_usage* usage, const char* argument) {
  etx_option_list* const rest = usage->rest;
  if (rest->count == ETX_OPTION_LIST_MAX) {
    etx_usage_error_report(usage->command, "more than %i further arguments",
                           (int64_t)ETX_OPTION_LIST_MAX);
    return false;
  }
  rest->items[rest->count++] = argument;
  return true;
}

static bool read_positional(const etx_usage* usage, size_t position,
                            const char* argument) {
  if (position >= etx_positional_count(usage) && usage->rest != NULL) {
    return add_to_rest(usage, argument);
  }
  if (position >= etx_positional_count(usage)) {
    etx_usage_error_report(usage->command,
                           "unexpected argument '%s'; see 'etx %s --help'",
                           argument, usage->command);
    return false;
  }
  *usage->positionals[position].target = argument;
  return true;
}

// Prints words up to the end of the line `text`, from the current column on;
// lines that are too long continue at column `indent`. Returns the start of the
// next line of `text`.
static const char* print_wrapped(const char* text, int column, int indent) {
  const char* at = text;
  while (*at != '\0' && *at != '\n') {
    const int spaces = (int)strspn(at, " ");
    const int size = (int)strcspn(at + spaces, " \n");
    if (at != text && column + spaces + size > HELP_WIDTH) {
      printf("\n%*s%.*s", indent, "", size, at + spaces);
      column = indent + size;
    } else {
      printf("%.*s", spaces + size, at);
      column += spaces + size;
    }
    at += spaces + size;
  }
  putchar('\n');
  return *at == '\n' ? at + 1 : at;
}

static void print_row(const char* left, const char* help) {
  const int width = (int)strlen(left);
  if (width > HELP_COLUMN - 4) {
    printf("  %s\n%*s", left, HELP_COLUMN, "");
  } else {
    printf("  %-*s", HELP_COLUMN - 2, left);
  }
  (void)print_wrapped(help, HELP_COLUMN, HELP_COLUMN);
}

static void print_option(const etx_option* option) {
  char left[128];
  const char* const value =
      option->value_name == NULL ? "" : option->value_name;
  const char* const space = option->value_name == NULL ? "" : " ";
  if (option->letter != 0) {
    snprintf(left, sizeof left, "-%c, --%s%s%s", option->letter, option->name,
             space, value);
  } else {
    snprintf(left, sizeof left, "--%s%s%s", option->name, space, value);
  }
  print_row(left, option->help);
}

static void print_help(const etx_usage* usage) {
  printf("usage: etx %s", usage->command);
  for (size_t i = 0; i < etx_positional_count(usage); ++i) {
    const etx_positional* const positional = &usage->positionals[i];
    printf(positional->is_required ? " %s" : " [%s]", positional->name);
  }
  printf(etx_option_count(usage) == 0 ? "\n\n" : " [options]\n\n");
  printf("%s\n", usage->about);
  for (size_t i = 0; i < etx_positional_count(usage); ++i) {
    print_row(usage->positionals[i].name, usage->positionals[i].help);
  }
  if (etx_option_count(usage) != 0) printf("\noptions:\n");
  for (size_t i = 0; i < etx_option_count(usage); ++i) {
    print_option(&usage->options[i]);
  }
  if (usage->more != NULL) putchar('\n');
  for (size_t i = 0; usage->more != NULL && usage->more[i] != NULL; ++i) {
    const char* at = usage->more[i];
    while (*at != '\0') at = print_wrapped(at, 0, CONTINUATION_INDENT);
  }
  if (usage->examples != NULL) printf("\nexamples:\n%s", usage->examples);
}

// Ends the program: a table is written in the source, so this is a bug.
static void abort_bad_table(const etx_usage* usage, const char* reason,
                            const char* name) {
  fprintf(stderr, "etx %s: bug in its option table: %s%s\n", usage->command,
          reason, name);
  abort();
}

static void check_tables(const etx_usage* usage) {
  const size_t count = etx_option_count(usage);
  if (count > ETX_OPTION_MAX) {
    abort_bad_table(usage, "more rows than ETX_OPTION_MAX", "");
  }
  if (etx_positional_count(usage) > ETX_POSITIONAL_MAX) {
    abort_bad_table(usage, "more rows than ETX_POSITIONAL_MAX", "");
  }
  for (size_t i = 0; i < count; ++i) {
    const etx_option* const option = &usage->options[i];
    if (find_long(usage, option->name, strlen(option->name)) != option) {
      abort_bad_table(usage, "two rows have the name ", option->name);
    }
    if (option->letter != 0 && find_letter(usage, option->letter) != option) {
      abort_bad_table(usage, "another row has the letter of ", option->name);
    }
  }
}

etx_options_result etx_options_read(const etx_usage* usage, int argc,
                                    char** argv) {
  option_parser parser = {usage, argc, argv, 0, 0};
  size_t position = 0;
  bool options_ended = false;
  check_tables(usage);
  while (++parser.at < argc) {
    const char* const argument = argv[parser.at];
    if (options_ended || argument[0] != '-' || argument[1] == '\0') {
      if (!read_positional(usage, position++, argument))
        return ETX_OPTIONS_INVALID;
    } else if (strcmp(argument, "--") == 0) {
      options_ended = true;
    } else if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
      print_help(usage);
      return ETX_OPTIONS_HELP_PRINTED;
    } else if (strncmp(argument, "--help=", 7) == 0 &&
               etx_help_print(usage, argument + 7)) {
      return ETX_OPTIONS_HELP_PRINTED;
    } else if (!read_dashed(&parser)) {
      return ETX_OPTIONS_INVALID;
    }
  }
  if (position < etx_positional_count(usage) &&
      usage->positionals[position].is_required) {
    etx_usage_error_report(usage->command, "%s is missing; see 'etx %s --help'",
                           usage->positionals[position].name, usage->command);
    return ETX_OPTIONS_INVALID;
  }
  return ETX_OPTIONS_READ;
}

int etx_options_exit(etx_options_result result) {
  return result == ETX_OPTIONS_HELP_PRINTED ? ETX_EXIT_DONE : ETX_EXIT_REFUSED;
}
