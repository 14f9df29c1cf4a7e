#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/tensors/tensor_compare.h"

#include <math.h>
#include <string.h>

#include "cli/tensors/tensor_literal.h"

static etx_pool pool;
static char why[ETX_TENSOR_COMPARE_TEXT_BYTES];

static int open_pool(void** state) {
  (void)state;
  etx_pool_init(&pool);
  return 0;
}

static int close_pool(void** state) {
  (void)state;
  etx_pool_close(&pool);
  return 0;
}

static bool equal(const char* expected, const char* found, etx_dtype dtype,
                  double absolute, double relative) {
  etx_host_tensor a;
  etx_host_tensor b;
  const etx_tolerance tolerance = {absolute, relative};
  assert_int_equal(
      etx_tensor_literal_read(etx_text_of(expected), dtype, &pool, &a, NULL),
      ETX_OK);
  assert_int_equal(
      etx_tensor_literal_read(etx_text_of(found), dtype, &pool, &b, NULL),
      ETX_OK);
  why[0] = '\0';
  return etx_tensor_compare(&a, &b, tolerance, why);
}

static void floats_may_differ_by_the_tolerance(void** state) {
  (void)state;
  assert_true(equal("[1, 2]", "[1.001, 2]", ETX_DTYPE_FLOAT32, 0.01, 0));
  assert_true(equal("[100]", "[100.9]", ETX_DTYPE_FLOAT32, 0, 0.01));
  assert_false(equal("[1]", "[1.001]", ETX_DTYPE_FLOAT32, 0.0001, 0));
}

static void integers_and_booleans_must_be_equal(void** state) {
  (void)state;
  assert_false(equal("[5]", "[6]", ETX_DTYPE_INT64, 10, 10));
  assert_false(equal("[true]", "[false]", ETX_DTYPE_BOOL, 10, 10));
  assert_true(
      equal("[9007199254740993]", "[9007199254740993]", ETX_DTYPE_INT64, 0, 0));
  assert_false(
      equal("[9007199254740993]", "[9007199254740992]", ETX_DTYPE_INT64, 0, 0));
}

static void infinities_and_nan_are_equal_to_themselves(void** state) {
  (void)state;
  assert_true(
      equal("[inf, -inf, nan]", "[inf, -inf, nan]", ETX_DTYPE_FLOAT32, 0, 0));
  assert_false(equal("[inf]", "[-inf]", ETX_DTYPE_FLOAT32, 1, 1));
  assert_false(equal("[inf]", "[1]", ETX_DTYPE_FLOAT32, 1, 1));
  assert_false(equal("[nan]", "[1]", ETX_DTYPE_FLOAT32, 1, 1));
  assert_false(equal("[1]", "[nan]", ETX_DTYPE_FLOAT32, 1, 1));
}

static void types_and_sizes_must_be_equal(void** state) {
  (void)state;
  assert_false(equal("[1, 2]", "[1, 2, 3]", ETX_DTYPE_FLOAT32, 1, 1));
  assert_string_equal(why, "expected float32[2], found float32[3]");
  assert_false(equal("[[1]]", "[1]", ETX_DTYPE_FLOAT32, 1, 1));
}

static void the_worst_element_is_shown(void** state) {
  (void)state;
  assert_false(equal("[[1, 2], [3, 4]]", "[[1, 2.5], [3, 9]]",
                     ETX_DTYPE_FLOAT32, 0.1, 0));
  assert_string_equal(
      why, "2 of 4 elements differ, most at [1, 1]: expected 4, found 9");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(floats_may_differ_by_the_tolerance),
      cmocka_unit_test(integers_and_booleans_must_be_equal),
      cmocka_unit_test(infinities_and_nan_are_equal_to_themselves),
      cmocka_unit_test(types_and_sizes_must_be_equal),
      cmocka_unit_test(the_worst_element_is_shown),
  };
  return cmocka_run_group_tests(tests, open_pool, close_pool);
}
