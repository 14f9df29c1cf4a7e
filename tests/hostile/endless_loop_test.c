// Loops that nothing can leave: `etx verify` and the runtime refuse them and
// name the jump. Chosen programs, and random jumps, for which a search of all
// paths decides.
//
//   endless_loop_test [COUNT [SEED]]

#include "tests/support/assert_status.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/verify/verify_program.h"
#include "tests/hostile/hostile_random.h"
#include "tests/support/loaded_method.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/test_program.h"

static const char said[] = "nothing leaves that loop";

enum { MOST = 40 };  // instructions of a program

static size_t program_count = 3000;
static uint64_t seed = 20261128;

static etx_diag diag;

// ---- programs ----

typedef enum condition {
  NEVER,   // a constant: the jump is always taken
  ALWAYS,  // a constant: it is never taken
  INPUT,   // a bool of the caller
  MOVED,   // a constant to which some instruction moves
  NO_JUMP,
} condition;

// An instruction: a jump to `target`, or a kernel call.
typedef struct line {
  condition condition;
  int target;
} line;

typedef struct listing {
  line lines[MOST];
  int count;
} listing;

static test_program* program_of(const listing* l) {
  test_program* const p = test_program_new();
  test_method(p, "m");
  test_arenas(p, 64, 0);
  test_blob(p);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "x");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int flag =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SCALAR_SIZES), "c");
  const int values[] = {test_bool(p, false), test_bool(p, true), flag,
                        test_bool(p, false)};
  // One instruction in front and one behind, so that targets count from 1.
  test_move(p, values[ALWAYS], values[MOVED]);
  for (int i = 0; i < l->count; ++i) {
    if (l->lines[i].condition == NO_JUMP) {
      test_call(p, "aten::relu", "out", ARGS(x, y, y));
    } else {
      test_jump_false(p, values[l->lines[i].condition], l->lines[i].target);
    }
  }
  test_call(p, "aten::relu", "out", ARGS(x, y, y));
  test_output(p, y, "y");
  return p;
}

// ---- the search ----

// Marks what a run that is at instruction `at` may reach.
static void reach(const listing* l, int at, bool* reached) {
  int open[2 * MOST + 4];
  int count = 0;
  open[count++] = at;
  while (count > 0) {
    const int i = open[--count];
    if (reached[i]) continue;
    reached[i] = true;
    if (i > l->count + 1) continue;
    const bool is_line = i >= 1 && i <= l->count;
    const line way = is_line ? l->lines[i - 1] : (line){NO_JUMP, 0};
    const int end = l->count + 2;
    if (way.condition != NEVER) open[count++] = i + 1;
    if (way.condition != NO_JUMP && way.condition != ALWAYS) {
      open[count++] = way.target < end ? way.target : end;
    }
  }
}

static bool is_endless(const listing* l) {
  for (int at = 0; at <= l->count + 1; ++at) {
    bool reached[MOST + 4] = {false};
    reach(l, at, reached);
    if (!reached[l->count + 2]) return true;
  }
  return false;
}

// ---- both readers ----

static etx_status verify(test_program* p) {
  etx_diag_init(&diag);
  return etx_verify_program(test_file(p), NULL, &diag);
}

static etx_status load(test_program* p) {
  etx_program program;
  test_loaded loaded;
  etx_diag_init(&diag);
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  const etx_status status = test_load(&loaded, &program, "m", NULL, &diag);
  if (status == ETX_OK) assert_true(test_unload(&loaded));
  return status;
}

// `jump` is the instruction that the messages name; 0: any.
static void expect_endless(const listing* l, int jump) {
  test_program* const p = program_of(l);
  for (int i = 0; i < 2; ++i) {
    char named[64];
    snprintf(named, sizeof named,
             i == 0 ? "(instruction '%d'" : "instruction %d jumps back", jump);
    assert_int_equal(i == 0 ? verify(p) : load(p), ETX_BAD_FILE);
    if (strstr(diag.text, said) == NULL ||
        (jump != 0 && strstr(diag.text, named) == NULL)) {
      fail_msg("%s", diag.text);
    }
  }
  test_program_end(p);
}

