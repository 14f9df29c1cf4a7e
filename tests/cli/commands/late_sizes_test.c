// Sizes and integers that data decide, whose upper bound the archive does not
// state: caps from the command line and from program.yaml, and data that ask
// for more. The recorded results are those of PyTorch.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define ROUTED ETX_TEST_DATA "/pt2/routed"
#define LATE ETX_TEST_DATA "/pt2/late"
#define CAPS \
  "--cap", "spread.u0=16", "--cap", "unlimited.u0=16", "--cap", "indices.u0=16"

enum { PATH_BYTES = 256 };

static char program[PATH_BYTES];

static void name_program(const char* name) {
  snprintf(program, sizeof program, "%s/%s.pte", command_directory, name);
}

static void capped_sizes_agree_with_pytorch(void** state) {
  static const char* const forms[] = {ROUTED, ROUTED "/core"};
  (void)state;
  name_program("routed");
  for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i) {
    command_expect(0, WORDS(ETX, "plan", forms[i], "-q", "-o", program, CAPS));
    command_expect(0, WORDS(ETX, "verify", program));
    command_expect(0, WORDS(ETX, "run", program, "--case", ROUTED));
    command_expect(0, WORDS(ETX, "run", program, "--smoke"));
  }
}

static void sizes_without_a_cap_are_all_named(void** state) {
  static const char* const lines[] = {
      "node 'repeat_interleave': size 'u0' of method 'spread', which "
      "'aten.repeat_interleave.self_Tensor' reads from data, has no upper "
      "bound",
      "dims: {\"unlimited.u0\": {max: N}} in program.yaml",
      "--cap indices.u0=N"};
  (void)state;
  name_program("none");
  for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
    command_expect_err(2, WORDS(ETX, "plan", ROUTED, "-o", program), lines[i]);
    command_expect_err(2, WORDS(ETX, "check", ROUTED), lines[i]);
  }
  command_expect(0, WORDS(ETX, "check", ROUTED, CAPS));
}

static void wrong_caps_are_refused(void** state) {
  (void)state;
  name_program("none");
  command_expect_err(
      2, WORDS(ETX, "plan", LATE, "-o", program, "--cap", "u7=3"),
      "option --cap names 'u7', but no method has a size or integer of that "
      "name");
  command_expect_err(2, WORDS(ETX, "plan", LATE, "-o", program, "--cap", "u0"),
                     "'u0' should have the form NAME=N");
}

// A directory with a link to the method `unlimited` and a program.yaml.
static void a_program_yaml_states_the_cap(void** state) {
  char directory[PATH_BYTES], link_path[300], yaml[300];
  (void)state;
  name_program("yaml");
  snprintf(directory, sizeof directory, "%s/capped", command_directory);
  snprintf(link_path, sizeof link_path, "%s/unlimited.pt2", directory);
  snprintf(yaml, sizeof yaml, "%s/program.yaml", directory);
  assert_int_equal(mkdir(directory, 0700), 0);
  assert_int_equal(symlink(ROUTED "/unlimited.pt2", link_path), 0);
  command_write_file(yaml, "etx: 1\ndims: {unlimited.u0: {max: 6}}\n");
  command_expect(0, WORDS(ETX, "plan", directory, "-q", "-o", program));
  command_expect_out(0,
                     WORDS(ETX, "run", program, "unlimited", "--in", "count=6"),
                     "int64[6] = [0, 1, 2, 3, 4, 5]");
  command_expect_err(5,
                     WORDS(ETX, "run", program, "unlimited", "--in", "count=7"),
                     "size 'u0' is 7, the program is planned for 0 to 6");
}

#define ROW "[1, 2, 3], "
#define EIGHT_ROWS "x=[" ROW ROW ROW ROW ROW ROW ROW "[1, 2, 3]]"

static void data_beyond_the_plan_are_refused(void** state) {
  static const char* const calls[][3] = {
      {"head", "count=9", "size 'u0' is 9, the program is planned for 0 to 8"},
      {"head", "count=-1", "size 'u0' is -1, the program is planned for 0 to"},
      {"columns", "count=0", "size 'u0' is 0, the program is planned for 1 to"},
      {"two", "counts=[9, 0]", "size 'u0' is 9"},
      {"two", "counts=[6, 3]",
       "a check of the model failed: Runtime assertion failed for expression "
       "u0 + u1 <= 8"},
  };
  (void)state;
  name_program("beyond");
  command_expect(0, WORDS(ETX, "plan", LATE, "-q", "-o", program));
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    command_expect_err(5,
                       WORDS(ETX, "run", program, calls[i][0], "--in",
                             EIGHT_ROWS, "--in", calls[i][1]),
                       calls[i][2]);
  }
  command_expect(0, WORDS(ETX, "run", program, "--case", LATE));
}

// Stock files have no operator that checks a number: the memory of the tensors
// limits them.
static void stock_files_refuse_what_has_no_room(void** state) {
  (void)state;
  name_program("stock");
  command_expect(
      0, WORDS(ETX, "plan", LATE, "-q", "-o", program, "-t", "executorch"));
  command_expect_err(5,
                     WORDS(ETX, "run", program, "created", "--in", "count=17"),
                     "has room for 16 elements, found 17");
}

// The upper bound of the slice passes the end of x, so it cannot be a view of
// x.
static void a_part_beyond_its_base_is_no_view(void** state) {
  char path[PATH_BYTES];
  (void)state;
  name_program("part");
  snprintf(path, sizeof path, "%s/part.yaml", command_directory);
  command_write_file(
      path,
      "etx: 1\nmethod: part\ndims: {u: {max: 16}}\n"
      "inputs: [{name: x, type: 'int64[8]'}, {name: n, type: 'int64[]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.add.Tensor, args: [x, 1]}\n"
      "  - {out: i, op: aten.item.default, args: [n], sets: u}\n"
      "  - {out: z, type: 'int64[u]', op: aten.slice.Tensor, "
      "args: [y, 0, 0, {sym: u}]}\n"
      "outputs: [z]\n");
  command_expect(0, WORDS(ETX, "plan", path, "-q", "-o", program));
  command_expect(0, WORDS(ETX, "verify", program));
  command_expect_out(0,
                     WORDS(ETX, "run", program, "part", "--in",
                           "x=[0, 1, 2, 3, 4, 5, 6, 7]", "--in", "n=3"),
                     "int64[3] = [1, 2, 3]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(capped_sizes_agree_with_pytorch),
      cmocka_unit_test(sizes_without_a_cap_are_all_named),
      cmocka_unit_test(wrong_caps_are_refused),
      cmocka_unit_test(a_program_yaml_states_the_cap),
      cmocka_unit_test(data_beyond_the_plan_are_refused),
      cmocka_unit_test(stock_files_refuse_what_has_no_room),
      cmocka_unit_test(a_part_beyond_its_base_is_no_view),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
