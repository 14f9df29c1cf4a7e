// The exact search against plain enumeration, on problems whose smallest arena
// is larger than what is live at once, and on the instances that are hard for
// every planner (tests/data/minimalloc).
//
//   plan_exact_test [COUNT]   number of random problems, 1000 by default

#include "plan_fixture.h"

#include "planner/problem/plan_check.h"

static size_t random_count = 1000;

// Every optimal plan can be pushed down until each block rests on another one
// or on 0, so stacking the blocks in every possible order finds the optimum.
typedef struct enumeration {
  const etx_plan_problem* problem;
  uint64_t offsets[8];
  bool placed[8];
  uint64_t best;
} enumeration;

static uint64_t resting_offset(const enumeration* all, size_t i) {
  const etx_plan_block* const block = &all->problem->blocks[i];
  uint64_t top = 0;
  for (size_t j = 0; j < all->problem->block_count; ++j) {
    const etx_plan_block* const other = &all->problem->blocks[j];
    if (!all->placed[j] || other->size == 0) continue;
    if (other->start >= block->end || block->start >= other->end) continue;
    if (all->offsets[j] + other->size > top)
      top = all->offsets[j] + other->size;
  }
  return (top + block->alignment - 1) / block->alignment * block->alignment;
}

static void enumerate(enumeration* all, size_t left, uint64_t height) {
  if (height >= all->best) return;
  if (left == 0) all->best = height;
  for (size_t i = 0; i < all->problem->block_count; ++i) {
    if (all->placed[i]) continue;
    all->offsets[i] = resting_offset(all, i);
    const uint64_t end = all->offsets[i] + all->problem->blocks[i].size;
    all->placed[i] = true;
    enumerate(all, left - 1, end > height ? end : height);
    all->placed[i] = false;
  }
}

static uint64_t smallest_arena(const etx_plan_problem* problem) {
  enumeration all = {problem, {0}, {0}, UINT64_MAX};
  enumerate(&all, problem->block_count, 0);
  return all.best;
}

// True if the optimum is above what is live at once.
static bool check_optimum(const etx_plan_problem* problem) {
  etx_plan_solution alone, all, greedy;
  etx_diag diag;
  const uint64_t optimum = smallest_arena(problem);
  const uint64_t step = etx_plan_granularity(problem);
  assert_int_equal(solve(problem, "exact", &alone, &diag), ETX_OK);
  assert_int_equal(solve(problem, NULL, &all, &diag), ETX_OK);
  assert_int_equal(solve(problem, "greedy_best_gap", &greedy, &diag), ETX_OK);
  assert_true(is_valid(problem, &alone));
  assert_true(is_valid(problem, &all));
  // Sizes are rounded up, so padding of the top block is not seen.
  assert_in_range(alone.arena_bytes, optimum, optimum + step - 1);
  assert_in_range(all.arena_bytes, optimum, optimum + step - 1);
  assert_true(all.lower_bound <= optimum);
  const bool has_gap = greedy.lower_bound < optimum;
  free(alone.offsets);
  free(all.offsets);
  free(greedy.offsets);
  return has_gap;
}

// Smallest arenas 5, 5 and 8, with 4, 4 and 7 live at once.
static const etx_plan_block gaps[3][7] = {{{2, 1, 0, 4, ETX_PLAN_FREE},
                                           {2, 1, 0, 3, ETX_PLAN_FREE},
                                           {1, 1, 3, 6, ETX_PLAN_FREE},
                                           {1, 1, 3, 5, ETX_PLAN_FREE},
                                           {1, 1, 4, 6, ETX_PLAN_FREE},
                                           {2, 1, 5, 7, ETX_PLAN_FREE},
                                           {2, 1, 6, 7, ETX_PLAN_FREE}},
                                          {{3, 1, 4, 7, ETX_PLAN_FREE},
                                           {2, 1, 1, 2, ETX_PLAN_FREE},
                                           {1, 1, 2, 7, ETX_PLAN_FREE},
                                           {3, 1, 0, 1, ETX_PLAN_FREE},
                                           {1, 1, 0, 3, ETX_PLAN_FREE},
                                           {2, 1, 3, 4, ETX_PLAN_FREE},
                                           {1, 1, 1, 4, ETX_PLAN_FREE}},
                                          {{2, 1, 2, 4, ETX_PLAN_FREE},
                                           {3, 1, 3, 5, ETX_PLAN_FREE},
                                           {3, 1, 0, 1, ETX_PLAN_FREE},
                                           {1, 1, 1, 3, ETX_PLAN_FREE},
                                           {4, 1, 4, 5, ETX_PLAN_FREE},
                                           {2, 1, 1, 4, ETX_PLAN_FREE},
                                           {4, 1, 0, 2, ETX_PLAN_FREE}}};

static void a_gap_above_the_live_bytes_is_found_and_proved(void** state) {
  (void)state;
  for (size_t i = 0; i < 3; ++i) {
    const etx_plan_problem problem = problem_of(gaps[i], 7);
    etx_plan_solution solution;
    etx_diag diag;
    const uint64_t optimum = i < 2 ? 5 : 8;
    assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
    assert_true(is_valid(&problem, &solution));
    assert_int_equal(solution.arena_bytes, optimum);
    assert_int_equal(solution.lower_bound, optimum);
    assert_true(check_optimum(&problem));
    free(solution.offsets);
  }
}

