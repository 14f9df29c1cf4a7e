// The set against an array of booleans.

#include "plan_fixture.h"

#include "planner/validation/hierarchical_bitset.h"

static void agrees_with_an_array_of_booleans(void** state) {
  (void)state;
  const size_t capacities[] = {0, 1, 63, 64, 65, 4096, 5000};
  uint64_t seed = 41;
  for (size_t c = 0; c < sizeof capacities / sizeof capacities[0]; ++c) {
    const size_t capacity = capacities[c];
    static uint64_t memory[1024];
    static bool member[5001];
    etx_arena work;
    etx_hierarchical_bitset set;
    memset(member, 0, sizeof member);
    etx_arena_init(&work, memory, sizeof memory);
    assert_true(etx_hierarchical_bitset_take(&set, &work, capacity));
    for (size_t round = 0; capacity > 0 && round < 300; ++round) {
      const size_t number = random_below(&seed, capacity);
      member[number] = random_below(&seed, 2) == 0;
      if (member[number]) {
        etx_hierarchical_bitset_insert(&set, number);
      } else {
        etx_hierarchical_bitset_remove(&set, number);
      }
      const size_t from = random_below(&seed, capacity);
      size_t above = from;
      while (above < capacity && !member[above]) above += 1;
      size_t below = from + 1;
      while (below > 0 && !member[below - 1]) below -= 1;
      assert_int_equal(etx_hierarchical_bitset_next(&set, from),
                       above == capacity ? ETX_PLAN_SET_NONE : above);
      assert_int_equal(etx_hierarchical_bitset_previous(&set, from),
                       below == 0 ? ETX_PLAN_SET_NONE : below - 1);
    }
  }
}

static void an_empty_set_has_no_next(void** state) {
  (void)state;
  uint64_t memory[8];
  etx_arena work;
  etx_hierarchical_bitset set;
  etx_arena_init(&work, memory, sizeof memory);
  assert_true(etx_hierarchical_bitset_take(&set, &work, 0));
  assert_int_equal(etx_hierarchical_bitset_next(&set, 0), ETX_PLAN_SET_NONE);
  assert_int_equal(etx_hierarchical_bitset_previous(&set, 0),
                   ETX_PLAN_SET_NONE);
}

static void a_number_behind_the_last_has_no_next(void** state) {
  (void)state;
  uint8_t memory[4096];
  etx_arena work;
  etx_hierarchical_bitset set;
  etx_arena_init(&work, memory, sizeof memory);
  assert_true(etx_hierarchical_bitset_take(&set, &work, 100));
  etx_hierarchical_bitset_insert(&set, 99);
  assert_int_equal(etx_hierarchical_bitset_next(&set, 99), 99);
  assert_int_equal(etx_hierarchical_bitset_next(&set, 1000), ETX_PLAN_SET_NONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_an_array_of_booleans),
      cmocka_unit_test(an_empty_set_has_no_next),
      cmocka_unit_test(a_number_behind_the_last_has_no_next),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
