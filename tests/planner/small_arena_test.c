// Every algorithm with arenas of every size up to what it needs: each of its
// allocations fails once. Then it reports that memory is missing, or gives a
// valid plan that an algorithm with less need has found; the bytes behind the
// arena stay as they are, and the arena is as it was.

#include "plan_fixture.h"

#include "exporter/host/address_sanitizer.h"
#include "planner/algorithms/interval_index.h"
#include "planner/memories/memory_choice.h"
#include "planner/memories/memory_fill.h"
#include "planner/memories/plan_memories.h"
#include "planner/plan_gaps.h"
#include "planner/plan_portfolio.h"
#include "planner/problem/plan_bound.h"
#include "planner/validation/hierarchical_bitset.h"

enum { COUNT = 24, TIMES = 16, BEHIND = 64, STEPS = 300, MARK = 0xa5 };

static etx_plan_block blocks[COUNT];
static uint64_t offsets[COUNT];
static uint64_t traffic[COUNT];
static uint32_t memories[COUNT];
static etx_diag diag;

// Blocks of all alignments. With `fixed`, two of them have offsets at which no
// other fixed block lies.
static void draw_blocks(uint64_t seed, bool fixed) {
  random_blocks(&seed, blocks, COUNT, TIMES, 200);
  for (size_t i = 0; i < COUNT; ++i) {
    blocks[i].alignment = UINT64_C(1) << random_below(&seed, 5);
    traffic[i] = random_below(&seed, 5000);
  }
  if (!fixed) return;
  blocks[3].fixed = 0;
  blocks[17].fixed = 256;
}

// A solver, and what it solves.
typedef struct small_solver {
  etx_status (*solve)(const void* problem, const char* algorithm,
                      etx_arena* work);
  const void* problem;
  const char* algorithm;
} small_solver;

static etx_status solve_plan(const void* problem, const char* algorithm,
                             etx_arena* work) {
  etx_plan_solution solution = {.offsets = offsets};
  const etx_status status =
      etx_plan_solve(problem, algorithm, work, &solution, &diag);
  if (status == ETX_OK) assert_true(is_valid(problem, &solution));
  return status;
}

static etx_status solve_validation(const void* problem, const char* algorithm,
                                   etx_arena* work) {
  const etx_plan_solution solution = {.offsets = offsets, .arena_bytes = 1};
  etx_plan_validation judgement;
  (void)algorithm;
  memset(offsets, 0, sizeof offsets);
  return etx_plan_validate(problem, &solution, work, &judgement);
}

static etx_status solve_memories(const void* problem, const char* algorithm,
                                 etx_arena* work) {
  etx_plan_memories_solution solution = {.memories = memories,
                                         .offsets = offsets};
  (void)algorithm;
  return etx_plan_memories_solve(problem, work, &solution, &diag);
}

static etx_status solve_within(const small_solver* s, uint8_t* memory,
                               size_t size) {
  etx_arena work;
  etx_permit_bytes(memory, size + BEHIND);  // forbidden by the last arena
  memset(memory + size, MARK, BEHIND);
  etx_arena_init(&work, memory, size);
  etx_diag_init(&diag);
  const etx_status status = s->solve(s->problem, s->algorithm, &work);
  assert_int_equal(etx_arena_mark(&work), 0);
  for (size_t i = 0; i < BEHIND; ++i) assert_int_equal(memory[size + i], MARK);
  return status;
}

// Returns how many sizes were too small.
static size_t try_sizes(const small_solver* s, size_t needed) {
  uint8_t* const memory = malloc(needed + BEHIND);
  size_t failures = 0;
  assert_non_null(memory);
  const etx_status wanted = solve_within(s, memory, needed);
  assert_int_not_equal(wanted, ETX_OUT_OF_MEMORY);
  for (size_t size = 0; size < needed; size += 16) {
    const etx_status status = solve_within(s, memory, size);
    failures += status == ETX_OUT_OF_MEMORY;
    if (status != ETX_OUT_OF_MEMORY) assert_int_equal(status, wanted);
  }
  free(memory);
  return failures;
}

