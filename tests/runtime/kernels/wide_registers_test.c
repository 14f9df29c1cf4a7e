// After a run, the upper halves of the AVX registers are not in use: the code
// of the application that follows would be slow (runtime/wide_registers.h).
// Asks the processor (XGETBV with ECX = 1, Intel's manual, volume 1, 13.6).

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/test_program.h"

#include <cpuid.h>

enum { TELLS_WHAT_IS_IN_USE = 1 << 2, UPPER_HALVES = 1 << 2 };

// False as well where the processor does not tell.
static bool upper_halves_are_in_use(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0) return false;
  if (!__get_cpuid_count(13, 1, &a, &b, &c, &d) ||
      (a & TELLS_WHAT_IS_IN_USE) == 0) {
    return false;
  }
  __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
  return (a & UPPER_HALVES) != 0;
}

static void use_upper_halves(void) {
  static const float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  if (!__builtin_cpu_supports("avx")) return;
  __asm__ volatile("vmovups (%0), %%ymm15" : : "r"(numbers) : "xmm15");
}

static void stop_using_upper_halves(void) {
  if (__builtin_cpu_supports("avx")) __asm__ volatile("vzeroupper");
}

enum { ROWS = 64 };

// sigmoid(x) @ x: an elementwise loop and a product.
static void a_run_leaves_them_unused(void** unused) {
  (void)unused;
  static float x[ROWS * ROWS];
  const etx_tensor tensor = {x, (int32_t[]){ROWS, ROWS}, NULL, 2,
                             ETX_DTYPE_FLOAT32};
  etx_diag diag;
  etx_program program;
  test_loaded loaded;
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 2 * sizeof x, 0);
  const int input = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(ROWS, ROWS));
  const int gate = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROWS, ROWS), 0);
  const int out =
      test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROWS, ROWS), sizeof x);
  test_input(p, input, "x");
  test_call(p, "aten::sigmoid", "out", ARGS(input, gate, gate));
  test_call(p, "aten::mm", "out", ARGS(gate, input, out, out));
  test_output(p, out, "out");
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  stop_using_upper_halves();
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  assert_false(upper_halves_are_in_use());
  assert_ok(etx_method_set_input(&loaded.method, 0, &tensor, &diag));
  for (size_t i = 0; i < 3; ++i) {
    assert_ok(etx_method_run(&loaded.method, &diag));
    assert_false(upper_halves_are_in_use());
  }
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

// Otherwise the test above could not fail.
static void the_processor_tells(void** unused) {
  (void)unused;
  stop_using_upper_halves();
  assert_false(upper_halves_are_in_use());
  use_upper_halves();
  if (!upper_halves_are_in_use()) skip();
  stop_using_upper_halves();
  assert_false(upper_halves_are_in_use());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_processor_tells),
      cmocka_unit_test(a_run_leaves_them_unused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
