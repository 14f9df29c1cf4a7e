// etx plan --source-lines: the lines of archives from
// tests/data/pt2/make_lines.py, and the outputs that show them.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define LINES ETX_TEST_DATA "/pt2/lines"
#define X "x=[[1, 2, 3, 4], [5, 6, 7, 8]]"

enum { PATH_BYTES = 256 };

static char kept[PATH_BYTES];
static char stock[PATH_BYTES];
static char without[PATH_BYTES];
static char trace[PATH_BYTES];
static char broken[PATH_BYTES];

static int set_up(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(kept, sizeof kept, "%s/kept.pte", command_directory);
  snprintf(stock, sizeof stock, "%s/stock.pte", command_directory);
  snprintf(without, sizeof without, "%s/without.pte", command_directory);
  snprintf(trace, sizeof trace, "%s/trace.json", command_directory);
  snprintf(broken, sizeof broken, "%s/broken.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", LINES, "-o", kept, "--source-lines"));
  command_expect(0, WORDS(ETX, "plan", LINES, "-o", stock, "--source-lines",
                          "--target", "executorch"));
  command_expect(0, WORDS(ETX, "plan", LINES, "-o", without));
  return 0;
}

// The source lines of the instructions that ran, one instruction a line.
static void sources_of(const char* program, const char* method, char* out,
                       size_t capacity) {
  command_expect(
      0, WORDS(ETX, "run", program, method, "--in", X, "--profile", trace));
  json_t* const root = json_load_file(trace, 0, NULL);
  assert_non_null(root);
  const json_t* const events = json_object_get(root, "traceEvents");
  size_t size = 0;
  out[0] = '\0';
  for (size_t i = 0; i < json_array_size(events); ++i) {
    const json_t* const event = json_array_get(events, i);
    const char* const kind = json_string_value(json_object_get(event, "cat"));
    if (kind == NULL || strcmp(kind, "operator") != 0) continue;
    const char* const source = json_string_value(
        json_object_get(json_object_get(event, "args"), "source"));
    size += (size_t)snprintf(out + size, capacity - size, "%s\n",
                             source == NULL ? "" : source);
    assert_true(size < capacity);
  }
  json_decref(root);
}

static void a_fused_operator_has_the_lines_of_all_its_parts(void** state) {
  char text[1024];
  (void)state;
  sources_of(kept, "step", text, sizeof text);
  assert_string_equal(text,
                      "model.py:9 (first.fc), model.py:10 (first), "
                      "model.py:23\n"
                      "model.py:9 (rest.0.fc), model.py:10 (rest.0)\n"
                      "model.py:25\n"
                      "model.py:24\n");
}

static void unfused_operators_have_their_own_line(void** state) {
  char text[1024];
  (void)state;
  sources_of(stock, "step", text, sizeof text);
  assert_string_equal(text,
                      "model.py:9 (first.fc)\n"
                      "model.py:10 (first)\n"
                      "model.py:23\n"
                      "model.py:9 (rest.0.fc)\n"
                      "model.py:10 (rest.0)\n"
                      "model.py:25\n"
                      "model.py:24\n");
}

static void without_the_option_there_are_no_lines(void** state) {
  char text[256];
  (void)state;
  sources_of(without, "step", text, sizeof text);
  assert_string_equal(text, "\n\n\n\n");
  command_expect_out(0, WORDS(ETX, "diff", kept, without, "step"),
                     "0 outputs differ");
}

static void the_memory_page_shows_them(void** state) {
  char page[PATH_BYTES];
  size_t size = 0;
  (void)state;
  snprintf(page, sizeof page, "%s/page.html", command_directory);
  command_expect(0, WORDS(ETX, "mem", kept, "--html", page));
  char* text = command_read_file(page, &size);
  assert_non_null(
      strstr(text, "\"model.py:9 (rest.0.fc), model.py:10 (rest.0)\""));
  free(text);
  command_expect(0, WORDS(ETX, "mem", without, "--html", page));
  text = command_read_file(page, &size);
  assert_null(strstr(text, "\"sources\":"));
  free(text);
}

