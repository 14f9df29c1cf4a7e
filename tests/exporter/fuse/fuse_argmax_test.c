// argmax fused into a packed linear layer.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/import/quantize_rules.h"
#include "tests/exporter/lowered.h"

#define GRAPH(argmax, outputs)                                                \
  "inputs: [{name: x, type: 'float32[8, 2, 64]'}]\n"                          \
  "buffers: [{name: w, type: 'float32[8200, 64]', init: 1}, {name: b, type: " \
  "'float32[8200]', init: 2}]\n"                                              \
  "nodes:\n"                                                                  \
  "  - {out: y, op: aten.linear.default, args: [x, w, b]}\n"                  \
  "  - {out: t, op: aten.argmax.default, args: " argmax                       \
  "}\n"                                                                       \
  "outputs: " outputs "\n"

#define OPERANDS \
  "(x, const int8[513, 16, 16, 4], const float32[8200], const int32[8200], b"

#define LAYER \
  "y: float32[8, 2, 8200] = etx::linear_a8w8_panels.out" OPERANDS ")\n"

static void run(lowered* l, const char* graph, const char* passes) {
  lowered_open(l, ETX_TARGET_ETX, graph);
  l->options.pack_weights = true;
  const etx_status status =
      etx_quantize_rule_add(&l->reading.module, etx_text_of("int8"), &l->diag);
  assert_int_equal(status, ETX_OK);
  lowered_run(l, passes);
}

static void expect(const char* graph, const char* lines, const char* reason) {
  lowered l;
  run(&l, graph, "lower quantize_weights pack_weights fuse_argmax");
  assert_lines(&l, lines);
  assert_int_equal(l.context.fusions.count, 1);
  const etx_fusion* const fusion = &l.context.fusions.items[0];
  assert_string_equal(fusion->kind, "argmax");
  if (reason == NULL) {
    assert_null(fusion->reason);
  } else {
    assert_string_equal(fusion->reason, reason);
  }
  lowered_close(&l);
}

static void argmax_is_fused(void** state) {
  (void)state;
  expect(GRAPH("[y, -1]", "[t]"),
         "t: int64[8, 2] = etx::linear_a8w8_panels_argmax.out" OPERANDS
         ", False)\nreturn t\n",
         NULL);
  expect(GRAPH("[y, 2, true]", "[t]"),
         "t: int64[8, 2, 1] = etx::linear_a8w8_panels_argmax.out" OPERANDS
         ", True)\nreturn t\n",
         NULL);
}

static void results_with_other_uses_are_reported(void** state) {
  (void)state;
  expect(GRAPH("[y, -1]", "[t, y]"),
         LAYER
         "t: int64[8, 2] = aten::argmax.out(y, -1, False)\nreturn t\n"
         "return y\n",
         "the result of the layer has other uses");
  expect(GRAPH("[y, 1]", "[t]"),
         LAYER "t: int64[8, 8200] = aten::argmax.out(y, 1, False)\nreturn t\n",
         "it is not over the last dimension");
  expect(GRAPH("[y]", "[t]"),
         LAYER "t: int64[] = aten::argmax.out(y, None, False)\nreturn t\n",
         "it is not over the last dimension");
}

static void layers_with_few_columns_are_reported(void** state) {
  (void)state;
  static const char graph[] =
      "inputs: [{name: x, type: 'float32[8, 64]'}]\n"
      "buffers: [{name: w, type: 'float32[32, 64]', init: 1}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.linear.default, args: [x, w]}\n"
      "  - {out: t, op: aten.argmax.default, args: [y, -1]}\n"
      "outputs: [t]\n";
  expect(graph,
         "y: float32[8, 32] = etx::linear_a8w8_panels.out(x, const int8[2, 16, "
         "16, 4], const float32[32], const int32[32], None)\n"
         "t: int64[8] = aten::argmax.out(y, -1, False)\nreturn t\n",
         "the layer has less than 8192 output columns");
}

static void unpacked_layers_are_left_alone(void** state) {
  (void)state;
  lowered l;
  run(&l, GRAPH("[y, -1]", "[t]"), "lower quantize_weights fuse_argmax");
  assert_lines(&l,
               "y: float32[8, 2, 8200] = etx::linear_a8w8.out(x, const "
               "int8[8200, 64], const float32[8200], b)\n"
               "t: int64[8, 2] = aten::argmax.out(y, -1, False)\nreturn t\n");
  assert_int_equal(l.context.fusions.count, 0);
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(argmax_is_fused),
      cmocka_unit_test(results_with_other_uses_are_reported),
      cmocka_unit_test(layers_with_few_columns_are_reported),
      cmocka_unit_test(unpacked_layers_are_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
