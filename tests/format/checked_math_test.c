#include "tests/format/fixtures/format_test.h"

#include "format/base/checked_math.h"

static void sums_and_products_are_exact_or_refused(void** state) {
  size_t size = 0;
  uint64_t wide = 0;
  int64_t number = 0;
  (void)state;
  assert_true(etx_add_size(SIZE_MAX - 1, 1, &size));
  assert_true(size == SIZE_MAX);
  assert_false(etx_add_size(SIZE_MAX, 1, &size));
  assert_false(etx_multiply_size(SIZE_MAX / 2 + 1, 2, &size));
  assert_true(etx_add_u64(UINT64_MAX, 0, &wide));
  assert_false(etx_add_u64(UINT64_MAX, 1, &wide));
  assert_true(etx_multiply_u64(1u << 31, 1u << 31, &wide));
  assert_true(wide == (uint64_t)1 << 62);
  assert_false(etx_multiply_u64((uint64_t)1 << 32, (uint64_t)1 << 32, &wide));
  assert_false(etx_add_i64(INT64_MAX, 1, &number));
  assert_false(etx_subtract_i64(INT64_MIN, 1, &number));
  assert_true(etx_subtract_i64(-1, INT64_MAX, &number));
  assert_true(number == INT64_MIN);
  assert_false(etx_multiply_i64(INT64_MIN, -1, &number));
}

static void aligning_rounds_up_to_a_multiple(void** state) {
  static const size_t cases[][3] = {{0, 16, 0},  {1, 16, 16}, {16, 16, 16},
                                    {17, 1, 17}, {17, 2, 18}, {255, 128, 256}};
  (void)state;
  for (size_t i = 0; i < COUNT(cases); ++i) {
    size_t size = 0;
    uint64_t wide = 0;
    assert_true(etx_align_up(cases[i][0], cases[i][1], &size));
    assert_int_equal(size, cases[i][2]);
    assert_true(etx_align_up_u64(cases[i][0], cases[i][1], &wide));
    assert_int_equal(wide, cases[i][2]);
  }
}

static void aligning_past_the_largest_number_is_refused(void** state) {
  size_t size = 0;
  uint64_t wide = 0;
  (void)state;
  assert_false(etx_align_up(SIZE_MAX - 14, 16, &size));
  assert_true(etx_align_up(SIZE_MAX - 15, 16, &size));
  assert_false(etx_align_up_u64(UINT64_MAX, 2, &wide));
}

static void powers_of_two_are_recognised(void** state) {
  (void)state;
  assert_false(etx_is_power_of_two(0));
  assert_true(etx_is_power_of_two(1));
  assert_true(etx_is_power_of_two((uint64_t)1 << 63));
  assert_false(etx_is_power_of_two(6));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_and_products_are_exact_or_refused),
      cmocka_unit_test(aligning_rounds_up_to_a_multiple),
      cmocka_unit_test(aligning_past_the_largest_number_is_refused),
      cmocka_unit_test(powers_of_two_are_recognised),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
