#include "cli/base/help_formats.h"

#include <stdio.h>
#include <string.h>

// ------------------------------------------------ roff

void etx_help_print_roff(const char* text) {
  bool is_start = true;
  for (const char* at = text; *at != '\0'; ++at) {
    if (is_start && (*at == '.' || *at == '\'')) fputs("\\&", stdout);
    if (*at == '\\') {
      fputs("\\e", stdout);
    } else if (*at == '-') {
      fputs("\\-", stdout);
    } else {
      putchar(*at);
    }
    is_start = *at == '\n';
  }
}

// Prints preformatted lines from a list that ends with NULL; nothing for an
// empty list.
static void roff_lines(const char* const* lines) {
  if (lines == NULL || *lines == NULL) return;
  puts(".PP\n.nf");
  for (; *lines != NULL; ++lines) etx_help_print_roff(*lines);
  puts(".fi");
}

static void roff_option(const etx_option* option) {
  puts(".TP");
  if (option->letter != 0) printf("\\fB\\-%c\\fR, ", option->letter);
  fputs("\\fB\\-\\-", stdout);
  etx_help_print_roff(option->name);
  fputs("\\fR", stdout);
  if (option->value_name != NULL) {
    fputs(" \\fI", stdout);
    etx_help_print_roff(option->value_name);
    fputs("\\fR", stdout);
  }
  putchar('\n');
  etx_help_print_roff(option->help);
  putchar('\n');
}

static void help_man(const etx_usage* usage) {
  printf(".SS etx %s", usage->command);
  for (size_t i = 0; i < etx_positional_count(usage); ++i) {
    const etx_positional* const positional = &usage->positionals[i];
    printf(positional->is_required ? " %s" : " [%s]", positional->name);
  }
  puts(etx_option_count(usage) == 0 ? "" : " [options]");
  etx_help_print_roff(usage->about);
  for (size_t i = 0; i < etx_positional_count(usage); ++i) {
    printf(".TP\n\\fI%s\\fR\n", usage->positionals[i].name);
    etx_help_print_roff(usage->positionals[i].help);
    putchar('\n');
  }
  for (size_t i = 0; i < etx_option_count(usage); ++i) {
    roff_option(&usage->options[i]);
  }
  roff_lines(usage->more);
  const char* const examples[] = {usage->examples, NULL};
  roff_lines(examples);
}

// ------------------------------------------------ shells

void etx_help_print_quoted(const char* text) {
  for (const char* at = text; *at != '\0'; ++at) {
    if (*at == '\'') {
      fputs("'\\''", stdout);
    } else {
      putchar(*at);
    }
  }
}

// Prints the words of a choice, "a|b", separated by `separator`.
static void print_choice(const etx_option* option, const char* separator) {
  for (const char* at = option->value_name; *at != '\0'; ++at) {
    if (*at == '|') {
      fputs(separator, stdout);
    } else {
      putchar(*at);
    }
  }
}

// One branch of `case ${COMP_WORDS[1]}`: the command's options, and the values
// that may follow an option.
static void help_bash(const etx_usage* usage) {
  printf("    %s)\n      options='--help", usage->command);
  for (size_t i = 0; i < etx_option_count(usage); ++i) {
    printf(" --%s", usage->options[i].name);
  }
  puts("'\n      case $before in");
  for (size_t i = 0; i < etx_option_count(usage); ++i) {
    const etx_option* const option = &usage->options[i];
    if (option->kind == ETX_OPTION_FLAG) continue;
    printf("        --%s", option->name);
    if (option->letter != 0) printf("|-%c", option->letter);
    if (option->kind == ETX_OPTION_CHOICE) {
      fputs(") values='", stdout);
      print_choice(option, " ");
      puts("' ;;");
    } else {
      puts(") values=@ ;;");
    }
  }
  puts("      esac ;;");
}

// Prints a description inside the [...] of zsh's _arguments.
static void zsh_description(const char* text) {
  for (const char* at = text; *at != '\0'; ++at) {
    const char one[2] = {*at, '\0'};
    if (*at == '[' || *at == ']' || *at == ':') putchar('\\');
    etx_help_print_quoted(one);
  }
}

static void help_zsh(const etx_usage* usage) {
  printf("    %s) _arguments -s '--help[print the help of the command]'",
         usage->command);
  for (size_t i = 0; i < etx_option_count(usage); ++i) {
    const etx_option* const option = &usage->options[i];
    printf(" \\\n      '%s--%s", option->kind == ETX_OPTION_LIST ? "*" : "",
           option->name);
    printf(option->kind == ETX_OPTION_FLAG ? "[" : "=[");
    zsh_description(option->help);
    putchar(']');
    if (option->kind == ETX_OPTION_CHOICE) {
      printf(":value:(");
      print_choice(option, " ");
      putchar(')');
    } else if (option->kind != ETX_OPTION_FLAG) {
      putchar(':');
      zsh_description(option->value_name);
      printf(":_files");
    }
    putchar('\'');
  }
  puts(" \\\n      '*:file:_files' ;;");
}

static void help_fish(const etx_usage* usage) {
  for (size_t i = 0; i < etx_option_count(usage); ++i) {
    const etx_option* const option = &usage->options[i];
    printf("complete -c etx -n '__fish_seen_subcommand_from %s' -l %s",
           usage->command, option->name);
    if (option->letter != 0) printf(" -s %c", option->letter);
    if (option->kind == ETX_OPTION_CHOICE) {
      fputs(" -x -a '", stdout);
      print_choice(option, " ");
      putchar('\'');
    } else if (option->kind != ETX_OPTION_FLAG) {
      fputs(" -r", stdout);
    }
    fputs(" -d '", stdout);
    etx_help_print_quoted(option->help);
    puts("'");
  }
}

// ------------------------------------------------ all forms

bool etx_help_print(const etx_usage* usage, const char* form) {
#define FORM(name)                \
  if (strcmp(form, #name) == 0) { \
    help_##name(usage);           \
    return true;                  \
  }
#include "cli/base/help_formats.def"
#undef FORM
  return false;
}
