// narrow_linear: slices of the result of a linear layer become slices of its
// input or its weight.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

#define PASSES "lower fold_matmul_transposes narrow_linear simplify"

#define INPUTS                                                            \
  "inputs: [{name: x, type: 'float32[1, 5, 4]'}, {name: v, type: "        \
  "'float32[6, 4]'}]\n"                                                   \
  "buffers: [{name: w, type: 'float32[6, 4]', init: 1}, {name: b, type: " \
  "'float32[6]', init: 2}]\n"                                             \
  "nodes:\n"                                                              \
  "  - {out: l, op: aten.linear.default, args: [x, w, b]}\n"

static void expect(const char* yaml, const char* wanted) {
  expect_lowered(ETX_TARGET_ETX, PASSES, yaml, wanted);
}

static void slices_of_rows_move_above_linear(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: y, op: aten.select.int, args: [l, 1, -1]}\n"
         "outputs: [y]\n",
         "y.1: float32[1, 4] = aten::select_copy.int_out(x, 1, 4)\n"
         "y: float32[1, 6] = aten::linear.out(y.1, w, b)\n"
         "return y\n");
  expect(INPUTS
         "  - {out: y, op: aten.slice.Tensor, args: [l, 1, -2]}\n"
         "outputs: [y]\n",
         "y.1: float32[1, 2, 4] = aten::slice_copy.Tensor_out(x, 1, 3, 5, 1)\n"
         "y: float32[1, 2, 6] = aten::linear.out(y.1, w, b)\n"
         "return y\n");
}

static void column_slices_of_equal_size_become_separate_layers(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: y, op: aten.slice.Tensor, args: [l, 2, 0, 3]}\n"
         "  - {out: z, op: aten.slice.Tensor, args: [l, 2, 3, 6]}\n"
         "outputs: [y, z]\n",
         "y.1: float32[3, 4] = aten::slice_copy.Tensor_out(w, 0, 0, 3, "
         "1)\n"
         "y.2: float32[3] = aten::slice_copy.Tensor_out(b, 0, 0, 3, 1)\n"
         "y: float32[1, 5, 3] = aten::linear.out(x, y.1, y.2)\n"
         "z.1: float32[3, 4] = aten::slice_copy.Tensor_out(w, 0, 3, 6, "
         "1)\n"
         "z.2: float32[3] = aten::slice_copy.Tensor_out(b, 0, 3, 6, 1)\n"
         "z: float32[1, 5, 3] = aten::linear.out(x, z.1, z.2)\n"
         "return y\n"
         "return z\n");
}

static void glu_is_split_into_two_layers(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: y, op: aten.glu.default, args: [l]}\n"
         "outputs: [y]\n",
         "y.1: float32[3, 4] = aten::slice_copy.Tensor_out(w, 0, 0, 3, 1)\n"
         "y.2: float32[3] = aten::slice_copy.Tensor_out(b, 0, 0, 3, 1)\n"
         "y.3: float32[1, 5, 3] = aten::linear.out(x, y.1, y.2)\n"
         "y.4: float32[3, 4] = aten::slice_copy.Tensor_out(w, 0, 3, 6, 1)\n"
         "y.5: float32[3] = aten::slice_copy.Tensor_out(b, 0, 3, 6, 1)\n"
         "y.6: float32[1, 5, 3] = aten::linear.out(x, y.4, y.5)\n"
         "y.7: float32[1, 5, 3] = aten::sigmoid.out(y.6)\n"
         "y: float32[1, 5, 3] = aten::mul.out(y.3, y.7)\n"
         "return y\n");
}

