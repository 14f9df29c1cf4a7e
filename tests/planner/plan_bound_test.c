// The bound against arithmetic done by hand, against a count at every moment,
// and against the optimum that brute force finds.

#include "plan_fixture.h"

#include "planner/problem/plan_bound.h"
#include "planner/problem/plan_check.h"

static uint64_t bound_of(const etx_plan_problem* problem) {
  uint64_t bytes = 0;
  etx_arena work;
  const size_t capacity = 4096 + 128 * problem->block_count;
  void* const memory = malloc(capacity);
  etx_arena_init(&work, memory, capacity);
  assert_int_equal(etx_plan_bound(problem, &work, &bytes), ETX_OK);
  free(memory);
  return bytes;
}

// On top of the highest overlapping block that was placed before.
static uint64_t drop(const etx_plan_problem* problem, const size_t* order,
                     size_t count, uint64_t* offsets) {
  uint64_t arena = 0;
  for (size_t i = 0; i < count; ++i) {
    const etx_plan_block* const block = &problem->blocks[order[i]];
    uint64_t top = 0;
    for (size_t j = 0; j < i; ++j) {
      const etx_plan_block* const other = &problem->blocks[order[j]];
      const uint64_t end = offsets[order[j]] + other->size;
      if (block->start < other->end && other->start < block->end && end > top) {
        top = end;
      }
    }
    offsets[order[i]] = etx_plan_align(top, block->alignment);
    const uint64_t end = offsets[order[i]] + block->size;
    if (end > arena) arena = end;
  }
  return arena;
}

// The next permutation in lexical order; false after the last.
static bool permute(size_t* order, size_t count) {
  size_t pivot = count;
  for (size_t i = 1; i < count; ++i) {
    if (order[i - 1] < order[i]) pivot = i - 1;
  }
  if (pivot == count) return false;
  size_t successor = pivot + 1;
  for (size_t i = pivot + 1; i < count; ++i) {
    if (order[i] > order[pivot]) successor = i;
  }
  const size_t swapped = order[pivot];
  order[pivot] = order[successor];
  order[successor] = swapped;
  for (size_t a = pivot + 1, b = count - 1; a < b; ++a, --b) {
    const size_t kept = order[a];
    order[a] = order[b];
    order[b] = kept;
  }
  return true;
}

// Every optimal plan can be pushed down until each block rests on another, so
// the best of all orders is the optimum. Without empty or fixed blocks.
static uint64_t optimum_of(const etx_plan_problem* problem) {
  size_t order[8];
  uint64_t offsets[8];
  uint64_t best = UINT64_MAX;
  for (size_t i = 0; i < problem->block_count; ++i) order[i] = i;
  do {
    const uint64_t arena = drop(problem, order, problem->block_count, offsets);
    if (arena < best) best = arena;
  } while (permute(order, problem->block_count));
  return best;
}

static void the_bound_is_the_largest_number_of_live_bytes(void** state) {
  (void)state;
  const etx_plan_block blocks[] = {block_of(0, 3, 10), block_of(2, 5, 20),
                                   block_of(3, 6, 5), block_of(5, 9, 24)};
  const etx_plan_problem problem = problem_of(blocks, 4);
  assert_int_equal(bound_of(&problem), 30);
}

static void the_topmost_padding_does_not_count(void** state) {
  (void)state;
  etx_plan_block blocks[] = {block_of(0, 2, 20), block_of(0, 2, 17)};
  const etx_plan_problem problem = problem_of(blocks, 2);
  blocks[0].alignment = blocks[1].alignment = 16;
  assert_int_equal(bound_of(&problem), 32 + 17);
  assert_int_equal(optimum_of(&problem), 32 + 17);
}

static void small_blocks_may_lie_in_the_padding_of_large_ones(void** state) {
  (void)state;
  etx_plan_block blocks[] = {block_of(0, 2, 10), block_of(0, 2, 10),
                             block_of(0, 2, 6)};
  const etx_plan_problem problem = problem_of(blocks, 3);
  blocks[0].alignment = blocks[1].alignment = 16;
  assert_int_equal(bound_of(&problem), 26);
  assert_int_equal(optimum_of(&problem), 26);
}

static void a_fixed_block_is_a_bound(void** state) {
  (void)state;
  etx_plan_block blocks[] = {block_of(0, 2, 8), block_of(4, 5, 8)};
  const etx_plan_problem problem = problem_of(blocks, 2);
  blocks[1].fixed = 100;
  assert_int_equal(bound_of(&problem), 108);
}

