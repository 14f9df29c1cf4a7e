// Lowering of recurrent layers and cells.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void a_gru_cell_is_two_layers_and_gates(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[1, 3]'}, {name: h, type: 'float32[1, "
      "2]'}]\n"
      "buffers: [{name: wi, type: 'float32[6, 3]', init: 1}, {name: wh, type: "
      "'float32[6, 2]', init: 1}, {name: bi, type: 'float32[6]', init: 1}, "
      "{name: bh, type: 'float32[6]', init: 1}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.gru_cell.default, args: [x, h, wi, wh, bi, bh]}\n"
      "outputs: [y]\n",
      "y.1: float32[1, 6] = aten::linear.out(x, wi, bi)\n"
      "y.2: float32[1, 6] = aten::linear.out(h, wh, bh)\n"
      "y.3: float32[1, 2] = aten::slice_copy.Tensor_out(y.1, 1, 0, 2, 1)\n"
      "y.4: float32[1, 2] = aten::slice_copy.Tensor_out(y.2, 1, 0, 2, 1)\n"
      "y.5: float32[1, 2] = aten::add.out(y.3, y.4, 1)\n"
      "y.6: float32[1, 2] = aten::sigmoid.out(y.5)\n"
      "y.7: float32[1, 2] = aten::slice_copy.Tensor_out(y.1, 1, 2, 4, 1)\n"
      "y.8: float32[1, 2] = aten::slice_copy.Tensor_out(y.2, 1, 2, 4, 1)\n"
      "y.9: float32[1, 2] = aten::add.out(y.7, y.8, 1)\n"
      "y.10: float32[1, 2] = aten::sigmoid.out(y.9)\n"
      "y.11: float32[1, 2] = aten::slice_copy.Tensor_out(y.1, 1, 4, 6, 1)\n"
      "y.12: float32[1, 2] = aten::slice_copy.Tensor_out(y.2, 1, 4, 6, 1)\n"
      "y.13: float32[1, 2] = aten::mul.out(y.6, y.12)\n"
      "y.14: float32[1, 2] = aten::add.out(y.11, y.13, 1)\n"
      "y.15: float32[1, 2] = aten::tanh.out(y.14)\n"
      "y.16: float32[1, 2] = aten::sub.out(h, y.15, 1)\n"
      "y.17: float32[1, 2] = aten::mul.out(y.10, y.16)\n"
      "y: float32[1, 2] = aten::add.out(y.15, y.17, 1)\n"
      "return y\n");
}

static void an_lstm_cell_gives_two_states(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[1, 3]'}, {name: h, type: "
      "'float32[1, 2]'}, {name: c, type: 'float32[1, 2]'}]\n"
      "buffers: [{name: wi, type: 'float32[8, 3]', init: 1}, {name: wh, "
      "type: 'float32[8, 2]', init: 1}]\n"
      "nodes:\n"
      "  - {out: [y, z], op: aten.lstm_cell.default, args: [x, [h, c], wi, "
      "wh]}\n"
      "outputs: [y, z]\n",
      "y.1: float32[1, 8] = aten::linear.out(x, wi, None)\n"
      "y.2: float32[1, 8] = aten::linear.out(h, wh, None)\n"
      "y.3: float32[1, 8] = aten::add.out(y.1, y.2, 1)\n"
      "y.4: float32[1, 2] = aten::slice_copy.Tensor_out(y.3, 1, 0, 2, 1)\n"
      "y.5: float32[1, 2] = aten::sigmoid.out(y.4)\n"
      "y.6: float32[1, 2] = aten::slice_copy.Tensor_out(y.3, 1, 2, 4, 1)\n"
      "y.7: float32[1, 2] = aten::sigmoid.out(y.6)\n"
      "y.8: float32[1, 2] = aten::slice_copy.Tensor_out(y.3, 1, 4, 6, 1)\n"
      "y.9: float32[1, 2] = aten::tanh.out(y.8)\n"
      "y.10: float32[1, 2] = aten::slice_copy.Tensor_out(y.3, 1, 6, 8, 1)\n"
      "y.11: float32[1, 2] = aten::sigmoid.out(y.10)\n"
      "y.12: float32[1, 2] = aten::mul.out(y.7, c)\n"
      "y.13: float32[1, 2] = aten::mul.out(y.5, y.9)\n"
      "z: float32[1, 2] = aten::add.out(y.12, y.13, 1)\n"
      "y.15: float32[1, 2] = aten::tanh.out(z)\n"
      "y: float32[1, 2] = aten::mul.out(y.11, y.15)\n"
      "return y\n"
      "return z\n");
}

