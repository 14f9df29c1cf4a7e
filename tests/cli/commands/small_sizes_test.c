// Sizes 0 and 1 of archives: taken where every node can have them, refused
// where one cannot. Operators along sizes that vary, and conditions on sizes.
// The recorded results are those of eager PyTorch.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/cli/command.h"
#include "tests/cli/passes_off.h"

#define ETX ETX_BINARY "/etx"
#define SMALL ETX_TEST_DATA "/pt2/small_sizes"
#define VARYING ETX_TEST_DATA "/pt2/varying"
#define STATISTICS ETX_TEST_DATA "/pt2/statistics"
#define SCALED ETX_TEST_DATA "/pt2/scaled_sizes"
#define GUARDS ETX_TEST_DATA "/pt2/guards"
#define ROW "[[1, 2, 3, 4]]"

enum { PATH_BYTES = 256, COMMAND_BYTES = 600 };

static char program[PATH_BYTES];

static void name_program(const char* name) {
  snprintf(program, sizeof program, "%s/%s.pte", command_directory, name);
}

static void agrees(const char* set, const char* form) {
  char option[sizeof passes_off + 16];
  name_program("small");
  command_expect(0, WORDS(ETX, "plan", form, "-q", "-o", program));
  command_expect(0, WORDS(ETX, "verify", program));
  command_expect(0, WORDS(ETX, "run", program, "--case", set));
  snprintf(option, sizeof option, "--passes=%s", passes_off + 1);
  command_expect(0, WORDS(ETX, "plan", form, "-q", "-o", program, option));
  command_expect(0, WORDS(ETX, "verify", program));
  command_expect(0, WORDS(ETX, "run", program, "--case", set));
}

static void calls_of_sizes_0_and_1_agree_with_pytorch(void** state) {
  (void)state;
  agrees(SMALL, SMALL);
  agrees(SMALL, SMALL "/core");
}

// The calls that the exported programs refuse are refused too, and count
// nothing.
static void sizes_that_vary_agree_with_pytorch(void** state) {
  (void)state;
  agrees(VARYING, VARYING);
  agrees(VARYING, VARYING "/core");
}

static void statistics_along_sizes_that_vary_agree_with_pytorch(void** state) {
  (void)state;
  agrees(STATISTICS, STATISTICS);
  agrees(STATISTICS, STATISTICS "/core");
}

static void sizes_computed_with_floats_agree_with_pytorch(void** state) {
  (void)state;
  agrees(SCALED, SCALED);
  agrees(SCALED, SCALED "/core");
}

static void results_that_are_aliases_at_some_sizes_agree_with_pytorch(
    void** state) {
  (void)state;
  agrees(GUARDS, GUARDS);
  agrees(GUARDS, GUARDS "/core");
}

static void count_kernels(const char* method, const char* dim,
                          const char* wanted) {
  command_expect_out(0,
                     WORDS(ETX, "bench", program, "--method", method, "--dim",
                           dim, "--seconds", "0.001", "--json"),
                     wanted);
}

// A sum of no rows is zeros, which one kernel writes and another one reads.
static void calls_without_elements_run_no_kernel(void** state) {
  (void)state;
  name_program("guards");
  command_expect(0, WORDS(ETX, "plan", GUARDS, "-q", "-o", program));
  count_kernels("chained", "x[0]=0", "\"kernel_calls\": 0,");
  count_kernels("chained", "x[0]=3", "\"kernel_calls\": 6,");
  count_kernels("sliced", "x[0]=0", "\"kernel_calls\": 0,");
  count_kernels("gathered", "x[0]=0", "\"kernel_calls\": 0,");
  count_kernels("permuted", "x[1]=0", "\"kernel_calls\": 0,");
  count_kernels("joined", "x[0]=0", "\"kernel_calls\": 0,");
  count_kernels("summed", "x[0]=0", "\"kernel_calls\": 2,");
}

static void messages_of_conditions_name_the_sizes(void** state) {
  (void)state;
  name_program("varying");
  command_expect(0, WORDS(ETX, "plan", VARYING, "-q", "-o", program));
  command_expect_err(5,
                     WORDS(ETX, "run", program, "tail", "--in",
                           "x=[[1, 2, 3, 4], [1, 2, 3, 4]]"),
                     "a check of the model failed: ((-1) + "
                     "L['x'].size()[0]) != 1");
  command_expect_err(5,
                     WORDS(ETX, "run", program, "gate", "--in",
                           "x=[[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]]"),
                     "input 'x' has size 3 in dimension 0, expected 2 times");
}

