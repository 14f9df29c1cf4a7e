// etx generate: the tokens are those that transformers finds for the first
// cases of tests/data/generate/search_cases.def.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define MODEL ETX_TEST_DATA "/generate/small_language.pte"
#define GENERATE ETX, "generate", MODEL, "--ids"

static void tokens_are_those_of_transformers(void** state) {
  (void)state;
  command_expect_out(0,
                     WORDS(GENERATE, "18,14,26,13,21,5,14,7,16",
                           "--no-repeat-ngram-size", "3", "-n", "23"),
                     "4 2 \n");
  command_expect_out(
      0,
      WORDS(GENERATE, "6,12,13,28", "-b", "3", "--length-penalty", "0.5",
            "--early-stopping", "never", "--no-repeat-ngram-size", "2"),
      "14 14 3 26 6 17 0 0 2 \n");
}

static void json_is_an_object_in_each_line(void** state) {
  (void)state;
  command_expect_out(0, WORDS(GENERATE, "6,12", "-n", "2", "--json"),
                     "{\"token\":25}\n{\"token\":7}\n"
                     "{\"ids\":[25,7],\"end\":\"length\"}\n");
  command_expect_out(
      0, WORDS(GENERATE, "6,12", "-n", "1", "--json", "--eos-token-id", "25"),
      "\"end\":\"end_token\"");
}

static void equal_seeds_draw_equal_tokens(void** state) {
  (void)state;
  command_result found[3];
  const char* const seeds[] = {"1", "1", "2"};
  for (size_t i = 0; i < 3; ++i) {
    found[i] = command_run(WORDS(GENERATE, "6,12", "--do-sample", "--seed",
                                 seeds[i], "--eos-token-id", "30"));
    assert_int_equal(found[i].code, 0);
  }
  assert_string_equal(found[0].out, found[1].out);
  assert_string_not_equal(found[0].out, found[2].out);
  for (size_t i = 0; i < 3; ++i) command_end(&found[i]);
}

static void what_does_not_fit_is_refused(void** state) {
  (void)state;
  command_expect_err(2, WORDS(ETX, "generate", MODEL), "--ids 1,15043");
  command_expect_err(2, WORDS(GENERATE, "6,,12"), "--ids is '6,,12'");
  command_expect_err(2, WORDS(GENERATE, "6,x"), "--ids is '6,x'");
  command_expect_err(2, WORDS(GENERATE, ""), "--ids is ''");
  command_expect_err(5, WORDS(GENERATE, "6,31"),
                     "token 1 of text 0 is 31, expected 0 to 30");
  command_expect_err(5, WORDS(GENERATE, "6", "--num-beams", "9"),
                     "9 beams each need 9 rows, the program has 8");
  command_expect_err(
      2, WORDS(ETX, "generate", ETX_TEST_DATA "/pt2/nothing.pte", "--ids", "1"),
      "nothing.pte");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tokens_are_those_of_transformers),
      cmocka_unit_test(json_is_an_object_in_each_line),
      cmocka_unit_test(equal_seeds_draw_equal_tokens),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