static void a_layer_projects_all_steps_at_once(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 1, 3]'}, {name: h, type: "
      "'float32[1, 1, 2]'}]\n"
      "buffers: [{name: wi, type: 'float32[2, 3]', init: 1}, {name: wh, "
      "type: 'float32[2, 2]', init: 1}]\n"
      "nodes:\n"
      "  - {out: [y, z], op: aten.rnn_tanh.input, args: [x, h, [wi, wh], "
      "false, 1, 0.0, false, false, false]}\n"
      "outputs: [y, z]\n",
      "y.1: float32[1, 2] = aten::select_copy.int_out(h, 0, 0)\n"
      "y.2: float32[2, 3] = aten::view_copy.out(x, [2, 3])\n"
      "y.3: float32[3, 2] = aten::permute_copy.out(wi, [1, 0])\n"
      "y.4: float32[2, 2] = aten::mm.out(y.2, y.3)\n"
      "y.5: float32[2, 1, 2] = aten::view_copy.out(y.4, [2, 1, 2])\n"
      "y.6: float32[1, 2] = aten::select_copy.int_out(y.5, 0, 0)\n"
      "y.7: float32[2, 2] = aten::permute_copy.out(wh, [1, 0])\n"
      "y.8: float32[1, 2] = aten::mm.out(y.1, y.7)\n"
      "y.9: float32[1, 2] = aten::add.out(y.6, y.8, 1)\n"
      "y.10: float32[1, 2] = aten::tanh.out(y.9)\n"
      "y.11: float32[1, 2] = aten::select_copy.int_out(y.5, 0, 1)\n"
      "y.13: float32[1, 2] = aten::mm.out(y.10, y.7)\n"
      "y.14: float32[1, 2] = aten::add.out(y.11, y.13, 1)\n"
      "y.15: float32[1, 2] = aten::tanh.out(y.14)\n"
      "y.16: float32[1, 1, 2] = aten::view_copy.out(y.10, [1, 1, 2])\n"
      "y.17: float32[1, 1, 2] = aten::view_copy.out(y.15, [1, 1, 2])\n"
      "y: float32[2, 1, 2] = aten::cat.out([y.16, y.17], 0)\n"
      "return y\n"
      "return y.17\n");
}

static void the_steps_of_a_direction_are_one_operator(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {t: {min: 0, max: 9}}\n"
      "inputs: [{name: x, type: 'float32[2, t, 3]'}, {name: h, type: "
      "'float32[2, 2, 2]'}, {name: i, type: 'float32[6, 3]'}, {name: w, type: "
      "'float32[6, 2]'}, {name: b, type: 'float32[6]'}]\n"
      "nodes:\n"
      "  - {out: [y, z], op: aten.gru.input, args: [x, h, [i, w, b, b, i, w, "
      "b, "
      "b], true, 1, 0.0, false, true, true]}\n"
      "outputs: [y, z]\n",
      "y.1: float32[2, 2] = aten::select_copy.int_out(h, 0, 0)\n"
      "y.2: float32[2, 2] = aten::select_copy.int_out(h, 0, 1)\n"
      "y.3: float32[2, t, 6] = aten::linear.out(x, i, b)\n"
      "y.4: float32[2, t, 2], y.5: float32[2, 2] = etx::gru_sequence.out(y.3, "
      "y.1, w, b, False, True)\n"
      "y.7: float32[2, t, 2], y.8: float32[2, 2] = etx::gru_sequence.out(y.3, "
      "y.2, w, b, True, True)\n"
      "y: float32[2, t, 4] = aten::cat.out([y.4, y.7], 2)\n"
      "y.10: float32[1, 2, 2] = aten::view_copy.out(y.5, [1, 2, 2])\n"
      "y.11: float32[1, 2, 2] = aten::view_copy.out(y.8, [1, 2, 2])\n"
      "z: float32[2, 2, 2] = aten::cat.out([y.10, y.11], 0)\n"
      "return y\n"
      "return z\n");
}

