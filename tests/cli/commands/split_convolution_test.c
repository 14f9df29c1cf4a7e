// The pass that splits convolutions into blocks of output channels: less
// scratch, and bit-equal results.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

enum { PATH_BYTES = 160 };

static char methods[PATH_BYTES];
static char split[PATH_BYTES];
static char whole[PATH_BYTES];

// All weights and inputs differ, so exchanged blocks would change the result.
// The value between the two convolutions has 24 channels of 120 x 120, 1.4 MB.
static const char graph[] =
    "etx: 1\n"
    "method: run\n"
    "inputs: [{name: x, type: 'float32[1]'}]\n"
    "nodes:\n"
    "  - {out: i, op: aten.arange.default, args: [57600]}\n"
    "  - {out: f, op: aten._to_copy.default, args: [i], kwargs: {dtype: "
    "float32}}\n"
    "  - {out: t, op: aten.mul.Tensor, args: [f, x]}\n"
    "  - {out: s, op: aten.sin.default, args: [t]}\n"
    "  - {out: u, op: aten.view.default, args: [s, [1, 4, 120, 120]]}\n"
    "  - {out: j, op: aten.arange.default, args: [96]}\n"
    "  - {out: g, op: aten._to_copy.default, args: [j], kwargs: {dtype: "
    "float32}}\n"
    "  - {out: h, op: aten.cos.default, args: [g]}\n"
    "  - {out: w, op: aten.view.default, args: [h, [24, 4, 1, 1]]}\n"
    "  - {out: m, op: aten.slice.Tensor, args: [h, 0, 0, 24]}\n"
    "  - {out: n, op: aten.arange.default, args: [216]}\n"
    "  - {out: o, op: aten._to_copy.default, args: [n], kwargs: {dtype: "
    "float32}}\n"
    "  - {out: p, op: aten.cos.default, args: [o]}\n"
    "  - {out: k, op: aten.view.default, args: [p, [24, 1, 3, 3]]}\n"
    "  - {out: a, op: aten.convolution.default, args: [u, w, m, [1, 1], [0, "
    "0], "
    "[1, 1], false, [0, 0], 1]}\n"
    "  - {out: r, op: aten.sigmoid.default, args: [a]}\n"
    "  - {out: c, op: aten.convolution.default, args: [r, k, null, [1, 1], [1, "
    "1], [1, 1], false, [0, 0], 24]}\n"
    "  - {out: d, op: aten.relu.default, args: [c]}\n"
    "  - {out: y, op: aten.mean.dim, args: [d, [2, 3]]}\n"
    "  - {out: z, op: aten.slice.Tensor, args: [d, 3, 0, 7]}\n"
    "outputs: [y, z]\n";

static int set_up(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(methods, sizeof methods, "%s/run.yaml", command_directory);
  snprintf(split, sizeof split, "%s/split.pte", command_directory);
  snprintf(whole, sizeof whole, "%s/whole.pte", command_directory);
  command_write_file(methods, graph);
  command_expect_out(0, WORDS(ETX, "plan", methods, "-o", split),
                     "1 convolution in channel blocks");
  command_expect(0, WORDS(ETX, "plan", methods, "-o", whole, "-q",
                          "--passes=-split_convolution_channels"));
  return 0;
}

// The bytes of scratch. Also checks that there is no concatenation.
static json_int_t scratch_of(const char* program) {
  command_result result = command_run(WORDS(ETX, "inspect", program, "--json"));
  assert_int_equal(result.code, 0);
  assert_null(strstr(result.out, "aten::cat"));
  json_t* const root = json_loads(result.out, 0, NULL);
  const json_t* const method =
      json_array_get(json_object_get(root, "methods"), 0);
  const json_int_t bytes =
      json_integer_value(json_object_get(method, "scratch_bytes"));
  json_decref(root);
  command_end(&result);
  assert_true(bytes > 0);
  return bytes;
}

static void scratch_is_smaller(void** state) {
  (void)state;
  command_expect(0, WORDS(ETX, "verify", split));
  // At least four planes of 120 x 120 floats less are live at the peak.
  assert_true(scratch_of(split) <= scratch_of(whole) - (8 - 4) * 120 * 120 * 4);
}

static void run(const char* program, const char* threads, const char* name) {
  char out[2][2 * PATH_BYTES];
  for (int i = 0; i < 2; ++i) {
    snprintf(out[i], sizeof out[i], "output_%d=%s/%s%d.npy", i,
             command_directory, name, i);
  }
  command_expect(
      0, WORDS(ETX, "run", program, "run", "--in", "x=[0.7]", "--out", out[0],
               "--out", out[1], "--threads", threads));
}

static void results_are_bit_equal(void** state) {
  (void)state;
  run(whole, "1", "whole");
  static const char* const threads[] = {"1", "2", "3"};
  for (size_t t = 0; t < 3; ++t) {
    run(split, threads[t], "split");
    for (int i = 0; i < 2; ++i) {
      char a[2 * PATH_BYTES], b[2 * PATH_BYTES];
      snprintf(a, sizeof a, "%s/whole%d.npy", command_directory, i);
      snprintf(b, sizeof b, "%s/split%d.npy", command_directory, i);
      command_expect_same_files(a, b);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scratch_is_smaller),
      cmocka_unit_test(results_are_bit_equal),
  };
  return cmocka_run_group_tests(tests, set_up, command_tear_down);
}
