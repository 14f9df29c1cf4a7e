#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define SAMPLE ETX_BINARY "/stateful_model"
#define PROGRAM ETX_BINARY "/stateful_model.pte"

static void methods_share_the_state(void** state) {
  (void)state;
  command_result result = command_run(WORDS(SAMPLE, PROGRAM));
  assert_int_equal(result.code, 0);
  assert_string_equal(result.out,
                      "the cache holds 10 rows of 20\n"
                      "1 2 3 0\n"
                      "4 5 6 0\n"
                      "after the reset the first number is 0\n");
  command_end(&result);
}

static void arguments_become_the_input(void** state) {
  (void)state;
  command_result result = command_run(
      WORDS(ETX, "run", PROGRAM, "get_cache", "--in", "data=[[1, 2], [3, 4]]"));
  assert_int_equal(result.code, 0);
  assert_string_equal(result.out, "data: float32[2, 2] = [[0, 0], [0, 0]]\n");
  command_end(&result);
}

static void a_missing_program_is_reported(void** state) {
  (void)state;
  command_expect(1, WORDS(SAMPLE, "/nowhere.pte"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(methods_share_the_state),
      cmocka_unit_test(arguments_become_the_input),
      cmocka_unit_test(a_missing_program_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
