// Every row of the list goes through the same examples, and the portfolio too.

#include "plan_fixture.h"

#include "planner/plan_portfolio.h"
#include "tests/support/assert_message.h"

// Calls `check` for each algorithm and for all together (NULL).
static void for_every_algorithm(void (*check)(const char* algorithm)) {
  check(NULL);
  for (size_t i = 0; i < etx_plan_algorithm_count(); ++i) {
    check(etx_plan_algorithm_at(i)->name);
  }
}

static bool is_algorithm(const char* algorithm, const char* name) {
  return algorithm != NULL && strcmp(algorithm, name) == 0;
}

// Solves and validates twice; false if the algorithm does not support the
// problem.
static bool solve_valid(const etx_plan_problem* problem, const char* algorithm,
                        etx_plan_solution* solution) {
  etx_diag diag;
  etx_plan_problem quick = *problem;
  quick.steps = 2000;  // there are many problems
  const etx_status status = solve(&quick, algorithm, solution, &diag);
  if (status == ETX_UNSUPPORTED && algorithm != NULL) {
    free(solution->offsets);
    return false;
  }
  assert_string_equal(diag.text, "");
  assert_int_equal(status, ETX_OK);
  assert_true(is_valid(problem, solution));
  assert_int_equal(validation_of(problem, solution).verdict, ETX_PLAN_VALID);
  assert_non_null(solution->algorithm);
  return true;
}

static void check_empty(const char* algorithm) {
  const etx_plan_problem problem = problem_of(NULL, 0);
  etx_plan_solution solution;
  assert_true(solve_valid(&problem, algorithm, &solution));
  assert_int_equal(solution.arena_bytes, 0);
  assert_int_equal(solution.lower_bound, 0);
  free(solution.offsets);
}

static void an_empty_problem_needs_no_bytes(void** state) {
  (void)state;
  for_every_algorithm(check_empty);
}

// In units of 16 bytes no plan is smaller than 160. Blocks 1, 2 and 5 have 8
// bytes of padding; the planners lay one without any on top, or one with 4.
static void the_block_with_most_padding_lies_on_top(void** state) {
  etx_plan_block blocks[] = {block_of(0, 3, 48), block_of(1, 6, 24),
                             block_of(2, 6, 24), block_of(3, 6, 48),
                             block_of(4, 6, 12), block_of(4, 6, 24)};
  const etx_plan_problem problem = problem_of(blocks, 6);
  etx_plan_solution solution;
  (void)state;
  for (size_t i = 0; i < 6; ++i) blocks[i].alignment = 16;
  assert_true(solve_valid(&problem, NULL, &solution));
  assert_int_equal(solution.arena_bytes, 152);
  assert_int_equal(solution.lower_bound, 152);
  free(solution.offsets);
}

static void check_one(const char* algorithm) {
  etx_plan_block block = block_of(3, 9, 100);
  const etx_plan_problem problem = problem_of(&block, 1);
  etx_plan_solution solution;
  block.alignment = 64;
  assert_true(solve_valid(&problem, algorithm, &solution));
  assert_int_equal(solution.offsets[0], 0);
  assert_int_equal(solution.arena_bytes, 100);
  assert_int_equal(solution.lower_bound, 100);
  free(solution.offsets);
}

static void one_block_lies_at_zero(void** state) {
  (void)state;
  for_every_algorithm(check_one);
}

static void check_zero_bytes(const char* algorithm) {
  etx_plan_block blocks[] = {block_of(0, 2, 0), block_of(0, 2, 8),
                             block_of(1, 3, 0)};
  const etx_plan_problem problem = problem_of(blocks, 3);
  etx_plan_solution solution;
  blocks[2].alignment = 4096;
  assert_true(solve_valid(&problem, algorithm, &solution));
  assert_int_equal(solution.arena_bytes, 8);
  free(solution.offsets);
}

