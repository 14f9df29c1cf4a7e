// Plans that use the gaps of lifetimes: never worse than those that do not,
// valid at every time, and between the live bytes and the best of all orders.

#include "plan_fixture.h"

#include "planner/plan_gaps.h"

enum { MOST = 40, TIMES = 30 };

typedef struct gapped {
  etx_plan_block blocks[MOST];
  etx_plan_gap gaps[MOST * TIMES];
  size_t gap_count;
  bool is_used[MOST][TIMES];  // by block and moment
} gapped;

static gapped made;

// Blocks with lifetime gaps.
static etx_plan_problem random_gapped(uint64_t* seed, size_t count,
                                      uint64_t alignment) {
  memset(&made, 0, sizeof made);
  random_blocks(seed, made.blocks, count, TIMES, 100);
  for (uint32_t b = 0; b < count; ++b) {
    etx_plan_block* const block = &made.blocks[b];
    block->alignment = alignment;
    for (uint32_t t = block->start; t < block->end; ++t) {
      made.is_used[b][t] = true;
    }
    // The first and the last moment are always needed.
    for (uint32_t t = block->start + 1; t + 1 < block->end; ++t) {
      if (random_below(seed, 4) != 0) continue;
      const uint32_t left = block->end - 1 - t;
      const uint32_t length = 1 + (uint32_t)random_below(seed, left);
      for (uint32_t k = t; k < t + length; ++k) made.is_used[b][k] = false;
      made.gaps[made.gap_count++] = (etx_plan_gap){b, t, t + length};
      t += length;
    }
  }
  return problem_of(made.blocks, count);
}

static bool live_together(size_t a, size_t b) {
  for (size_t t = 0; t < TIMES; ++t) {
    if (made.is_used[a][t] && made.is_used[b][t]) return true;
  }
  return false;
}

static bool is_plan(const etx_plan_problem* problem,
                    const etx_plan_solution* solution) {
  uint64_t highest = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const a = &problem->blocks[i];
    const uint64_t end = solution->offsets[i] + a->size;
    if (solution->offsets[i] % a->alignment != 0) return false;
    if (end > highest) highest = end;
    for (size_t j = 0; j < i; ++j) {
      const etx_plan_block* const b = &problem->blocks[j];
      if (a->size == 0 || b->size == 0 || !live_together(i, j)) continue;
      if (solution->offsets[i] < solution->offsets[j] + b->size &&
          solution->offsets[j] < end) {
        return false;
      }
    }
  }
  return highest == solution->arena_bytes;
}

static etx_status use_gaps(const etx_plan_problem* problem,
                           etx_plan_solution* solution) {
  const size_t bytes = etx_plan_gaps_needed(problem->block_count);
  void* const memory = malloc(bytes + 1);
  etx_arena work;
  assert_non_null(memory);
  etx_arena_init(&work, memory, bytes);
  const etx_status status =
      etx_plan_gaps_apply(problem, made.gaps, made.gap_count, &work, solution);
  assert_int_equal(etx_arena_mark(&work), 0);
  free(memory);
  return status;
}

static void plan(const etx_plan_problem* problem, etx_plan_solution* solution) {
  etx_diag diag;
  etx_plan_problem quick = *problem;
  quick.steps = 2000;
  assert_int_equal(solve(&quick, NULL, solution, &diag), ETX_OK);
}

static void a_block_is_placed_in_the_gap_of_another(void** state) {
  (void)state;
  memset(&made, 0, sizeof made);
  made.blocks[0] = block_of(0, 9, 100);
  made.blocks[1] = block_of(3, 6, 60);
  made.blocks[2] = block_of(2, 5, 30);
  made.gaps[0] = (etx_plan_gap){0, 3, 6};
  made.gap_count = 1;
  const etx_plan_problem problem = problem_of(made.blocks, 3);
  etx_plan_solution solution;
  plan(&problem, &solution);
  assert_int_equal(solution.arena_bytes, 190);
  assert_int_equal(use_gaps(&problem, &solution), ETX_OK);
  assert_int_equal(solution.arena_bytes, 130);
  assert_int_equal(solution.lower_bound, 130);
  assert_string_equal(solution.algorithm, "gaps");
  free(solution.offsets);
}

