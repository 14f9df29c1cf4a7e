// etx place with valid and invalid problems. Solutions are checked with awk,
// which shares no code with the planner.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define HARD ETX_TEST_DATA "/minimalloc/"

enum { PATH_BYTES = 256 };

static char problem[PATH_BYTES];
static char solution[PATH_BYTES];

// Blocks that are live together are disjoint, and all end within `most` bytes.
static const char checker[] =
    "BEGIN { FS = \",\" }"
    "NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }"
    "{ lo[NR] = $at[\"lower\"]; up[NR] = $at[\"upper\"];"
    "  of[NR] = $at[\"offset\"]; sz[NR] = $at[\"size\"];"
    "  if (of[NR] \"\" == \"\" || of[NR] + sz[NR] > most) bad = 1;"
    "  for (i = 2; i < NR; ++i)"
    "    if (lo[i] < up[NR] && lo[NR] < up[i] && of[i] < of[NR] + sz[NR] &&"
    "        of[NR] < of[i] + sz[i]) bad = 1 }"
    "END { exit bad || NR < 2 }";

static int make_directory(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(problem, sizeof problem, "%s/problem.csv", command_directory);
  snprintf(solution, sizeof solution, "%s/solution.csv", command_directory);
  return 0;
}

static void expect_valid(unsigned long long most) {
  char variable[64];
  snprintf(variable, sizeof variable, "most=%llu", most);
  command_expect(0, WORDS("/usr/bin/awk", "-v", variable, checker, solution));
}

static void hard_instances_are_solved(void** state) {
  (void)state;
  static const char* const names[] = {"A", "C", "G", "K"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, HARD "%s.1048576.csv", names[i]);
    command_expect(
        0, WORDS(ETX, "place", path, "--capacity", "1048576", "-o", solution));
    expect_valid(1048576);
  }
  command_expect(0, WORDS(ETX, "place", HARD "C.1048576.csv", "-o", solution));
  expect_valid(1039360);
  // With a time limit of 0 the first plan is written.
  command_expect(0, WORDS(ETX, "place", HARD "C.1048576.csv", "--time-limit",
                          "0", "-o", solution));
  expect_valid(2097152);
}

static void expect_solution(const char* text, const char* expected) {
  size_t size = 0;
  command_write_file(problem, text);
  command_expect(0, WORDS(ETX, "place", problem, "-o", solution));
  char* const found = command_read_file(solution, &size);
  assert_string_equal(found, expected);
  free(found);
}

static void columns_have_any_order(void** state) {
  (void)state;
  expect_solution("size,note,end,buffer_id,start\n8,x,3,b,0\n4,,9,c,4\n",
                  "size,note,end,buffer_id,start,offset\n8,x,3,b,0,0\n"
                  "4,,9,c,4,0\n");
  // A byte order mark is skipped.
  expect_solution("\xef\xbb\xbfid,lower,upper,size\nb,0,3,8\n",
                  "id,lower,upper,size,offset\nb,0,3,8,0\n");
}

static void fixed_offsets_and_alignments_hold(void** state) {
  (void)state;
  expect_solution(
      "id,offset,lower,upper,size,alignment\r\na,16,0,4,8,1\r\nb,,0,4,8,1\r\n"
      "c,,0,4,9,32\r\n\r\n",
      "id,offset,lower,upper,size,alignment\na,16,0,4,8,1\nb,24,0,4,8,1\n"
      "c,0,0,4,9,32\n");
}

static void a_solution_is_a_valid_problem(void** state) {
  (void)state;
  char again[PATH_BYTES];
  snprintf(again, sizeof again, "%s/again.csv", command_directory);
  command_expect(0, WORDS(ETX, "place", HARD "G.1048576.csv", "-o", solution));
  command_expect(0, WORDS(ETX, "place", solution, "-o", again));
  command_expect_same_files(solution, again);
}

