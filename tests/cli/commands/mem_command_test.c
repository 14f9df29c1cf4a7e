// etx mem: output, complete files, and refusals.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define STOCK ETX_TEST_DATA "/exported/"

enum { PATH_BYTES = 256 };

static char page[PATH_BYTES];
static char trace[PATH_BYTES];

static int make_directory(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(page, sizeof page, "%s/page.html", command_directory);
  snprintf(trace, sizeof trace, "%s/trace.json", command_directory);
  return 0;
}

static void without_options_the_map_is_text(void** state) {
  (void)state;
  command_result result = command_run(WORDS(ETX, "mem", STOCK "branch.pte"));
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.out, "method 'forward', arena 1: 64 B"));
  assert_non_null(strstr(result.out, "peak 24 B at step 1 (aten::mul.out)"));
  assert_string_equal(result.err, "");
  command_end(&result);
}

static void one_call_writes_page_and_trace(void** state) {
  (void)state;
  size_t size = 0;
  command_result result = command_run(
      WORDS(ETX, "mem", STOCK "loop.pte", "--html", page, "--trace", trace));
  assert_int_equal(result.code, 0);
  assert_string_equal(result.out, "");
  command_end(&result);
  char* const html = command_read_file(page, &size);
  assert_memory_equal(html, "<!doctype html>", 15);
  assert_string_equal(html + size - 8, "</html>\n");
  free(html);
  json_t* const root = json_load_file(trace, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(root);
  assert_true(json_array_size(json_object_get(root, "traceEvents")) > 9);
  json_decref(root);
}

static void text_is_printed_beside_a_file(void** state) {
  (void)state;
  command_result result = command_run(
      WORDS(ETX, "mem", STOCK "loop.pte", "--text", "--html", page));
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.out, "method 'forward'"));
  command_end(&result);
}

static void bundles_are_shown(void** state) {
  (void)state;
  command_expect(0, WORDS(ETX, "mem", STOCK "bundle.bpte"));
}

static void expect_refusal(const char* path, const char* message) {
  unlink(page);
  command_result result = command_run(WORDS(ETX, "mem", path, "--html", page));
  assert_int_equal(result.code, 2);
  if (strstr(result.err, message) == NULL) {
    assert_string_equal(result.err, message);
  }
  assert_int_not_equal(access(page, F_OK), 0);
  command_end(&result);
}

static void files_of_other_kinds_are_refused(void** state) {
  (void)state;
  char damaged[PATH_BYTES];
  snprintf(damaged, sizeof damaged, "%s/damaged.pte", command_directory);
  command_write_file(damaged,
                     "this is not a program, but longer than a header");
  expect_refusal(damaged, damaged);
  expect_refusal("/nowhere.pte", "etx mem: /nowhere.pte: ");
  expect_refusal(STOCK "external.ptd", "data file (.ptd)");
  command_expect(2, WORDS(ETX, "mem"));
  command_expect(2, WORDS(ETX, "mem", STOCK "loop.pte", "--picture"));
  command_expect(2, WORDS(ETX, "mem", STOCK "loop.pte", "--html"));
}

static void a_full_disk_leaves_the_old_file(void** state) {
  (void)state;
  size_t size = 0;
  command_write_file(page, "before");
  command_result result = command_run_with(
      WORDS(ETX, "mem", STOCK "loop.pte", "--html", page), "", 10000);
  assert_int_equal(result.code, 1);
  assert_non_null(strstr(result.err, "etx mem: "));
  command_end(&result);
  char* const left = command_read_file(page, &size);
  assert_string_equal(left, "before");
  free(left);
}

static void a_missing_directory_is_refused(void** state) {
  (void)state;
  command_expect(
      2, WORDS(ETX, "mem", STOCK "loop.pte", "--html", "/nowhere/page.html"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_options_the_map_is_text),
      cmocka_unit_test(one_call_writes_page_and_trace),
      cmocka_unit_test(text_is_printed_beside_a_file),
      cmocka_unit_test(bundles_are_shown),
      cmocka_unit_test(files_of_other_kinds_are_refused),
      cmocka_unit_test(a_full_disk_leaves_the_old_file),
      cmocka_unit_test(a_missing_directory_is_refused),
  };
  return cmocka_run_group_tests(tests, make_directory, command_tear_down);
}
