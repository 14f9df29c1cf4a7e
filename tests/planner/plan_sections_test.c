// Sections of lifespans, and which blocks fit between two of them.

#include "plan_fixture.h"

#include "planner/plan_fitting.h"
#include "planner/plan_sections.h"

static uint64_t memory[1 << 13];

static etx_plan_sections cut(const etx_plan_problem* problem, etx_arena* work) {
  etx_plan_sections sections;
  etx_arena_init(work, memory, sizeof memory);
  assert_true(etx_plan_sections_take(&sections, problem, work));
  return sections;
}

static void a_section_closes_when_a_death_follows_a_birth(void** state) {
  (void)state;
  //                 0 1 2 3 4 5
  //  a [0, 3)       |-----|
  //  b [1, 4)         |-----|
  //  c [3, 6)             |-----|    c is born when a dies
  const etx_plan_block blocks[] = {block_of(0, 3, 10), block_of(1, 4, 20),
                                   block_of(3, 6, 5)};
  const etx_plan_problem problem = problem_of(blocks, 3);
  etx_arena work;
  const etx_plan_sections sections = cut(&problem, &work);
  assert_int_equal(sections.count, 2);
  assert_int_equal(sections.first[0], 0);
  assert_int_equal(sections.limit[0], 1);
  assert_int_equal(sections.first[1], 0);
  assert_int_equal(sections.limit[1], 2);
  assert_int_equal(sections.first[2], 1);
  assert_int_equal(sections.limit[2], 2);
  assert_int_equal(sections.load[0], 30);
  assert_int_equal(sections.load[1], 25);
}

static void sections_intersect_exactly_if_lifespans_do(void** state) {
  (void)state;
  uint64_t seed = 61;
  for (size_t round = 0; round < 200; ++round) {
    etx_plan_block blocks[20];
    const etx_plan_problem problem = problem_of(blocks, 20);
    etx_arena work;
    random_blocks(&seed, blocks, 20, 15, 9);
    for (size_t i = 0; i < 20; ++i) blocks[i].size += 1;
    const etx_plan_sections s = cut(&problem, &work);
    for (size_t i = 0; i < 20; ++i) {
      for (size_t j = 0; j < 20; ++j) {
        assert_int_equal(
            blocks[i].start < blocks[j].end && blocks[j].start < blocks[i].end,
            s.first[i] < s.limit[j] && s.first[j] < s.limit[i]);
      }
    }
  }
}

// The tree against a look at every block.
static void the_best_rank_that_fits_is_found(void** state) {
  (void)state;
  uint64_t seed = 62;
  for (size_t round = 0; round < 100; ++round) {
    enum { COUNT = 33 };
    etx_plan_block blocks[COUNT];
    uint32_t ranks[COUNT];
    bool is_in[COUNT];
    const etx_plan_problem problem = problem_of(blocks, COUNT);
    etx_arena work;
    etx_plan_fitting fitting;
    random_blocks(&seed, blocks, COUNT, 25, 9);
    for (size_t i = 0; i < COUNT; ++i) {
      blocks[i].size += 1;
      ranks[i] = (uint32_t)(i * 7 % COUNT);
      is_in[i] = true;
    }
    const etx_plan_sections s = cut(&problem, &work);
    assert_true(etx_plan_fitting_take(&fitting, COUNT, &work));
    etx_plan_fitting_fill(&fitting, &s, ranks);
    for (size_t step = 0; step < COUNT; ++step) {
      const uint32_t low = (uint32_t)random_below(&seed, s.count);
      const uint32_t high =
          low + 1 + (uint32_t)random_below(&seed, s.count - low);
      uint32_t expected = ETX_PLAN_FITS_NONE;
      uint32_t block = 0;
      for (uint32_t i = 0; i < COUNT; ++i) {
        if (!is_in[i] || s.first[i] < low || s.limit[i] > high) continue;
        if (ranks[i] >= expected) continue;
        expected = ranks[i];
        block = i;
      }
      assert_int_equal(etx_plan_fitting_best(&fitting, low, high), expected);
      if (expected == ETX_PLAN_FITS_NONE) continue;
      etx_plan_fitting_remove(&fitting, block);
      is_in[block] = false;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_section_closes_when_a_death_follows_a_birth),
      cmocka_unit_test(sections_intersect_exactly_if_lifespans_do),
      cmocka_unit_test(the_best_rank_that_fits_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
