// One example for every verdict, then a thousand mutations of good plans, each
// validated by the sweep and by a comparison of every two blocks.

#include "plan_fixture.h"

static const uint64_t good_offsets[] = {0, 16, 0};

// Three blocks, of which the third follows the first in its bytes.
static etx_plan_problem three_blocks(etx_plan_block blocks[3]) {
  blocks[0] = block_of(0, 2, 16);
  blocks[1] = block_of(0, 4, 16);
  blocks[2] = block_of(2, 4, 12);
  for (size_t i = 0; i < 3; ++i) blocks[i].alignment = 4;
  return problem_of(blocks, 3);
}

static etx_plan_solution good_solution(uint64_t offsets[3]) {
  memcpy(offsets, good_offsets, sizeof good_offsets);
  const etx_plan_solution solution = {offsets, 32, 32, "by hand", 0};
  return solution;
}

static void expect(const etx_plan_problem* problem,
                   const etx_plan_solution* solution, etx_plan_verdict verdict,
                   size_t block, size_t other) {
  const etx_plan_validation judgement = validation_of(problem, solution);
  assert_string_equal(etx_plan_verdict_text(judgement.verdict),
                      etx_plan_verdict_text(verdict));
  assert_int_equal(judgement.block, block);
  assert_int_equal(judgement.other, other);
  assert_int_equal(is_valid(problem, solution), verdict == ETX_PLAN_VALID);
}

static void a_good_plan_is_valid(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  const etx_plan_problem problem = three_blocks(blocks);
  const etx_plan_solution solution = good_solution(offsets);
  expect(&problem, &solution, ETX_PLAN_VALID, 0, 0);
}

static void a_fixed_block_elsewhere_is_moved(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  const etx_plan_problem problem = three_blocks(blocks);
  const etx_plan_solution solution = good_solution(offsets);
  blocks[2].fixed = 4;
  expect(&problem, &solution, ETX_PLAN_MOVED, 2, 2);
}

static void an_offset_off_its_alignment_is_misaligned(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  const etx_plan_problem problem = three_blocks(blocks);
  const etx_plan_solution solution = good_solution(offsets);
  offsets[2] = 2;
  expect(&problem, &solution, ETX_PLAN_MISALIGNED, 2, 2);
}

static void a_block_past_the_arena_is_outside(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  const etx_plan_problem problem = three_blocks(blocks);
  etx_plan_solution solution = good_solution(offsets);
  solution.arena_bytes = 31;
  expect(&problem, &solution, ETX_PLAN_OUTSIDE, 1, 1);
  solution.arena_bytes = 32;
  offsets[1] = UINT64_MAX - 7;
  expect(&problem, &solution, ETX_PLAN_OUTSIDE, 1, 1);
}

static void two_live_blocks_in_the_same_bytes_overlap(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  const etx_plan_problem problem = three_blocks(blocks);
  const etx_plan_solution solution = good_solution(offsets);
  offsets[2] = 8;
  expect(&problem, &solution, ETX_PLAN_OVERLAP, 2, 1);
  offsets[2] = 20;
  expect(&problem, &solution, ETX_PLAN_OVERLAP, 2, 1);
  offsets[2] = 16;
  expect(&problem, &solution, ETX_PLAN_OVERLAP, 2, 1);
}

static void an_arena_above_all_blocks_is_loose(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  const etx_plan_problem problem = three_blocks(blocks);
  etx_plan_solution solution = good_solution(offsets);
  solution.arena_bytes = 33;
  expect(&problem, &solution, ETX_PLAN_LOOSE, 0, 0);
}

static void an_arena_above_the_capacity_is_too_large(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  etx_plan_problem problem = three_blocks(blocks);
  const etx_plan_solution solution = good_solution(offsets);
  problem.capacity = 31;
  expect(&problem, &solution, ETX_PLAN_TOO_LARGE, 0, 0);
}

static void a_bound_above_the_arena_is_below_bound(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  const etx_plan_problem problem = three_blocks(blocks);
  etx_plan_solution solution = good_solution(offsets);
  solution.lower_bound = 33;
  expect(&problem, &solution, ETX_PLAN_BELOW_BOUND, 0, 0);
}

static void a_block_without_bytes_overlaps_nothing(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  const etx_plan_problem problem = three_blocks(blocks);
  const etx_plan_solution solution = good_solution(offsets);
  blocks[2].size = 0;
  offsets[2] = 20;
  expect(&problem, &solution, ETX_PLAN_VALID, 0, 0);
}

