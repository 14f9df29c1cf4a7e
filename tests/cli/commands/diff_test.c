// etx diff: the first instruction whose result differs between two programs.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define KV ETX_TEST_DATA "/pt2/kv"

enum { PATH_BYTES = 256 };

static char plain[PATH_BYTES];    // sqrt(x * x) + 1
static char longer[PATH_BYTES];   // sqrt(abs(x * x)) + 1
static char another[PATH_BYTES];  // sqrt(x * x + x) + 1
static char kv[PATH_BYTES];
static char kv_stock[PATH_BYTES];

// Plans a method `forward` of these nodes, which end in `y`.
static void plan(char* out_path, const char* name, const char* nodes) {
  char folder[PATH_BYTES];
  char path[PATH_BYTES + 16];
  char text[1024];
  snprintf(folder, sizeof folder, "%s/%s", command_directory, name);
  snprintf(path, sizeof path, "%s/forward.yaml", folder);
  snprintf(out_path, PATH_BYTES, "%s/%s.pte", command_directory, name);
  snprintf(text, sizeof text,
           "etx: 1\nmethod: forward\ninputs:\n"
           "  - {name: x, type: \"float32[4]\"}\nnodes:\n"
           "  - {out: square, op: aten.mul.Tensor, args: [x, x]}\n%s"
           "  - {out: y, op: aten.add.Scalar, args: [root, 1.0]}\n"
           "outputs: [y]\n",
           nodes);
  assert_int_equal(mkdir(folder, 0777), 0);
  command_write_file(path, text);
  command_expect(0, WORDS(ETX, "plan", folder, "-o", out_path, "--passes",
                          "-fuse_chains"));
}

static int set_up(void** state) {
  if (command_set_up(state) != 0) return -1;
  plan(plain, "plain",
       "  - {out: root, op: aten.sqrt.default, args: [square]}\n");
  plan(longer, "longer",
       "  - {out: positive, op: aten.abs.default, args: [square]}\n"
       "  - {out: root, op: aten.sqrt.default, args: [positive]}\n");
  plan(another, "another",
       "  - {out: more, op: aten.add.Tensor, args: [square, x]}\n"
       "  - {out: positive, op: aten.abs.default, args: [more]}\n"
       "  - {out: root, op: aten.sqrt.default, args: [positive]}\n");
  snprintf(kv, sizeof kv, "%s/kv.pte", command_directory);
  snprintf(kv_stock, sizeof kv_stock, "%s/stock.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", KV, "-o", kv));
  command_expect(
      0, WORDS(ETX, "plan", KV, "-o", kv_stock, "--target", "executorch"));
  return 0;
}

static void equal_programs_have_no_difference(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "diff", plain, plain, "forward"),
                     "3 results compared, of 3 and 3; 0 outputs differ");
}

static void an_instruction_of_one_program_is_skipped(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "diff", plain, longer, "forward"),
                     "3 results compared, of 3 and 4; 0 outputs differ");
  command_expect_out(0, WORDS(ETX, "diff", longer, plain, "forward"),
                     "3 results compared, of 4 and 3; 0 outputs differ");
}

static void the_first_difference_is_reported(void** state) {
  (void)state;
  command_expect_out(6, WORDS(ETX, "diff", plain, another, "forward"),
                     "first difference: aten::sqrt.out, instruction 1 of ");
  command_expect_out(6, WORDS(ETX, "diff", plain, another, "forward"),
                     "of 3 and 5; 1 output differs");
  command_expect_out(6, WORDS(ETX, "diff", plain, another, "forward", "--json"),
                     "\"operator\": \"aten::sqrt\"");
  command_expect(
      0, WORDS(ETX, "diff", plain, another, "forward", "--atol", "100"));
}

static void recorded_calls_precede_the_method(void** state) {
  (void)state;
  command_expect_out(
      0, WORDS(ETX, "diff", kv, kv_stock, "read_cache", "--case", KV),
      "0 outputs differ");
}

static void invalid_arguments_are_refused(void** state) {
  (void)state;
  command_expect_err(2, WORDS(ETX, "diff", plain, plain), "METHOD is missing");
  command_expect_err(2, WORDS(ETX, "diff", plain), "B is missing");
  command_expect_err(2, WORDS(ETX, "diff", plain, plain, "backward"),
                     "no method 'backward'");
  command_expect(2, WORDS(ETX, "diff", plain, "/no/such.pte", "forward"));
  command_expect(2, WORDS(ETX, "diff", plain, plain, "forward", "--case",
                          "/no/such/folder"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_programs_have_no_difference),
      cmocka_unit_test(an_instruction_of_one_program_is_skipped),
      cmocka_unit_test(the_first_difference_is_reported),
      cmocka_unit_test(recorded_calls_precede_the_method),
      cmocka_unit_test(invalid_arguments_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, command_tear_down);
}
