// upsample_bilinear2d with an unchanged width has a fast path for contiguous
// rows. It gives the same bits as the general path, which the same image in
// channels-last memory takes.

#include <math.h>
#include <string.h>

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/test_random.h"

static etx_diag diag;

enum { ROUNDS = TEST_ROUNDS(60), MAX_ELEMENTS = 3 * 40 * 90 };

static void add_arguments(test_call* call, const int32_t* sizes,
                          const int32_t* strides, const float* x,
                          const int64_t* to, bool aligns_corners) {
  test_call_begin(call, "aten::upsample_bilinear2d.vec_out");
  test_call_tensor(call, ETX_DTYPE_FLOAT32, 4, sizes, strides, x);
  test_call_integers(call, 2, to);
  test_call_boolean(call, aligns_corners);
  test_call_none(call);
}

static void unresampled_columns_match_the_general_path(void** state) {
  static const float rare[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e-40f};
  static float x[MAX_ELEMENTS], y[MAX_ELEMENTS];
  (void)state;
  test_random_start();
  for (size_t round = 0; round < ROUNDS; ++round) {
    const int32_t sizes[] = {1, 3, (int32_t)test_random_integer(1, 40),
                             (int32_t)test_random_integer(1, 90)};
    const int64_t rows = test_random_integer(1, 50);
    const int64_t to[] = {round % 2 == 0 ? sizes[2] : rows, sizes[3]};
    const int32_t strides[] = {3 * sizes[2] * sizes[3], 1, 3 * sizes[3], 3};
    const bool aligns_corners = test_random_bits() % 2 == 0;
    const size_t plane = (size_t)(sizes[2] * sizes[3]);
    test_random_floats(x, MAX_ELEMENTS, 3);
    for (size_t i = 0; i < 20; ++i)
      x[test_random_bits() % MAX_ELEMENTS] = rare[i % 5];
    for (size_t i = 0; i < 3 * plane; ++i) {
      y[i % plane * 3 + i / plane] = x[i];
    }
    test_call contiguous, channels_last;
    add_arguments(&contiguous, sizes, NULL, x, to, aligns_corners);
    add_arguments(&channels_last, sizes, strides, y, to, aligns_corners);
    assert_ok(test_call_run(&contiguous, TEST_CALL_RULE_DTYPE));
    assert_ok(test_call_run(&channels_last, TEST_CALL_RULE_DTYPE));
    const etx_tensor* out = test_call_result(&contiguous, 0);
    const float* found = out->data;
    const float* expected = test_call_result(&channels_last, 0)->data;
    for (size_t i = 0; i < etx_tensor_numel(out); ++i) {
      if (isnan(expected[i])) {
        assert_true(isnan(found[i]));
      } else {
        assert_memory_equal(&found[i], &expected[i], sizeof *found);
      }
    }
    test_call_end(&contiguous);
    test_call_end(&channels_last);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unresampled_columns_match_the_general_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
