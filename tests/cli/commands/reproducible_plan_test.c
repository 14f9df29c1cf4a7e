// The same input gives the same bytes: twice in one process, in another
// process, and from another working directory.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

static const char* const inputs[] = {
    ETX_TEST_DATA "/pt2/tiny",           ETX_TEST_DATA "/pt2/kv",
    ETX_TEST_DATA "/pt2/counter",        ETX_TEST_DATA "/pt2/swap",
    ETX_TEST_DATA "/pt2/gru/core",       ETX_TEST_DATA "/pt2/llama",
    ETX_TEST_DATA "/pt2/weights/core",   ETX_TEST_DATA "/pt2/whisper",
    ETX_SOURCE "/samples/stateful_model"};
enum { INPUT_COUNT = sizeof inputs / sizeof *inputs, PATH_BYTES = 128 };

static char first[PATH_BYTES];
static char second[PATH_BYTES];

static int make_directory(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(first, sizeof first, "%s/first.pte", command_directory);
  snprintf(second, sizeof second, "%s/second.pte", command_directory);
  return 0;
}

// Calls the command as a function, so that a second run starts with a used
// heap.
static void plan_in_process(const char* input, const char* output,
                            const char* target) {
  const char* const words[] = {"plan",     input,  "-o",      output,
                               "--target", target, "--quiet", NULL};
  assert_int_equal(etx_cmd_plan(7, (char**)(uintptr_t)words), 0);
}

static void twice_in_one_process(void** state) {
  (void)state;
  for (size_t i = 0; i < INPUT_COUNT; ++i) {
    plan_in_process(inputs[i], first, "etx");
    plan_in_process(inputs[i], second, "etx");
    command_expect_same_files(first, second);
    plan_in_process(inputs[i], first, "executorch");
    plan_in_process(inputs[i], second, "executorch");
    command_expect_same_files(first, second);
  }
}

static void in_two_processes(void** state) {
  (void)state;
  for (size_t i = 0; i < INPUT_COUNT; ++i) {
    plan_in_process(inputs[i], first, "etx");
    command_expect(0, WORDS(ETX, "plan", inputs[i], "-o", second));
    command_expect_same_files(first, second);
  }
}

static void from_another_directory_and_path(void** state) {
  (void)state;
  assert_int_equal(chdir(ETX_TEST_DATA "/pt2"), 0);
  plan_in_process("kv", first, "etx");
  assert_int_equal(chdir("/"), 0);
  plan_in_process(ETX_TEST_DATA "/pt2/../pt2/kv/", second, "etx");
  command_expect_same_files(first, second);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(twice_in_one_process),
      cmocka_unit_test(in_two_processes),
      cmocka_unit_test(from_another_directory_and_path),
  };
  return cmocka_run_group_tests(tests, make_directory, command_tear_down);
}