static void blocks_without_bytes_cost_nothing(void** state) {
  (void)state;
  for_every_algorithm(check_zero_bytes);
}

static void check_touching(const char* algorithm) {
  const etx_plan_block blocks[] = {block_of(0, 2, 8), block_of(2, 4, 8)};
  const etx_plan_problem problem = problem_of(blocks, 2);
  etx_plan_solution solution;
  assert_true(solve_valid(&problem, algorithm, &solution));
  assert_int_equal(solution.lower_bound, 8);
  assert_int_equal(solution.arena_bytes,
                   is_algorithm(algorithm, "naive") ? 16 : 8);
  free(solution.offsets);
}

static void a_block_may_begin_where_another_ends(void** state) {
  (void)state;
  for_every_algorithm(check_touching);
}

static void check_fixed(const char* algorithm) {
  etx_plan_block blocks[] = {block_of(0, 4, 32), block_of(0, 4, 16),
                             block_of(0, 2, 64), block_of(5, 6, 200)};
  const etx_plan_problem problem = problem_of(blocks, 4);
  etx_plan_solution solution;
  blocks[0].fixed = 64;
  blocks[1].fixed = 16;
  if (!solve_valid(&problem, algorithm, &solution)) return;
  assert_int_equal(solution.offsets[0], 64);
  assert_int_equal(solution.offsets[1], 16);
  if (algorithm == NULL) assert_int_equal(solution.arena_bytes, 200);
  free(solution.offsets);
}

static void fixed_blocks_stay_where_they_are(void** state) {
  (void)state;
  for_every_algorithm(check_fixed);
}

// Solves three blocks that are live together; algorithms without support are
// skipped.
static void check_three(const etx_plan_block* blocks, const char* algorithm) {
  const etx_plan_problem problem = problem_of(blocks, 3);
  etx_plan_solution solution;
  if (!solve_valid(&problem, algorithm, &solution)) return;
  free(solution.offsets);
}

// The bound is not a multiple of units so coarse.
static void check_coarse(const char* algorithm) {
  const etx_plan_block blocks[] = {block_of(0, 2, UINT64_C(1) << 40),
                                   block_of(0, 2, UINT64_C(1) << 39),
                                   block_of(1, 2, (UINT64_C(1) << 38) + 3)};
  check_three(blocks, algorithm);
}

static void huge_sizes_have_a_bound_that_holds(void** state) {
  (void)state;
  for_every_algorithm(check_coarse);
}

static void check_wide(const char* algorithm) {
  etx_plan_block blocks[] = {block_of(0, 2, 1), block_of(0, 2, 2),
                             block_of(0, 2, 3)};
  blocks[1].alignment = UINT64_C(1) << 40;
  blocks[2].alignment = UINT64_C(1) << 40;
  check_three(blocks, algorithm);
}

static void small_blocks_may_be_aligned_widely(void** state) {
  (void)state;
  for_every_algorithm(check_wide);
}

static void check_far(const char* algorithm) {
  etx_plan_block blocks[] = {block_of(0, 2, 3), block_of(0, 2, 5),
                             block_of(0, 2, 7)};
  blocks[0].fixed = (UINT64_C(1) << 50) + 1;
  check_three(blocks, algorithm);
}

static void small_blocks_may_be_fixed_far_up(void** state) {
  (void)state;
  for_every_algorithm(check_far);
}

static void check_empty_fixed(const char* algorithm) {
  etx_plan_block blocks[] = {block_of(0, 2, 0), block_of(0, 2, 5),
                             block_of(0, 2, 7)};
  blocks[0].fixed = 100;
  check_three(blocks, algorithm);
}

static void the_arena_reaches_fixed_blocks_without_bytes(void** state) {
  (void)state;
  for_every_algorithm(check_empty_fixed);
}

