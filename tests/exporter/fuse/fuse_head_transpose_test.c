// The head transpose after a packed linear layer.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

#define PASSES \
  "lower simplify fuse_linear_epilogue pack_weights fuse_head_transpose"

#define GRAPH(input, more, from, view, order, outputs)                     \
  "inputs: [{name: x, type: 'float32[" input                               \
  "]'}]\n"                                                                 \
  "dims: {s: {min: 1, max: 99}}\n"                                         \
  "buffers: [{name: w, type: 'float32[96, 8]', init: 1}, {name: b, type: " \
  "'float32[96]', init: 2}]\n"                                             \
  "nodes:\n"                                                               \
  "  - {out: y, op: aten.linear.default, args: [x, w, b]}\n" more          \
  "  - {out: v, op: aten.view.default, args: [" from ", " view             \
  "]}\n"                                                                   \
  "  - {out: h, op: aten.permute.default, args: [v, " order                \
  "]}\n"                                                                   \
  "outputs: " outputs "\n"

#define HEADS(count) \
  "etx::linear_heads.out(x, const float32[6, 8, 16], b, " count ")\n"
#define LAYER(steps) \
  "etx::linear_panels.out(x, const float32[6, 8, 16], b, [], '" steps "')\n"

static void expect(const char* graph, const char* lines, const char* reason) {
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, graph);
  l.options.pack_weights = true;
  lowered_run(&l, PASSES);
  assert_lines(&l, lines);
  const etx_fusion_report* const fusions = &l.context.fusions;
  assert_true(fusions->count > 0);
  const etx_fusion* const last = &fusions->items[fusions->count - 1];
  assert_string_equal(last->kind, "head transpose");
  if (reason == NULL) {
    assert_null(last->reason);
  } else {
    assert_non_null(last->reason);
    assert_string_equal(last->reason, reason);
  }
  lowered_close(&l);
}

static void the_head_transpose_is_fused(void** state) {
  (void)state;
  expect(GRAPH("1, 40, 8", "", "y", "[1, 40, 2, 48]", "[0, 2, 1, 3]", "[h]"),
         "h: float32[1, 2, 40, 48] = " HEADS("2") "return h\n", NULL);
  expect(GRAPH("40, 8", "", "y", "[40, 6, 16]", "[1, 0, 2]", "[h]"),
         "h: float32[6, 40, 16] = " HEADS("6") "return h\n", NULL);
  expect(
      GRAPH("1, s, 8", "", "y", "[1, {sym: s}, 3, 32]", "[0, 2, 1, 3]", "[h]"),
      "h: float32[1, 3, s, 32] = " HEADS("3") "return h\n", NULL);
}

static void unit_dimensions_are_allowed(void** state) {
  (void)state;
  expect(GRAPH("40, 8", "", "y", "[1, 40, 3, 32]", "[0, 2, 1, 3]", "[h]"),
         "h.1: float32[3, 40, 32] = " HEADS(
             "3") "h: float32[1, 3, 40, 32] = aten::view_copy.out(h.1, [1, "
                  "3, 40, 32])\nreturn h\n",
         NULL);
}

static void other_permutes_stay(void** state) {
  (void)state;
  expect(GRAPH("1, 40, 8", "", "y", "[1, 40, 4, 24]", "[0, 2, 1, 3]", "[h]"),
         "y: float32[1, 40, 96] = " LAYER("x")
         "v: float32[1, 40, 4, 24] = aten::view_copy.out(y, [1, 40, 4, 24])\n"
         "h: float32[1, 4, 40, 24] = aten::permute_copy.out(v, [0, 2, 1, 3])\n"
         "return h\n",
         "the width of a head is not a multiple of 16");
  expect(GRAPH("2, 40, 8", "", "y", "[2, 40, 3, 32]", "[0, 2, 1, 3]", "[h]"),
         "y: float32[2, 40, 96] = " LAYER("x")
         "v: float32[2, 40, 3, 32] = aten::view_copy.out(y, [2, 40, 3, 32])\n"
         "h: float32[2, 3, 40, 32] = aten::permute_copy.out(v, [0, 2, 1, 3])\n"
         "return h\n",
         "the batch has more than one sequence");
}

static void other_uses_and_epilogues_are_reported(void** state) {
  (void)state;
  expect(GRAPH("1, 40, 8", "", "y", "[1, 40, 3, 32]", "[0, 2, 1, 3]", "[h, y]"),
         "y: float32[1, 40, 96] = " LAYER("x")
         "v: float32[1, 40, 3, 32] = aten::view_copy.out(y, [1, 40, 3, 32])\n"
         "h: float32[1, 3, 40, 32] = aten::permute_copy.out(v, [0, 2, 1, 3])\n"
         "return h\nreturn y\n",
         "the result of the layer has other uses");
  expect(GRAPH("1, 40, 8",
               "  - {out: r, op: aten.relu.default, args: [y]}\n", "r",
               "[1, 40, 3, 32]", "[0, 2, 1, 3]", "[h]"),
         "r: float32[1, 40, 96] = " LAYER("x relu")
         "v: float32[1, 40, 3, 32] = aten::view_copy.out(r, [1, 40, 3, 32])\n"
         "h: float32[1, 3, 40, 32] = aten::permute_copy.out(v, [0, 2, 1, 3])\n"
         "return h\n",
         "the layer has a fused epilogue");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_head_transpose_is_fused),
      cmocka_unit_test(unit_dimensions_are_allowed),
      cmocka_unit_test(other_permutes_stay),
      cmocka_unit_test(other_uses_and_epilogues_are_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
