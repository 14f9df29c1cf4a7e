#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/base/options.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/exit_code.h"

// The options of an imaginary command.
typedef struct example_options {
  const char* input;
  const char* second;
  const char* output;
  bool json;
  int target;
  double tolerance;
  uint64_t threads;
  uint64_t bytes;
  etx_option_list list;
} example_options;

static etx_options_result read_arguments(example_options* out, int argc,
                                         char** argv) {
  const etx_usage usage = {
      .command = "example",
      .about = "An example.\n",
      .examples = "  etx example\n",
      .more = (const char* const[]){"more about it\n", NULL},
      .positionals =
          ETX_POSITIONALS({"INPUT", "a file", &out->input, true},
                          {"SECOND", "another", &out->second, false}),
      .options = ETX_OPTIONS(
          ETX_TEXT("output", 'o', "FILE", "where to", &out->output),
          ETX_FLAG("json", 0, "as JSON", &out->json),
          ETX_CHOICE("target", 't', "etx|executorch", "for what", &out->target),
          ETX_REAL("atol", 0, "X", "how near", &out->tolerance),
          ETX_COUNT("threads", 0, "N", "how many", &out->threads),
          ETX_BYTES("limit", 0, "BYTES", "at most", &out->bytes),
          ETX_LIST("in", 'i', "NAME=VALUE", "inputs", &out->list)),
  };
  return etx_options_read(&usage, argc, argv);
}

#define READ(out, ...)                                                   \
  read_arguments(out,                                                    \
                 (int)(sizeof((const char*[]){"example", __VA_ARGS__}) / \
                       sizeof(const char*)),                             \
                 (char**)(const char*[]){"example", __VA_ARGS__, NULL})

static void options_and_positionals_mix_in_any_order(void** state) {
  (void)state;
  example_options out = {.target = 0};
  assert_int_equal(READ(&out, "--json", "dir", "-o", "x.pte", "more"),
                   ETX_OPTIONS_READ);
  assert_string_equal(out.input, "dir");
  assert_string_equal(out.second, "more");
  assert_string_equal(out.output, "x.pte");
  assert_true(out.json);
}

static void a_value_may_follow_an_equals_sign(void** state) {
  (void)state;
  example_options out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "--output=a=b", "--target=executorch"),
                   ETX_OPTIONS_READ);
  assert_string_equal(out.output, "a=b");
  assert_int_equal(out.target, 1);
}

static void a_value_may_begin_with_a_dash(void** state) {
  (void)state;
  example_options out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "--output", "-fold"), ETX_OPTIONS_READ);
  assert_string_equal(out.output, "-fold");
}

static void a_list_collects_every_value(void** state) {
  (void)state;
  example_options out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "--in", "a=1", "-i", "b=2"),
                   ETX_OPTIONS_READ);
  assert_int_equal(out.list.count, 2);
  assert_string_equal(out.list.items[1], "b=2");
}

static void a_second_value_is_refused(void** state) {
  (void)state;
  example_options out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "-o", "a", "--output", "b"),
                   ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--output=a", "--output=a"),
                   ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--target=etx", "-t", "executorch"),
                   ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--atol", "1", "--atol", "2"),
                   ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--json", "--json"), ETX_OPTIONS_READ);
}

static void malformed_numbers_are_refused(void** state) {
  (void)state;
  example_options out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "--atol", "1e-4"), ETX_OPTIONS_READ);
  assert_true(out.tolerance == 1e-4);
  assert_int_equal(READ(&out, "dir", "--atol", "x"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--atol", "-1"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--atol", "inf"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--atol", "1e999"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--threads", "4"), ETX_OPTIONS_READ);
  assert_int_equal(out.threads, 4);
  assert_int_equal(READ(&out, "dir", "--threads", "0"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--threads", "1.5"), ETX_OPTIONS_INVALID);
}

static void bytes_may_have_a_unit(void** state) {
  static const struct {
    const char* text;
    uint64_t bytes;
  } read[] = {{"0", 0},
              {"4097", 4097},
              {"64K", UINT64_C(64) << 10},
              {"3M", UINT64_C(3) << 20},
              {"16777215G", UINT64_C(16777215) << 30}};
  static const char* const refused[] = {"",   "-1", "K",   "1.5M",
                                        "1T", "1k", "1KB", "99999999999G"};
  (void)state;
  for (size_t i = 0; i < sizeof read / sizeof *read; ++i) {
    example_options out = {.target = 0};
    assert_int_equal(READ(&out, "dir", "--limit", read[i].text),
                     ETX_OPTIONS_READ);
    assert_int_equal(out.bytes, read[i].bytes);
  }
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
    example_options out = {.target = 0};
    assert_int_equal(READ(&out, "dir", "--limit", refused[i]),
                     ETX_OPTIONS_INVALID);
  }
}