static void expect_refusal(const char* text, const char* message) {
  command_write_file(problem, text);
  unlink(solution);
  command_result result =
      command_run(WORDS(ETX, "place", problem, "-o", solution));
  if (strstr(result.err, message) == NULL) {
    assert_string_equal(result.err, message);
  }
  assert_int_equal(result.code, 2);
  assert_int_not_equal(access(solution, F_OK), 0);
  command_end(&result);
}

#define HEAD "id,lower,upper,size\n"

static void invalid_problems_are_refused_with_a_line(void** state) {
  (void)state;
  expect_refusal("", "expected the columns 'id'");
  expect_refusal("id,lower,size\na,0,1\n", ":1:1: expected the columns");
  expect_refusal("id,lower,upper,end,size\n", "expected the columns");
  expect_refusal("id,lower,start,upper,size\n",
                 "column 'start' has the meaning");
  expect_refusal(HEAD "a,0,1\n", ":2:1: 3 fields, expected 4");
  expect_refusal(HEAD "a,0,1,2,3\n", ":2:1: 5 fields, expected 4");
  expect_refusal(HEAD "a,0,1,4\nb,-1,1,4\n", ":3:1: the start is '-1'");
  expect_refusal(HEAD "a,0,1,1e3\n", "the size is '1e3', expected a number");
  expect_refusal(HEAD "a,0,1,99999999999999999999\n", "the size is '9999");
  expect_refusal(HEAD "a,0,4294967296,1\n", "the end is '4294967296'");
  expect_refusal(HEAD "a,4,4,1\n", "lifetime [4, 4) is empty");
  expect_refusal(HEAD "a,5,4,1\n", "lifetime [5, 4) is empty");
  expect_refusal(HEAD "a,0,1,1\nb,0,1,1\na,0,1,1\n",
                 ":4:1: two blocks have the id 'a'");
  expect_refusal(HEAD "a,0,1,9223372036854775807\nb,0,1,1\n", "exceed 2^63");
  expect_refusal("id,lower,upper,size,alignment\na,0,1,1,3\n",
                 "the alignment is 3, expected a power of two");
  expect_refusal("id,lower,upper,size,gaps\na,0,9,1,2-3\n",
                 "lifetime gaps are not supported: found '2-3'; leave the "
                 "field empty");
  expect_refusal("id,lower,upper,size,offset\na,0,2,4,0\nb,1,3,4,2\n",
                 "fixed at the same bytes (blocks are numbered from 0)");
}

static void a_small_capacity_has_no_plan(void** state) {
  (void)state;
  unlink(solution);
  command_expect(3, WORDS(ETX, "place", HARD "A.1048576.csv", "--capacity",
                          "1048575", "-o", solution));
  assert_int_not_equal(access(solution, F_OK), 0);
  command_expect(2, WORDS(ETX, "place", HARD "A.1048576.csv", "--capacity",
                          "1k", "-o", solution));
  command_expect(2, WORDS(ETX, "place", HARD "A.1048576.csv"));
  command_expect(2, WORDS(ETX, "place", "/nowhere.csv", "-o", solution));
}

static void a_full_disk_leaves_no_file(void** state) {
  (void)state;
  unlink(solution);
  command_result result = command_run_with(
      WORDS(ETX, "place", HARD "G.1048576.csv", "-o", solution), "", 1000);
  assert_int_equal(result.code, 1);
  assert_int_not_equal(access(solution, F_OK), 0);
  command_end(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hard_instances_are_solved),
      cmocka_unit_test(columns_have_any_order),
      cmocka_unit_test(fixed_offsets_and_alignments_hold),
      cmocka_unit_test(a_solution_is_a_valid_problem),
      cmocka_unit_test(invalid_problems_are_refused_with_a_line),
      cmocka_unit_test(a_small_capacity_has_no_plan),
      cmocka_unit_test(a_full_disk_leaves_no_file),
  };
  return cmocka_run_group_tests(tests, make_directory, command_tear_down);
}
