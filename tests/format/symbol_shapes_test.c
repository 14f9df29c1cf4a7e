// Shape rules of operators for sizes that contain a symbol.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/format/fixtures/shape_query.h"
#include "tests/support/assert_message.h"

static const etx_dtype F32 = ETX_DTYPE_FLOAT32;

static shape_query a;

static void assert_refused(const char* part) {
  assert_int_not_equal(asker_infer(&a), ETX_OK);
  if (!test_message_has(&a.diag, part)) fail_msg("%s", a.diag.text);
}

static void equal_symbols_broadcast(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::add.out");
  asker_tensor(&a, F32, DIMS(asker_affine(&a, 1, 0), 4));
  asker_tensor(&a, F32, DIMS(asker_affine(&a, 1, 0), 1));
  asker_integer(&a, 1);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(asker_affine(&a, 1, 0), 4)));
}

static void a_symbol_does_not_equal_a_number(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::add.out");
  asker_tensor(&a, F32, DIMS(asker_affine(&a, 1, 0)));
  asker_tensor(&a, F32, DIMS(5));
  asker_integer(&a, 1);
  assert_refused("do not broadcast");
}

static void slices_up_to_a_symbol_have_its_size(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::slice_copy.Tensor_out");
  asker_tensor(&a, F32, DIMS(10));
  asker_integer(&a, 0);
  asker_integer(&a, 0);
  asker_integer(&a, asker_affine(&a, 1, 0));
  asker_integer(&a, 1);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(asker_affine(&a, 1, 0))));
}

static void slices_of_symbols_count_from_the_end(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::slice_copy.Tensor_out");
  asker_tensor(&a, F32, DIMS(asker_affine(&a, 1, 0)));
  asker_integer(&a, 0);
  asker_integer(&a, -1);
  asker_integer(&a, INT64_MAX);
  asker_integer(&a, 1);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(1)));
}

static void views_divide_symbols(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::view_copy.out");
  asker_tensor(&a, F32, DIMS(asker_affine(&a, 1, 0), 12));
  asker_integers(&a, DIMS(1, -1, 4, 3));
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(1, asker_affine(&a, 1, 0), 4, 3)));
}

static void strided_convolution_halves_an_even_symbol(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::convolution.out");
  asker_tensor(&a, F32, DIMS(1, 2, asker_affine(&a, 2, 0)));
  asker_tensor(&a, F32, DIMS(3, 2, 3));
  asker_none(&a);
  asker_integers(&a, DIMS(2));
  asker_integers(&a, DIMS(1));
  asker_integers(&a, DIMS(1));
  asker_boolean(&a, false);
  asker_integers(&a, DIMS(0));
  asker_integer(&a, 1);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(1, 3, asker_affine(&a, 1, 0))));
}

static void convolutions_of_bytes_take_images_of_any_size(void** unused) {
  (void)unused;
  const etx_dim images = asker_affine(&a, 1, 0);
  asker_begin(&a, "etx::convolution_u8.out");
  asker_tensor(&a, ETX_DTYPE_UINT8, DIMS(images, asker_affine(&a, 2, 0), 9, 8));
  asker_integer(&a, 128);
  asker_tensor(&a, ETX_DTYPE_INT8, DIMS(4, 9, 16, 4));
  asker_tensor(&a, ETX_DTYPE_INT32, DIMS(38));
  asker_tensor(&a, F32, DIMS(38));
  asker_none(&a);
  asker_integers(&a, DIMS(3));
  asker_integers(&a, DIMS(2));
  asker_integers(&a, DIMS(1));
  asker_integers(&a, DIMS(1));
  asker_integer(&a, 2);
  asker_integer(&a, 0);
  asker_integer(&a, 0);
  asker_integer(&a, 255);
  asker_integer(&a, ETX_DTYPE_FLOAT32);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(
      asker_gave(&a, 0, F32, DIMS(images, asker_affine(&a, 1, 0), 5, 38)));
}

static void ranges_end_at_symbols(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::arange.start_out");
  asker_integer(&a, 1);
  asker_integer(&a, asker_affine(&a, 2, 1));
  asker_integer(&a, 2);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(
      asker_gave(&a, 0, ETX_DTYPE_FROM_OUT, DIMS(asker_affine(&a, 1, 0))));
}

static void a_join_adds_symbols(void** unused) {
  (void)unused;
  asker_begin(&a, "aten::cat.out");
  asker_tensor(&a, F32, DIMS(asker_affine(&a, 1, 0), 3));
  asker_tensor(&a, F32, DIMS(2, 3));
  asker_gather_list(&a, 2);
  asker_integer(&a, -2);
  assert_int_equal(asker_infer(&a), ETX_OK);
  assert_true(asker_gave(&a, 0, F32, DIMS(asker_affine(&a, 1, 2), 3)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_symbols_broadcast),
      cmocka_unit_test(a_symbol_does_not_equal_a_number),
      cmocka_unit_test(slices_up_to_a_symbol_have_its_size),
      cmocka_unit_test(slices_of_symbols_count_from_the_end),
      cmocka_unit_test(views_divide_symbols),
      cmocka_unit_test(strided_convolution_halves_an_even_symbol),
      cmocka_unit_test(convolutions_of_bytes_take_images_of_any_size),
      cmocka_unit_test(ranges_end_at_symbols),
      cmocka_unit_test(a_join_adds_symbols),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
