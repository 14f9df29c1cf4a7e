// One pass over the words. An option's value is the rest of its word after
// '=' or the next word, whatever that begins with, so that a value such as
// "-fold" needs no quoting.

#include "cli/base/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/help_formats.h"
#include "format/base/span.h"

enum { HELP_COLUMN = 26 };

static const etx_option* find_long(const etx_usage* usage, const char* name,
                                   size_t size) {
  for (size_t i = 0; i < usage->option_count; ++i) {
    const char* const candidate = usage->options[i].name;
    if (strlen(candidate) == size && memcmp(candidate, name, size) == 0) {
      return &usage->options[i];
    }
  }
  return NULL;
}

static const etx_option* find_letter(const etx_usage* usage, char letter) {
  for (size_t i = 0; i < usage->option_count; ++i) {
    if (usage->options[i].letter == letter) return &usage->options[i];
  }
  return NULL;
}

int etx_option_choice(const char* words, const char* word) {
  const size_t size = strlen(word);
  int position = 0;
  for (const char* at = words; at != NULL; ++position) {
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
    etx_usage_error_report(usage->command,
                           "option '--%s' wants a number from 0 on, not '%s'",
                           option->name, value);
    return false;
  }
  *(double*)option->target = number;
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
        "option '--%s' wants a whole number from 1 on, not '%s'", option->name,
        value);
    return false;
  }
  *(uint64_t*)option->target = number;
  return true;
}

static bool store_item(const etx_usage* usage, const etx_option* option,
                       const char* value) {
  etx_option_list* const list = option->target;
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
  if (option->kind == ETX_OPTION_LIST) return store_item(usage, option, value);
  if (option->kind == ETX_OPTION_TEXT) {
    *(const char**)option->target = value;
    return true;
  }
  const int position = etx_option_choice(option->value_name, value);
  if (position < 0) {
    etx_usage_error_report(usage->command,
                           "option '--%s' is one of %s, not '%s'", option->name,
                           option->value_name, value);
    return false;
  }
  *(int*)option->target = position;
  return true;
}

typedef struct reader {
  const etx_usage* usage;
  int argc;
  char** argv;
  int at;          // the present word
  uint64_t given;  // options whose one value was read, a bit by position
} reader;

// Of two values one would be lost, and nobody knows which is meant. Flags say
// the same thing twice.
static bool take_only_once(reader* r, const etx_option* option) {
  const uint64_t bit = UINT64_C(1) << (option - r->usage->options);
  const bool is_given = (r->given & bit) != 0;
  r->given |= bit;
  if (!is_given || option->kind == ETX_OPTION_LIST) return true;
  etx_usage_error_report(r->usage->command, "option '--%s' is given twice",
                         option->name);
  return false;
}

// Handles one option. `value` is what follows '=', or NULL; the reader moves on
// if the next word is the value.
static bool read_option(reader* r, const etx_option* option,
                        const char* value) {
  if (option->kind == ETX_OPTION_FLAG) {
    if (value != NULL) {
      etx_usage_error_report(r->usage->command, "option '--%s' takes no value",
                             option->name);
      return false;
    }
    *(bool*)option->target = true;
    return true;
  }
  if (value == NULL) {
    if (r->at + 1 >= r->argc) {
      etx_usage_error_report(r->usage->command,
                             "option '--%s' wants a value: %s", option->name,
                             option->value_name);
      return false;
    }
    value = r->argv[++r->at];
  }
  return take_only_once(r, option) && store(r->usage, option, value);
}

static bool unknown_option(const etx_usage* usage, const char* word) {
  etx_usage_error_report(usage->command,
                         "unknown option '%s'; see 'etx %s --help'", word,
                         usage->command);
  return false;
}

static bool read_dashed(reader* r) {
  const char* const word = r->argv[r->at];
  if (word[1] != '-') {
    const etx_option* const option = word[2] == '\0' || word[2] == '='
                                         ? find_letter(r->usage, word[1])
                                         : NULL;
    if (option == NULL) return unknown_option(r->usage, word);
    return read_option(r, option, word[2] == '=' ? word + 3 : NULL);
  }
  const char* const equals = strchr(word, '=');
  const size_t size =
      equals == NULL ? strlen(word + 2) : (size_t)(equals - word) - 2;
  const etx_option* const option = find_long(r->usage, word + 2, size);
  if (option == NULL) return unknown_option(r->usage, word);
  return read_option(r, option, equals == NULL ? NULL : equals + 1);
}

static bool read_positional(const etx_usage* usage, size_t position,
                            const char* word) {
  if (position >= usage->positional_count) {
    etx_usage_error_report(usage->command,
                           "one word too many: '%s'; see 'etx %s --help'", word,
                           usage->command);
    return false;
  }
  *usage->positionals[position].target = word;
  return true;
}

etx_options_result etx_options_read(const etx_usage* usage, int argc,
                                    char** argv) {
  reader r = {usage, argc, argv, 0, 0};
  size_t position = 0;
  bool options_ended = false;
  while (++r.at < argc) {
    const char* const word = argv[r.at];
    if (options_ended || word[0] != '-' || word[1] == '\0') {
      if (!read_positional(usage, position++, word)) return ETX_OPTIONS_INVALID;
    } else if (strcmp(word, "--") == 0) {
      options_ended = true;
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      etx_options_help(usage);
      return ETX_OPTIONS_HELP_PRINTED;
    } else if (strncmp(word, "--help=", 7) == 0 &&
               etx_help_print(usage, word + 7)) {
      return ETX_OPTIONS_HELP_PRINTED;
    } else if (!read_dashed(&r)) {
      return ETX_OPTIONS_INVALID;
    }
  }
  if (position < usage->positional_count &&
      usage->positionals[position].is_required) {
    etx_usage_error_report(usage->command, "%s is missing; see 'etx %s --help'",
                           usage->positionals[position].name, usage->command);
    return ETX_OPTIONS_INVALID;
  }
  return ETX_OPTIONS_READ;
}

static void print_row(const char* left, const char* help) {
  const int width = (int)strlen(left);
  if (width >= HELP_COLUMN - 1) {
    printf("  %s\n  %*s%s\n", left, HELP_COLUMN, "", help);
  } else {
    printf("  %-*s%s\n", HELP_COLUMN, left, help);
  }
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

void etx_options_help(const etx_usage* usage) {
  printf("usage: etx %s", usage->command);
  for (size_t i = 0; i < usage->positional_count; ++i) {
    const etx_positional* const word = &usage->positionals[i];
    printf(word->is_required ? " %s" : " [%s]", word->name);
  }
  printf(usage->option_count == 0 ? "\n\n" : " [options]\n\n");
  printf("%s\n", usage->about);
  for (size_t i = 0; i < usage->positional_count; ++i) {
    print_row(usage->positionals[i].name, usage->positionals[i].help);
  }
  if (usage->option_count != 0) printf("\noptions:\n");
  for (size_t i = 0; i < usage->option_count; ++i) {
    print_option(&usage->options[i]);
  }
  if (usage->more != NULL) printf("\n%s", usage->more);
  if (usage->examples != NULL) printf("\nexamples:\n%s", usage->examples);
}

int etx_options_exit(etx_options_result result) {
  return result == ETX_OPTIONS_HELP_PRINTED ? ETX_EXIT_DONE : ETX_EXIT_REFUSED;
}
