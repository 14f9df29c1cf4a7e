// Properties that need no oracle, on generated problems; and large ones, to
// see that time does not explode.

#include "plan_fixture.h"

enum { COUNT = 80 };

static etx_plan_solution solved(const etx_plan_problem* problem) {
  etx_plan_solution solution;
  etx_diag diag;
  assert_int_equal(solve(problem, NULL, &solution, &diag), ETX_OK);
  return solution;
}

static void sizes_and_alignment_times_k_give_offsets_times_k(void** state) {
  (void)state;
  uint64_t seed = 31;
  for (uint64_t k = 2; k <= 64; k *= 2) {
    etx_plan_block small[COUNT], large[COUNT];
    const etx_plan_problem a = problem_of(small, COUNT);
    const etx_plan_problem b = problem_of(large, COUNT);
    random_blocks(&seed, small, COUNT, 50, 400);
    for (size_t i = 0; i < COUNT; ++i) {
      large[i] = small[i];
      large[i].size *= k;
      large[i].alignment *= k;
    }
    const etx_plan_solution x = solved(&a);
    const etx_plan_solution y = solved(&b);
    assert_int_equal(x.arena_bytes * k, y.arena_bytes);
    for (size_t i = 0; i < COUNT; ++i) {
      assert_int_equal(x.offsets[i] * k, y.offsets[i]);
    }
    free(x.offsets);
    free(y.offsets);
  }
}

static void the_same_later_in_time_needs_no_more(void** state) {
  (void)state;
  uint64_t seed = 32;
  for (size_t round = 0; round < 20; ++round) {
    etx_plan_block blocks[2 * COUNT];
    const etx_plan_problem once = problem_of(blocks, COUNT);
    const etx_plan_problem twice = problem_of(blocks, 2 * COUNT);
    random_blocks(&seed, blocks, COUNT, 50, 400);
    for (size_t i = 0; i < COUNT; ++i) {
      blocks[COUNT + i] = blocks[i];
      blocks[COUNT + i].start += 1000;
      blocks[COUNT + i].end += 1000;
    }
    const etx_plan_solution x = solved(&once);
    const etx_plan_solution y = solved(&twice);
    assert_int_equal(x.lower_bound, y.lower_bound);
    assert_int_equal(x.arena_bytes, y.arena_bytes);
    free(x.offsets);
    free(y.offsets);
  }
}

// Swaps each block with an earlier one; `places` has the original position of
// each.
static void shuffle(uint64_t* seed, etx_plan_block* blocks, size_t* places,
                    size_t count) {
  for (size_t i = 0; i < count; ++i) places[i] = i;
  for (size_t i = count; i > 1; --i) {
    const size_t other = random_below(seed, i);
    const etx_plan_block block = blocks[i - 1];
    const size_t place = places[i - 1];
    blocks[i - 1] = blocks[other];
    places[i - 1] = places[other];
    blocks[other] = block;
    places[other] = place;
  }
}

// Two blocks that are equal in all respects could be exchanged; there are none
// here.
static void the_order_of_the_blocks_does_not_matter(void** state) {
  (void)state;
  uint64_t seed = 40;
  for (size_t round = 0; round < 100; ++round) {
    etx_plan_block blocks[40], shuffled[40];
    size_t places[40];
    etx_plan_problem problem = problem_of(blocks, 40);
    etx_plan_problem other = problem_of(shuffled, 40);
    etx_plan_solution first, second;
    etx_diag diag;
    random_blocks(&seed, blocks, 40, 30, 100);
    for (size_t i = 0; i < 40; ++i) blocks[i].size += 100 * i;
    memcpy(shuffled, blocks, sizeof blocks);
    shuffle(&seed, shuffled, places, 40);
    problem.steps = other.steps = 20000;
    assert_int_equal(solve(&problem, NULL, &first, &diag), ETX_OK);
    assert_int_equal(solve(&other, NULL, &second, &diag), ETX_OK);
    for (size_t i = 0; i < 40; ++i) {
      assert_int_equal(second.offsets[i], first.offsets[places[i]]);
    }
    free(first.offsets);
    free(second.offsets);
  }
}

// No block is live in the middle, so each half is planned by itself.
static void the_arena_of_two_halves_is_the_larger_one(void** state) {
  (void)state;
  uint64_t seed = 41;
  for (size_t round = 0; round < 100; ++round) {
    etx_plan_block blocks[40];
    const etx_plan_problem early = problem_of(blocks, 20);
    const etx_plan_problem late = problem_of(&blocks[20], 20);
    const etx_plan_problem both = problem_of(blocks, 40);
    etx_plan_solution first, second, all;
    etx_diag diag;
    random_blocks(&seed, blocks, 40, 30, 100);
    for (size_t i = 20; i < 40; ++i) {
      blocks[i].start += 100;
      blocks[i].end += 100;
    }
    assert_int_equal(solve(&early, NULL, &first, &diag), ETX_OK);
    assert_int_equal(solve(&late, NULL, &second, &diag), ETX_OK);
    assert_int_equal(solve(&both, NULL, &all, &diag), ETX_OK);
    assert_int_equal(all.arena_bytes, first.arena_bytes > second.arena_bytes
                                          ? first.arena_bytes
                                          : second.arena_bytes);
    free(first.offsets);
    free(second.offsets);
    free(all.offsets);
  }
}

