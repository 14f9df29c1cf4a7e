// What `etx inspect` and `etx dump` say of planned programs.

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

// What `command` prints of a set of tests/data/pt2 planned for `target`.
static command_result shown(const char* command, const char* set,
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

// A method that only answers state runs nothing, and is no constant: its
// answer changes.
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
    command_result result = shown("inspect", wanted[i][0], "etx");
    const char* const found = strstr(result.out, wanted[i][1]);
    const char* const constants = strstr(result.out, "\nconstants, readable");
    if (found == NULL || constants == NULL || found > constants) {
      fail_msg("%s", result.out);
    }
    command_end(&result);
  }
}

static void says_where_it_runs(const char* set, const char* target,
                               const char* line) {
  command_result result = shown("inspect", set, target);
  char wanted[PATH_BYTES];
  snprintf(wanted, sizeof wanted, "\nruns in: %s\n", line);
  if (strstr(result.out, wanted) == NULL) {
    fail_msg("%s for %s: %s", set, target, result.out);
  }
  command_end(&result);
}

static void a_program_says_which_runtimes_run_it(void** state) {
  (void)state;
  static const char* const sets[] = {"llama", "whisper", "prefix"};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    says_where_it_runs(sets[i], "etx", "etx");
    says_where_it_runs(sets[i], "executorch",
                       "etx, and ExecuTorch with its portable operators");
  }
  // Without a fused operator or a view of its own, either plan runs in both.
  says_where_it_runs("counter", "etx",
                     "etx, and ExecuTorch with its portable operators");
}

static void views_that_an_operator_sizes_are_told(void** state) {
  (void)state;
  command_result result = shown("inspect", "prefix", "executorch");
  assert_non_null(
      strstr(result.out, "aten::empty.out, gives views their sizes\n"));
  command_end(&result);
  // The prefix of a state, behind the whole of it.
  result = shown("dump", "prefix", "executorch");
  assert_non_null(strstr(result.out,
                         "tensor: \"float32[12, 4]\", dynamic: true, arena: 2, "
                         "offset: 32, shares: [{value: "));
  assert_non_null(strstr(result.out, ", byte: 32}]}\n"));
  command_end(&result);
}

// The page holds what --json holds, and no name in it is read as HTML.
static void a_page_holds_the_facts(void** state) {
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
  assert_non_null(strstr(text, "/&lt;b&gt;&amp;.pte</h1>"));
  assert_null(strstr(text, "<b>"));
  assert_non_null(strstr(text, "<h2>methods</h2>"));
  assert_non_null(strstr(text, "<td>get_cache</td>"));
  assert_non_null(strstr(text, "<h2>state</h2>"));
  assert_non_null(strstr(text, "</html>\n"));
  free(text);
  command_expect(2, WORDS(ETX, "inspect", program, "--html", "/no/such/page"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_method_without_instructions_is_a_method),
      cmocka_unit_test(a_program_says_which_runtimes_run_it),
      cmocka_unit_test(views_that_an_operator_sizes_are_told),
      cmocka_unit_test(a_page_holds_the_facts),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
