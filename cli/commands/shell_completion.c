#include "cli/commands/shell_completion.h"

#include <stdio.h>

#include "cli/base/help_formats.h"

static void print_names(etx_command_table commands) {
  for (size_t i = 0; i < commands.count; ++i) {
    printf("%s%s", i == 0 ? "" : " ", commands.items[i].name);
  }
}

// In the script, `values` holds the words that may follow; @ stands for any
// file.
static int print_bash(etx_command_table commands) {
  fputs(
      "_etx() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} "
      "before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local commands='help ",
      stdout);
  print_names(commands);
  fputs(
      "' options= values=\n"
      "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${COMP_WORDS[1]} in\n"
      "    help) values=$commands ;;\n",
      stdout);
  const int code = etx_command_table_run_help(commands, "bash");
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

static int print_zsh(etx_command_table commands) {
  puts("#compdef etx\n_etx() {\n  local -a commands=(");
  for (size_t i = 0; i < commands.count; ++i) {
    printf("    '%s:", commands.items[i].name);
    etx_help_print_quoted(commands.items[i].sentence);
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
  const int code = etx_command_table_run_help(commands, "zsh");
  puts(
      "  esac\n}\nif [ \"$funcstack[1]\" = _etx ]; then _etx; else compdef "
      "_etx etx; fi");
  return code;
}

static int print_fish(etx_command_table commands) {
  for (size_t i = 0; i < commands.count; ++i) {
    printf("complete -c etx -n __fish_use_subcommand -f -a %s -d '",
           commands.items[i].name);
    etx_help_print_quoted(commands.items[i].sentence);
    puts("'");
  }
  return etx_command_table_run_help(commands, "fish");
}

int etx_shell_completion_print(etx_command_table commands, etx_shell shell) {
  static int (*const print[])(etx_command_table) = {
      [ETX_SHELL_BASH] = print_bash,
      [ETX_SHELL_ZSH] = print_zsh,
      [ETX_SHELL_FISH] = print_fish,
  };
  return print[shell](commands);
}