static void an_lstm_has_a_second_state(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[4, 1, 3]'}, {name: h, type: "
      "'float32[1, 1, 2]'}, {name: c, type: 'float32[1, 1, 2]'}, {name: i, "
      "type: 'float32[8, 3]'}, {name: w, type: 'float32[8, 2]'}]\n"
      "nodes:\n"
      "  - {out: [y, a, b], op: aten.lstm.input, args: [x, [h, c], [i, w], "
      "false, 1, 0.0, false, false, false]}\n"
      "outputs: [y, a, b]\n",
      "y.1: float32[1, 2] = aten::select_copy.int_out(h, 0, 0)\n"
      "y.2: float32[1, 2] = aten::select_copy.int_out(c, 0, 0)\n"
      "y.3: float32[4, 1, 8] = aten::linear.out(x, i, None)\n"
      "y: float32[4, 1, 2], y.5: float32[1, 2], y.6: float32[1, 2] = "
      "etx::lstm_sequence.out(y.3, y.1, w, None, False, False, y.2)\n"
      "a: float32[1, 1, 2] = aten::view_copy.out(y.5, [1, 1, 2])\n"
      "b: float32[1, 1, 2] = aten::view_copy.out(y.6, [1, 1, 2])\n"
      "return y\n"
      "return a\n"
      "return b\n");
}

static void weights_to_be_quantised_stay_linear_layers(void** state) {
  static const char graph[] =
      "inputs: [{name: x, type: 'float32[1, 1, 3]'}, {name: h, type: "
      "'float32[1, 1, 2]'}, {name: i, type: 'float32[2, 3]'}, {name: w, type: "
      "'float32[2, 2]'}]\n"
      "nodes:\n"
      "  - {out: [y, z], op: aten.rnn_relu.input, args: [x, h, [i, w], false, "
      "1, 0.0, false, false, false]}\n"
      "outputs: [y]\n";
  static lowered l;
  etx_quantize_rule rule = {0};
  (void)state;
  lowered_open(&l, ETX_TARGET_ETX, graph);
  l.context.module->quantize = &rule;
  l.context.module->quantize_count = 1;
  lowered_run(&l, "lower simplify");
  assert_lines(&l,
               "y.1: float32[1, 2] = aten::select_copy.int_out(h, 0, 0)\n"
               "y.2: float32[1, 1, 2] = aten::linear.out(x, i, None)\n"
               "y.3: float32[1, 2] = aten::select_copy.int_out(y.2, 0, 0)\n"
               "y.4: float32[1, 2] = aten::linear.out(y.1, w, None)\n"
               "y.5: float32[1, 2] = aten::add.out(y.3, y.4, 1)\n"
               "y.6: float32[1, 2] = aten::relu.out(y.5)\n"
               "y: float32[1, 1, 2] = aten::view_copy.out(y.6, [1, 1, 2])\n"
               "return y\n");
  lowered_close(&l);
}

static void other_types_are_unrolled(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float64[1, 1, 3]'}, {name: h, type: "
      "'float64[1, 1, 2]'}, {name: i, type: 'float64[2, 3]'}, {name: w, type: "
      "'float64[2, 2]'}]\n"
      "nodes:\n"
      "  - {out: [y, z], op: aten.rnn_relu.input, args: [x, h, [i, w], false, "
      "1, 0.0, false, false, false]}\n"
      "outputs: [y]\n",
      "y.1: float64[1, 2] = aten::select_copy.int_out(h, 0, 0)\n"
      "y.2: float64[1, 1, 2] = aten::linear.out(x, i, None)\n"
      "y.3: float64[1, 2] = aten::select_copy.int_out(y.2, 0, 0)\n"
      "y.4: float64[1, 2] = aten::linear.out(y.1, w, None)\n"
      "y.5: float64[1, 2] = aten::add.out(y.3, y.4, 1)\n"
      "y.6: float64[1, 2] = aten::relu.out(y.5)\n"
      "y: float64[1, 1, 2] = aten::view_copy.out(y.6, [1, 1, 2])\n"
      "return y\n");
  expect_refused(
      ETX_TARGET_EXECUTORCH, "lower",
      "dims: {t: {min: 1, max: 9}}\n"
      "inputs: [{name: x, type: 'float32[t, 1, 3]'}, {name: h, type: "
      "'float32[1, 1, 2]'}, {name: i, type: 'float32[2, 3]'}, {name: w, type: "
      "'float32[2, 2]'}]\n"
      "nodes:\n"
      "  - {out: [y, z], op: aten.rnn_relu.input, args: [x, h, [i, w], false, "
      "1, 0.0, false, false, false]}\n"
      "outputs: [y]\n",
      "a fixed number of 1 to 1024 time steps");
}

