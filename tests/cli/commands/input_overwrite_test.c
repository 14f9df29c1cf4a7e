// No command overwrites its input, even if the output is given by another path
// of the same file.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

enum { PATH_BYTES = 256 };

static char methods[PATH_BYTES];
static char method[PATH_BYTES + 16];
static char program[PATH_BYTES];
static char other_spelling[PATH_BYTES];
static char untouched[PATH_BYTES];

static const char empty_method[] = "# stays\netx: 1\nmethod: run\n";

static int make_files(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(methods, sizeof methods, "%s/methods", command_directory);
  snprintf(method, sizeof method, "%s/run.yaml", methods);
  snprintf(program, sizeof program, "%s/a.pte", command_directory);
  snprintf(other_spelling, sizeof other_spelling, "%s/./a.pte",
           command_directory);
  snprintf(untouched, sizeof untouched, "%s/b.pte", command_directory);
  if (mkdir(methods, 0777) != 0) return -1;
  command_write_file(method, empty_method);
  command_expect(0, WORDS(ETX, "plan", methods, "-o", program));
  command_expect(0, WORDS(ETX, "plan", methods, "-o", untouched));
  return 0;
}

static void expect_refusal(const char* const* words) {
  command_expect_err(2, words, "it is the input");
  command_expect_same_files(program, untouched);
}

static void a_program_is_not_replaced(void** state) {
  (void)state;
  expect_refusal(WORDS(ETX, "inspect", program, "--html", program));
  expect_refusal(WORDS(ETX, "inspect", program, "--html", other_spelling));
  expect_refusal(WORDS(ETX, "dump", program, "--netron", "-o", program));
  expect_refusal(WORDS(ETX, "mem", program, "--html", program));
  expect_refusal(WORDS(ETX, "mem", other_spelling, "--trace", program));
  expect_refusal(WORDS(ETX, "run", program, "run", "--profile", program));
}

// The link is replaced, its target stays.
static void a_link_to_the_input_may_be_replaced(void** state) {
  (void)state;
  char link[PATH_BYTES];
  snprintf(link, sizeof link, "%s/link.html", command_directory);
  assert_int_equal(symlink(program, link), 0);
  command_expect(0, WORDS(ETX, "inspect", program, "--html", link));
  command_expect_same_files(program, untouched);
}

static void a_problem_is_not_replaced(void** state) {
  (void)state;
  char problem[PATH_BYTES];
  snprintf(problem, sizeof problem, "%s/problem.csv", command_directory);
  command_write_file(problem, "id,lower,upper,size\na,0,1,4\n");
  command_expect_err(2, WORDS(ETX, "place", problem, "-o", problem),
                     "it is the input");
  char* const text = command_read_file(problem, NULL);
  assert_string_equal(text, "id,lower,upper,size\na,0,1,4\n");
  free(text);
}

static void methods_are_not_replaced(void** state) {
  (void)state;
  static const char* const names[] = {"run.yaml", "more.pt2", "w.safetensors"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", methods, names[i]);
    command_expect_err(2, WORDS(ETX, "plan", methods, "-o", path),
                       "a program is named .pte");
    command_expect_err(
        2, WORDS(ETX, "plan", methods, "-o", program, "--header", path),
        "a program is named .pte");
  }
  command_expect_err(2, WORDS(ETX, "dump", methods, "-o", methods),
                     "choose another");
  command_expect_err(2, WORDS(ETX, "dump", method, "-o", methods),
                     "choose another");
  char* const text = command_read_file(method, NULL);
  assert_string_equal(text, empty_method);
  free(text);
  command_expect_same_files(program, untouched);
}

static void two_outputs_need_two_names(void** state) {
  (void)state;
  char both[PATH_BYTES];
  snprintf(both, sizeof both, "%s/both", command_directory);
  command_expect_err(
      2, WORDS(ETX, "mem", program, "--html", both, "--trace", both),
      "name the same file");
  command_expect_err(2,
                     WORDS(ETX, "plan", methods, "-o", both, "--header", both),
                     "name the same file");
  assert_int_equal(access(both, F_OK), -1);
}

static void wrong_outputs_of_dump_are_refused(void** state) {
  (void)state;
  command_expect_err(2, WORDS(ETX, "dump", methods, "-o", program),
                     "cannot create directory");
  command_expect_err(2, WORDS(ETX, "dump", program, "-o", methods),
                     "a program is printed");
  command_expect_same_files(program, untouched);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_is_not_replaced),
      cmocka_unit_test(a_link_to_the_input_may_be_replaced),
      cmocka_unit_test(a_problem_is_not_replaced),
      cmocka_unit_test(methods_are_not_replaced),
      cmocka_unit_test(two_outputs_need_two_names),
      cmocka_unit_test(wrong_outputs_of_dump_are_refused),
  };
  return cmocka_run_group_tests(tests, make_files, command_tear_down);
}
