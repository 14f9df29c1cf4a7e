// Convolutions that are computed some channels at a time.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

#define PASSES "lower simplify fuse_chains fuse_convolution part_convolutions"

// A megabyte and more between the two: 40 channels of 96 x 96.
#define INPUTS                                                          \
  "inputs: [{name: x, type: 'float32[1, 3, 96, 96]'}, {name: v, type: " \
  "'float32[40, 3, 1, 1]'}]\n"                                          \
  "buffers:\n"                                                          \
  "  - {name: w, type: 'float32[40, 3, 1, 1]', init: 1}\n"              \
  "  - {name: b, type: 'float32[40]', init: 2}\n"                       \
  "  - {name: k, type: 'float32[40, 1, 3, 3]', init: 3}\n"              \
  "  - {name: twice, type: 'float32[80, 1, 3, 3]', init: 3}\n"          \
  "  - {name: wide, type: 'float32[40, 3, 3, 3]', init: 3}\n"           \
  "nodes:\n"
#define POINTS(w)                                           \
  "  - {out: a, op: aten.convolution.default, args: [x, " w \
  ", b, [1, 1], [0, 0], [1, 1], false, [0, 0], 1]}\n"
#define PLANES(a, k, groups)                                    \
  "  - {out: c, op: aten.convolution.default, args: [" a ", " k \
  ", null, [2, 2], [1, 1], [1, 1], false, [0, 0], " groups "]}\n"
#define OUTPUTS "outputs: [c]\n"

static size_t count_of(const char* lines, const char* part) {
  size_t count = 0;
  for (; (lines = strstr(lines, part)) != NULL; lines += strlen(part)) ++count;
  return count;
}

static void expect_count(const char* yaml, size_t wanted) {
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, yaml);
  lowered_run(&l, PASSES);
  assert_int_equal(count_of(lowered_lines(&l), "::convolution"), wanted);
  assert_int_equal(count_of(lowered_lines(&l), "::cat."), wanted > 2);
  lowered_close(&l);
}

static void planes_follow_their_channels(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS POINTS("w") PLANES("a", "k", "40") OUTPUTS);
  lowered_run(&l, PASSES);
  assert_lines(
      &l,
      "c.1: float32[1, 16, 96, 96] = aten::convolution.out(x, const "
      "float32[16, 3, 1, 1], const float32[16], [1, 1], [0, 0], [1, 1], False, "
      "[0, 0], 1)\n"
      "c.2: float32[1, 16, 48, 48] = aten::convolution.out(c.1, const "
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

static void what_follows_each_comes_along(void** state) {
  (void)state;
  expect_count(
      INPUTS POINTS("w") "  - {out: r, op: aten.clamp.default, args: [a, 0, "
                         "6]}\n" PLANES("r", "k", "40") OUTPUTS,
      6);
}

// Not where there is nothing to gain, or where something else reads what lies
// between, is added to it, or is not known.
static void others_are_left_alone(void** state) {
  (void)state;
  static const char* const graphs[] = {
      // Both are read.
      INPUTS POINTS("w") PLANES("a", "k", "40") "outputs: [c, a]\n",
      // A weight that varies.
      INPUTS POINTS("v") PLANES("a", "k", "40") OUTPUTS,
      // Several results of a plane.
      INPUTS POINTS("w") PLANES("a", "twice", "40") OUTPUTS,
      // Neighbours.
      INPUTS "  - {out: a, op: aten.convolution.default, args: [x, wide, b, [1, "
             "1], [1, 1], [1, 1], false, [0, 0], 1]}\n" PLANES("a", "k", "40")
          OUTPUTS,
      // Something is added to all channels.
      INPUTS POINTS("w") "  - {out: s, op: aten.slice.Tensor, args: [x, 1, 0, "
                         "1]}\n"
                         "  - {out: e, op: aten.expand.default, args: [s, [1, "
                         "40, 96, 96]]}\n"
                         "  - {out: n, op: aten.clone.default, args: [e]}\n"
                         "  - {out: r, op: aten.add.Tensor, args: [a, n]}\n"
          PLANES("r", "k", "40") OUTPUTS,
      // Little.
      "inputs: [{name: x, type: 'float32[1, 3, 64, 64]'}]\n"
      "buffers:\n"
      "  - {name: w, type: 'float32[40, 3, 1, 1]', init: 1}\n"
      "  - {name: b, type: 'float32[40]', init: 2}\n"
      "  - {name: k, type: 'float32[40, 1, 3, 3]', init: 3}\n"
      "nodes:\n" POINTS("w") PLANES("a", "k", "40") OUTPUTS,
      // Two images: the parts would not lie one after the other.
      "inputs: [{name: x, type: 'float32[2, 3, 96, 96]'}]\n"
      "buffers:\n"
      "  - {name: w, type: 'float32[40, 3, 1, 1]', init: 1}\n"
      "  - {name: b, type: 'float32[40]', init: 2}\n"
      "  - {name: k, type: 'float32[40, 1, 3, 3]', init: 3}\n"
      "nodes:\n" POINTS("w") PLANES("a", "k", "40") OUTPUTS,
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    expect_count(graphs[i], 2);
  }
}

static void the_stock_runtime_gets_none(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_EXECUTORCH,
               INPUTS POINTS("w") PLANES("a", "k", "40") OUTPUTS);
  lowered_run(&l, PASSES);
  assert_int_equal(count_of(lowered_lines(&l), "::convolution"), 2);
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planes_follow_their_channels),
      cmocka_unit_test(what_follows_each_comes_along),
      cmocka_unit_test(others_are_left_alone),
      cmocka_unit_test(the_stock_runtime_gets_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