static void a_failed_run_names_its_line(void** state) {
  (void)state;
  command_expect_err(
      5, WORDS(ETX, "run", kept, "pick", "--in", X, "--in", "places=[1, 7]"),
      "instruction 0 comes from model.py:29");
}

// Plans a method whose second node, in line 7, adds `number`.
static void plan_by_hand(const char* name, const char* number,
                         char source[PATH_BYTES], char program[PATH_BYTES]) {
  char text[512];
  char folder[PATH_BYTES - 16];
  snprintf(folder, sizeof folder, "%s/%s", command_directory, name);
  assert_int_equal(mkdir(folder, 0777), 0);
  snprintf(source, PATH_BYTES, "%s/forward.yaml", folder);
  snprintf(program, PATH_BYTES, "%s/%s.pte", command_directory, name);
  snprintf(text, sizeof text,
           "etx: 1\nmethod: forward\ninputs:\n"
           "  - {name: x, type: \"float32[2, 4]\"}\nnodes:\n"
           "  - {out: square, op: aten.mul.Tensor, args: [x, x]}\n"
           "  - {out: y, op: aten.add.Scalar, args: [square, %s]}\n"
           "outputs: [y]\n",
           number);
  command_write_file(source, text);
  command_expect(0,
                 WORDS(ETX, "plan", source, "-o", program, "--source-lines"));
}

static void a_difference_is_reported_with_its_lines(void** state) {
  char sources[2][PATH_BYTES];
  char programs[2][PATH_BYTES];
  char expected[4 * PATH_BYTES];
  (void)state;
  plan_by_hand("one", "1.0", sources[0], programs[0]);
  plan_by_hand("two", "2.0", sources[1], programs[1]);
  const char* const* const words =
      WORDS(ETX, "diff", programs[0], programs[1], "forward");
  snprintf(expected, sizeof expected, "  in %s from %s:6, %s:7\n", programs[0],
           sources[0], sources[0]);
  command_expect_out(6, words, expected);
  snprintf(expected, sizeof expected, "  in %s from %s:6, %s:7\n", programs[1],
           sources[1], sources[1]);
  command_expect_out(6, words, expected);
  command_expect_out(
      6, WORDS(ETX, "diff", programs[0], programs[1], "forward", "--json"),
      "\"line\": 7");
}

// Puts a control character into the path of the source file.
static void break_lines(void) {
  FILE* const file = fopen(kept, "rb");
  assert_non_null(file);
  static char bytes[1 << 16];
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  size_t found = 0;
  for (size_t i = 0; i + 8 < size; ++i) {
    if (memcmp(bytes + i, "model.py", 8) != 0) continue;
    bytes[i] = 7;
    ++found;
  }
  assert_int_equal(found, 1);
  FILE* const out = fopen(broken, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(bytes, 1, size, out), size);
  assert_int_equal(fclose(out), 0);
}

static void broken_lines_are_refused_by_verify_and_left_out_elsewhere(
    void** state) {
  (void)state;
  break_lines();
  command_expect_err(2, WORDS(ETX, "verify", broken), "control character");
  command_expect_err(
      5, WORDS(ETX, "run", broken, "pick", "--in", X, "--in", "places=[1, 7]"),
      "source lines are not shown");
  command_expect(0, WORDS(ETX, "run", broken, "step", "--in", X));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fused_operator_has_the_lines_of_all_its_parts),
      cmocka_unit_test(unfused_operators_have_their_own_line),
      cmocka_unit_test(without_the_option_there_are_no_lines),
      cmocka_unit_test(the_memory_page_shows_them),
      cmocka_unit_test(a_failed_run_names_its_line),
      cmocka_unit_test(a_difference_is_reported_with_its_lines),
      cmocka_unit_test(
          broken_lines_are_refused_by_verify_and_left_out_elsewhere),
  };
  return cmocka_run_group_tests(tests, set_up, command_tear_down);
}
