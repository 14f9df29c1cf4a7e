#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/base/options.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"

// The table of a command that does not exist.
typedef struct values {
  const char* input;
  const char* second;
  const char* output;
  bool json;
  int target;
  double tolerance;
  etx_option_list list;
} values;

static etx_options_result read(values* out, int argc, char** argv) {
  const etx_positional positionals[] = {
      {"INPUT", "a file", &out->input, true},
      {"SECOND", "another", &out->second, false}};
  const etx_option options[] = {
      {ETX_OPTION_TEXT, "output", 'o', "FILE", "where to", &out->output},
      {ETX_OPTION_FLAG, "json", 0, NULL, "as JSON", &out->json},
      {ETX_OPTION_CHOICE, "target", 't', "etx|executorch", "for what",
       &out->target},
      {ETX_OPTION_REAL, "atol", 0, "X", "how near", &out->tolerance},
      {ETX_OPTION_LIST, "in", 'i', "NAME=VALUE", "inputs", &out->list},
  };
  const etx_usage usage = {
      "example", "An example.\n",   positionals,      2, options,
      5,         "  etx example\n", "more about it\n"};
  return etx_options_read(&usage, argc, argv);
}

#define READ(out, ...)                                         \
  read(out,                                                    \
       (int)(sizeof((const char*[]){"example", __VA_ARGS__}) / \
             sizeof(const char*)),                             \
       (char**)(const char*[]){"example", __VA_ARGS__, NULL})

static void words_and_options_may_stand_in_any_order(void** state) {
  (void)state;
  values out = {.target = 0};
  assert_int_equal(READ(&out, "--json", "dir", "-o", "x.pte", "more"),
                   ETX_OPTIONS_READ);
  assert_string_equal(out.input, "dir");
  assert_string_equal(out.second, "more");
  assert_string_equal(out.output, "x.pte");
  assert_true(out.json);
}

static void a_value_may_follow_an_equals_sign(void** state) {
  (void)state;
  values out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "--output=a=b", "--target=executorch"),
                   ETX_OPTIONS_READ);
  assert_string_equal(out.output, "a=b");
  assert_int_equal(out.target, 1);
}

static void a_value_may_begin_with_a_dash(void** state) {
  (void)state;
  values out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "--output", "-fold"), ETX_OPTIONS_READ);
  assert_string_equal(out.output, "-fold");
}

static void a_list_collects_every_value(void** state) {
  (void)state;
  values out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "--in", "a=1", "-i", "b=2"),
                   ETX_OPTIONS_READ);
  assert_int_equal(out.list.count, 2);
  assert_string_equal(out.list.items[1], "b=2");
}

static void one_value_is_given_once(void** state) {
  (void)state;
  values out = {.target = 0};
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

static void numbers_are_read_and_others_refused(void** state) {
  (void)state;
  values out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "--atol", "1e-4"), ETX_OPTIONS_READ);
  assert_true(out.tolerance == 1e-4);
  assert_int_equal(READ(&out, "dir", "--atol", "x"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--atol", "-1"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--atol", "inf"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--atol", "1e999"), ETX_OPTIONS_INVALID);
}

static void after_two_dashes_everything_is_a_word(void** state) {
  (void)state;
  values out = {.target = 0};
  assert_int_equal(READ(&out, "--", "--json"), ETX_OPTIONS_READ);
  assert_string_equal(out.input, "--json");
  assert_false(out.json);
}

static void what_is_wrong_is_refused(void** state) {
  (void)state;
  values out = {.target = 0};
  assert_int_equal(READ(&out, "dir", "--nothing"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "-x"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "-ox"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--json=yes"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--output"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "dir", "--target", "et"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "a", "b", "c"), ETX_OPTIONS_INVALID);
  assert_int_equal(READ(&out, "--json"), ETX_OPTIONS_INVALID);
}

static void help_wins_over_missing_words(void** state) {
  (void)state;
  values out = {.target = 0};
  assert_int_equal(READ(&out, "--help"), ETX_OPTIONS_HELP_PRINTED);
  assert_int_equal(etx_options_exit(ETX_OPTIONS_HELP_PRINTED), 0);
  assert_int_equal(etx_options_exit(ETX_OPTIONS_INVALID), 2);
}

static void statuses_have_their_exit_codes(void** state) {
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
      cmocka_unit_test(words_and_options_may_stand_in_any_order),
      cmocka_unit_test(a_value_may_follow_an_equals_sign),
      cmocka_unit_test(a_value_may_begin_with_a_dash),
      cmocka_unit_test(a_list_collects_every_value),
      cmocka_unit_test(one_value_is_given_once),
      cmocka_unit_test(numbers_are_read_and_others_refused),
      cmocka_unit_test(after_two_dashes_everything_is_a_word),
      cmocka_unit_test(what_is_wrong_is_refused),
      cmocka_unit_test(help_wins_over_missing_words),
      cmocka_unit_test(statuses_have_their_exit_codes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
