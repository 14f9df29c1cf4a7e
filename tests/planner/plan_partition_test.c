// Sections and parts of lifetimes, units, and which blocks fit between two
// sections.

#include "plan_fixture.h"

#include "planner/problem/plan_bound.h"
#include "planner/algorithms/interval_index.h"
#include "planner/problem/plan_partition.h"

static uint64_t memory[1 << 13];

static etx_plan_partitions cut(const etx_plan_problem* problem,
                               etx_arena* work) {
  etx_plan_partitions parts;
  etx_arena_init(work, memory, sizeof memory);
  assert_true(etx_plan_partitions_take(&parts, problem, work));
  assert_true(etx_plan_bound_partitions(&parts, work));
  return parts;
}

static void a_section_ends_at_the_first_end_after_a_start(void** state) {
  (void)state;
  //                 0 1 2 3 4 5
  //  a [0, 3)       |-----|
  //  b [1, 4)         |-----|
  //  c [3, 6)             |-----|    c is born when a dies
  const etx_plan_block blocks[] = {block_of(3, 6, 5), block_of(0, 3, 10),
                                   block_of(1, 4, 20)};
  const etx_plan_problem problem = problem_of(blocks, 3);
  etx_arena work;
  const etx_plan_partitions parts = cut(&problem, &work);
  const etx_plan_partition part = etx_plan_partitions_at(&parts, 0);
  assert_int_equal(parts.count, 1);
  assert_int_equal(part.section_count, 2);
  assert_int_equal(part.blocks[0], 1);
  assert_int_equal(part.blocks[1], 2);
  assert_int_equal(part.blocks[2], 0);
  assert_int_equal(part.first[0], 0);
  assert_int_equal(part.limit[0], 1);
  assert_int_equal(part.first[1], 0);
  assert_int_equal(part.limit[1], 2);
  assert_int_equal(part.first[2], 1);
  assert_int_equal(part.limit[2], 2);
  assert_int_equal(part.unit, 5);
  assert_int_equal(part.size[1], 4);
  assert_int_equal(part.bound_bytes, 30);
}

static void parts_are_separated_by_times_without_live_blocks(void** state) {
  (void)state;
  const etx_plan_block blocks[] = {block_of(7, 9, 6), block_of(0, 3, 4),
                                   block_of(2, 5, 4), block_of(5, 7, 2),
                                   block_of(4, 5, 0)};  // empty: in no part
  const etx_plan_problem problem = problem_of(blocks, 5);
  etx_arena work;
  const etx_plan_partitions parts = cut(&problem, &work);
  assert_int_equal(parts.count, 3);
  const etx_plan_partition second = etx_plan_partitions_at(&parts, 1);
  const etx_plan_partition third = etx_plan_partitions_at(&parts, 2);
  assert_int_equal(second.block_count, 1);
  assert_int_equal(second.blocks[0], 3);
  assert_int_equal(third.blocks[0], 0);
  assert_int_equal(third.first[0], 0);
  assert_int_equal(third.limit[0], 1);
  assert_int_equal(third.section_count, 1);
  assert_int_equal(etx_plan_partitions_at(&parts, 0).bound_bytes, 8);
  assert_int_equal(second.bound_bytes, 2);
  assert_int_equal(third.bound_bytes, 6);
}

// Offsets fit 32 bits, whatever the sizes.
static void units_become_coarse_where_sizes_are_large(void** state) {
  (void)state;
  const uint64_t large = (UINT64_C(1) << 50) + 1;
  const etx_plan_block blocks[] = {block_of(0, 2, large), block_of(1, 3, 3)};
  const etx_plan_problem problem = problem_of(blocks, 2);
  etx_arena work;
  const etx_plan_partitions parts = cut(&problem, &work);
  assert_true(parts.all.is_coarse);
  assert_true(parts.all.unit * parts.all.size[0] >= large);
  assert_true(parts.all.size[0] <= ETX_PLAN_MAX_UNITS);
  assert_int_equal(parts.all.size[1], 1);
  assert_true(parts.all.bound_bytes == large + 3);
}

