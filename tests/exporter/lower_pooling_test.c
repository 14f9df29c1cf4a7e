// Pooling after lowering.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static lowered l;

// Lowers `yaml`, runs `passes` and compares the lines.
static void expect(etx_target target, const char* passes, const char* yaml,
                   const char* wanted) {
  lowered_open(&l, target, yaml);
  lowered_run(&l, passes);
  assert_lines(&l, wanted);
  lowered_close(&l);
}

static void a_maximum_of_strided_slices(void** state) {
  (void)state;
  expect(ETX_TARGET_ETX, "lower simplify",
         "dims: {s: {min: 1, max: 8}}\n"
         "inputs: [{name: x, type: 'float32[1, 4, s + 4]'}]\n"
         "nodes:\n"
         "  - {out: y, op: aten.max_pool1d.default, args: [x, [2], [2]]}\n"
         "outputs: [y]\n",
         "y.1: float32[1, 4, s//2 + 2] = aten::slice_copy.Tensor_out(x, 2, 0, "
         "2*(s//2) + 3, 2)\n"
         "y.2: float32[1, 4, s//2 + 2] = aten::slice_copy.Tensor_out(x, 2, 1, "
         "2*(s//2) + 4, 2)\n"
         "y: float32[1, 4, s//2 + 2] = aten::maximum.out(y.1, y.2)\n"
         "return y\n");
}

static void a_mean_divides_by_the_window(void** state) {
  (void)state;
  expect(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[1, 4, 4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.avg_pool2d.default, args: [x, [2, 2]]}\n"
      "outputs: [y]\n",
      "y.1: float32[1, 2, 4] = aten::slice_copy.Tensor_out(x, 1, 0, 3, 2)\n"
      "y.2: float32[1, 2, 2] = aten::slice_copy.Tensor_out(y.1, 2, 0, 3, 2)\n"
      "y.4: float32[1, 2, 2] = aten::slice_copy.Tensor_out(y.1, 2, 1, 4, 2)\n"
      "y.5: float32[1, 2, 2] = aten::add.out(y.2, y.4, 1)\n"
      "y.6: float32[1, 2, 4] = aten::slice_copy.Tensor_out(x, 1, 1, 4, 2)\n"
      "y.7: float32[1, 2, 2] = aten::slice_copy.Tensor_out(y.6, 2, 0, 3, 2)\n"
      "y.8: float32[1, 2, 2] = aten::add.out(y.5, y.7, 1)\n"
      "y.10: float32[1, 2, 2] = aten::slice_copy.Tensor_out(y.6, 2, 1, 4, 2)\n"
      "y.11: float32[1, 2, 2] = aten::add.out(y.8, y.10, 1)\n"
      "y: float32[1, 2, 2] = aten::div.out(y.11, 4.0:float32)\n"
      "return y\n");
}

static void padding_that_does_not_count_differs_at_the_edges(void** state) {
  (void)state;
  expect(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[1, 4, 4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.avg_pool1d.default, args: [x, [3], [2], [1], "
      "false, false]}\n"
      "outputs: [y]\n",
      "y.1: float32[1, 4, 6] = aten::constant_pad_nd.out(x, [1, 1], 0)\n"
      "y.2: float32[1, 4, 2] = aten::slice_copy.Tensor_out(y.1, 2, 0, 3, 2)\n"
      "y.3: float32[1, 4, 2] = aten::slice_copy.Tensor_out(y.1, 2, 1, 4, 2)\n"
      "y.4: float32[1, 4, 2] = aten::add.out(y.2, y.3, 1)\n"
      "y.5: float32[1, 4, 2] = aten::slice_copy.Tensor_out(y.1, 2, 2, 5, 2)\n"
      "y.6: float32[1, 4, 2] = aten::add.out(y.4, y.5, 1)\n"
      "y.7: float32[2] = dim_order_ops::_to_dim_order_copy.out(const int64[2], "
      "False, [0])\n"
      "y: float32[1, 4, 2] = aten::div.out(y.6, y.7)\n"
      "return y\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_maximum_of_strided_slices),
      cmocka_unit_test(a_mean_divides_by_the_window),
      cmocka_unit_test(padding_that_does_not_count_differs_at_the_edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