// The proof may refuse the plan for another reason.
static void expect_ending(const listing* l) {
  test_program* const p = program_of(l);
  const etx_status status = verify(p);
  if (status != ETX_OK && strstr(diag.text, said) != NULL) {
    fail_msg("%s", diag.text);
  }
  assert_ok(load(p));
  test_program_end(p);
}

// ---- tests ----

#define LISTING(...)                                                   \
  &(listing) {                                                         \
    {__VA_ARGS__}, (int)(sizeof((line[]){__VA_ARGS__}) / sizeof(line)) \
  }

static void loops_that_nothing_leaves_are_refused(void** state) {
  (void)state;
  // A jump to itself, one over a call, and one behind a branch that ends.
  expect_endless(LISTING({NEVER, 1}), 1);
  expect_endless(LISTING({NO_JUMP, 0}, {NEVER, 1}), 2);
  expect_endless(LISTING({INPUT, 4}, {NO_JUMP, 0}, {NEVER, 2}, {NO_JUMP, 0}),
                 3);
  // The only way out is a jump that is never taken.
  expect_endless(LISTING({ALWAYS, 4}, {NEVER, 1}), 2);
  // Inside, conditions choose between two parts of the loop.
  expect_endless(LISTING({INPUT, 3}, {NO_JUMP, 0}, {INPUT, 1}, {NEVER, 2}), 3);
  // Two jumps that lead to each other.
  expect_endless(LISTING({NEVER, 3}, {NEVER, 5}, {NEVER, 4}, {NEVER, 3}), 4);
}

static void loops_with_a_way_out_are_accepted(void** state) {
  listing nested = {.count = 0};
  (void)state;
  expect_ending(LISTING({INPUT, 4}, {NO_JUMP, 0}, {NEVER, 1}));
  expect_ending(LISTING({NO_JUMP, 0}, {INPUT, 1}));
  expect_ending(LISTING({MOVED, 4}, {NEVER, 1}));
  expect_ending(LISTING({NO_JUMP, 0}, {MOVED, 1}));
  expect_ending(LISTING({NEVER, 3}, {NO_JUMP, 0}, {NO_JUMP, 0}));
  // Loops in loops: each is left at its head.
  const int depth = MOST / 2;
  for (int i = 0; i < depth; ++i) {
    nested.lines[nested.count++] = (line){INPUT, 2 * depth + 1 - i};
  }
  for (int i = depth; i-- > 0;) {
    nested.lines[nested.count++] = (line){NEVER, i + 1};
  }
  expect_ending(&nested);
}

static void random_jumps_are_judged_as_by_a_search(void** state) {
  size_t endless = 0;
  (void)state;
  for (size_t i = 0; i < program_count; ++i) {
    hostile_random random = hostile_random_of(seed, i);
    listing l = {.count = 1 + (int)hostile_below(&random, MOST)};
    for (int k = 0; k < l.count; ++k) {
      const size_t drawn = hostile_below(&random, NO_JUMP + 4);
      l.lines[k].condition = drawn < NO_JUMP ? (condition)drawn : NO_JUMP;
      l.lines[k].target = (int)hostile_below(&random, (size_t)l.count + 3);
    }
    if (is_endless(&l)) {
      expect_endless(&l, 0);
      ++endless;
    } else {
      expect_ending(&l);
    }
  }
  print_message("%zu of %zu programs have an endless loop\n", endless,
                program_count);
  assert_true(program_count < 100 || (endless > program_count / 10 &&
                                      endless < program_count * 9 / 10));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_that_nothing_leaves_are_refused),
      cmocka_unit_test(loops_with_a_way_out_are_accepted),
      cmocka_unit_test(random_jumps_are_judged_as_by_a_search),
  };
  if (argc > 1) program_count = strtoul(argv[1], NULL, 10);
  if (argc > 2) seed = strtoull(argv[2], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