#define ALGORITHM(symbol, sentence) #symbol,
static const char* const algorithms[] = {
#include "planner/algorithms/plan_algorithms.def"
    NULL};
#undef ALGORITHM

static void each_algorithm_says_that_memory_is_missing(void** state) {
  (void)state;
  for (int fixed = 0; fixed < 2; ++fixed) {
    draw_blocks(7, fixed == 1);
    etx_plan_problem problem = problem_of(blocks, COUNT);
    problem.steps = STEPS;
    const size_t needed = etx_plan_needed(&problem);
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; ++i) {
      const small_solver solver = {solve_plan, &problem, algorithms[i]};
      assert_true(try_sizes(&solver, needed) > 5);
    }
  }
}

static void so_does_the_validator(void** state) {
  (void)state;
  draw_blocks(9, false);
  const etx_plan_problem problem = problem_of(blocks, COUNT);
  const small_solver solver = {solve_validation, &problem, NULL};
  assert_true(try_sizes(&solver, COUNT * 64 + 4096) > 5);
}

static void so_does_a_plan_for_several_memories(void** state) {
  (void)state;
  static const etx_plan_memory_limit limits[][3] = {
      {{300, 1}, {700, 3}, {UINT64_MAX, 20}},
      {{101, 1}, {213, 2}, {UINT64_MAX, 20}},
      {{UINT64_MAX, 1}, {700, 3}, {300, 20}},
      {{50, 1}, {70, 3}, {90, 20}}};  // too small
  draw_blocks(11, false);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    etx_plan_problem problem = problem_of(blocks, COUNT);
    problem.steps = STEPS;
    const etx_plan_memories_problem given = {&problem, traffic, limits[i], 3};
    const small_solver solver = {solve_memories, &given, NULL};
    assert_true(try_sizes(&solver, etx_plan_memories_needed(&given)) > 5);
  }
}

// ---- parts of the planner by themselves ----

// The parts of a problem, in memory that stays.
static etx_plan_partitions partition(const etx_plan_problem* problem) {
  static uint8_t memory[1 << 16];
  etx_plan_partitions parts;
  etx_arena work;
  etx_arena_init(&work, memory, sizeof memory);
  assert_true(etx_plan_partitions_take(&parts, problem, &work));
  assert_true(etx_plan_bound_partitions(&parts, &work));
  return parts;
}

// An algorithm keeps its memory; the caller rewinds the arena.
static etx_status run_alone(const void* problem, const char* algorithm,
                            etx_arena* work) {
  static uint32_t found[COUNT];
  const etx_plan_partitions parts = partition(problem);
  etx_plan_goal goal = {0, 0, ETX_PLAN_CEILING, STEPS};
  for (size_t i = 0; i < etx_plan_algorithm_count(); ++i) {
    const etx_plan_algorithm* const a = etx_plan_algorithm_at(i);
    if (strcmp(a->name, algorithm) != 0) continue;
    const etx_status status = a->run(&parts.all, &goal, work, found);
    etx_arena_rewind(work, 0);
    return status;
  }
  return ETX_NOT_FOUND;
}

static etx_status partition_alone(const void* problem, const char* algorithm,
                                  etx_arena* work) {
  etx_plan_partitions parts;
  (void)algorithm;
  const bool taken = etx_plan_partitions_take(&parts, problem, work);
  etx_arena_rewind(work, 0);
  return taken ? ETX_OK : ETX_OUT_OF_MEMORY;
}

static etx_status bound_alone(const void* problem, const char* algorithm,
                              etx_arena* work) {
  uint64_t bytes = 0;
  (void)algorithm;
  return etx_plan_bound(problem, work, &bytes);
}

static etx_status bound_parts_alone(const void* problem, const char* algorithm,
                                    etx_arena* work) {
  etx_plan_partitions parts = partition(problem);
  (void)algorithm;
  return etx_plan_bound_partitions(&parts, work) ? ETX_OK : ETX_OUT_OF_MEMORY;
}