// As torch.nn.MultiheadAttention (a dimension of size 1 beside the parts) and
// vision transformers (heads in front of rows) stack query, key and value.
static void selections_of_stacked_parts_become_separate_layers(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: a, op: aten.view.default, args: [l, [1, 5, 2, 3]]}\n"
         "  - {out: u, op: aten.unsqueeze.default, args: [a, 0]}\n"
         "  - {out: t, op: aten.transpose.int, args: [u, 0, -2]}\n"
         "  - {out: s, op: aten.squeeze.dim, args: [t, -2]}\n"
         "  - {out: y, op: aten.select.int, args: [s, 0, 0]}\n"
         "  - {out: z, op: aten.select.int, args: [s, 0, -1]}\n"
         "outputs: [y, z]\n",
         "y.1: float32[3, 4] = aten::slice_copy.Tensor_out(w, 0, 0, 3, 1)\n"
         "y.2: float32[3] = aten::slice_copy.Tensor_out(b, 0, 0, 3, 1)\n"
         "y.3: float32[1, 5, 3] = aten::linear.out(x, y.1, y.2)\n"
         "z.1: float32[3, 4] = aten::slice_copy.Tensor_out(w, 0, 3, 6, 1)\n"
         "z.2: float32[3] = aten::slice_copy.Tensor_out(b, 0, 3, 6, 1)\n"
         "z.3: float32[1, 5, 3] = aten::linear.out(x, z.1, z.2)\n"
         "return y.3\n"
         "return z.3\n");
  expect(INPUTS
         "  - {out: a, op: aten.view.default, args: [l, [1, 5, 2, 3, 1]]}\n"
         "  - {out: t, op: aten.permute.default, args: [a, [2, 0, 3, 1, 4]]}\n"
         "  - {out: y, op: aten.select.int, args: [t, 0, 0]}\n"
         "  - {out: z, op: aten.select.int, args: [t, 0, 1]}\n"
         "outputs: [y, z]\n",
         "y.1: float32[3, 4] = aten::slice_copy.Tensor_out(w, 0, 0, 3, 1)\n"
         "y.2: float32[3] = aten::slice_copy.Tensor_out(b, 0, 0, 3, 1)\n"
         "y.3: float32[1, 5, 3] = aten::linear.out(x, y.1, y.2)\n"
         "y.4: float32[1, 5, 3, 1] = aten::view_copy.out(y.3, [1, 5, 3, 1])\n"
         "y: float32[1, 3, 5, 1] = aten::permute_copy.out(y.4, [0, 2, 1, 3])\n"
         "z.1: float32[3, 4] = aten::slice_copy.Tensor_out(w, 0, 3, 6, 1)\n"
         "z.2: float32[3] = aten::slice_copy.Tensor_out(b, 0, 3, 6, 1)\n"
         "z.3: float32[1, 5, 3] = aten::linear.out(x, z.1, z.2)\n"
         "z.4: float32[1, 5, 3, 1] = aten::view_copy.out(z.3, [1, 5, 3, 1])\n"
         "z: float32[1, 3, 5, 1] = aten::permute_copy.out(z.4, [0, 2, 1, 3])\n"
         "return y\n"
         "return z\n");
}

// One slice that does not cover all columns, a layer whose whole result is
// read, a weight that is not a constant, parts that are not all selected,
// and parts whose columns are not consecutive.
static void other_slices_are_left_alone(void** state) {
  (void)state;
  static const char* const graphs[] = {
      INPUTS
      "  - {out: y, op: aten.slice.Tensor, args: [l, 2, 0, 3]}\n"
      "outputs: [y]\n",
      INPUTS
      "  - {out: y, op: aten.select.int, args: [l, 1, -1]}\n"
      "outputs: [y, l]\n",
      INPUTS
      "  - {out: k, op: aten.linear.default, args: [x, v]}\n"
      "  - {out: y, op: aten.slice.Tensor, args: [k, 2, 0, 3]}\n"
      "  - {out: z, op: aten.slice.Tensor, args: [k, 2, 3, 6]}\n"
      "outputs: [y, z]\n",
      INPUTS
      "  - {out: a, op: aten.view.default, args: [l, [1, 5, 3, 2]]}\n"
      "  - {out: t, op: aten.permute.default, args: [a, [2, 0, 1, 3]]}\n"
      "  - {out: y, op: aten.select.int, args: [t, 0, 0]}\n"
      "  - {out: z, op: aten.select.int, args: [t, 0, 1]}\n"
      "outputs: [y, z]\n",
      INPUTS
      "  - {out: a, op: aten.view.default, args: [l, [1, 5, 3, 2]]}\n"
      "  - {out: t, op: aten.permute.default, args: [a, [3, 0, 1, 2]]}\n"
      "  - {out: y, op: aten.select.int, args: [t, 0, 0]}\n"
      "  - {out: z, op: aten.select.int, args: [t, 0, 1]}\n"
      "outputs: [y, z]\n",
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, graphs[i]);
    lowered_run(&l, PASSES);
    const char* const lines = lowered_lines(&l);
    const char* const layer = strstr(lines, "linear");
    assert_non_null(layer);
    assert_null(strstr(layer + 1, "linear"));
    assert_true(strstr(lines, "_copy") > layer);
    lowered_close(&l);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slices_of_rows_move_above_linear),
      cmocka_unit_test(column_slices_of_equal_size_become_separate_layers),
      cmocka_unit_test(selections_of_stacked_parts_become_separate_layers),
      cmocka_unit_test(glu_is_split_into_two_layers),
      cmocka_unit_test(other_slices_are_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
