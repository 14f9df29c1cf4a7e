// Plans over several memories: valid, within the capacities, and beside the
// cheapest of all assignments for small problems.

#include "plan_fixture.h"

#include "planner/memories/plan_memories.h"
#include "tests/support/test_random.h"

enum { MOST = 400, SMALL = 7, TIMES = 12, STEPS = 10000 };

typedef struct planned_memories {
  uint32_t memories[MOST];
  uint64_t offsets[MOST];
  etx_plan_memories_solution solution;
} planned_memories;

static etx_plan_block blocks[MOST];
static uint64_t traffic[MOST];
static planned_memories made;

static etx_status solve_memories(const etx_plan_memories_problem* given) {
  const size_t bytes = etx_plan_memories_needed(given);
  void* const memory = malloc(bytes + 1);
  etx_arena work;
  etx_diag diag;
  assert_non_null(memory);
  etx_arena_init(&work, memory, bytes);
  etx_diag_init(&diag);
  memset(&made, 0, sizeof made);
  made.solution.memories = made.memories;
  made.solution.offsets = made.offsets;
  const etx_status status =
      etx_plan_memories_solve(given, &work, &made.solution, &diag);
  assert_int_equal(etx_arena_mark(&work), 0);
  free(memory);
  return status;
}

static void check_plan(const etx_plan_memories_problem* given) {
  const size_t count = given->problem->block_count;
  uint64_t cost = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t memory = made.memories[i];
    const uint64_t end = made.offsets[i] + blocks[i].size;
    assert_true(memory < given->memory_count);
    assert_int_equal(made.offsets[i] % blocks[i].alignment, 0);
    assert_true(end <= given->memories[memory].capacity);
    assert_true(end <= made.solution.arena_bytes[memory]);
    if (blocks[i].size > 0) {
      cost += traffic[i] * given->memories[memory].cost;
    }
    for (size_t j = 0; j < i; ++j) {
      assert_false(made.memories[j] == memory &&
                   blocks_clash(given->problem, made.offsets, i, j));
    }
  }
  assert_int_equal(cost, made.solution.cost);
}

// ---- the cheapest plan, by trying everything ----

// The lowest offset for block `b` above those placed before it in the order.
static uint64_t lowest(const uint64_t* offsets, const size_t* order,
                       size_t placed, size_t b) {
  uint64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < placed; ++i) {
      const etx_plan_block* const other = &blocks[order[i]];
      const uint64_t start = offsets[order[i]];
      if (other->size == 0 || blocks[b].size == 0 ||
          other->start >= blocks[b].end || blocks[b].start >= other->end ||
          offset >= start + other->size || start >= offset + blocks[b].size) {
        continue;
      }
      const uint64_t mask = blocks[b].alignment - 1;
      offset = (start + other->size + mask) & ~mask;
      moved = true;
    }
  }
  return offset;
}

// Whether the blocks of the set can be placed: some order in which each goes to
// its lowest offset gives a plan, if there is one.
static bool can_place(uint32_t set, size_t count, uint64_t capacity,
                      size_t* order, size_t placed) {
  static uint64_t offsets[MOST];
  if (set == 0) return true;
  for (size_t b = 0; b < count; ++b) {
    if ((set >> b & 1) == 0) continue;
    const uint64_t offset = lowest(offsets, order, placed, b);
    if (offset + blocks[b].size > capacity) continue;
    offsets[b] = offset;
    order[placed] = b;
    if (can_place(set & ~(UINT32_C(1) << b), count, capacity, order,
                  placed + 1)) {
      return true;
    }
  }
  return false;
}