static void seven_blocks_that_need_more_than_the_bound(void** state) {
  (void)state;
  const etx_plan_block gaps[3][7] = {
      {block_of(0, 4, 2), block_of(0, 3, 2), block_of(3, 6, 1),
       block_of(3, 5, 1), block_of(4, 6, 1), block_of(5, 7, 2),
       block_of(6, 7, 2)},
      {block_of(4, 7, 3), block_of(1, 2, 2), block_of(2, 7, 1),
       block_of(0, 1, 3), block_of(0, 3, 1), block_of(3, 4, 2),
       block_of(1, 4, 1)},
      {block_of(2, 4, 2), block_of(3, 5, 3), block_of(0, 1, 3),
       block_of(1, 3, 1), block_of(4, 5, 4), block_of(1, 4, 2),
       block_of(0, 2, 4)},
  };
  const uint64_t bounds[] = {4, 4, 7};
  for (size_t i = 0; i < 3; ++i) {
    const etx_plan_problem problem = problem_of(gaps[i], 7);
    etx_plan_solution solution;
    etx_diag diag;
    assert_int_equal(bound_of(&problem), bounds[i]);
    assert_int_equal(optimum_of(&problem), bounds[i] + 1);
    assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
    assert_true(solution.arena_bytes > bounds[i]);
    free(solution.offsets);
  }
}

// Up to six blocks: bound <= optimum <= what any algorithm finds. Odd rounds
// mix alignments, where which padding lies on top decides: work for a search.
static void the_optimum_is_between_bound_and_plan(void** state) {
  (void)state;
  uint64_t seed = 21;
  size_t optimal = 0;
  const size_t rounds = 1500;
  for (size_t round = 0; round < rounds; ++round) {
    etx_plan_block blocks[6];
    const size_t count = 1 + random_below(&seed, 6);
    const etx_plan_problem problem = problem_of(blocks, count);
    etx_plan_solution solution;
    etx_diag diag;
    random_blocks(&seed, blocks, count, 7, 9);
    for (size_t i = 0; i < count; ++i) {
      blocks[i].size += 1;
      blocks[i].alignment = UINT64_C(1)
                            << (round % 2 == 0 ? 0 : random_below(&seed, 3));
    }
    assert_int_equal(solve(&problem, NULL, &solution, &diag), ETX_OK);
    const uint64_t optimum = optimum_of(&problem);
    assert_true(solution.lower_bound <= optimum);
    assert_true(optimum <= solution.arena_bytes);
    optimal += round % 2 == 0 && optimum == solution.arena_bytes;
    free(solution.offsets);
  }
  print_message("optimal: %zu of %zu\n", optimal, rounds / 2);
  assert_true(optimal * 100 >= rounds / 2 * 95);
}

// The sweep against a sum at every moment, for one alignment.
static void the_sweep_agrees_with_a_count_at_every_moment(void** state) {
  (void)state;
  uint64_t seed = 22;
  for (size_t round = 0; round < 300; ++round) {
    etx_plan_block blocks[30];
    const etx_plan_problem problem = problem_of(blocks, 30);
    uint64_t most = 0;
    random_blocks(&seed, blocks, 30, 18, 100);
    for (size_t i = 0; i < 30; ++i) blocks[i].alignment = 8;
    for (uint32_t time = 0; time < 18; ++time) {
      uint64_t live = 0, padding = 0;
      for (size_t i = 0; i < 30; ++i) {
        if (blocks[i].start > time || blocks[i].end <= time) continue;
        const uint64_t rounded = etx_plan_align(blocks[i].size, 8);
        live += rounded;
        if (rounded - blocks[i].size > padding) {
          padding = rounded - blocks[i].size;
        }
      }
      if (live - padding > most) most = live - padding;
    }
    assert_int_equal(bound_of(&problem), most);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_bound_is_the_largest_number_of_live_bytes),
      cmocka_unit_test(the_topmost_padding_does_not_count),
      cmocka_unit_test(small_blocks_may_lie_in_the_padding_of_large_ones),
      cmocka_unit_test(a_fixed_block_is_a_bound),
      cmocka_unit_test(seven_blocks_that_need_more_than_the_bound),
      cmocka_unit_test(the_optimum_is_between_bound_and_plan),
      cmocka_unit_test(the_sweep_agrees_with_a_count_at_every_moment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
