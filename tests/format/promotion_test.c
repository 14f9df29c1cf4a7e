#include "tests/format/fixtures/format_test.h"

#include "format/tensor/promotion.h"

// The letters that stand for types in the tables below, and the types.
static const char letters[] = "buasilhgfdkcz";
static const etx_dtype types[] = {
    ETX_DTYPE_BOOL,      ETX_DTYPE_UINT8,     ETX_DTYPE_INT8,
    ETX_DTYPE_INT16,     ETX_DTYPE_INT32,     ETX_DTYPE_INT64,
    ETX_DTYPE_FLOAT16,   ETX_DTYPE_BFLOAT16,  ETX_DTYPE_FLOAT32,
    ETX_DTYPE_FLOAT64,   ETX_DTYPE_COMPLEX32, ETX_DTYPE_COMPLEX64,
    ETX_DTYPE_COMPLEX128};

static etx_dtype type_of(char letter) {
  return types[strchr(letters, letter) - letters];
}

// torch.result_type(torch.zeros(2, dtype=row), torch.zeros((), dtype=column))
// of PyTorch 2.13.
static const char rows[] = "buasilhgfdcz";
static const char* const with_none[] = {
    "buasilhgfdcz", "uuuuuuhgfdcz", "aaaaaahgfdcz", "sssssshgfdcz",
    "iiiiiihgfdcz", "llllllhgfdcz", "hhhhhhhhhhkk", "ggggggggggcc",
    "ffffffffffcc", "ddddddddddzz", "cccccccccccc", "zzzzzzzzzzzz"};

static void tensors_without_dimensions_promote_by_category(void** state) {
  (void)state;
  for (size_t i = 0; i < strlen(rows); ++i) {
    for (size_t j = 0; j < strlen(rows); ++j) {
      etx_promotion promotion = etx_promotion_start();
      etx_dtype out = ETX_DTYPE_COUNT;
      assert_true(etx_promotion_add(&promotion, type_of(rows[j]), 0));
      assert_true(etx_promotion_add(&promotion, type_of(rows[i]), 1));
      assert_true(etx_promotion_result(&promotion, &out));
      assert_int_equal(out, type_of(with_none[i][j]));
    }
  }
}

static void tensors_of_one_priority_promote(void** state) {
  (void)state;
  for (size_t rank = 0; rank < 2; ++rank) {
    etx_promotion promotion = etx_promotion_start();
    etx_dtype out = ETX_DTYPE_COUNT;
    assert_true(etx_promotion_add(&promotion, ETX_DTYPE_UINT8, rank));
    assert_true(etx_promotion_add(&promotion, ETX_DTYPE_INT8, rank));
    assert_true(etx_promotion_result(&promotion, &out));
    assert_int_equal(out, ETX_DTYPE_INT16);
  }
}

static void numbers_have_the_lowest_priority(void** state) {
  etx_promotion promotion = etx_promotion_start();
  etx_dtype out = ETX_DTYPE_COUNT;
  (void)state;
  etx_promotion_add_number(&promotion, ETX_CATEGORY_FLOATING);
  assert_true(etx_promotion_result(&promotion, &out));
  assert_int_equal(out, ETX_DTYPE_FLOAT32);
  assert_true(etx_promotion_add(&promotion, ETX_DTYPE_FLOAT16, 0));
  assert_true(etx_promotion_result(&promotion, &out));
  assert_int_equal(out, ETX_DTYPE_FLOAT16);
  assert_true(etx_promotion_add(&promotion, ETX_DTYPE_INT32, 2));
  assert_true(etx_promotion_result(&promotion, &out));
  assert_int_equal(out, ETX_DTYPE_FLOAT16);
}

static void some_types_have_no_common_type(void** state) {
  etx_promotion promotion = etx_promotion_start();
  etx_dtype out = ETX_DTYPE_COUNT;
  (void)state;
  assert_false(etx_promotion_result(&promotion, &out));
  assert_true(etx_promotion_add(&promotion, ETX_DTYPE_UINT16, 1));
  assert_false(etx_promotion_add(&promotion, ETX_DTYPE_INT32, 1));
  promotion = etx_promotion_start();
  assert_true(etx_promotion_add(&promotion, ETX_DTYPE_QINT8, 1));
  assert_true(etx_promotion_add(&promotion, ETX_DTYPE_FLOAT32, 0));
  assert_false(etx_promotion_result(&promotion, &out));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_without_dimensions_promote_by_category),
      cmocka_unit_test(tensors_of_one_priority_promote),
      cmocka_unit_test(numbers_have_the_lowest_priority),
      cmocka_unit_test(some_types_have_no_common_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