static uint64_t cheapest(const etx_plan_memories_problem* given) {
  const size_t count = given->problem->block_count;
  const uint32_t all = (UINT32_C(1) << count) - 1;
  size_t order[SMALL];
  uint64_t best = UINT64_MAX;
  for (uint32_t fast = 0; fast <= all; ++fast) {
    uint64_t cost = 0;
    for (size_t b = 0; b < count; ++b) {
      if (blocks[b].size == 0) continue;
      cost += traffic[b] * given->memories[(fast >> b & 1) == 0].cost;
    }
    if (cost >= best) continue;
    if (can_place(fast, count, given->memories[0].capacity, order, 0) &&
        can_place(all & ~fast, count, given->memories[1].capacity, order, 0)) {
      best = cost;
    }
  }
  return best;
}

static void draw_blocks(uint64_t* seed, size_t count, uint32_t times) {
  const uint64_t alignment = UINT64_C(1) << random_below(seed, 4);
  random_blocks(seed, blocks, count, times, 64);
  for (size_t i = 0; i < count; ++i) {
    blocks[i].alignment = alignment;
    traffic[i] = random_below(seed, 1000);
  }
}

static uint64_t total_bytes(size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += blocks[i].size;
  return sum;
}

static void small_plans_are_near_the_cheapest(void** state) {
  (void)state;
  uint64_t seed = 11;
  size_t found = 0, equal = 0, missed = 0;
  for (int round = 0; round < 600; ++round) {
    const size_t count = 1 + (size_t)random_below(&seed, SMALL);
    draw_blocks(&seed, count, TIMES);
    const uint64_t bytes = total_bytes(count);
    const uint64_t fast = random_below(&seed, bytes + 1);
    const uint64_t slow = bytes / 2 + random_below(&seed, bytes + 1);
    const etx_plan_memory_limit memories[] = {
        {fast, 1}, {round % 2 == 0 ? UINT64_MAX : slow, 4}};
    etx_plan_problem problem = problem_of(blocks, count);
    problem.steps = STEPS;
    const etx_plan_memories_problem given = {&problem, traffic, memories, 2};
    const uint64_t best = cheapest(&given);
    const etx_status status = solve_memories(&given);
    if (status != ETX_OK) {
      assert_int_equal(status, ETX_BAD_PLAN);
      // With a slow memory without limit there always is a plan.
      assert_true(memories[1].capacity != UINT64_MAX);
      missed += best != UINT64_MAX;
      continue;
    }
    check_plan(&given);
    assert_true(made.solution.cost >= best);
    // 1.05 x the cheapest where the slow memory holds what is left.
    if (memories[1].capacity == UINT64_MAX) {
      assert_true(made.solution.cost * 100 <= best * 105);
    }
    ++found;
    equal += made.solution.cost == best;
  }
  print_message("%zu plans, %zu of them the cheapest, %zu not found\n", found,
                equal, missed);
  assert_true(found > 500);
  assert_true(equal * 100 >= found * 95);
  assert_true(missed * 100 <= found * 2);
}

static void larger_plans_are_valid(void** state) {
  (void)state;
  uint64_t seed = 5;
  for (int round = 0; round < TEST_ROUNDS(60); ++round) {
    const size_t count = 20 + (size_t)random_below(&seed, MOST - 20);
    draw_blocks(&seed, count, 200);
    const uint64_t share = 10 + random_below(&seed, 90);
    etx_plan_problem problem = problem_of(blocks, count);
    problem.steps = STEPS;
    const etx_plan_memory_limit one[] = {{UINT64_MAX, 1}};
    const etx_plan_memories_problem whole = {&problem, traffic, one, 1};
    assert_int_equal(solve_memories(&whole), ETX_OK);
    check_plan(&whole);
    const uint64_t peak = made.solution.arena_bytes[0];
    const etx_plan_memory_limit three[] = {
        {peak * share / 200, 1}, {peak * share / 100, 3}, {UINT64_MAX, 9}};
    const etx_plan_memories_problem given = {&problem, traffic, three, 3};
    assert_int_equal(solve_memories(&given), ETX_OK);
    check_plan(&given);
  }
}

