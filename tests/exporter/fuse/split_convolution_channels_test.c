// Convolutions in blocks of output channels.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

#define PASSES                                                 \
  "lower simplify fuse_elementwise fuse_convolution_epilogue " \
  "split_convolution_channels"

// The value between the 1 x 1 convolution and the depthwise one has more than a
// megabyte: 40 channels of 96 x 96.
#define GRAPH(x)                                                   \
  "dims: {h: {min: 1, max: 96}, p: {max: 1}}\n"                    \
  "inputs: [{name: x, type: 'float32[" x                           \
  "]'}, {name: v, type: 'float32[40, 3, 1, 1]'}, {name: u, type: " \
  "'float32[p]'}]\n"                                               \
  "buffers:\n"                                                     \
  "  - {name: w, type: 'float32[40, 3, 1, 1]', init: 1}\n"         \
  "  - {name: b, type: 'float32[40]', init: 2}\n"                  \
  "  - {name: k, type: 'float32[40, 1, 3, 3]', init: 3}\n"         \
  "  - {name: pairs, type: 'float32[40, 2, 3, 3]', init: 3}\n"     \
  "  - {name: twice, type: 'float32[80, 1, 3, 3]', init: 3}\n"     \
  "  - {name: wide, type: 'float32[40, 3, 3, 3]', init: 3}\n"      \
  "  - {name: many, type: 'float32[40, 14, 1, 1]', init: 3}\n"     \
  "  - {name: turned, type: 'float32[3, 40, 1, 1]', init: 3}\n"    \
  "  - {name: three, type: 'float32[42, 1, 1, 1]', init: 3}\n"     \
  "  - {name: m, type: 'float32[42, 1, 3, 3]', init: 3}\n"         \
  "  - {name: kept, type: 'float32[1, 40, 48, 48]', init: 0}\n"    \
  "nodes:\n"
#define INPUTS GRAPH("1, 3, 96, 96")
#define CONVOLUTION(out, x, w, b, stride, padding, transposed, groups)       \
  "  - {out: " out ", op: aten.convolution.default, args: [" x ", " w ", " b \
  ", [" stride ", " stride "], [" padding ", " padding                       \
  "], [1, 1], " transposed ", [0, 0], " groups "]}\n"
#define POINTWISE(w) CONVOLUTION("a", "x", w, "b", "1", "0", "false", "1")
#define DEPTHWISE(a, k, groups) \
  CONVOLUTION("c", a, k, "null", "2", "1", "false", groups)
#define OUTPUTS "outputs: [c]\n"

static size_t count_of(const char* lines, const char* part) {
  size_t count = 0;
  for (; (lines = strstr(lines, part)) != NULL; lines += strlen(part)) ++count;
  return count;
}

// Expects `wanted` convolutions, and one concatenation of their results if the
// two convolutions of the graph were split.
static void expect_count(const char* yaml, size_t wanted) {
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, yaml);
  lowered_run(&l, PASSES);
  assert_int_equal(count_of(lowered_lines(&l), "::convolution"), wanted);
  assert_int_equal(count_of(lowered_lines(&l), "::cat."), wanted > 2 ? 1 : 0);
  lowered_close(&l);
}

static void channel_blocks_alternate_with_depthwise_blocks(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS POINTWISE("w") DEPTHWISE("a", "k", "40") OUTPUTS);
  lowered_run(&l, PASSES);
  assert_lines(
      &l,
      "a: float32[1, 16, 96, 96] = aten::convolution.out(x, const "
      "float32[16, 3, 1, 1], const float32[16], [1, 1], [0, 0], [1, 1], False, "
      "[0, 0], 1)\n"
      "c.2: float32[1, 16, 48, 48] = aten::convolution.out(a, const "
      "float32[16, 1, 3, 3], None, [2, 2], [1, 1], [1, 1], False, [0, 0], 16)\n"
      "c.3: float32[1, 16, 96, 96] = aten::convolution.out(x, const "
      "float32[16, 3, 1, 1], const float32[16], [1, 1], [0, 0], [1, 1], False, "
      "[0, 0], 1)\n"
      "c.4: float32[1, 16, 48, 48] = aten::convolution.out(c.3, const "
      "float32[16, 1, 3, 3], None, [2, 2], [1, 1], [1, 1], False, [0, 0], 16)\n"
      "c.5: float32[1, 8, 96, 96] = aten::convolution.out(x, const float32[8, "
      "3, 1, 1], const float32[8], [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
      "c.6: float32[1, 8, 48, 48] = aten::convolution.out(c.5, const "
      "float32[8, 1, 3, 3], None, [2, 2], [1, 1], [1, 1], False, [0, 0], 8)\n"
      "c: float32[1, 40, 48, 48] = aten::cat.out([c.2, c.4, c.6], 1)\n"
      "return c\n");
  assert_int_equal(l.context.fusions.count, 1);
  lowered_close(&l);
}

static void epilogues_are_split_too(void** state) {
  (void)state;
  expect_count(
      INPUTS POINTWISE("w")
      "  - {out: r, op: aten.clamp.default, args: [a, 0, 6]}\n"
      DEPTHWISE("r", "k", "40") OUTPUTS,
      6);
}

