#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/tensor/layout.h"

static void orders_name_each_dimension_once(void** unused) {
  (void)unused;
  const uint8_t good[] = {2, 0, 1}, twice[] = {0, 0, 1}, far[] = {0, 1, 3};
  assert_true(etx_layout_is_order(good, 3));
  assert_true(etx_layout_is_order(good, 0));
  assert_false(etx_layout_is_order(twice, 3));
  assert_false(etx_layout_is_order(far, 3));
}

static void numel_refuses_what_does_not_fit(void** unused) {
  (void)unused;
  size_t numel;
  assert_true(etx_layout_numel((const int32_t[]){2, 3}, 2, &numel));
  assert_int_equal(numel, 6);
  assert_true(etx_layout_numel(NULL, 0, &numel));
  assert_int_equal(numel, 1);
  const int32_t large[] = {INT32_MAX, INT32_MAX, INT32_MAX};
  assert_false(etx_layout_numel(large, 3, &numel));
  const int32_t empty[] = {INT32_MAX, INT32_MAX, INT32_MAX, 0};
  assert_true(etx_layout_numel(empty, 4, &numel));
  assert_int_equal(numel, 0);
  assert_false(etx_layout_numel((const int32_t[]){-1, 0}, 2, &numel));
}

static void strides_follow_the_order(void** unused) {
  (void)unused;
  const int32_t sizes[] = {2, 3, 4};
  const uint8_t last[] = {0, 2, 1};
  int32_t strides[3];
  assert_true(etx_layout_strides(sizes, NULL, 3, strides));
  assert_memory_equal(strides, ((const int32_t[]){12, 4, 1}), sizeof strides);
  assert_true(etx_layout_strides(sizes, last, 3, strides));
  assert_memory_equal(strides, ((const int32_t[]){12, 1, 3}), sizeof strides);
}

static void a_size_of_zero_counts_as_one_in_strides(void** unused) {
  (void)unused;
  int32_t strides[3];
  const int32_t sizes[] = {2, 0, 4};
  assert_true(etx_layout_strides(sizes, NULL, 3, strides));
  assert_memory_equal(strides, ((const int32_t[]){4, 4, 1}), sizeof strides);
}

static void strides_beyond_int32_are_refused(void** unused) {
  (void)unused;
  int32_t strides[3];
  const int32_t sizes[] = {2, 2, INT32_MAX};
  assert_false(etx_layout_strides(sizes, NULL, 3, strides));
}

static void contiguity_ignores_sizes_of_one(void** unused) {
  (void)unused;
  const int32_t sizes[] = {2, 1, 4}, odd[] = {4, 99, 1}, gaps[] = {5, 4, 1};
  assert_true(etx_layout_is_contiguous(sizes, odd, 3));
  assert_false(etx_layout_is_contiguous(sizes, gaps, 3));
  const int32_t empty[] = {2, 0, 4};
  assert_true(etx_layout_is_contiguous(empty, gaps, 3));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(orders_name_each_dimension_once),
      cmocka_unit_test(numel_refuses_what_does_not_fit),
      cmocka_unit_test(strides_follow_the_order),
      cmocka_unit_test(a_size_of_zero_counts_as_one_in_strides),
      cmocka_unit_test(strides_beyond_int32_are_refused),
      cmocka_unit_test(contiguity_ignores_sizes_of_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
