#include "tests/format/fixtures/format_test.h"

#include "format/tensor/dtype.h"

// Codes of the types in the table below, in its order.
static const int codes[] = {0, 1, 2,  3,  4,  5,  6,  7,
                            8, 9, 10, 11, 15, 27, 28, 29};

// torch.promote_types(row, column) of PyTorch 2.13 as codes; -1 where it
// raises an error.
static const int promoted[COUNT(codes)][COUNT(codes)] = {
    {0, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 15, -1, -1, -1},
    {2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 15, -1, -1, -1},
    {2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 2, 15, -1, -1, -1},
    {3, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 3, 15, -1, -1, -1},
    {4, 4, 4, 4, 4, 5, 6, 7, 8, 9, 10, 4, 15, -1, -1, -1},
    {5, 5, 5, 5, 5, 5, 6, 7, 8, 9, 10, 5, 6, 5, 5, 5},
    {6, 6, 6, 6, 6, 6, 6, 7, 9, 9, 10, 6, 6, 6, 6, 6},
    {7, 7, 7, 7, 7, 7, 7, 7, 10, 10, 10, 7, 7, 7, 7, 7},
    {8, 8, 8, 8, 8, 8, 9, 10, 8, 9, 10, 8, 9, -1, -1, -1},
    {9, 9, 9, 9, 9, 9, 9, 10, 9, 9, 10, 9, 9, -1, -1, -1},
    {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, -1, -1, -1},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, -1, -1, -1},
    {15, 15, 15, 15, 15, 6, 6, 7, 9, 9, 10, 15, 15, 15, 15, 15},
    {-1, -1, -1, -1, -1, 5, 6, 7, -1, -1, -1, -1, 15, 27, -1, -1},
    {-1, -1, -1, -1, -1, 5, 6, 7, -1, -1, -1, -1, 15, -1, 28, -1},
    {-1, -1, -1, -1, -1, 5, 6, 7, -1, -1, -1, -1, 15, -1, -1, 29},
};

static void promotion_of_every_pair_is_pytorchs(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT(codes); ++i) {
    for (size_t j = 0; j < COUNT(codes); ++j) {
      etx_dtype out = ETX_DTYPE_QINT8;
      const bool has_one =
          etx_dtype_promote((etx_dtype)codes[i], (etx_dtype)codes[j], &out);
      if (has_one != (promoted[i][j] >= 0) ||
          (has_one && (int)out != promoted[i][j])) {
        fail_msg("%s with %s gives %d, expected %d",
                 etx_dtype_name((etx_dtype)codes[i]),
                 etx_dtype_name((etx_dtype)codes[j]), has_one ? (int)out : -1,
                 promoted[i][j]);
      }
    }
  }
}

static void opaque_types_promote_only_with_themselves(void** state) {
  etx_dtype out = ETX_DTYPE_BOOL;
  (void)state;
  assert_true(etx_dtype_promote(ETX_DTYPE_QINT8, ETX_DTYPE_QINT8, &out));
  assert_int_equal(out, ETX_DTYPE_QINT8);
  assert_false(etx_dtype_promote(ETX_DTYPE_QINT8, ETX_DTYPE_INT8, &out));
  assert_false(etx_dtype_promote(ETX_DTYPE_FLOAT32, ETX_DTYPE_BITS8, &out));
}

// torch.result_type(tensor, number).
static void python_numbers_promote_by_category_only(void** state) {
  (void)state;
  assert_int_equal(
      etx_dtype_promote_scalar(ETX_DTYPE_UINT8, ETX_CATEGORY_INTEGER),
      ETX_DTYPE_UINT8);
  assert_int_equal(
      etx_dtype_promote_scalar(ETX_DTYPE_INT64, ETX_CATEGORY_FLOATING),
      ETX_DTYPE_FLOAT32);
  assert_int_equal(
      etx_dtype_promote_scalar(ETX_DTYPE_FLOAT16, ETX_CATEGORY_FLOATING),
      ETX_DTYPE_FLOAT16);
  assert_int_equal(
      etx_dtype_promote_scalar(ETX_DTYPE_BOOL, ETX_CATEGORY_INTEGER),
      ETX_DTYPE_INT64);
  assert_int_equal(
      etx_dtype_promote_scalar(ETX_DTYPE_BOOL, ETX_CATEGORY_BOOLEAN),
      ETX_DTYPE_BOOL);
}

static void every_name_finds_its_type(void** state) {
  (void)state;
  for (int code = 0; code < ETX_DTYPE_COUNT; ++code) {
    etx_dtype found = ETX_DTYPE_COUNT;
    const char* name = etx_dtype_name((etx_dtype)code);
    assert_true(etx_dtype_find(etx_text_of(name), &found));
    assert_int_equal(found, code);
    assert_true(etx_dtype_bytes((etx_dtype)code) > 0);
  }
}

static void unknown_names_and_codes_are_refused(void** state) {
  etx_dtype found = ETX_DTYPE_BOOL;
  (void)state;
  assert_false(etx_dtype_find(etx_text_of("float"), &found));
  assert_false(etx_dtype_is_valid(-1));
  assert_false(etx_dtype_is_valid(ETX_DTYPE_COUNT));
  assert_true(etx_dtype_is_valid(ETX_DTYPE_COUNT - 1));
}

static void sizes_are_those_of_the_elements(void** state) {
  (void)state;
  assert_int_equal(etx_dtype_bytes(ETX_DTYPE_BOOL), 1);
  assert_int_equal(etx_dtype_bytes(ETX_DTYPE_FLOAT16), 2);
  assert_int_equal(etx_dtype_bytes(ETX_DTYPE_FLOAT32), 4);
  assert_int_equal(etx_dtype_bytes(ETX_DTYPE_INT64), 8);
  assert_int_equal(etx_dtype_bytes(ETX_DTYPE_COMPLEX128), 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(promotion_of_every_pair_is_pytorchs),
      cmocka_unit_test(opaque_types_promote_only_with_themselves),
      cmocka_unit_test(python_numbers_promote_by_category_only),
      cmocka_unit_test(every_name_finds_its_type),
      cmocka_unit_test(unknown_names_and_codes_are_refused),
      cmocka_unit_test(sizes_are_those_of_the_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