// One block behind another takes more units than offsets may have; other
// algorithms use the same bytes for all.
static void naive_gives_up_above_the_largest_offset(void** state) {
  (void)state;
  enum { COUNT = 9 };
  etx_plan_block blocks[COUNT];
  etx_plan_solution solution;
  etx_diag diag;
  const uint64_t size = (UINT64_C(1) << 28) - 1;
  for (uint32_t b = 0; b < COUNT; ++b) {
    blocks[b] = block_of(b, b + 1, size);
    blocks[b].alignment = b == 0 ? 1 : 2;
  }
  const etx_plan_problem problem = problem_of(blocks, COUNT);
  assert_int_equal(solve(&problem, "naive", &solution, &diag), ETX_BAD_PLAN);
  assert_true(test_message_has(&diag, "planner 'naive' found no plan"));
  free(solution.offsets);
  assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
  assert_true(is_valid(&problem, &solution));
  assert_int_equal(solution.arena_bytes, size);
  free(solution.offsets);
}

static void greedy_reuses_the_smallest_gap_that_fits(void** state) {
  (void)state;
  etx_plan_block blocks[] = {block_of(0, 9, 10), block_of(0, 9, 10),
                             block_of(0, 9, 10), block_of(0, 9, 4)};
  const etx_plan_problem problem = problem_of(blocks, 4);
  etx_plan_solution best, first;
  blocks[0].fixed = 6;  // leaves a gap of 6 below
  blocks[1].fixed = 16;
  blocks[2].fixed = 31;  // and one of 5 here
  assert_true(solve_valid(&problem, "greedy_best_gap", &best));
  assert_true(solve_valid(&problem, "greedy_first_gap", &first));
  assert_int_equal(best.offsets[3], 26);
  assert_int_equal(first.offsets[3], 0);
  free(best.offsets);
  free(first.offsets);
}

static void greedy_places_longer_lifetimes_first_among_equals(void** state) {
  (void)state;
  const etx_plan_block blocks[] = {block_of(0, 1, 8), block_of(0, 9, 8)};
  const etx_plan_problem problem = problem_of(blocks, 2);
  etx_plan_solution solution;
  assert_true(solve_valid(&problem, "greedy_best_gap", &solution));
  assert_int_equal(solution.offsets[1], 0);
  assert_int_equal(solution.offsets[0], 8);
  free(solution.offsets);
}

// Offsets that a naive reader expects: one after the other.
static void naive_reuses_nothing(void** state) {
  (void)state;
  etx_plan_block blocks[] = {block_of(0, 1, 5), block_of(4, 6, 3),
                             block_of(8, 9, 7)};
  const etx_plan_problem problem = problem_of(blocks, 3);
  etx_plan_solution solution;
  blocks[1].alignment = 4;
  assert_true(solve_valid(&problem, "naive", &solution));
  assert_int_equal(solution.offsets[0], 0);
  assert_int_equal(solution.offsets[1], 8);
  assert_int_equal(solution.offsets[2], 11);
  assert_int_equal(solution.arena_bytes, 18);
  free(solution.offsets);
}

// The arena ends where the topmost block does, not where its padding ends.
static void a_block_with_padding_lies_on_top(void** state) {
  (void)state;
  for (uint64_t odd = 1; odd < 16; ++odd) {
    etx_plan_block blocks[] = {block_of(0, 9, odd), block_of(0, 5, 32),
                               block_of(5, 9, 32)};
    const etx_plan_problem problem = problem_of(blocks, 3);
    etx_plan_solution solution;
    for (size_t i = 0; i < 3; ++i) blocks[i].alignment = 16;
    assert_true(solve_valid(&problem, NULL, &solution));
    assert_int_equal(solution.lower_bound, 32 + odd);
    assert_int_equal(solution.arena_bytes, 32 + odd);
    free(solution.offsets);
  }
}

