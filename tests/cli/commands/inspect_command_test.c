// etx inspect and etx dump of planned programs.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

enum { PATH_BYTES = 256 };

// Plans a set of tests/data/pt2 for `target` and runs `command` on the program.
static command_result run_on_set(const char* command, const char* set,
                                 const char* target) {
  char from[PATH_BYTES];
  char program[PATH_BYTES];
  snprintf(from, sizeof from, ETX_TEST_DATA "/pt2/%s", set);
  snprintf(program, sizeof program, "%s/%s.%s.pte", command_directory, set,
           target);
  command_expect(0,
                 WORDS(ETX, "plan", from, "-q", "-o", program, "-t", target));
  command_result result = command_run(WORDS(ETX, command, program));
  if (result.code != 0) fail_msg("%s", result.err);
  return result;
}

// A method that only returns state has no instructions, but it is not a
// constant method: its result changes.
static void a_method_without_instructions_is_a_method(void** state) {
  (void)state;
  static const char* const wanted[][2] = {
      {"counter",
       "  get: 0 instructions, 0 bytes of scratch\n"
       "    out output_0: int64[], in state or constants\n"},
      {"swap",
       "  peek: 0 instructions, 0 bytes of scratch\n"
       "    out output_0: float32[4], in state or constants\n"},
      {"gru",
       "  hidden: 0 instructions, 0 bytes of scratch\n"
       "    out output_0: float32[1, 24], in state or constants\n"},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    command_result result = run_on_set("inspect", wanted[i][0], "etx");
    const char* const found = strstr(result.out, wanted[i][1]);
    const char* const constants = strstr(result.out, "\nconstant methods");
    if (found == NULL || constants == NULL || found > constants) {
      fail_msg("%s", result.out);
    }
    command_end(&result);
  }
}

static void expect_runtimes(const char* set, const char* target,
                            const char* line) {
  command_result result = run_on_set("inspect", set, target);
  char wanted[PATH_BYTES];
  snprintf(wanted, sizeof wanted, "\nruns in: %s\n", line);
  if (strstr(result.out, wanted) == NULL) {
    fail_msg("%s for %s: %s", set, target, result.out);
  }
  command_end(&result);
}

static void the_runtimes_of_a_program_are_listed(void** state) {
  (void)state;
  static const char* const sets[] = {"llama", "whisper", "prefix"};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    expect_runtimes(sets[i], "etx", "etx");
    expect_runtimes(sets[i], "executorch",
                    "etx, and ExecuTorch with its portable operators");
  }
  // Without operators of etx:: a program for either target runs in both.
  expect_runtimes("counter", "etx",
                  "etx, and ExecuTorch with its portable operators");
}

static void operators_that_size_views_are_marked(void** state) {
  (void)state;
  command_result result = run_on_set("inspect", "prefix", "executorch");
  assert_non_null(strstr(result.out, "aten::empty.out, sets sizes of views\n"));
  command_end(&result);
  // A view of the first rows of a state.
  result = run_on_set("dump", "prefix", "executorch");
  assert_non_null(strstr(result.out,
                         "tensor: \"float32[12, 4]\", dynamic: true, arena: 2, "
                         "offset: 32, shares: [{value: "));
  assert_non_null(strstr(result.out, ", byte: 32}]}\n"));
  command_end(&result);
}

// The page has the facts of --json, and names are escaped.
static void the_page_has_all_facts(void** state) {
  (void)state;
  char program[PATH_BYTES];
  char page[PATH_BYTES];
  snprintf(program, sizeof program, "%s/<b>&.pte", command_directory);
  snprintf(page, sizeof page, "%s/page.html", command_directory);
  command_expect(
      0, WORDS(ETX, "plan", ETX_TEST_DATA "/pt2/kv", "-q", "-o", program));
  command_expect(0, WORDS(ETX, "inspect", program, "--html", page));
  size_t size = 0;
  char* const text = command_read_file(page, &size);
  assert_non_null(strstr(text, "/&lt;b&gt;&amp;.pte</td>"));
  assert_non_null(strstr(text, "\"file\":\"\\u003cb\\u003e\\u0026.pte\""));
  assert_null(strstr(text, "<b>"));
  assert_non_null(strstr(text, "<h2>methods</h2>"));
  assert_non_null(strstr(text, "<td>get_cache</td>"));
  assert_non_null(strstr(text, "<h2>state</h2>"));
  assert_non_null(strstr(text, "</html>\n"));
  free(text);
  command_expect(2, WORDS(ETX, "inspect", program, "--html", "/no/such/page"));
}

// Byte by byte in tests/cli/graph/check_netron.py, which needs Python.
static void a_drawing_needs_a_program_and_a_file(void** state) {
  (void)state;
  char program[PATH_BYTES];
  char drawing[PATH_BYTES];
  snprintf(program, sizeof program, "%s/kv.pte", command_directory);
  snprintf(drawing, sizeof drawing, "%s/kv.onnx", command_directory);
  command_expect(
      0, WORDS(ETX, "plan", ETX_TEST_DATA "/pt2/kv", "-q", "-o", program));
  command_expect_err(2, WORDS(ETX, "dump", program, "--netron"),
                     "give it with -o FILE.onnx");
  command_expect_err(
      2, WORDS(ETX, "dump", ETX_TEST_DATA "/pt2/kv", "--netron", "-o", drawing),
      "--netron draws program files");
  command_expect(0, WORDS(ETX, "dump", program, "--netron", "-o", drawing));
  size_t size = 0;
  char* const bytes = command_read_file(drawing, &size);
  // ModelProto: ir_version 8, producer_name "etx".
  assert_true(size > 7 && memcmp(bytes,
                                 "\x08\x08\x12\x03"
                                 "etx",
                                 7) == 0);
  free(bytes);
  command_expect(
      2, WORDS(ETX, "dump", program, "--netron", "-o", "/no/such/file"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_method_without_instructions_is_a_method),
      cmocka_unit_test(the_runtimes_of_a_program_are_listed),
      cmocka_unit_test(operators_that_size_views_are_marked),
      cmocka_unit_test(the_page_has_all_facts),
      cmocka_unit_test(a_drawing_needs_a_program_and_a_file),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
