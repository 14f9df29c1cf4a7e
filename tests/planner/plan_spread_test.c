// Plans whose blocks have moved away from where others were: plans as before,
// in an arena that is not larger.

#include "plan_fixture.h"

#include "planner/plan_spread.h"

enum { MOST = 60, KB = 1024 };

static void keeps_random_plans_valid(void** state) {
  etx_plan_block blocks[MOST];
  uint64_t seed = 7;
  (void)state;
  for (size_t round = 0; round < 200; ++round) {
    const size_t count = 1 + random_below(&seed, MOST);
    random_blocks(&seed, blocks, count, 30, 400 * KB);
    const bool has_fixed = round % 3 == 0;
    for (size_t i = 0; i < count; ++i) {
      blocks[i].alignment = UINT64_C(1) << random_below(&seed, 18);
    }
    if (has_fixed) blocks[0].fixed = blocks[0].alignment * 3;
    const etx_plan_problem problem = problem_of(blocks, count);
    etx_plan_solution solution;
    etx_diag diag;
    assert_int_equal(solve(&problem, "greedy_first_gap", &solution, &diag),
                     ETX_OK);
    const uint64_t before = solution.arena_bytes;
    etx_plan_spread(&problem, &solution);
    assert_true(is_valid(&problem, &solution));
    assert_true(solution.arena_bytes <= before);
    free(solution.offsets);
  }
}

// A large block, then a chain in which each value makes the next one. A new
// block uses no bytes of the four blocks that have just ended.
static void moves_to_the_bytes_used_longest_ago(void** state) {
  enum { CHAIN = 40, REST = 4 };
  etx_plan_block blocks[CHAIN + 1];
  etx_plan_solution solution;
  etx_diag diag;
  (void)state;
  blocks[0] = block_of(0, 1, 2400 * KB);
  for (uint32_t i = 1; i <= CHAIN; ++i)
    blocks[i] = block_of(i, i + 2, 200 * KB);
  const etx_plan_problem problem = problem_of(blocks, CHAIN + 1);
  assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
  etx_plan_spread(&problem, &solution);
  assert_true(is_valid(&problem, &solution));
  for (size_t i = 1 + REST; i <= CHAIN; ++i) {
    for (size_t k = 1; k <= REST; ++k) {
      const uint64_t a = solution.offsets[i], b = solution.offsets[i - k];
      assert_true(a >= b + 200 * KB || b >= a + 200 * KB);
    }
  }
  free(solution.offsets);
}

static void leaves_small_blocks(void** state) {
  etx_plan_block blocks[3] = {block_of(0, 1, 2400 * KB), block_of(1, 2, KB),
                              block_of(2, 3, KB)};
  const etx_plan_problem problem = problem_of(blocks, 3);
  uint64_t offsets[3] = {0, 0, 0};
  etx_plan_solution solution = {offsets, 2400 * KB, 2400 * KB, "", 0};
  (void)state;
  etx_plan_spread(&problem, &solution);
  assert_int_equal(offsets[1], 0);
  assert_int_equal(offsets[2], 0);
}

// A block without bytes does not keep others off the page at its offset.
static void ignores_blocks_without_bytes(void** state) {
  (void)state;
  enum { BYTES = 1 << 16 };
  etx_plan_block blocks[] = {block_of(0, 9, 0), block_of(1, 2, BYTES)};
  uint64_t offsets[] = {8, 4 * BYTES};
  const etx_plan_problem problem = problem_of(blocks, 2);
  etx_plan_solution solution = {offsets, 1 << 22, 0, "by hand", 0};
  etx_plan_spread(&problem, &solution);
  assert_int_equal(offsets[1], 0);
}

static void leaves_too_many_blocks(void** state) {
  (void)state;
  enum { COUNT = ETX_PLAN_SPREAD_MOST_BLOCKS + 1, BYTES = 1 << 16 };
  etx_plan_block* const blocks = malloc(COUNT * sizeof *blocks);
  uint64_t* const offsets = calloc(COUNT, sizeof *offsets);
  assert_non_null(blocks);
  assert_non_null(offsets);
  for (uint32_t b = 0; b < COUNT; ++b) blocks[b] = block_of(b, b + 1, BYTES);
  const etx_plan_problem problem = problem_of(blocks, COUNT);
  etx_plan_solution solution = {offsets, 1 << 22, 0, "by hand", 0};
  etx_plan_spread(&problem, &solution);
  assert_int_equal(solution.arena_bytes, 1 << 22);
  for (uint32_t b = 0; b < COUNT; ++b) assert_int_equal(offsets[b], 0);
  free(blocks);
  free(offsets);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keeps_random_plans_valid),
      cmocka_unit_test(moves_to_the_bytes_used_longest_ago),
      cmocka_unit_test(leaves_small_blocks),
      cmocka_unit_test(ignores_blocks_without_bytes),
      cmocka_unit_test(leaves_too_many_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