static void memories_that_are_too_small_are_refused(void** state) {
  (void)state;
  etx_arena work;
  etx_diag diag;
  static uint8_t memory[1 << 20];
  blocks[0] = block_of(0, 3, 100);
  blocks[1] = block_of(1, 4, 60);
  traffic[0] = traffic[1] = 1;
  const etx_plan_problem problem = problem_of(blocks, 2);
  const etx_plan_memory_limit memories[] = {{50, 1}, {100, 2}};
  etx_plan_memories_problem given = {&problem, traffic, memories, 2};
  assert_int_equal(solve_memories(&given), ETX_BAD_PLAN);
  etx_arena_init(&work, memory, sizeof memory);
  etx_diag_init(&diag);
  assert_int_equal(
      etx_plan_memories_solve(&given, &work, &made.solution, &diag),
      ETX_BAD_PLAN);
  assert_non_null(strstr(diag.text, "160 bytes are live at one time"));
  etx_arena_init(&work, memory, 64);
  assert_int_equal(
      etx_plan_memories_solve(&given, &work, &made.solution, &diag),
      ETX_OUT_OF_MEMORY);
  given.memory_count = 0;
  assert_int_equal(solve_memories(&given), ETX_BAD_ARGUMENT);
  given.memory_count = 2;
  blocks[0].fixed = 16;
  assert_int_equal(solve_memories(&given), ETX_UNSUPPORTED);
}

// A memory may have nearly all bytes that there are.
static void a_memory_of_any_size_takes_all(void** state) {
  (void)state;
  for (uint32_t b = 0; b < 3; ++b) {
    blocks[b] = block_of(0, 2, 24 + b);
    blocks[b].alignment = 16;
    traffic[b] = 1;
  }
  const etx_plan_problem problem = problem_of(blocks, 3);
  const etx_plan_memory_limit limits[] = {{UINT64_MAX - 1, 1}, {1000, 2}};
  const etx_plan_memories_problem given = {&problem, traffic, limits, 2};
  assert_int_equal(solve_memories(&given), ETX_OK);
  check_plan(&given);
  assert_int_equal(made.solution.cost, 3);
  for (uint32_t b = 0; b < 3; ++b) assert_int_equal(made.memories[b], 0);
}

// Limits within which no sum overflows, and what lies behind them.
static void problems_outside_the_limits_are_refused(void** state) {
  (void)state;
  static const struct {
    uint64_t size, traffic, cost;
    size_t count;
    etx_status status;
  } rows[] = {
      {16, 5, 1, 2, ETX_OK},
      {16, 5, 1 << 16, 2, ETX_OK},
      {16, 5, 0, 2, ETX_BAD_ARGUMENT},
      {16, 5, (1 << 16) + 1, 2, ETX_BAD_ARGUMENT},
      {16, 5, 1, ETX_PLAN_MOST_MEMORIES + 1, ETX_BAD_ARGUMENT},
      {16, UINT64_MAX / 2, 1, 2, ETX_BAD_ARGUMENT},
      {UINT64_MAX / 2, 5, 1, 2, ETX_BAD_ARGUMENT},
      {UINT64_C(1) << 62, 5, 1, 2, ETX_BAD_ARGUMENT},
      // Each of two blocks is within the limit, both are not.
      {16, UINT64_C(3) << 60, 1, 2, ETX_BAD_ARGUMENT},
      {UINT64_C(3) << 60, 5, 1, 2, ETX_BAD_ARGUMENT},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    etx_plan_memory_limit memories[ETX_PLAN_MOST_MEMORIES + 1];
    for (size_t k = 0; k <= ETX_PLAN_MOST_MEMORIES; ++k) {
      memories[k] = (etx_plan_memory_limit){UINT64_MAX, rows[i].cost};
    }
    for (size_t k = 0; k < 2; ++k) {
      blocks[k] = block_of(0, 3, rows[i].size);
      traffic[k] = rows[i].traffic;
    }
    const etx_plan_problem problem = problem_of(blocks, 2);
    const etx_plan_memories_problem given = {&problem, traffic, memories,
                                             rows[i].count};
    if (solve_memories(&given) != rows[i].status) fail_msg("row %zu", i);
  }
  blocks[0] = block_of(0, 3, UINT64_C(1) << 62);
  blocks[1] = block_of(0, 3, 16);
  traffic[0] = traffic[1] = 5;
  const etx_plan_problem large = problem_of(blocks, 2);
  const etx_plan_memory_limit any = {UINT64_MAX, 1};
  const etx_plan_memories_problem whole = {&large, traffic, &any, 1};
  assert_int_equal(solve_memories(&whole), ETX_BAD_ARGUMENT);
  blocks[0] = block_of(3, 3, 16);  // no lifetime
  const etx_plan_problem problem = problem_of(blocks, 1);
  const etx_plan_memory_limit memory = {UINT64_MAX, 1};
  const etx_plan_memories_problem given = {&problem, traffic, &memory, 1};
  assert_int_equal(solve_memories(&given), ETX_BAD_ARGUMENT);
}