static void check_random(const char* algorithm) {
  uint64_t seed = 1;
  for (size_t round = 0; round < 400; ++round) {
    etx_plan_block blocks[40];
    const size_t count = random_below(&seed, 41);
    const etx_plan_problem problem = problem_of(blocks, count);
    etx_plan_solution solution;
    random_blocks(&seed, blocks, count, 20, 200);
    for (size_t i = 0; i < count; ++i) {
      blocks[i].alignment = UINT64_C(1) << random_below(&seed, 7);
    }
    assert_true(solve_valid(&problem, algorithm, &solution));
    free(solution.offsets);
  }
}

static void every_plan_of_a_random_problem_is_valid(void** state) {
  (void)state;
  for_every_algorithm(check_random);
}

// Fixed blocks that come from a valid plan cannot contradict each other.
static void check_random_fixed(const char* algorithm) {
  uint64_t seed = 2;
  for (size_t round = 0; round < 200; ++round) {
    etx_plan_block blocks[24];
    const size_t count = 1 + random_below(&seed, 24);
    const etx_plan_problem problem = problem_of(blocks, count);
    etx_plan_solution solution;
    random_blocks(&seed, blocks, count, 12, 50);
    assert_true(solve_valid(&problem, NULL, &solution));
    for (size_t i = 0; i < count; ++i) {
      if (random_below(&seed, 3) == 0) blocks[i].fixed = solution.offsets[i];
    }
    free(solution.offsets);
    if (solve_valid(&problem, algorithm, &solution)) free(solution.offsets);
  }
}

static void random_problems_with_fixed_blocks_are_solved(void** state) {
  (void)state;
  for_every_algorithm(check_random_fixed);
}

static void the_portfolio_is_never_worse_than_one_algorithm(void** state) {
  (void)state;
  uint64_t seed = 3;
  for (size_t round = 0; round < 200; ++round) {
    etx_plan_block blocks[30];
    const etx_plan_problem problem = problem_of(blocks, 30);
    etx_plan_solution best, one;
    random_blocks(&seed, blocks, 30, 25, 100);
    assert_true(solve_valid(&problem, NULL, &best));
    for (size_t i = 0; i < etx_plan_algorithm_count(); ++i) {
      const char* const name = etx_plan_algorithm_at(i)->name;
      assert_true(solve_valid(&problem, name, &one));
      assert_true(best.arena_bytes <= one.arena_bytes);
      assert_int_equal(best.lower_bound, one.lower_bound);
      free(one.offsets);
    }
    free(best.offsets);
  }
}

static void refuses(const etx_plan_problem* problem, etx_status expected,
                    const char* text) {
  for (size_t i = 0; i <= etx_plan_algorithm_count(); ++i) {
    etx_plan_solution solution;
    etx_diag diag;
    const char* const name =
        i == etx_plan_algorithm_count() ? NULL : etx_plan_algorithm_at(i)->name;
    const etx_status status = solve(problem, name, &solution, &diag);
    free(solution.offsets);
    if (status == ETX_UNSUPPORTED && name != NULL) continue;
    assert_int_equal(status, expected);
    if (strstr(diag.text, text) == NULL) assert_string_equal(diag.text, text);
    assert_null(solution.algorithm);
  }
}

