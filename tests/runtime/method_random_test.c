// Random operators: the stream of random numbers of a method.

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/test_program.h"

// The stream continues from run to run. etx_method_seed starts it again, and so
// does etx_method_reset.
static void each_method_has_its_own_random_stream(void** unused) {
  (void)unused;
  etx_diag diag;
  etx_program program;
  test_loaded loaded;
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 32, 0);
  const int four = test_int(p, 4);
  const int sizes = test_ints(p, (int[]){four}, 1);
  const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  test_call(p, "aten::rand", "out", ARGS(sizes, out, out));
  test_output(p, out, "out");
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  float drawn[3][4];
  const etx_value* value;
  for (size_t i = 0; i < 3; ++i) {
    if (i == 2) etx_method_seed(&loaded.method, 0);
    assert_ok(etx_method_run(&loaded.method, &diag));
    assert_ok(etx_method_output(&loaded.method, 0, &value));
    memcpy(drawn[i], value->as.tensor.data, sizeof drawn[i]);
  }
  assert_memory_not_equal(drawn[0], drawn[1], sizeof drawn[0]);
  assert_memory_equal(drawn[0], drawn[2], sizeof drawn[0]);
  etx_method_seed(&loaded.method, 1);
  assert_ok(etx_method_run(&loaded.method, &diag));
  assert_ok(etx_method_output(&loaded.method, 0, &value));
  assert_memory_not_equal(drawn[0], value->as.tensor.data, sizeof drawn[0]);
  assert_ok(etx_method_reset(&loaded.method, &diag));
  assert_ok(etx_method_run(&loaded.method, &diag));
  assert_ok(etx_method_output(&loaded.method, 0, &value));
  assert_memory_equal(drawn[0], value->as.tensor.data, sizeof drawn[0]);
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_method_has_its_own_random_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