static void without_gaps_nothing_changes(void** state) {
  (void)state;
  uint64_t seed = 7;
  const etx_plan_problem problem = random_gapped(&seed, 20, 1);
  etx_plan_solution solution;
  plan(&problem, &solution);
  const etx_plan_solution before = solution;
  made.gap_count = 0;
  assert_int_equal(use_gaps(&problem, &solution), ETX_OK);
  assert_memory_equal(&before, &solution, sizeof before);
  free(solution.offsets);
}

static void plans_are_valid_and_never_larger(void** state) {
  (void)state;
  size_t smaller = 0;
  size_t proved = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    uint64_t random = seed;
    const size_t count = 1 + (size_t)random_below(&random, MOST);
    const etx_plan_problem problem =
        random_gapped(&random, count, UINT64_C(1) << seed % 6);
    etx_plan_solution solution;
    plan(&problem, &solution);
    const uint64_t before = solution.arena_bytes;
    assert_int_equal(use_gaps(&problem, &solution), ETX_OK);
    assert_true(is_plan(&problem, &solution));
    assert_true(solution.arena_bytes <= before);
    assert_true(solution.lower_bound <= solution.arena_bytes);
    smaller += solution.arena_bytes < before;
    proved += solution.arena_bytes == solution.lower_bound;
    free(solution.offsets);
  }
  assert_true(smaller > 500);
  assert_true(proved > 800);
}

// The smallest arena: some order of placing each block above the conflicting
// blocks that were placed before gives it.
static uint64_t best_of_all_orders(const etx_plan_problem* problem) {
  size_t order[5] = {0, 1, 2, 3, 4};
  uint64_t best = UINT64_MAX;
  const size_t n = problem->block_count;
  for (size_t code = 0; code < 120; ++code) {
    uint64_t tops[5] = {0};
    uint64_t arena = 0;
    size_t left[5];
    size_t rest = code;
    memcpy(left, order, sizeof left);
    for (size_t i = 0; i < n; ++i) {
      const size_t pick = rest % (n - i);
      const size_t b = left[pick];
      rest /= n - i;
      left[pick] = left[n - i - 1];
      left[n - i - 1] = b;
      uint64_t at = 0;
      for (size_t k = n - i; k < n; ++k) {
        if (live_together(b, left[k]) && tops[left[k]] > at) at = tops[left[k]];
      }
      tops[b] = at + problem->blocks[b].size;
      if (tops[b] > arena) arena = tops[b];
    }
    if (arena < best) best = arena;
  }
  return best;
}

static void the_bound_lies_below_the_best_plan(void** state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    uint64_t random = seed;
    const etx_plan_problem problem = random_gapped(&random, 5, 1);
    etx_plan_solution solution;
    for (size_t b = 0; b < 5; ++b) made.blocks[b].size += 1;
    plan(&problem, &solution);
    assert_int_equal(use_gaps(&problem, &solution), ETX_OK);
    const uint64_t best = best_of_all_orders(&problem);
    assert_in_range(best, solution.lower_bound, solution.arena_bytes);
    free(solution.offsets);
  }
}

static void too_many_blocks_keep_their_plan(void** state) {
  (void)state;
  enum { COUNT = ETX_PLAN_GAPS_MOST_BLOCKS + 1 };
  static etx_plan_block blocks[COUNT];
  static uint64_t offsets[COUNT];
  for (uint32_t b = 0; b < COUNT; ++b) blocks[b] = block_of(0, 3, b);
  const etx_plan_problem problem = problem_of(blocks, COUNT);
  const etx_plan_gap gap = {5, 1, 2};
  etx_plan_solution solution = {offsets, 1000000, 1000000, "by hand", 0};
  etx_arena work;
  etx_arena_init(&work, NULL, 0);
  assert_int_equal(etx_plan_gaps_needed(COUNT), 0);
  assert_int_equal(etx_plan_gaps_apply(&problem, &gap, 1, &work, &solution),
                   ETX_OK);
  assert_int_equal(solution.arena_bytes, 1000000);
  assert_int_equal(solution.lower_bound, COUNT - 1);
}