// Changes of the problems above, which have a gap now and then, unlike blocks
// that are only random.
static void enumeration_agrees_near_gaps(void** state) {
  (void)state;
  uint64_t seed = 77;
  size_t with_gap = 0;
  for (size_t round = 0; round < random_count; ++round) {
    etx_plan_block blocks[7];
    const etx_plan_problem problem = problem_of(blocks, 7);
    memcpy(blocks, gaps[round % 3], sizeof blocks);
    etx_plan_block* const changed = &blocks[random_below(&seed, 7)];
    changed->size = random_below(&seed, 6);
    if (random_below(&seed, 2) == 0) changed->end += 1;
    if (random_below(&seed, 4) == 0) blocks[random_below(&seed, 7)].size += 1;
    with_gap += check_optimum(&problem);
  }
  print_message("%zu of %zu have a gap\n", with_gap, random_count);
  assert_true(with_gap > random_count / 20);
}

static void enumeration_agrees_with_any_alignment(void** state) {
  (void)state;
  uint64_t seed = 78;
  for (size_t round = 0; round < random_count; ++round) {
    etx_plan_block blocks[7];
    const size_t count = 1 + random_below(&seed, 7);
    const etx_plan_problem problem = problem_of(blocks, count);
    const uint64_t scale = UINT64_C(1) << random_below(&seed, 30);
    random_blocks(&seed, blocks, count, 6, 12);
    for (size_t i = 0; i < count; ++i) {
      blocks[i].size *= scale;
      if (random_below(&seed, 8) == 0) blocks[i].size += 1;
      blocks[i].alignment = scale << random_below(&seed, 3);
    }
    (void)check_optimum(&problem);
  }
}

static etx_plan_problem read_hard(char name) {
  char path[512];
  snprintf(path, sizeof path, "%s/minimalloc/%c.1048576.csv", ETX_TEST_DATA,
           name);
  const etx_plan_problem problem = problem_from_csv(path);
  return problem;
}

static void hard_instances_fit_their_capacity(void** state) {
  (void)state;
  for (char name = 'A'; name <= 'K'; ++name) {
    etx_plan_problem problem = read_hard(name);
    etx_plan_solution solution;
    etx_diag diag;
    problem.capacity = 1048576;
    assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
    assert_true(is_valid(&problem, &solution));
    free(solution.offsets);
    free((void*)problem.blocks);
  }
}

// Optimal where the optimum is known. D and J are open: no published search has
// closed the gap between plan and bound.
static void hard_instances_are_planned_as_small_as_is_known(void** state) {
  (void)state;
  static const char known[] = "ABEFGHIKC";
  for (size_t i = 0; known[i] != 0; ++i) {
    const etx_plan_problem problem = read_hard(known[i]);
    etx_plan_solution solution;
    etx_diag diag;
    assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
    assert_int_equal(solution.arena_bytes, known[i] == 'C' ? 1039360 : 1048576);
    assert_int_equal(solution.lower_bound, solution.arena_bytes);
    free(solution.offsets);
    free((void*)problem.blocks);
  }
}

static void steps_bound_the_effort(void** state) {
  (void)state;
  etx_plan_problem problem = read_hard('B');
  etx_plan_solution solution;
  etx_diag diag;
  problem.steps = 10;
  assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
  assert_true(is_valid(&problem, &solution));
  assert_true(solution.arena_bytes > solution.lower_bound);
  assert_in_range(solution.steps, 1, 10);
  free(solution.offsets);
  free((void*)problem.blocks);
}

typedef struct patience {
  size_t asked;
  size_t most;  // questions that are answered by yes
} patience;

static bool should_continue(void* context) {
  patience* const p = context;
  return p->asked++ < p->most;
}

// A callback that stops the planner gets a plan and is called only a few more
// times. One that never stops it gets the same plan as without a callback.
static void a_caller_may_stop_the_search(void** state) {
  (void)state;
  etx_plan_problem problem = read_hard('B');
  uint64_t arena[3];
  const size_t answers[] = {0, 20, SIZE_MAX};
  for (size_t i = 0; i < 3; ++i) {
    patience p = {0, answers[i]};
    etx_plan_solution solution;
    etx_diag diag;
    problem.should_continue = should_continue;
    problem.context = &p;
    assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
    assert_true(is_valid(&problem, &solution));
    arena[i] = solution.arena_bytes;
    if (answers[i] != SIZE_MAX) assert_in_range(p.asked - answers[i], 1, 16);
    free(solution.offsets);
  }
  assert_true(arena[0] > arena[2]);
  assert_true(arena[1] >= arena[2]);
  assert_int_equal(arena[2], 1048576);
  free((void*)problem.blocks);
}

// Two stretches of time, the first of them hard, get their share of the steps.
static void a_hard_part_leaves_steps_for_others(void** state) {
  (void)state;
  etx_plan_problem problem = read_hard('E');
  etx_plan_solution solution;
  etx_diag diag;
  problem.steps = 10000;
  assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
  assert_true(is_valid(&problem, &solution));
  assert_true(solution.arena_bytes * 100 < solution.lower_bound * 126);
  free(solution.offsets);
  free((void*)problem.blocks);
}

int main(int argc, char** argv) {
  if (argc > 1) random_count = strtoul(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_gap_above_the_live_bytes_is_found_and_proved),
      cmocka_unit_test(enumeration_agrees_near_gaps),
      cmocka_unit_test(enumeration_agrees_with_any_alignment),
      cmocka_unit_test(hard_instances_fit_their_capacity),
      cmocka_unit_test(hard_instances_are_planned_as_small_as_is_known),
      cmocka_unit_test(steps_bound_the_effort),
      cmocka_unit_test(a_caller_may_stop_the_search),
      cmocka_unit_test(a_hard_part_leaves_steps_for_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