// A cost that does not fit in 64 bits is the largest number.
static void a_cost_beyond_64_bits_is_the_largest(void** state) {
  (void)state;
  const etx_plan_memory_limit memory = {UINT64_MAX, 1 << 16};
  blocks[0] = block_of(0, 3, 16);
  traffic[0] = UINT64_C(1) << 49;
  const etx_plan_problem problem = problem_of(blocks, 1);
  const etx_plan_memories_problem given = {&problem, traffic, &memory, 1};
  assert_int_equal(solve_memories(&given), ETX_OK);
  assert_true(made.solution.cost == UINT64_MAX);
}

// Much traffic is compared without an overflow.
static void the_largest_traffic_goes_to_the_fastest_memory(void** state) {
  (void)state;
  const etx_plan_memory_limit memories[] = {{100, 1}, {UINT64_MAX, 2}};
  for (uint32_t k = 0; k < 2; ++k) {
    blocks[k] = block_of(0, 3, 100);
    traffic[k] = UINT64_C(1) << (59 + k);
  }
  const etx_plan_problem problem = problem_of(blocks, 2);
  const etx_plan_memories_problem given = {&problem, traffic, memories, 2};
  assert_int_equal(solve_memories(&given), ETX_OK);
  check_plan(&given);
  assert_int_equal(made.memories[0], 1);
  assert_int_equal(made.memories[1], 0);
}

// What fits into the second memory only goes there, even if it has little
// traffic and the first would be full of other blocks.
static void blocks_leave_a_memory_for_those_that_need_it(void** state) {
  (void)state;
  blocks[0] = block_of(0, 4, 100);
  traffic[0] = 10;
  blocks[1] = block_of(0, 4, 40);
  traffic[1] = 1000;
  const etx_plan_problem problem = problem_of(blocks, 2);
  const etx_plan_memory_limit memories[] = {{100, 1}, {60, 2}};
  const etx_plan_memories_problem given = {&problem, traffic, memories, 2};
  assert_int_equal(solve_memories(&given), ETX_OK);
  check_plan(&given);
  assert_int_equal(made.memories[0], 0);
  assert_int_equal(made.memories[1], 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_plans_are_near_the_cheapest),
      cmocka_unit_test(larger_plans_are_valid),
      cmocka_unit_test(memories_that_are_too_small_are_refused),
      cmocka_unit_test(a_memory_of_any_size_takes_all),
      cmocka_unit_test(problems_outside_the_limits_are_refused),
      cmocka_unit_test(the_largest_traffic_goes_to_the_fastest_memory),
      cmocka_unit_test(a_cost_beyond_64_bits_is_the_largest),
      cmocka_unit_test(blocks_leave_a_memory_for_those_that_need_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