static void sections_intersect_exactly_if_lifetimes_do(void** state) {
  (void)state;
  uint64_t seed = 61;
  for (size_t round = 0; round < 200; ++round) {
    etx_plan_block blocks[20];
    const etx_plan_problem problem = problem_of(blocks, 20);
    etx_arena work;
    random_blocks(&seed, blocks, 20, 15, 9);
    // The first one lives all the time, so that there is one part.
    blocks[0].start = 0;
    blocks[0].end = 1000;
    for (size_t i = 0; i < 20; ++i) blocks[i].size += 1;
    const etx_plan_partitions parts = cut(&problem, &work);
    const etx_plan_partition p = etx_plan_partitions_at(&parts, 0);
    assert_int_equal(parts.count, 1);
    for (size_t i = 0; i < 20; ++i) {
      const etx_plan_block* const a = etx_plan_partition_block(&p, (uint32_t)i);
      for (size_t j = 0; j < 20; ++j) {
        const etx_plan_block* const b =
            etx_plan_partition_block(&p, (uint32_t)j);
        assert_int_equal(a->start < b->end && b->start < a->end,
                         p.first[i] < p.limit[j] && p.first[j] < p.limit[i]);
      }
    }
  }
}

// Compares the interval index with a linear search.
static void check_index(uint64_t* seed, uint32_t count) {
  enum { MOST = 600 };
  static etx_plan_block blocks[MOST];
  static uint32_t order[MOST], rank_of[MOST];
  static uint64_t index_memory[1 << 14];
  static bool is_in[MOST];
  const etx_plan_problem problem = problem_of(blocks, count);
  etx_arena work, index_work;
  etx_interval_index index;
  random_blocks(seed, blocks, count, 200, 9);
  blocks[0].start = 0;
  blocks[0].end = 1000;
  for (uint32_t i = 0; i < count; ++i) {
    blocks[i].size += 1;
    order[i] = i * 7 % count;
    rank_of[order[i]] = i;
    is_in[i] = true;
  }
  const etx_plan_partitions parts = cut(&problem, &work);
  const etx_plan_partition p = etx_plan_partitions_at(&parts, 0);
  etx_arena_init(&index_work, index_memory, sizeof index_memory);
  assert_true(etx_interval_index_take(&index, &p, &index_work));
  etx_interval_index_fill(&index, order);
  for (uint32_t step = 0; step < 2 * count; ++step) {
    const bool whole = step % 8 == 0;
    const uint32_t low =
        whole ? 0 : (uint32_t)random_below(seed, p.section_count);
    const uint32_t high =
        whole ? p.section_count
              : low + 1 + (uint32_t)random_below(seed, p.section_count - low);
    uint32_t expected = ETX_PLAN_NONE;
    for (uint32_t i = 0; i < count; ++i) {
      if (!is_in[i] || p.first[i] < low || p.limit[i] > high) continue;
      if (expected == ETX_PLAN_NONE || rank_of[i] < rank_of[expected]) {
        expected = i;
      }
    }
    assert_int_equal(etx_interval_index_take_best(&index, low, high), expected);
    if (expected != ETX_PLAN_NONE) is_in[expected] = false;
  }
}

static void the_best_rank_that_fits_is_found(void** state) {
  (void)state;
  uint64_t seed = 62;
  static const uint32_t counts[] = {1, 2, 15, 16, 17, 33, 255, 256, 257, 599};
  for (size_t round = 0; round < 100; ++round) {
    check_index(&seed, counts[round % (sizeof counts / sizeof counts[0])]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_section_ends_at_the_first_end_after_a_start),
      cmocka_unit_test(parts_are_separated_by_times_without_live_blocks),
      cmocka_unit_test(units_become_coarse_where_sizes_are_large),
      cmocka_unit_test(sections_intersect_exactly_if_lifetimes_do),
      cmocka_unit_test(the_best_rank_that_fits_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
