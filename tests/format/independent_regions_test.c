// Regions of lists of steps: what is found, and that steps of two regions never
// conflict, in random lists.

#include "format/base/independent_regions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 700, HEAVY = 4 * ETX_REGIONS_LEAST_GAIN };

static uint64_t costs[STEPS];
static uint64_t conflicts[STEPS * ETX_REGIONS_WORDS];
static uint64_t best[STEPS + 1];
static uint32_t from[STEPS + 1];
static uint32_t group_ends[STEPS];
static uint8_t regions[STEPS];

static etx_regions_problem start(size_t count, size_t region_limit) {
  memset(conflicts, 0, sizeof conflicts);
  for (size_t i = 0; i < count; ++i) costs[i] = HEAVY;
  return (etx_regions_problem){count, region_limit, costs,      conflicts,
                               best,  from,         group_ends, regions};
}

static bool conflict(size_t early, size_t late) {
  const size_t d = late - 1 - early;
  return d < ETX_REGIONS_WINDOW &&
         (conflicts[late * ETX_REGIONS_WORDS + d / 64] >> d % 64 & 1) != 0;
}

// Step 0, then two chains of three steps, then a step that needs both.
static void a_fork_and_a_join_make_one_group(void** state) {
  (void)state;
  etx_regions_problem p = start(8, 8);
  for (size_t i = 1; i < 7; ++i) etx_regions_conflict(&p, 0, i);
  for (size_t i = 1; i < 3; ++i) etx_regions_conflict(&p, i, i + 1);
  for (size_t i = 4; i < 6; ++i) etx_regions_conflict(&p, i, i + 1);
  etx_regions_conflict(&p, 3, 7);
  etx_regions_conflict(&p, 6, 7);
  etx_regions_find(&p);
  assert_int_equal(group_ends[0], 0);
  assert_int_equal(group_ends[7], 0);
  for (size_t i = 1; i < 7; ++i) {
    assert_int_equal(group_ends[i], 7);
    assert_int_equal(regions[i], regions[i < 4 ? 1 : 4]);
  }
  assert_int_not_equal(regions[1], regions[4]);
}

static void cheap_steps_and_one_region_make_no_group(void** state) {
  (void)state;
  etx_regions_problem p = start(2, 2);
  costs[0] = costs[1] = ETX_REGIONS_LEAST_GAIN;
  etx_regions_find(&p);
  assert_int_equal(group_ends[0], 0);
  assert_int_equal(group_ends[1], 0);
  costs[0] = costs[1] = ETX_REGIONS_LEAST_GAIN + 1;
  etx_regions_find(&p);
  assert_int_equal(group_ends[0], 2);
  p.region_limit = 1;
  etx_regions_find(&p);
  assert_int_equal(group_ends[0], 0);
}

static void a_step_that_runs_alone_ends_a_group(void** state) {
  (void)state;
  etx_regions_problem p = start(5, 2);
  etx_regions_isolate(&p, 2);
  etx_regions_find(&p);
  assert_int_equal(group_ends[0], 2);
  assert_int_equal(group_ends[1], 2);
  assert_int_equal(group_ends[2], 0);
  assert_int_equal(group_ends[3], 5);
}

static void check_regions(const etx_regions_problem* p) {
  for (size_t i = 0; i < p->count; ++i) {
    if (group_ends[i] == 0) continue;
    assert_true(group_ends[i] > i && group_ends[i] <= p->count);
    assert_true(regions[i] < p->region_limit);
    assert_int_equal(group_ends[group_ends[i] - 1], group_ends[i]);
    for (size_t k = i + 1; k < group_ends[i]; ++k) {
      assert_int_equal(group_ends[k], group_ends[i]);
      if (regions[i] != regions[k]) assert_false(conflict(i, k));
    }
  }
}

static void regions_never_conflict(void** state) {
  uint32_t random = 7;
  size_t in_groups = 0;
  (void)state;
  for (size_t round = 0; round < 60; ++round) {
    const size_t count = round < 55 ? 1 + round * 2 : STEPS;
    etx_regions_problem p = start(count, 1 + round % ETX_REGIONS_MOST);
    for (size_t late = 1; late < count; ++late) {
      for (size_t n = 0; n < 2; ++n) {
        random = random * 1664525u + 1013904223u;
        const size_t back = 1 + (random >> 8) % (round + 1);
        if ((random >> 28) != 0 && back <= late) {
          etx_regions_conflict(&p, late - back, late);
        }
      }
      costs[late] = random >> 12;
    }
    etx_regions_find(&p);
    check_regions(&p);
    for (size_t i = 0; i < count; ++i) in_groups += group_ends[i] != 0;
  }
  assert_true(in_groups > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fork_and_a_join_make_one_group),
      cmocka_unit_test(cheap_steps_and_one_region_make_no_group),
      cmocka_unit_test(a_step_that_runs_alone_ends_a_group),
      cmocka_unit_test(regions_never_conflict),
  };
  return cmocka_run_group_tests_name("independent_regions", tests, NULL, NULL);
}
