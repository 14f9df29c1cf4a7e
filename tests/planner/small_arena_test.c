// Every algorithm with arenas of every size up to what it needs: each of its
// allocations fails once. Then it reports that memory is missing, or gives a
// valid plan that an algorithm with less need has found; the bytes behind the
// arena stay as they are, and the arena is as it was.

#include "plan_fixture.h"

#include "planner/memories/plan_memories.h"

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
  for (size_t size = 0; size < needed; size += 32) {
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
  draw_blocks(11, false);
  etx_plan_problem problem = problem_of(blocks, COUNT);
  problem.steps = STEPS;
  const etx_plan_memory_limit limits[] = {{300, 1}, {700, 3}, {UINT64_MAX, 20}};
  const etx_plan_memories_problem given = {&problem, traffic, limits, 3};
  const small_solver solver = {solve_memories, &given, NULL};
  assert_true(try_sizes(&solver, etx_plan_memories_needed(&given)) > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_algorithm_says_that_memory_is_missing),
      cmocka_unit_test(so_does_the_validator),
      cmocka_unit_test(so_does_a_plan_for_several_memories),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