// Convolutions are not split if it would save nothing, if another node reads
// the value between them, if a tensor of more than one element is added to that
// value, or if a weight is unknown.
static void other_convolutions_are_left_alone(void** state) {
  (void)state;
  static const char* const graphs[] = {
      // Both results are outputs.
      INPUTS POINTWISE("w") DEPTHWISE("a", "k", "40") "outputs: [c, a]\n",
      // A weight that varies.
      INPUTS POINTWISE("v") DEPTHWISE("a", "k", "40") OUTPUTS,
      // Two output channels for each input channel, and groups of two input
      // channels.
      INPUTS POINTWISE("w") DEPTHWISE("a", "twice", "40") OUTPUTS,
      INPUTS POINTWISE("w") DEPTHWISE("a", "pairs", "20") OUTPUTS,
      // The first convolution has windows of 3 x 3, or groups.
      INPUTS CONVOLUTION("a", "x", "wide", "b", "1", "1", "false", "1")
          DEPTHWISE("a", "k", "40") OUTPUTS,
      INPUTS CONVOLUTION("a", "x", "three", "null", "1", "0", "false", "3")
          DEPTHWISE("a", "m", "42") OUTPUTS,
      // The transposed form, whose weights lie in another order.
      INPUTS CONVOLUTION("a", "x", "turned", "b", "1", "0", "true", "1")
          DEPTHWISE("a", "k", "40") OUTPUTS,
      INPUTS POINTWISE("w")
          CONVOLUTION("c", "a", "k", "null", "2", "1", "true", "40") OUTPUTS,
      // A tensor is added to the value between the convolutions.
      INPUTS POINTWISE("w")
      "  - {out: s, op: aten.slice.Tensor, args: [x, 1, 0, 1]}\n"
      "  - {out: e, op: aten.expand.default, args: [s, [1, 40, 96, 96]]}\n"
      "  - {out: n, op: aten.clone.default, args: [e]}\n"
      "  - {out: r, op: aten.add.Tensor, args: [a, n]}\n"
      DEPTHWISE("r", "k", "40") OUTPUTS,
      // A small saving, and an input that is large and would be read by each
      // part.
      GRAPH("1, 3, 64, 64") POINTWISE("w") DEPTHWISE("a", "k", "40") OUTPUTS,
      GRAPH("1, 14, 96, 96")
          POINTWISE("many") DEPTHWISE("a", "k", "40") OUTPUTS,
      // Two images: the parts would not lie one after the other.
      GRAPH("2, 3, 96, 96") POINTWISE("w") DEPTHWISE("a", "k", "40") OUTPUTS,
      // A size that varies.
      GRAPH("1, 3, h, 96") POINTWISE("w") DEPTHWISE("a", "k", "40") OUTPUTS,
      // The result is the new content of a state.
      INPUTS POINTWISE("w") DEPTHWISE("a", "k", "40")
      "outputs: []\n"
      "mutates: {kept: c}\n",
      // The depthwise convolution is in a branch.
      INPUTS POINTWISE("w")
      "  - out: [d]\n"
      "    if: {sym: p}\n"
      "    then:\n"
      "      nodes:\n"
      "      " DEPTHWISE("a", "k", "40")
      "      outputs: [c]\n"
      "    else: {outputs: [kept]}\n"
      "outputs: [d]\n",
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    print_message("graph %zu\n", i);
    expect_count(graphs[i], 2);
  }
  // Another reader needs the whole weight, which would be stored twice.
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS POINTWISE("w") DEPTHWISE("a", "k", "40")
                   CONVOLUTION("d", "x", "w", "b", "2", "0", "false",
                               "1") "outputs: [c, d]\n");
  lowered_run(&l, PASSES);
  assert_int_equal(count_of(lowered_lines(&l), "::convolution"), 3);
  lowered_close(&l);
}

// A block must be aligned, or the concatenation would copy it.
static void blocks_are_aligned(void** state) {
  (void)state;
  static const size_t alignments[] = {1 << 14, 1 << 15}, counts[] = {6, 2};
  for (size_t i = 0; i < 2; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX,
                 INPUTS POINTWISE("w") DEPTHWISE("a", "k", "40") OUTPUTS);
    l.reading.module.alignment = alignments[i];
    lowered_run(&l, PASSES);
    assert_int_equal(count_of(lowered_lines(&l), "::convolution"), counts[i]);
    lowered_close(&l);
  }
}

static void slices_of_a_weight_keep_its_name(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS POINTWISE("w") DEPTHWISE("a", "k", "40") OUTPUTS);
  lowered_run(&l, PASSES);
  const etx_ir_module* const module = &l.reading.module;
  const etx_ir_method* const method = &module->methods[0];
  for (size_t i = 0; i < 6; ++i) {
    const uint32_t value = method->nodes[i].args[1].as.value;
    const etx_ir_value* const weight = &method->values[value];
    etx_text* names = NULL;
    size_t count = 0;
    assert_int_equal(weight->origin, ETX_IR_FROM_CONSTANT);
    assert_int_equal(etx_constant_names_find(&l.context.constant_names, module,
                                             weight->index, &names, &count),
                     ETX_OK);
    assert_int_equal(count, 1);
    assert_true(etx_text_is(names[0], i % 2 == 0 ? "w" : "k"));
  }
  lowered_close(&l);
}

static void programs_for_executorch_are_unchanged(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_EXECUTORCH,
               INPUTS POINTWISE("w") DEPTHWISE("a", "k", "40") OUTPUTS);
  lowered_run(&l, PASSES);
  assert_int_equal(count_of(lowered_lines(&l), "::convolution"), 2);
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(channel_blocks_alternate_with_depthwise_blocks),
      cmocka_unit_test(epilogues_are_split_too),
      cmocka_unit_test(other_convolutions_are_left_alone),
      cmocka_unit_test(blocks_are_aligned),
      cmocka_unit_test(slices_of_a_weight_keep_its_name),
      cmocka_unit_test(programs_for_executorch_are_unchanged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
