// Normalisation, reductions, convolution and new tensors after lowering.

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

static void layer_norm_has_three_results(void** state) {
  (void)state;
  expect(ETX_TARGET_ETX, "lower",
         "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
         "nodes:\n"
         "  - {out: y, op: aten.layer_norm.default, args: [x, [4]]}\n"
         "outputs: [y]\n",
         "y: float32[2, 4], y.2: float32[2, 1], y.3: float32[2, 1] = "
         "aten::native_layer_norm.out(x, [4], None, None, 1e-05)\n"
         "return y\n");
}

static void softmax_loses_its_type(void** state) {
  (void)state;
  expect(ETX_TARGET_ETX, "lower",
         "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
         "nodes:\n"
         "  - {out: y, op: aten.softmax.int, args: [x, -1]}\n"
         "  - {out: z, op: aten._softmax.default, args: [y, 0, false]}\n"
         "outputs: [z]\n",
         "y: float32[2, 4] = aten::_softmax.out(x, -1, False)\n"
         "z: float32[2, 4] = aten::_softmax.out(y, 0, False)\n"
         "return z\n");
}

static void batch_norm_is_a_scale_and_a_shift(void** state) {
  (void)state;
  expect(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[1, 3, 2]'}]\n"
      "buffers: [{name: w, type: 'float32[3]', init: 1}, {name: b, type: "
      "'float32[3]', init: 1}, {name: m, type: 'float32[3]', init: 1}, {name: "
      "v, type: 'float32[3]', init: 1}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.batch_norm.default, args: [x, w, b, m, v, false, "
      "0.1, 1.0e-5, false]}\n"
      "outputs: [y]\n",
      "y.1: float32[3] = aten::add.out(v, 9.999999747378752e-06:float32, 1)\n"
      "y.2: float32[3] = aten::rsqrt.out(y.1)\n"
      "y.3: float32[3] = aten::mul.out(y.2, w)\n"
      "y.4: float32[3] = aten::mul.out(m, y.3)\n"
      "y.5: float32[3] = aten::sub.out(b, y.4, 1)\n"
      "y.6: float32[3, 1] = aten::view_copy.out(y.3, [3, 1])\n"
      "y.7: float32[3, 1] = aten::view_copy.out(y.5, [3, 1])\n"
      "y.8: float32[1, 3, 2] = aten::mul.out(x, y.6)\n"
      "y: float32[1, 3, 2] = aten::add.out(y.8, y.7, 1)\n"
      "return y\n");
}

static void a_convolution_without_batch_gets_one(void** state) {
  (void)state;
  expect(ETX_TARGET_ETX, "lower",
         "inputs: [{name: x, type: 'float32[4, 8]'}]\n"
         "buffers: [{name: w, type: 'float32[3, 4, 3]', init: 1}]\n"
         "nodes:\n"
         "  - {out: y, op: aten.conv1d.default, args: [x, w, null, [2], [1]]}\n"
         "outputs: [y]\n",
         "y.1: float32[1, 4, 8] = aten::view_copy.out(x, [1, 4, 8])\n"
         "y.2: float32[1, 3, 4] = aten::convolution.out(y.1, w, None, [2], "
         "[1], [1], False, [0], 1)\n"
         "y: float32[3, 4] = aten::view_copy.out(y.2, [3, 4])\n"
         "return y\n");
}

static void variance_is_a_mean_of_squares(void** state) {
  (void)state;
  expect(ETX_TARGET_ETX, "lower",
         "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
         "nodes:\n"
         "  - {out: y, op: aten.var.correction, args: [x, [1]], kwargs: "
         "{correction: 0}}\n"
         "outputs: [y]\n",
         "y.1: float32[2, 1] = aten::mean.out(x, [1], True, None)\n"
         "y.2: float32[2, 4] = aten::sub.out(x, y.1, 1)\n"
         "y.3: float32[2, 4] = aten::mul.out(y.2, y.2)\n"
         "y.4: float32[2] = aten::sum.IntList_out(y.3, [1], False, None)\n"
         "y: float32[2] = aten::div.out(y.4, 4.0:float32)\n"
         "return y\n");
}

static void sums_of_all_have_an_empty_list(void** state) {
  (void)state;
  expect(ETX_TARGET_ETX, "lower",
         "inputs: [{name: x, type: 'float32[2, 4]'}, {name: b, type: 'bool[2, "
         "4]'}]\n"
         "nodes:\n"
         "  - {out: y, op: aten.sum.default, args: [x]}\n"
         "  - {out: z, op: aten.sum.dim_IntList, args: [b, [0]]}\n"
         "  - {out: w, op: aten.mean.default, args: [x]}\n"
         "outputs: [y, z, w]\n",
         "y: float32[] = aten::sum.IntList_out(x, [], False, None)\n"
         "z: int64[4] = aten::sum.IntList_out(b, [0], False, None)\n"
         "w: float32[] = aten::mean.out(x, [], False, None)\n"
         "return y\n"
         "return z\n"
         "return w\n");
}

static void ranges_and_triangles(void** state) {
  (void)state;
  expect(ETX_TARGET_ETX, "lower",
         "dims: {s: {min: 1, max: 8}}\n"
         "inputs: [{name: x, type: 'float32[3, 3]'}]\n"
         "nodes:\n"
         "  - {out: a, op: aten.arange.default, args: [{sym: s}]}\n"
         "  - {out: b, op: aten.arange.start_step, args: [0, 1, 0.25]}\n"
         "  - {out: d, op: aten.tril.default, args: [x, -1]}\n"
         "outputs: [a, b, d]\n",
         "a: int64[s] = aten::arange.start_out(0, s, 1)\n"
         "b: float32[4] = aten::arange.start_out(0, 1, 0.25)\n"
         "d.1: int64[3] = aten::arange.start_out(0, 3, 1)\n"
         "d.2: int64[3] = aten::arange.start_out(0, 3, 1)\n"
         "d.3: int64[3, 1] = aten::view_copy.out(d.1, [3, 1])\n"
         "d.4: int64[3, 1] = aten::add.out(d.3, -1:int64, 1)\n"
         "d.5: bool[3, 3] = aten::le.Tensor_out(d.2, d.4)\n"
         "d: float32[3, 3] = aten::where.self_out(d.5, x, 0.0:float32)\n"
         "return a\n"
         "return b\n"
         "return d\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layer_norm_has_three_results),
      cmocka_unit_test(softmax_loses_its_type),
      cmocka_unit_test(batch_norm_is_a_scale_and_a_shift),
      cmocka_unit_test(a_convolution_without_batch_gets_one),
      cmocka_unit_test(variance_is_a_mean_of_squares),
      cmocka_unit_test(sums_of_all_have_an_empty_list),
      cmocka_unit_test(ranges_and_triangles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
