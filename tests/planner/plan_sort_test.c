// Sorting: ordered, complete, stable.

#include "plan_fixture.h"

#include "planner/problem/plan_sort.h"

static uint32_t key_of(const void* context, uint32_t item) {
  const uint32_t* const keys = context;
  return keys[item];
}

// Keys below `limit`, so that few are equal or many.
static void check_sorted(uint64_t* seed, size_t count, uint64_t limit) {
  enum { MOST = 3000 };
  static uint32_t keys[MOST], items[MOST + 1];
  static uint64_t scratch[2 * MOST + 1];
  for (size_t i = 0; i < count; ++i) {
    keys[i] = (uint32_t)random_below(seed, limit);
    items[i] = (uint32_t)i;
  }
  items[count] = UINT32_MAX;
  scratch[2 * count] = UINT64_MAX;
  etx_plan_sort(items, count, key_of, keys, scratch);
  for (size_t i = 1; i < count; ++i) {
    const bool ordered =
        keys[items[i - 1]] < keys[items[i]] ||
        (keys[items[i - 1]] == keys[items[i]] && items[i - 1] < items[i]);
    assert_true(ordered);
  }
  assert_int_equal(items[count], UINT32_MAX);
  assert_true(scratch[2 * count] == UINT64_MAX);
}

static void items_come_in_order_and_equal_ones_keep_theirs(void** state) {
  (void)state;
  uint64_t seed = 51;
  for (size_t count = 0; count < 200; ++count) {
    check_sorted(&seed, count, 12);
    check_sorted(&seed, count, UINT64_C(1) << 32);
  }
  for (unsigned bits = 1; bits <= 32; ++bits) {
    check_sorted(&seed, 3000, UINT64_C(1) << bits);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(items_come_in_order_and_equal_ones_keep_theirs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