static void an_invalid_problem_is_not_validated(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  etx_plan_validation judgement;
  const etx_plan_problem problem = three_blocks(blocks);
  const etx_plan_solution solution = good_solution(offsets);
  uint8_t memory[4096];
  etx_arena work;
  etx_arena_init(&work, memory, sizeof memory);
  blocks[0].end = blocks[0].start;
  assert_int_equal(etx_plan_validate(&problem, &solution, &work, &judgement),
                   ETX_BAD_ARGUMENT);
}

static void too_little_memory_is_refused(void** state) {
  (void)state;
  etx_plan_block blocks[3];
  uint64_t offsets[3];
  etx_plan_validation judgement;
  const etx_plan_problem problem = three_blocks(blocks);
  const etx_plan_solution solution = good_solution(offsets);
  etx_arena counter;
  etx_arena_init_counting(&counter);
  assert_int_equal(etx_plan_validate(&problem, &solution, &counter, NULL),
                   ETX_OK);
  for (size_t bytes = 0; bytes <= counter.peak_bytes; ++bytes) {
    uint64_t memory[64];
    etx_arena work;
    etx_arena_init(&work, memory, bytes);
    const etx_status status =
        etx_plan_validate(&problem, &solution, &work, &judgement);
    assert_int_equal(status,
                     bytes < counter.peak_bytes ? ETX_OUT_OF_MEMORY : ETX_OK);
    assert_int_equal(etx_arena_mark(&work), 0);
  }
}

// Changes one number of the problem or the solution.
static void mutate(uint64_t* seed, etx_plan_block* blocks, size_t count,
                   etx_plan_solution* solution) {
  const size_t i = random_below(seed, count);
  switch (random_below(seed, 8)) {
    case 0:
      solution->offsets[i] = random_below(seed, 300);
      break;
    case 1:
      solution->offsets[i] += 4;
      break;
    case 2:
      solution->offsets[i] -= 4;
      break;
    case 3:
      blocks[i].size = random_below(seed, 120);
      break;
    case 4:
      blocks[i].end = blocks[i].start + 1 + (uint32_t)random_below(seed, 20);
      break;
    case 5:
      blocks[i].start = (uint32_t)random_below(seed, blocks[i].end);
      break;
    case 6:
      solution->arena_bytes = random_below(seed, 600);
      break;
    default:
      blocks[i].fixed = 4 * random_below(seed, 60);
      break;
  }
}

static void both_validators_agree_on_a_mutated_plan(void** state) {
  (void)state;
  uint64_t seed = 11;
  size_t refused = 0;
  for (size_t round = 0; round < 1000; ++round) {
    etx_plan_block blocks[16];
    const size_t count = 2 + random_below(&seed, 15);
    const etx_plan_problem problem = problem_of(blocks, count);
    etx_plan_solution solution;
    etx_diag diag;
    random_blocks(&seed, blocks, count, 16, 60);
    for (size_t i = 0; i < count; ++i) blocks[i].alignment = 4;
    assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
    mutate(&seed, blocks, count, &solution);
    const etx_plan_verdict verdict = validation_of(&problem, &solution).verdict;
    assert_int_equal(verdict == ETX_PLAN_VALID, is_valid(&problem, &solution));
    refused += verdict != ETX_PLAN_VALID;
    free(solution.offsets);
  }
  // Shows that both checks refuse some plans and accept others.
  assert_in_range(refused, 300, 900);
}

static void a_verdict_outside_the_list_has_a_text(void** state) {
  (void)state;
  assert_string_equal(etx_plan_verdict_text(ETX_PLAN_VERDICT_COUNT),
                      "unknown verdict");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_verdict_outside_the_list_has_a_text),
      cmocka_unit_test(a_good_plan_is_valid),
      cmocka_unit_test(a_fixed_block_elsewhere_is_moved),
      cmocka_unit_test(an_offset_off_its_alignment_is_misaligned),
      cmocka_unit_test(a_block_past_the_arena_is_outside),
      cmocka_unit_test(two_live_blocks_in_the_same_bytes_overlap),
      cmocka_unit_test(an_arena_above_all_blocks_is_loose),
      cmocka_unit_test(an_arena_above_the_capacity_is_too_large),
      cmocka_unit_test(a_bound_above_the_arena_is_below_bound),
      cmocka_unit_test(a_block_without_bytes_overlaps_nothing),
      cmocka_unit_test(an_invalid_problem_is_not_validated),
      cmocka_unit_test(too_little_memory_is_refused),
      cmocka_unit_test(both_validators_agree_on_a_mutated_plan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
