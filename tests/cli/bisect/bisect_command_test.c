// etx bisect: models whose results a known pass changes, and models whose
// results nothing changes.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define SETS ETX_TEST_DATA "/pt2/"

static void equal_results_name_no_mechanism(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "bisect", SETS "kv", "set_cache"),
                     "method set_cache: no result changes, with all ");
  command_expect_out(0,
                     WORDS(ETX, "bisect", SETS "tiny", "step", "--case",
                           SETS "tiny", "--pack"),
                     "method step: no result changes, with all ");
}

// docs/cli.md names the passes that sum in another order.
static void a_pass_that_scales_in_another_order_is_found(void** state) {
  (void)state;
  const char* const command[] = {ETX,      "bisect",   SETS "cnn", "batch",
                                 "--case", SETS "cnn", NULL};
  command_expect_out(
      6, command,
      "method batch: pass fold_batch_norms is the first that changes a result\n"
      "output 0: ");
  command_expect_out(6, command, "first difference: aten::convolution.out");
  command_expect_out(6, command, "(stem.0)");
}

static void a_fused_pass_is_found_and_left_off(void** state) {
  (void)state;
  command_expect_out(
      6, WORDS(ETX, "bisect", SETS "llama", "decode", "--case", SETS "llama"),
      "pass fuse_attention is the first");
  command_expect_out(0,
                     WORDS(ETX, "bisect", SETS "llama", "decode", "--case",
                           SETS "llama", "--passes=-fuse_attention"),
                     "no result changes");
}

static void a_tolerance_allows_small_changes(void** state) {
  (void)state;
  command_expect_out(0,
                     WORDS(ETX, "bisect", SETS "cnn", "batch", "--case",
                           SETS "cnn", "--rtol", "1e-4", "--atol", "1e-4"),
                     "no result changes");
}

static void the_result_is_printed_as_json(void** state) {
  (void)state;
  command_result r = command_run(WORDS(ETX, "bisect", SETS "cnn", "batch",
                                       "--case", SETS "cnn", "--json"));
  assert_int_equal(r.code, 6);
  json_t* const root = json_loads(r.out, 0, NULL);
  assert_non_null(root);
  const json_t* const change = json_object_get(root, "first_change");
  assert_string_equal(json_string_value(json_object_get(change, "kind")),
                      "pass");
  assert_string_equal(json_string_value(json_object_get(change, "name")),
                      "fold_batch_norms");
  assert_int_equal(json_integer_value(json_object_get(change, "output")), 0);
  const json_t* const diff = json_object_get(change, "diff");
  assert_string_equal(
      json_string_value(json_object_get(
          json_object_get(diff, "first_difference"), "operator")),
      "aten::convolution");
  // Thirty mechanisms and more are found in a few tests.
  assert_true(json_integer_value(json_object_get(root, "mechanisms")) > 30);
  assert_true(json_integer_value(json_object_get(root, "tests")) <= 8);
  json_decref(root);
  command_end(&r);
}

static void wrong_inputs_are_refused(void** state) {
  (void)state;
  command_expect(2, WORDS(ETX, "bisect", SETS "kv"));
  command_expect(2, WORDS(ETX, "bisect", SETS "kv", "forward"));
  command_expect(2, WORDS(ETX, "bisect", SETS "missing", "forward"));
  command_expect(2, WORDS(ETX, "bisect", SETS "kv", "set_cache",
                          "--passes=-no_such_pass"));
  command_expect(2, WORDS(ETX, "bisect", SETS "kv", "set_cache", "--case",
                          SETS "missing"));
}

// Programs are planned into TMPDIR, and nothing stays there.
static void no_file_is_left(void** state) {
  (void)state;
  assert_int_equal(setenv("TMPDIR", command_directory, 1), 0);
  command_expect(
      6, WORDS(ETX, "bisect", SETS "cnn", "batch", "--case", SETS "cnn"));
  assert_int_equal(unsetenv("TMPDIR"), 0);
  DIR* const folder = opendir(command_directory);
  assert_non_null(folder);
  for (const struct dirent* e = readdir(folder); e != NULL;
       e = readdir(folder)) {
    assert_null(strstr(e->d_name, "bisect"));
  }
  closedir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_results_name_no_mechanism),
      cmocka_unit_test(a_pass_that_scales_in_another_order_is_found),
      cmocka_unit_test(a_fused_pass_is_found_and_left_off),
      cmocka_unit_test(a_tolerance_allows_small_changes),
      cmocka_unit_test(the_result_is_printed_as_json),
      cmocka_unit_test(wrong_inputs_are_refused),
      cmocka_unit_test(no_file_is_left),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