static etx_status index_alone(const void* problem, const char* algorithm,
                              etx_arena* work) {
  etx_interval_index index;
  const etx_plan_partitions parts = partition(problem);
  (void)algorithm;
  const bool taken = etx_interval_index_take(&index, &parts.all, work);
  etx_arena_rewind(work, 0);
  return taken ? ETX_OK : ETX_OUT_OF_MEMORY;
}

// Without steps, a choice is what one order of the blocks gives.
static void a_choice_ends_with_its_steps(void** state) {
  (void)state;
  static uint8_t memory[1 << 14], is_candidate[4] = {1, 1, 1, 1};
  uint8_t is_chosen[4] = {0};
  etx_arena work;
  for (uint32_t b = 0; b < 4; ++b) {
    blocks[b] = block_of(b, 6, 10 + b);
    traffic[b] = 100 + b;
  }
  const etx_plan_problem problem = problem_of(blocks, 4);
  const etx_plan_partitions parts = partition(&problem);
  const etx_memory_choice_problem choice = {&parts.all, traffic, is_candidate,
                                            25, UINT64_MAX};
  for (uint64_t limit = 0; limit < 40; ++limit) {
    uint64_t steps = limit, size = 0;
    etx_arena_init(&work, memory, sizeof memory);
    assert_true(etx_memory_choose(&choice, &work, &steps, is_chosen));
    assert_true(steps <= limit);
    for (uint32_t b = 0; b < 4; ++b) size += is_chosen[b] ? 10 + b : 0;
    assert_true(size <= 25);
  }
}

// Parts whose blocks would take long to compare stay as they are.
static void large_parts_are_not_filled(void** state) {
  (void)state;
  enum { MANY = ETX_MEMORY_FILL_MOST_BLOCKS + 1, BYTES = 32 * MANY };
  uint8_t* const flags = calloc(2, MANY);
  uint64_t* const numbers = calloc(2 * MANY, sizeof *numbers);
  void* const memory = malloc(BYTES);
  etx_arena work;
  assert_non_null(flags);
  assert_non_null(numbers);
  assert_non_null(memory);
  memset(flags, 1, MANY);  // candidates, none chosen
  const etx_plan_partition part = {.block_count = MANY};
  const etx_memory_fill fill = {&part, numbers,      flags,
                                100,   flags + MANY, numbers + MANY};
  etx_arena_init(&work, memory, BYTES);
  assert_true(etx_memory_fill_improve(&fill, &work));
  assert_int_equal(etx_arena_mark(&work), 0);
  for (size_t i = 0; i < MANY; ++i) assert_int_equal(flags[MANY + i], 0);
  free(memory);
  free(numbers);
  free(flags);
}

// A plan is only counted if it is smaller than the best one.
static void the_simplest_plan_may_be_too_large(void** state) {
  (void)state;
  uint32_t found[COUNT];
  etx_arena work;
  draw_blocks(17, false);
  const etx_plan_problem problem = problem_of(blocks, COUNT);
  const etx_plan_partitions parts = partition(&problem);
  etx_plan_goal goal = {0, 0, 1, STEPS};
  etx_arena_init(&work, NULL, 0);
  assert_int_equal(etx_plan_naive_run(&parts.all, &goal, &work, found),
                   ETX_NOT_FOUND);
  goal.best = ETX_PLAN_CEILING;
  assert_int_equal(etx_plan_naive_run(&parts.all, &goal, &work, found), ETX_OK);
}

static etx_status choose_alone(const void* problem, const char* algorithm,
                               etx_arena* work) {
  static uint8_t is_candidate[COUNT], is_chosen[COUNT];
  const etx_plan_partitions parts = partition(problem);
  uint64_t steps = STEPS;
  (void)algorithm;
  memset(is_candidate, 1, sizeof is_candidate);
  const etx_memory_choice_problem choice = {
      .part = &parts.all,
      .traffic = traffic,
      .is_candidate = is_candidate,
      .capacity = 300,
      .below = UINT64_MAX,
  };
  return etx_memory_choose(&choice, work, &steps, is_chosen)
             ? ETX_OK
             : ETX_OUT_OF_MEMORY;
}

