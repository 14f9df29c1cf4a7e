#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/tensors/tensor_literal.h"

#include <math.h>
#include <string.h>

static etx_pool pool;

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

static etx_host_tensor literal(const char* text, etx_dtype dtype) {
  etx_host_tensor tensor = {.rank = 0};
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_tensor_literal_read(etx_text_of(text), dtype, &pool, &tensor,
                              &diag) != ETX_OK) {
    fail_msg("'%s': %s", text, diag.text);
  }
  return tensor;
}

static void refuses(const char* text, etx_dtype dtype, const char* part) {
  etx_host_tensor tensor = {.rank = 0};
  etx_diag diag;
  etx_diag_init(&diag);
  assert_int_equal(
      etx_tensor_literal_read(etx_text_of(text), dtype, &pool, &tensor, &diag),
      ETX_BAD_ARGUMENT);
  if (strstr(diag.text, part) == NULL) fail_msg("'%s': %s", text, diag.text);
}

static void a_bare_number_has_rank_zero(void** state) {
  (void)state;
  const etx_host_tensor tensor = literal("-3.5", ETX_DTYPE_FLOAT32);
  assert_int_equal(tensor.rank, 0);
  assert_true(*(const float*)tensor.data == -3.5f);
}

static void nesting_gives_the_sizes(void** state) {
  (void)state;
  const etx_host_tensor tensor =
      literal("[[1, 2, 3], [4,5 , 6]]", ETX_DTYPE_INT64);
  const int64_t* const data = tensor.data;
  assert_int_equal(tensor.rank, 2);
  assert_int_equal(tensor.sizes[0], 2);
  assert_int_equal(tensor.sizes[1], 3);
  for (int i = 0; i < 6; ++i) assert_int_equal(data[i], i + 1);
}

static void empty_lists_have_a_size_of_zero(void** state) {
  (void)state;
  const etx_host_tensor one = literal("[]", ETX_DTYPE_FLOAT32);
  assert_int_equal(one.rank, 1);
  assert_int_equal(one.sizes[0], 0);
  const etx_host_tensor two = literal("[[], []]", ETX_DTYPE_FLOAT32);
  assert_int_equal(two.rank, 2);
  assert_int_equal(two.sizes[0], 2);
  assert_int_equal(two.sizes[1], 0);
}

static void booleans_and_infinities_are_words(void** state) {
  (void)state;
  const etx_host_tensor flags = literal("[true, False, 1]", ETX_DTYPE_BOOL);
  assert_memory_equal(flags.data, "\1\0\1", 3);
  const etx_host_tensor reals = literal("[inf, -inf, nan]", ETX_DTYPE_FLOAT32);
  assert_true(((const float*)reals.data)[1] == -INFINITY);
  assert_true(isnan(((const float*)reals.data)[2]));
}

static void elements_of_every_width_keep_their_value(void** state) {
  (void)state;
  assert_int_equal(*(const int8_t*)literal("-128", ETX_DTYPE_INT8).data, -128);
  assert_int_equal(*(const uint8_t*)literal("255", ETX_DTYPE_UINT8).data, 255);
  assert_true(
      *(const int64_t*)literal("-9223372036854775808", ETX_DTYPE_INT64).data ==
      INT64_MIN);
  assert_int_equal(*(const uint16_t*)literal("1", ETX_DTYPE_FLOAT16).data,
                   0x3c00);
  assert_int_equal(*(const uint16_t*)literal("6.1e-5", ETX_DTYPE_FLOAT16).data,
                   0x03ff);
  assert_int_equal(*(const uint16_t*)literal("65519", ETX_DTYPE_FLOAT16).data,
                   0x7bff);
  assert_int_equal(*(const uint16_t*)literal("-1e9", ETX_DTYPE_FLOAT16).data,
                   0xfc00);
  assert_int_equal(*(const uint16_t*)literal("1", ETX_DTYPE_BFLOAT16).data,
                   0x3f80);
}

static void uneven_lists_are_refused(void** state) {
  (void)state;
  refuses("[[1, 2], [3]]", ETX_DTYPE_INT64, "differ in length");
  refuses("[[1], 2]", ETX_DTYPE_INT64, "among lists");
  refuses("[1, [2]]", ETX_DTYPE_INT64, "nested too deeply");
  refuses("[[], [1]]", ETX_DTYPE_INT64, "differ in length");
}

static void broken_brackets_are_refused(void** state) {
  (void)state;
  refuses("[1, 2", ETX_DTYPE_INT64, "']' is missing");
  refuses("1]", ETX_DTYPE_INT64, "closes nothing");
  refuses("[1,, 2]", ETX_DTYPE_INT64, "comma");
  refuses("[1, ]", ETX_DTYPE_INT64, "item is missing");
  refuses("[,1]", ETX_DTYPE_INT64, "comma");
  refuses("[1 2]", ETX_DTYPE_INT64, "comma is missing");
  refuses("", ETX_DTYPE_INT64, "value is missing");
  refuses("[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", ETX_DTYPE_INT64, "deeply");
}

static void elements_that_the_type_lacks_are_refused(void** state) {
  (void)state;
  refuses("3.5", ETX_DTYPE_INT64, "not an element of int64");
  refuses("300", ETX_DTYPE_UINT8, "not an element of uint8");
  refuses("[1, x]", ETX_DTYPE_FLOAT32, "column 5");
  refuses("2", ETX_DTYPE_BOOL, "not an element of bool");
  refuses("9223372036854775808", ETX_DTYPE_INT64, "not an element");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_bare_number_has_rank_zero),
      cmocka_unit_test(nesting_gives_the_sizes),
      cmocka_unit_test(empty_lists_have_a_size_of_zero),
      cmocka_unit_test(booleans_and_infinities_are_words),
      cmocka_unit_test(elements_of_every_width_keep_their_value),
      cmocka_unit_test(uneven_lists_are_refused),
      cmocka_unit_test(broken_brackets_are_refused),
      cmocka_unit_test(elements_that_the_type_lacks_are_refused),
  };
  return cmocka_run_group_tests(tests, open_pool, close_pool);
}