static void a_projection_follows_each_step(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[1, 2, 4]'}, {name: h, type: "
      "'float32[1, 2, 3]'}, {name: c, type: 'float32[1, 2, 6]'}, {name: i, "
      "type: 'float32[24, 4]'}, {name: w, type: 'float32[24, 3]'}, {name: p, "
      "type: 'float32[3, 6]'}]\n"
      "nodes:\n"
      "  - {out: [y, a, b], op: aten.lstm.input, args: [x, [h, c], [i, w, p], "
      "false, 1, 0.0, false, false, false]}\n"
      "outputs: [y, a, b]\n",
      "y.1: float32[2, 3] = aten::select_copy.int_out(h, 0, 0)\n"
      "y.2: float32[2, 6] = aten::select_copy.int_out(c, 0, 0)\n"
      "y.3: float32[1, 2, 24] = aten::linear.out(x, i, None)\n"
      "y.4: float32[2, 24] = aten::select_copy.int_out(y.3, 0, 0)\n"
      "y.5: float32[2, 24] = aten::linear.out(y.1, w, None)\n"
      "y.6: float32[2, 24] = aten::add.out(y.4, y.5, 1)\n"
      "y.7: float32[2, 6] = aten::slice_copy.Tensor_out(y.6, 1, 0, 6, 1)\n"
      "y.8: float32[2, 6] = aten::sigmoid.out(y.7)\n"
      "y.9: float32[2, 6] = aten::slice_copy.Tensor_out(y.6, 1, 6, 12, 1)\n"
      "y.10: float32[2, 6] = aten::sigmoid.out(y.9)\n"
      "y.11: float32[2, 6] = aten::slice_copy.Tensor_out(y.6, 1, 12, 18, 1)\n"
      "y.12: float32[2, 6] = aten::tanh.out(y.11)\n"
      "y.13: float32[2, 6] = aten::slice_copy.Tensor_out(y.6, 1, 18, 24, 1)\n"
      "y.14: float32[2, 6] = aten::sigmoid.out(y.13)\n"
      "y.15: float32[2, 6] = aten::mul.out(y.10, y.2)\n"
      "y.16: float32[2, 6] = aten::mul.out(y.8, y.12)\n"
      "y.17: float32[2, 6] = aten::add.out(y.15, y.16, 1)\n"
      "y.18: float32[2, 6] = aten::tanh.out(y.17)\n"
      "y.19: float32[2, 6] = aten::mul.out(y.14, y.18)\n"
      "y.20: float32[2, 3] = aten::linear.out(y.19, p, None)\n"
      "y: float32[1, 2, 3] = aten::view_copy.out(y.20, [1, 2, 3])\n"
      "b: float32[1, 2, 6] = aten::view_copy.out(y.17, [1, 2, 6])\n"
      "return y\n"
      "return y\n"
      "return b\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_gru_cell_is_two_layers_and_gates),
      cmocka_unit_test(an_lstm_cell_gives_two_states),
      cmocka_unit_test(a_layer_projects_all_steps_at_once),
      cmocka_unit_test(the_steps_of_a_direction_are_one_operator),
      cmocka_unit_test(an_lstm_has_a_second_state),
      cmocka_unit_test(weights_to_be_quantised_stay_linear_layers),
      cmocka_unit_test(other_types_are_unrolled),
      cmocka_unit_test(a_projection_follows_each_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