static etx_status fill_alone(const void* problem, const char* algorithm,
                             etx_arena* work) {
  static uint8_t is_candidate[COUNT], is_chosen[COUNT];
  const etx_plan_partitions parts = partition(problem);
  (void)algorithm;
  memset(is_candidate, 1, sizeof is_candidate);
  memset(is_chosen, 0, sizeof is_chosen);
  const etx_memory_fill fill = {&parts.all, traffic,   is_candidate,
                                300,        is_chosen, offsets};
  return etx_memory_fill_improve(&fill, work) ? ETX_OK : ETX_OUT_OF_MEMORY;
}

static etx_status take_bits_alone(const void* problem, const char* algorithm,
                                  etx_arena* work) {
  etx_hierarchical_bitset set;
  (void)problem, (void)algorithm;
  const bool taken = etx_hierarchical_bitset_take(&set, work, 5000);
  etx_arena_rewind(work, 0);
  return taken ? ETX_OK : ETX_OUT_OF_MEMORY;
}

// Each of them reports that memory is missing, wherever it runs out: in a whole
// plan, others have already needed more.
static void so_does_each_part_of_the_planner(void** state) {
  (void)state;
  enum { ENOUGH = 1 << 14 };
  draw_blocks(13, false);
  etx_plan_problem problem = problem_of(blocks, COUNT);
  problem.steps = STEPS;
  static etx_status (*const parts[])(const void*, const char*, etx_arena*) = {
      partition_alone, bound_alone, bound_parts_alone, index_alone,
      choose_alone,    fill_alone,  take_bits_alone};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
    const small_solver solver = {parts[i], &problem, NULL};
    assert_true(try_sizes(&solver, ENOUGH) > 2);
  }
  for (size_t i = 0; i + 1 < sizeof algorithms / sizeof *algorithms; ++i) {
    const small_solver solver = {run_alone, &problem, algorithms[i]};
    const size_t least = strcmp(algorithms[i], "naive") == 0 ? 0 : 3;
    assert_true(try_sizes(&solver, ENOUGH) >= least);
  }
}

// Numbers of blocks for which no memory is enough.
static void some_problems_need_more_than_there_is(void** state) {
  (void)state;
  etx_arena counter;
  etx_plan_partitions parts;
  etx_hierarchical_bitset set;
  const etx_plan_problem problem = {.block_count = SIZE_MAX / 16};
  const etx_plan_memories_problem given = {.problem = &problem};
  assert_int_equal(etx_plan_needed(&problem), SIZE_MAX);
  // The bound counts, too.
  const etx_plan_problem few = {.block_count = 8};
  uint64_t bytes = 7;
  etx_arena_init_counting(&counter);
  assert_int_equal(etx_plan_bound(&few, &counter, &bytes), ETX_OK);
  assert_true(counter.peak_bytes > 8 * 16);
  assert_int_equal(bytes, 7);
  assert_int_equal(etx_plan_memories_needed(&given), SIZE_MAX);
  etx_arena_init_counting(&counter);
  assert_false(etx_plan_partitions_take(&parts, &problem, &counter));
#if SIZE_MAX > UINT32_MAX
  assert_false(etx_hierarchical_bitset_take(&set, &counter, SIZE_MAX / 8));
#endif
  (void)set;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_algorithm_says_that_memory_is_missing),
      cmocka_unit_test(so_does_the_validator),
      cmocka_unit_test(so_does_a_plan_for_several_memories),
      cmocka_unit_test(so_does_each_part_of_the_planner),
      cmocka_unit_test(large_parts_are_not_filled),
      cmocka_unit_test(a_choice_ends_with_its_steps),
      cmocka_unit_test(the_simplest_plan_may_be_too_large),
      cmocka_unit_test(some_problems_need_more_than_there_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
