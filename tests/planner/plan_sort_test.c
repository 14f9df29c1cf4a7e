// Sorting: ordered, complete, stable.

#include "plan_fixture.h"

#include "planner/plan_sort.h"

static bool key_before(const void* context, uint32_t a, uint32_t b) {
  const uint8_t* const keys = context;
  return keys[a] < keys[b];
}

static void items_come_in_order_and_equal_ones_keep_theirs(void** state) {
  (void)state;
  uint64_t seed = 51;
  for (size_t count = 0; count < 200; ++count) {
    uint8_t keys[200] = {0};
    uint32_t items[201] = {0}, scratch[201] = {0};
    for (size_t i = 0; i < count; ++i) {
      keys[i] = (uint8_t)random_below(&seed, 12);
      items[i] = (uint32_t)i;
    }
    items[count] = scratch[count] = UINT32_MAX;
    etx_plan_sort(items, count, scratch, key_before, keys);
    for (size_t i = 1; i < count; ++i) {
      const bool ordered =
          keys[items[i - 1]] < keys[items[i]] ||
          (keys[items[i - 1]] == keys[items[i]] && items[i - 1] < items[i]);
      assert_true(ordered);
    }
    assert_int_equal(items[count], UINT32_MAX);
    assert_int_equal(scratch[count], UINT32_MAX);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(items_come_in_order_and_equal_ones_keep_theirs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