// A fixed block stays where it is; a block without a place moves below it, into
// its gap, at its alignment.
static void fixed_blocks_stay_in_gaps(void** state) {
  (void)state;
  etx_plan_block blocks[] = {block_of(0, 10, 64), block_of(3, 6, 32),
                             block_of(0, 10, 8)};
  blocks[0].alignment = 16;
  blocks[1].alignment = 8;
  blocks[1].fixed = 0;
  blocks[2].alignment = 4;
  const etx_plan_problem problem = problem_of(blocks, 3);
  const etx_plan_gap gap = {0, 3, 6};
  etx_plan_solution solution;
  etx_arena work;
  static uint8_t memory[1 << 14];
  plan(&problem, &solution);
  const uint64_t before = solution.arena_bytes;
  etx_arena_init(&work, memory, sizeof memory);
  assert_int_equal(etx_plan_gaps_apply(&problem, &gap, 1, &work, &solution),
                   ETX_OK);
  assert_int_equal(solution.offsets[1], 0);
  assert_int_equal(solution.offsets[0] % 16, 0);
  assert_true(solution.arena_bytes <= before);
  assert_true(solution.lower_bound <= solution.arena_bytes);
  free(solution.offsets);
}

// Fixed blocks from the highest one down, all above the bound: no order of the
// others is left to try.
static void fixed_blocks_alone_stay_as_they_are(void** state) {
  (void)state;
  etx_plan_block blocks[] = {block_of(0, 10, 10), block_of(0, 10, 10)};
  blocks[0].fixed = 100;
  blocks[1].fixed = 50;
  const etx_plan_problem problem = problem_of(blocks, 2);
  const etx_plan_gap gap = {0, 3, 6};
  etx_plan_solution solution;
  etx_arena work;
  static uint8_t memory[1 << 14];
  plan(&problem, &solution);
  etx_arena_init(&work, memory, sizeof memory);
  assert_int_equal(etx_plan_gaps_apply(&problem, &gap, 1, &work, &solution),
                   ETX_OK);
  assert_int_equal(solution.offsets[0], 100);
  assert_int_equal(solution.offsets[1], 50);
  assert_int_equal(solution.arena_bytes, 110);
  free(solution.offsets);
}

static void no_blocks_have_no_gaps(void** state) {
  (void)state;
  const etx_plan_problem problem = problem_of(NULL, 0);
  const etx_plan_gap gap = {0, 1, 2};
  etx_plan_solution solution = {NULL, 0, 0, "by hand", 0};
  etx_arena work;
  etx_arena_init(&work, NULL, 0);
  assert_int_equal(etx_plan_gaps_apply(&problem, &gap, 1, &work, &solution),
                   ETX_OK);
  assert_int_equal(solution.arena_bytes, 0);
}

static void too_little_memory_is_reported(void** state) {
  (void)state;
  uint64_t seed = 3;
  const etx_plan_problem problem = random_gapped(&seed, 12, 1);
  const size_t needed = etx_plan_gaps_needed(12);
  assert_true(made.gap_count > 0);
  for (size_t bytes = 0; bytes <= needed; bytes += 8) {
    etx_plan_solution solution;
    etx_arena work;
    void* const memory = malloc(bytes + 1);
    plan(&problem, &solution);
    etx_arena_init(&work, memory, bytes);
    const etx_status status = etx_plan_gaps_apply(
        &problem, made.gaps, made.gap_count, &work, &solution);
    if (bytes + 16 <= needed) assert_int_equal(status, ETX_OUT_OF_MEMORY);
    if (bytes == needed) assert_int_equal(status, ETX_OK);
    free(memory);
    free(solution.offsets);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_block_is_placed_in_the_gap_of_another),
      cmocka_unit_test(without_gaps_nothing_changes),
      cmocka_unit_test(no_blocks_have_no_gaps),
      cmocka_unit_test(fixed_blocks_stay_in_gaps),
      cmocka_unit_test(fixed_blocks_alone_stay_as_they_are),
      cmocka_unit_test(plans_are_valid_and_never_larger),
      cmocka_unit_test(the_bound_lies_below_the_best_plan),
      cmocka_unit_test(too_many_blocks_keep_their_plan),
      cmocka_unit_test(too_little_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