// x[:1] has the rows of x. A squeezed row would have another rank.
static void a_size_that_a_node_cannot_have_is_refused(void** state) {
  (void)state;
  name_program("small");
  command_expect(0, WORDS(ETX, "plan", SMALL, "-q", "-o", program));
  command_expect_out(0, WORDS(ETX, "run", program, "first", "--in", "x=" ROW),
                     "float32[1, 4]");
  command_expect_err(5,
                     WORDS(ETX, "run", program, "squeezed", "--in", "x=" ROW),
                     "a check of the model failed: the size of dimension 0, "
                     "which 'aten.squeeze.dim' would remove, is not 1");
}

// Copies an archive into a directory of its own, with a program.yaml.
static void write_model(const char* directory, const char* archive,
                        const char* dims) {
  char command[COMMAND_BYTES];
  char yaml[PATH_BYTES];
  snprintf(command, sizeof command, "mkdir -p '%s' && cp '%s' '%s'", directory,
           archive, directory);
  command_expect(0, WORDS("/bin/sh", "-c", command));
  snprintf(yaml, sizeof yaml, "%s/program.yaml", directory);
  command_write_file(yaml, dims);
}

// The first recorded call of `attend`, of one row and an empty cache. `decode`
// computes the same and was exported with sizes of 2 or more.
static void run_first_call(const char* method, const char* result) {
  char option[PATH_BYTES];
  snprintf(option, sizeof option, "output_0=%s", result);
  command_expect(0, WORDS(ETX, "run", program, method, "--in",
                          "x=" SMALL "/expected.safetensors#c000.in0", "--in",
                          "past=" SMALL "/expected.safetensors#c000.in1",
                          "--out", option));
}

static void program_yaml_may_ask_for_an_empty_cache(void** state) {
  char directory[PATH_BYTES], expected[PATH_BYTES + 16], found[PATH_BYTES + 16];
  (void)state;
  snprintf(directory, sizeof directory, "%s/asked", command_directory);
  snprintf(expected, sizeof expected, "%s/expected.npy", command_directory);
  snprintf(found, sizeof found, "%s/found.npy", command_directory);
  name_program("small");
  command_expect(0, WORDS(ETX, "plan", SMALL, "-q", "-o", program));
  run_first_call("attend", expected);
  name_program("asked");
  write_model(directory, SMALL "/decode.pt2",
              "etx: 1\ndims: {\"decode.past[1]\": {min: 0}}\n");
  command_expect(0, WORDS(ETX, "plan", directory, "-q", "-o", program));
  command_expect(0, WORDS(ETX, "verify", program));
  run_first_call("decode", found);
  command_expect_same_files(expected, found);
}

static void a_size_asked_for_that_a_node_cannot_have_is_reported(void** state) {
  char directory[PATH_BYTES];
  (void)state;
  name_program("refused");
  snprintf(directory, sizeof directory, "%s/refused", command_directory);
  write_model(directory, SMALL "/squeezed.pt2",
              "etx: 1\ndims: {\"squeezed.x[0]\": {min: 1}}\n");
  command_expect_err(2, WORDS(ETX, "plan", directory, "-q", "-o", program),
                     "would remove dimension 0 if its size were 1");
}

static void plans_again(const char* set) {
  char directory[PATH_BYTES];
  char again[PATH_BYTES + 8];
  name_program("planned");
  command_expect(0, WORDS(ETX, "plan", set, "-q", "-o", program));
  snprintf(directory, sizeof directory, "%s/dump", command_directory);
  snprintf(again, sizeof again, "%s.again", program);
  command_expect(0, WORDS(ETX, "dump", set, "-o", directory));
  command_expect(0, WORDS(ETX, "plan", directory, "-q", "-o", again));
  command_expect_same_files(program, again);
  command_expect(0, WORDS("/bin/rm", "-r", directory));
}

// A dump keeps the bound that is tried and the one that may be taken, and the
// checks.
static void a_dump_plans_to_the_same_bytes(void** state) {
  (void)state;
  plans_again(SMALL);
  plans_again(VARYING "/core");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(calls_of_sizes_0_and_1_agree_with_pytorch),
      cmocka_unit_test(sizes_that_vary_agree_with_pytorch),
      cmocka_unit_test(statistics_along_sizes_that_vary_agree_with_pytorch),
      cmocka_unit_test(sizes_computed_with_floats_agree_with_pytorch),
      cmocka_unit_test(
          results_that_are_aliases_at_some_sizes_agree_with_pytorch),
      cmocka_unit_test(calls_without_elements_run_no_kernel),
      cmocka_unit_test(messages_of_conditions_name_the_sizes),
      cmocka_unit_test(a_size_that_a_node_cannot_have_is_refused),
      cmocka_unit_test(program_yaml_may_ask_for_an_empty_cache),
      cmocka_unit_test(a_size_asked_for_that_a_node_cannot_have_is_reported),
      cmocka_unit_test(a_dump_plans_to_the_same_bytes),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
