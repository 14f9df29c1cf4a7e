#include <stdio.h>

#include "cli/command_list.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/help_forms.h"
#include "cli/options.h"

static const char about[] =
    "Prints what lets a shell complete the words of etx: its commands, their\n"
    "options, the values of options that have a few, and files. `cmake\n"
    "--install` puts it where the shells look.\n";

static const char examples[] =
    "  source <(etx completion bash)\n"
    "  etx completion zsh > ~/.zfunc/_etx\n"
    "  etx completion fish > ~/.config/fish/completions/etx.fish\n";

static void print_names(void) {
  for (size_t i = 0; i < etx_command_count; ++i) {
    printf("%s%s", i == 0 ? "" : " ", etx_commands[i].name);
  }
}

// `values` is @ where any file may be a value.
static int print_bash(void) {
  fputs(
      "_etx() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} "
      "before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local commands='help ",
      stdout);
  print_names();
  fputs(
      "' options= values=\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n"
      "    help) values=$commands ;;\n",
      stdout);
  const int code = etx_commands_help("bash");
  fputs(
      "  esac\n"
      "  if [ -n \"$values\" ] && [ \"$values\" != @ ]; then\n"
      "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
      "  elif [ -z \"$values\" ] && [ \"${word:0:1}\" = - ]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _etx etx\n",
      stdout);
  return code;
}

static int print_zsh(void) {
  puts("#compdef etx\n_etx() {\n  local -a commands=(");
  for (size_t i = 0; i < etx_command_count; ++i) {
    printf("    '%s:", etx_commands[i].name);
    etx_quoted_text(etx_commands[i].sentence);
    puts("'");
  }
  puts(
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $words[1] in");
  const int code = etx_commands_help("zsh");
  puts(
      "  esac\n}\nif [ \"$funcstack[1]\" = _etx ]; then _etx; else compdef "
      "_etx etx; fi");
  return code;
}

static int print_fish(void) {
  for (size_t i = 0; i < etx_command_count; ++i) {
    printf("complete -c etx -n __fish_use_subcommand -f -a %s -d '",
           etx_commands[i].name);
    etx_quoted_text(etx_commands[i].sentence);
    puts("'");
  }
  return etx_commands_help("fish");
}

int etx_cmd_completion(int argc, char** argv) {
  static int (*const print[])(void) = {print_bash, print_zsh, print_fish};
  const char* shell = NULL;
  const etx_positional positionals[] = {
      {"SHELL", "bash, zsh or fish", &shell, true}};
  const etx_usage usage = {"completion", about, positionals, 1,
                           NULL,         0,     examples,    NULL};
  const etx_options_result result = etx_options_read(&usage, argc, argv);
  if (result != ETX_OPTIONS_READ) return etx_options_exit(result);
  const int position = etx_option_choice("bash|zsh|fish", shell);
  if (position >= 0) return print[position]();
  return (int)etx_refuse("completion", "SHELL is bash, zsh or fish, not '%s'",
                         shell);
}
