// etx man, etx completion and etx explain: they cover every command, option and
// code, and groff and bash accept the output.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cli/commands/command_list.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

static void the_manual_has_a_section_for_every_command(void** state) {
  (void)state;
  for (size_t i = 0; i < etx_command_list().count; ++i) {
    char head[64];
    snprintf(head, sizeof head, "\n.SS etx %s",
             etx_command_list().items[i].name);
    command_expect_out(0, WORDS(ETX, "man"), head);
  }
  command_expect_out(0, WORDS(ETX, "man"),
                     "\\fB\\-o\\fR, \\fB\\-\\-output\\fR");
}

static void the_manual_is_valid_roff(void** state) {
  (void)state;
  command_result found =
      command_run(WORDS("/bin/sh", "-c", "command -v groff"));
  const int code = found.code;
  command_end(&found);
  if (code != 0) skip();
  command_result result = command_run(
      WORDS("/bin/sh", "-c", ETX " man | groff -man -ww -Tutf8 -z"));
  assert_int_equal(result.code, 0);
  assert_string_equal(result.err, "");
  command_end(&result);
}

// Expects what bash completes; the last word is incomplete.
static void expect_completion(const char* words, const char* expected) {
  char script[1024];
  snprintf(script, sizeof script,
           "source <(%s completion bash); COMP_WORDS=(%s); "
           "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _etx; echo ${COMPREPLY[*]}",
           ETX, words);
  command_result result = command_run(WORDS("/bin/bash", "-c", script));
  assert_int_equal(result.code, 0);
  assert_string_equal(result.err, "");
  assert_string_equal(result.out, expected);
  command_end(&result);
}

static void bash_completes_commands_options_and_values(void** state) {
  (void)state;
  expect_completion("etx ver", "verify\n");
  expect_completion("etx plan --outpu", "--output\n");
  expect_completion("etx plan --target ''", "etx executorch\n");
  expect_completion("etx plan -t e", "etx executorch\n");
  expect_completion("etx help ins", "inspect\n");
  expect_completion("etx inspect " ETX_SOURCE "/READ",
                    ETX_SOURCE "/README.md\n");
  expect_completion("etx plan -o " ETX_SOURCE "/READ",
                    ETX_SOURCE "/README.md\n");
}

static void scripts_of_other_shells_have_every_command(void** state) {
  (void)state;
  for (size_t i = 0; i < etx_command_list().count; ++i) {
    char part[64];
    snprintf(part, sizeof part, "\n    %s) _arguments",
             etx_command_list().items[i].name);
    command_expect_out(0, WORDS(ETX, "completion", "zsh"), part);
    snprintf(part, sizeof part, "-a %s -d '", etx_command_list().items[i].name);
    command_expect_out(0, WORDS(ETX, "completion", "fish"), part);
  }
  command_expect_err(2, WORDS(ETX, "completion", "csh"), "not 'csh'");
  command_expect_err(2, WORDS(ETX, "plan", "--help=csh"), "unknown option");
}

// The page is not empty and ends with a complete line.
static void expect_page(const char* code) {
  command_result result = command_run(WORDS(ETX, "explain", code));
  assert_int_equal(result.code, 0);
  const char* const page = strstr(result.out, "\n\n");
  assert_non_null(page);
  assert_true(strlen(page) > 10);
  assert_null(strstr(result.out, "(null)"));
  assert_int_equal(result.out[result.out_size - 1], '\n');
  command_end(&result);
}

static void every_code_has_a_page(void** state) {
  (void)state;
#define EXIT_CODE(NAME, number, sentence) expect_page(#number);
#include "cli/base/exit_code.def"
#undef EXIT_CODE
#define STATUS(name, text) expect_page("ETX_" #name);
#include "format/base/status.def"
#undef STATUS
  command_expect_err(2, WORDS(ETX, "explain", "TORN"), "called 'TORN'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_manual_has_a_section_for_every_command),
      cmocka_unit_test(the_manual_is_valid_roff),
      cmocka_unit_test(bash_completes_commands_options_and_values),
      cmocka_unit_test(scripts_of_other_shells_have_every_command),
      cmocka_unit_test(every_code_has_a_page),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
