// Failing system calls (tests/faults/fault_library.c): a command either succeeds with all
// of its output, or reports an error, ends with exit code 1 and leaves an older
// output file as it was.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define MODEL ETX_SOURCE "/samples/stateful_model"
#define TINY ETX_TEST_DATA "/pt2/tiny"
#define KV ETX_TEST_DATA "/pt2/kv"
#define CACHE ETX_BINARY "/stateful_model.pte"

enum { DONE = 0, MACHINE_FAILED = 1 };

static char output[256];
static char kv_program[256];

static int set_up(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(output, sizeof output, "%s/out", command_directory);
  snprintf(kv_program, sizeof kv_program, "%s/kv.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", KV, "-o", kv_program, "--quiet"));
  return 0;
}

static command_result run_with_fault(const char* const* words,
                                     const char* fault) {
  assert_int_equal(setenv("ETX_FAULT", fault, 1), 0);
  assert_int_equal(setenv("LD_PRELOAD", ETX_FAULTS, 1), 0);
  const command_result result = command_run(words);
  unsetenv("LD_PRELOAD");
  unsetenv("ETX_FAULT");
  return result;
}

// Runs the command with a failing allocation n, for all small n and a growing
// distance between large ones.
static void fail_allocations(const char* const* words, unsigned long most) {
  command_result whole = command_run(words);
  bool was_failure = false;
  assert_int_equal(whole.code, DONE);
  for (unsigned long n = 1; n < most; n += 1 + n / 16) {
    char fault[64];
    snprintf(fault, sizeof fault, "memory %lu", n);
    command_result result = run_with_fault(words, fault);
    const bool is_done = result.code == DONE;
    const bool is_same = strcmp(result.out, whole.out) == 0;
    if (is_done ? !is_same
                : result.code != MACHINE_FAILED || result.err[0] == '\0') {
      fail_msg("%s: %s ended with %d\n%s%s", fault, words[1], result.code,
               result.out, result.err);
    }
    was_failure = was_failure || !is_done;
    command_end(&result);
  }
  command_end(&whole);
  assert_true(was_failure);
}

static void a_lack_of_memory_is_reported(void** state) {
  (void)state;
  fail_allocations(WORDS(ETX, "plan", MODEL, "-o", output, "--json"), 1500);
  fail_allocations(WORDS(ETX, "plan", TINY, "-o", output), 3000);
  fail_allocations(WORDS(ETX, "dump", TINY, "-o", command_directory), 3000);
  fail_allocations(WORDS(ETX, "check", TINY), 3000);
  fail_allocations(WORDS(ETX, "verify", CACHE), 600);
  fail_allocations(WORDS(ETX, "verify", CACHE, "--json"), 700);
  fail_allocations(WORDS(ETX, "inspect", CACHE, "--json"), 700);
  fail_allocations(WORDS(ETX, "dump", CACHE, "--netron", "-o", output), 300);
  fail_allocations(WORDS(ETX, "run", kv_program, "--case", KV), 2000);
}

// A page is written through a tree of JSON, where missing parts are easily
// missed.
static void a_page_is_complete_or_the_old_one(void** state) {
  (void)state;
  const char* const* const words =
      WORDS(ETX, "inspect", CACHE, "--html", output);
  command_expect(DONE, words);
  char* const whole = command_read_file(output, NULL);
  for (unsigned long n = 1; n < 700; n += 1 + n / 16) {
    char fault[64];
    snprintf(fault, sizeof fault, "memory %lu", n);
    command_write_file(output, "old");
    command_result result = run_with_fault(words, fault);
    char* const found = command_read_file(output, NULL);
    assert_string_equal(found, result.code == DONE ? whole : "old");
    free(found);
    command_end(&result);
  }
  free(whole);
}

static void a_failed_readdir_is_reported(void** state) {
  (void)state;
  const char* const* const words = WORDS(ETX, "plan", MODEL, "-o", output);
  for (int n = 1; n <= 3; ++n) {
    char fault[64];
    snprintf(fault, sizeof fault, "readdir %d", n);
    command_write_file(output, "old");
    command_result result = run_with_fault(words, fault);
    assert_int_equal(result.code, MACHINE_FAILED);
    assert_non_null(strstr(result.err, "cannot list directory"));
    char* const found = command_read_file(output, NULL);
    assert_string_equal(found, "old");
    free(found);
    command_end(&result);
  }
}

static void a_failed_stat_hides_no_file(void** state) {
  (void)state;
  char other[256];
  snprintf(other, sizeof other, "%s/other.pte", command_directory);
  command_expect(DONE, WORDS(ETX, "plan", MODEL, "-o", other, "--quiet"));
  command_result result = run_with_fault(
      WORDS(ETX, "plan", MODEL, "-o", output, "--quiet"), "stat program.yaml");
  if (result.code == DONE) command_expect_same_files(output, other);
  command_end(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lack_of_memory_is_reported),
      cmocka_unit_test(a_page_is_complete_or_the_old_one),
      cmocka_unit_test(a_failed_readdir_is_reported),
      cmocka_unit_test(a_failed_stat_hides_no_file),
  };
  return cmocka_run_group_tests_name("faults", tests, set_up,
                                     command_tear_down);
}
