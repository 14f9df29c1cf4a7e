// Quantising kernels, where vectors of right calls show nothing.

#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"

// A file may state any number as a type.
static void a_type_that_does_not_exist_is_refused(void** state) {
  (void)state;
  static const char* const names[] = {
      "quantized_decomposed::quantize_per_tensor.out",
      "quantized_decomposed::dequantize_per_tensor.out"};
  static const int64_t types[] = {-1, 8, 30, INT64_MAX, INT64_MIN, 6};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
      const bool takes_floats = i == 0;
      static const float zeros[4] = {0};
      test_call c;
      test_call_begin(&c, names[i]);
      test_call_tensor(&c, takes_floats ? ETX_DTYPE_FLOAT32 : ETX_DTYPE_INT8, 1,
                       (const int32_t[]){4}, NULL, zeros);
      test_call_real(&c, 0.5);
      test_call_integer(&c, 0);
      test_call_integer(&c, -128);
      test_call_integer(&c, 127);
      test_call_integer(&c, types[t]);
      if (!takes_floats) test_call_none(&c);
      const etx_status status =
          test_call_run(&c, takes_floats ? ETX_DTYPE_INT8 : ETX_DTYPE_FLOAT32);
      assert_int_not_equal(status, ETX_OK);
      test_call_end(&c);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_type_that_does_not_exist_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