static void a_plan_for_upper_bounds_is_valid_for_smaller_sizes(void** state) {
  (void)state;
  uint64_t seed = 33;
  for (size_t round = 0; round < 50; ++round) {
    etx_plan_block blocks[COUNT];
    const etx_plan_problem problem = problem_of(blocks, COUNT);
    random_blocks(&seed, blocks, COUNT, 50, 400);
    etx_plan_solution solution = solved(&problem);
    uint64_t highest = 0;
    for (size_t i = 0; i < COUNT; ++i) {
      blocks[i].size = random_below(&seed, blocks[i].size + 1);
      const uint64_t end = solution.offsets[i] + blocks[i].size;
      if (end > highest) highest = end;
    }
    solution.arena_bytes = highest;
    solution.lower_bound = 0;
    assert_int_equal(validation_of(&problem, &solution).verdict,
                     ETX_PLAN_VALID);
    free(solution.offsets);
  }
}

static void a_block_that_is_always_live_raises_the_bound(void** state) {
  (void)state;
  uint64_t seed = 34;
  for (size_t round = 0; round < 20; ++round) {
    etx_plan_block blocks[COUNT + 1];
    const etx_plan_problem without = problem_of(blocks, COUNT);
    const etx_plan_problem with = problem_of(blocks, COUNT + 1);
    random_blocks(&seed, blocks, COUNT, 50, 400);
    blocks[COUNT] = block_of(0, 51, 77);
    const etx_plan_solution x = solved(&without);
    const etx_plan_solution y = solved(&with);
    assert_int_equal(x.lower_bound + 77, y.lower_bound);
    assert_true(y.arena_bytes >= x.lower_bound + 77);
    free(x.offsets);
    free(y.offsets);
  }
}

// The families `net` and `stair`: networks, and a sliding window.
static void fill_net(uint64_t* seed, etx_plan_block* blocks, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint64_t kind = random_below(seed, 1000);
    uint64_t life = 1;
    if (kind >= 990) {
      life = 1 + random_below(seed, count / 10 + 1);
    } else if (kind >= 850) {
      life = 5 + random_below(seed, 60);
    } else if (kind >= 600) {
      life = 2 + random_below(seed, 3);
    }
    const uint64_t last = i + 1 + life < count + 1 ? i + 1 + life : count + 1;
    const uint64_t unit = UINT64_C(64) << random_below(seed, 15);
    const uint64_t size = unit + 64 * random_below(seed, unit / 64);
    blocks[i] = block_of((uint32_t)i, (uint32_t)last, size);
    blocks[i].alignment = 16;
  }
}

static void fill_stair(uint64_t* seed, etx_plan_block* blocks, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    (void)random_below(seed, 1000);
    const uint64_t size = 64 * (1 + random_below(seed, 1000));
    blocks[i] = block_of((uint32_t)i, (uint32_t)i + 1000, size);
    blocks[i].alignment = 16;
  }
}

static void a_network_of_ten_thousand_is_planned_near_its_bound(void** state) {
  (void)state;
  enum { MANY = 10000 };
  uint64_t seed = 1;
  etx_plan_block* const blocks = malloc(MANY * sizeof *blocks);
  const etx_plan_problem problem = problem_of(blocks, MANY);
  fill_net(&seed, blocks, MANY);
  const etx_plan_solution solution = solved(&problem);
  assert_int_equal(solution.lower_bound, 10146112);
  assert_true(solution.arena_bytes * 100 <= solution.lower_bound * 108);
  free(solution.offsets);
  free(blocks);
}

static void a_sliding_window_is_planned(void** state) {
  (void)state;
  enum { MANY = 4000 };
  uint64_t seed = 1;
  etx_plan_block* const blocks = malloc(MANY * sizeof *blocks);
  const etx_plan_problem problem = problem_of(blocks, MANY);
  fill_stair(&seed, blocks, MANY);
  const etx_plan_solution solution = solved(&problem);
  assert_true(solution.arena_bytes * 100 <= solution.lower_bound * 150);
  free(solution.offsets);
  free(blocks);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_and_alignment_times_k_give_offsets_times_k),
      cmocka_unit_test(the_same_later_in_time_needs_no_more),
      cmocka_unit_test(the_order_of_the_blocks_does_not_matter),
      cmocka_unit_test(the_arena_of_two_halves_is_the_larger_one),
      cmocka_unit_test(a_plan_for_upper_bounds_is_valid_for_smaller_sizes),
      cmocka_unit_test(a_block_that_is_always_live_raises_the_bound),
      cmocka_unit_test(a_network_of_ten_thousand_is_planned_near_its_bound),
      cmocka_unit_test(a_sliding_window_is_planned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