static void after_two_dashes_everything_is_positional(void** state) {
  (void)state;
  example_options out = {.target = 0};
  assert_int_equal(READ(&out, "--", "--json"), ETX_OPTIONS_READ);
  assert_string_equal(out.input, "--json");
  assert_false(out.json);
}

static void malformed_command_lines_are_refused(void** state) {
  (void)state;
  example_options out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "--nothing"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "-x"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "-ox"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--json=yes"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--output"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--target", "et"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "a", "b", "c"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "--json"), ETX_OPTIONS_INVALID);
}

static void help_is_printed_despite_missing_arguments(void** state) {
  (void)state;
  example_options out = {.target = 0};
  assert_int_equal(READ(&out, "--help"), ETX_OPTIONS_HELP_PRINTED);
  assert_int_equal(etx_options_exit(ETX_OPTIONS_HELP_PRINTED), 0);
  assert_int_equal(etx_options_exit(ETX_OPTIONS_INVALID), 2);
}

// 64 rows with names of their own.
#define ROW(name) ETX_FLAG(name, 0, "help", &flag)
#define EIGHT(name)                                                          \
  ROW(name "0"), ROW(name "1"), ROW(name "2"), ROW(name "3"), ROW(name "4"), \
      ROW(name "5"), ROW(name "6"), ROW(name "7")
#define SIXTY_FOUR                                                        \
  EIGHT("0"), EIGHT("1"), EIGHT("2"), EIGHT("3"), EIGHT("4"), EIGHT("5"), \
      EIGHT("6"), EIGHT("7")

static void the_largest_table_is_read(void** state) {
  (void)state;
  bool flag = false;
  const etx_usage usage = {
      .command = "example", .about = "", .options = ETX_OPTIONS(SIXTY_FOUR)};
  assert_int_equal(etx_option_count(&usage), ETX_OPTION_MAX);
  char* argv[] = {(char*)"example", (char*)"--77", NULL};
  assert_int_equal(etx_options_read(&usage, 2, argv), ETX_OPTIONS_READ);
  assert_true(flag);
}

// Runs the parser in a process of its own, because it has to abort.
static void expect_abort(const etx_option* options) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const etx_usage usage = {
        .command = "example", .about = "", .options = options};
    char* argv[] = {(char*)"example", NULL};
    (void)signal(SIGABRT, SIG_DFL);
    (void)etx_options_read(&usage, 1, argv);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void a_wrong_table_aborts(void** state) {
  (void)state;
  bool flag = false;
  expect_abort(ETX_OPTIONS(SIXTY_FOUR, ROW("one_more")));
  expect_abort(ETX_OPTIONS(ROW("same"), ROW("same")));
  expect_abort(ETX_OPTIONS(ETX_FLAG("first", 'x', "help", &flag),
                           ETX_FLAG("second", 'x', "help", &flag)));
}

static void statuses_map_to_exit_codes(void** state) {
  (void)state;
  assert_int_equal(etx_exit_from_status(ETX_OK), 0);
  assert_int_equal(etx_exit_from_status(ETX_HOST_FAILED), 1);
  assert_int_equal(etx_exit_from_status(ETX_OUT_OF_MEMORY), 1);
  assert_int_equal(etx_exit_from_status(ETX_INTERNAL), 1);
  assert_int_equal(etx_exit_from_status(ETX_BAD_FILE), 2);
  assert_int_equal(etx_exit_from_status(ETX_BAD_PLAN), 3);
  assert_int_equal(etx_exit_from_run_status(ETX_BAD_ARGUMENT), 5);
  assert_int_equal(etx_exit_from_run_status(ETX_TORN_STATE), 5);
  assert_int_equal(etx_exit_from_run_status(ETX_HOST_FAILED), 1);
  assert_int_equal(etx_exit_from_run_status(ETX_MISSING_OPERATOR), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_and_positionals_mix_in_any_order),
      cmocka_unit_test(a_value_may_follow_an_equals_sign),
      cmocka_unit_test(a_value_may_begin_with_a_dash),
      cmocka_unit_test(a_list_collects_every_value),
      cmocka_unit_test(a_second_value_is_refused),
      cmocka_unit_test(malformed_numbers_are_refused),
      cmocka_unit_test(bytes_may_have_a_unit),
      cmocka_unit_test(after_two_dashes_everything_is_positional),
      cmocka_unit_test(malformed_command_lines_are_refused),
      cmocka_unit_test(help_is_printed_despite_missing_arguments),
      cmocka_unit_test(the_largest_table_is_read),
      cmocka_unit_test(a_wrong_table_aborts),
      cmocka_unit_test(statuses_map_to_exit_codes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