static void invalid_problems_are_refused(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  etx_plan_problem problem = problem_of(blocks, 3);
  const etx_plan_block good = block_of(0, 4, 16);
  for (size_t i = 0; i < 3; ++i) blocks[i] = good;

  blocks[1].end = 0;
  refuses(&problem, ETX_BAD_ARGUMENT,
          "block 1 has lifetime [0, 0), expected start < end");
  blocks[1].start = 9;
  refuses(&problem, ETX_BAD_ARGUMENT, "block 1 has lifetime [9, 0)");
  blocks[1] = good;
  blocks[2].alignment = 0;
  refuses(&problem, ETX_BAD_ARGUMENT, "block 2 has alignment 0");
  blocks[2].alignment = 24;
  refuses(&problem, ETX_BAD_ARGUMENT, "block 2 has alignment 24");
  blocks[2] = good;
  blocks[0].size = UINT64_MAX;
  refuses(&problem, ETX_BAD_ARGUMENT, "exceed 2^63");
  blocks[0].size = UINT64_MAX / 2 - 16;
  refuses(&problem, ETX_BAD_ARGUMENT, "exceed 2^63");
  blocks[0] = good;
  blocks[1].size = UINT64_MAX;
  refuses(&problem, ETX_BAD_ARGUMENT, "exceed 2^63");
  blocks[1].size = UINT64_MAX - 16;
  blocks[1].alignment = 32;
  refuses(&problem, ETX_BAD_ARGUMENT, "exceed 2^63");
  blocks[1] = good;
  blocks[1].fixed = UINT64_MAX - 20;
  refuses(&problem, ETX_BAD_ARGUMENT, "exceed 2^63");
  blocks[1] = good;
  blocks[0].alignment = UINT64_C(1) << 63;
  refuses(&problem, ETX_BAD_ARGUMENT, "exceed 2^63");
  blocks[0] = good;
  blocks[0].alignment = 8;
  blocks[0].fixed = 12;
  refuses(&problem, ETX_BAD_ARGUMENT, "block 0 is fixed at 12");
  blocks[0].fixed = UINT64_MAX - 7;
  refuses(&problem, ETX_BAD_ARGUMENT, "exceed 2^63");
  blocks[0].fixed = UINT64_MAX / 2 - 47;
  refuses(&problem, ETX_BAD_ARGUMENT, "exceed 2^63");
  blocks[0].fixed = 0;
  blocks[1].fixed = 15;
  refuses(&problem, ETX_BAD_ARGUMENT, "fixed at the same bytes");
}

// Sizes are rounded up to a common unit, which is large beside large blocks.
static void a_plan_whose_offsets_exceed_int64_is_refused(void** state) {
  (void)state;
  etx_plan_block blocks[] = {block_of(0, 1, 8), block_of(2, 5, 1),
                             block_of(1, 8, UINT64_MAX / 2 - 10000000)};
  const etx_plan_problem problem = problem_of(blocks, 3);
  refuses(&problem, ETX_BAD_ARGUMENT, "expected less than 2^63");
}

static void too_many_blocks_are_refused_before_they_are_read(void** state) {
  (void)state;
#if SIZE_MAX > UINT32_MAX
  const etx_plan_problem problem = problem_of(NULL, (size_t)UINT32_MAX + 1);
  uint64_t unused = 0;
  etx_plan_solution solution = {&unused, 0, 0, NULL, 0};
  etx_arena work;
  etx_arena_init(&work, NULL, 0);
  assert_int_equal(etx_plan_solve(&problem, NULL, &work, &solution, NULL),
                   ETX_BAD_ARGUMENT);
#endif
}

static void a_capacity_is_obeyed_or_refused(void** state) {
  (void)state;
  const etx_plan_block blocks[] = {block_of(0, 2, 8), block_of(1, 3, 8),
                                   block_of(2, 4, 8)};
  etx_plan_problem problem = problem_of(blocks, 3);
  etx_plan_solution solution;
  etx_diag diag;
  problem.capacity = 16;
  assert_true(solve_valid(&problem, NULL, &solution));
  free(solution.offsets);
  problem.capacity = 15;
  assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_BAD_PLAN);
  assert_non_null(strstr(diag.text, "within 15 bytes"));
  free(solution.offsets);
}

static void an_unknown_name_is_refused(void** state) {
  (void)state;
  const etx_plan_block block = block_of(0, 1, 8);
  const etx_plan_problem problem = problem_of(&block, 1);
  etx_plan_solution solution;
  etx_diag diag;
  assert_int_equal(solve(&problem, "magic", &solution, &diag), ETX_NOT_FOUND);
  assert_string_equal(diag.text, "there is no planner 'magic'");
  free(solution.offsets);
}

// The stated memory is enough. Less memory is either refused or enough, too.
static void too_little_memory_is_refused_and_enough_is_enough(void** state) {
  (void)state;
  uint64_t seed = 4;
  etx_plan_block blocks[5];
  const etx_plan_problem problem = problem_of(blocks, 5);
  random_blocks(&seed, blocks, 5, 6, 64);
  const size_t needed = etx_plan_needed(&problem);
  uint64_t offsets[5];
  etx_plan_solution solution = {offsets, 0, 0, NULL, 0};
  for (size_t bytes = 0; bytes <= needed; bytes += 8) {
    etx_arena work;
    void* const memory = malloc(bytes + 1);
    etx_arena_init(&work, memory, bytes);
    for (size_t i = 0; i < etx_plan_algorithm_count(); ++i) {
      const etx_status status = etx_plan_solve(
          &problem, etx_plan_algorithm_at(i)->name, &work, &solution, NULL);
      assert_true(status == ETX_OK || status == ETX_OUT_OF_MEMORY);
      assert_true(status == ETX_OK || bytes < needed);
      assert_true(status == ETX_OUT_OF_MEMORY || bytes > needed / 4);
      assert_int_equal(etx_arena_mark(&work), 0);
    }
    free(memory);
  }
}

static void check_twice(const char* algorithm) {
  uint64_t seed = 5;
  etx_plan_block blocks[60];
  const etx_plan_problem problem = problem_of(blocks, 60);
  etx_plan_solution first, second;
  random_blocks(&seed, blocks, 60, 40, 1000);
  assert_true(solve_valid(&problem, algorithm, &first));
  assert_true(solve_valid(&problem, algorithm, &second));
  assert_memory_equal(first.offsets, second.offsets, sizeof(uint64_t) * 60);
  assert_ptr_equal(first.algorithm, second.algorithm);
  free(first.offsets);
  free(second.offsets);
}

static void same_problem_same_plan(void** state) {
  (void)state;
  for_every_algorithm(check_twice);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_block_with_most_padding_lies_on_top),
      cmocka_unit_test(an_empty_problem_needs_no_bytes),
      cmocka_unit_test(one_block_lies_at_zero),
      cmocka_unit_test(blocks_without_bytes_cost_nothing),
      cmocka_unit_test(a_block_may_begin_where_another_ends),
      cmocka_unit_test(fixed_blocks_stay_where_they_are),
      cmocka_unit_test(huge_sizes_have_a_bound_that_holds),
      cmocka_unit_test(small_blocks_may_be_aligned_widely),
      cmocka_unit_test(small_blocks_may_be_fixed_far_up),
      cmocka_unit_test(naive_gives_up_above_the_largest_offset),
      cmocka_unit_test(the_arena_reaches_fixed_blocks_without_bytes),
      cmocka_unit_test(greedy_reuses_the_smallest_gap_that_fits),
      cmocka_unit_test(greedy_places_longer_lifetimes_first_among_equals),
      cmocka_unit_test(naive_reuses_nothing),
      cmocka_unit_test(a_block_with_padding_lies_on_top),
      cmocka_unit_test(every_plan_of_a_random_problem_is_valid),
      cmocka_unit_test(random_problems_with_fixed_blocks_are_solved),
      cmocka_unit_test(the_portfolio_is_never_worse_than_one_algorithm),
      cmocka_unit_test(invalid_problems_are_refused),
      cmocka_unit_test(a_plan_whose_offsets_exceed_int64_is_refused),
      cmocka_unit_test(too_many_blocks_are_refused_before_they_are_read),
      cmocka_unit_test(a_capacity_is_obeyed_or_refused),
      cmocka_unit_test(an_unknown_name_is_refused),
      cmocka_unit_test(too_little_memory_is_refused_and_enough_is_enough),
      cmocka_unit_test(same_problem_same_plan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
