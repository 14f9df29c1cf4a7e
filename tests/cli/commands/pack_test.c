// etx plan --pack: the report, bit-equal results, and refusals.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

enum { PATH_BYTES = 160 };

static char methods[PATH_BYTES];
static char packed[PATH_BYTES];
static char plain[PATH_BYTES];
static char packed_out[2 * PATH_BYTES];
static char plain_out[2 * PATH_BYTES];

// All weights and inputs differ, so another reduction order gives other bits.
static const char graph[] =
    "etx: 1\n"
    "method: run\n"
    "inputs: [{name: x, type: 'float32[1]'}]\n"
    "buffers:\n"
    "  - {name: net.bias, type: 'float32[48]', init: 0.3}\n"
    "  - {name: net.head.weight, type: 'float32[20, 48]', init: 0.1}\n"
    "nodes:\n"
    "  - {out: i, op: aten.arange.default, args: [3456]}\n"
    "  - {out: f, op: aten._to_copy.default, args: [i], kwargs: {dtype: "
    "float32}}\n"
    "  - {out: s, op: aten.sin.default, args: [f]}\n"
    "  - {out: w, op: aten.view.default, args: [s, [48, 72]]}\n"
    "  - {out: j, op: aten.arange.default, args: [1512]}\n"
    "  - {out: g, op: aten._to_copy.default, args: [j], kwargs: {dtype: "
    "float32}}\n"
    "  - {out: k, op: aten.mul.Tensor, args: [g, x]}\n"
    "  - {out: l, op: aten.cos.default, args: [k]}\n"
    "  - {out: u, op: aten.view.default, args: [l, [21, 72]]}\n"
    "  - {out: h, op: aten.linear.default, args: [u, w, net.bias]}\n"
    "  - {out: r, op: aten.tanh.default, args: [h]}\n"
    "  - {out: a, op: aten.add.Tensor, args: [r, h]}\n"
    "  - {out: y, op: aten.linear.default, args: [r, net.head.weight]}\n"
    "outputs: [a, y]\n";

static int set_up(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(methods, sizeof methods, "%s/run.yaml", command_directory);
  snprintf(packed, sizeof packed, "%s/packed.pte", command_directory);
  snprintf(plain, sizeof plain, "%s/plain.pte", command_directory);
  command_write_file(methods, graph);
  return 0;
}

static void the_report_lists_each_weight(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "plan", methods, "-o", packed, "--pack"),
                     "\n  1 packed, float32, 13824 bytes\n");
  command_expect_out(
      0, WORDS(ETX, "plan", methods, "-o", packed, "--pack"),
      "\n  1 not packed, float32, 3840 bytes: has a number of output "
      "columns that is not a multiple of 16\n");
  command_expect_out(
      0,
      WORDS(ETX, "plan", methods, "-o", packed, "--pack", "--report", "full"),
      "net.head.weight: has a number of output columns");
  command_expect(0, WORDS(ETX, "verify", packed));
  command_expect_out(0, WORDS(ETX, "inspect", packed),
                     "etx::linear_panels.out, etx only");
  command_result result = command_run(
      WORDS(ETX, "plan", methods, "-o", packed, "--pack", "--json"));
  json_t* const root = json_loads(result.out, 0, NULL);
  const json_t* const rows = json_object_get(root, "packed");
  assert_int_equal(json_array_size(rows), 2);
  for (size_t i = 0; i < 2; ++i) {
    const json_t* const row = json_array_get(rows, i);
    const bool is_head = strcmp(json_string_value(json_object_get(row, "name")),
                                "net.head.weight") == 0;
    assert_int_equal(json_is_true(json_object_get(row, "packed")), !is_head);
    assert_int_equal(json_is_null(json_object_get(row, "reason")), !is_head);
    assert_int_equal(json_integer_value(json_object_get(row, "bytes")),
                     is_head ? 3840 : 13824);
  }
  json_decref(root);
  command_end(&result);
}

static void expect_same_results(const char* kind) {
  command_expect(0, WORDS(ETX, "plan", methods, "-o", packed, "-q",
                          "--quantize", kind, "--pack"));
  command_expect(
      0, WORDS(ETX, "plan", methods, "-o", plain, "-q", "--quantize", kind));
  static const char* const outputs[] = {"output_0", "output_1"};
  for (size_t i = 0; i < 2; ++i) {
    snprintf(packed_out, sizeof packed_out, "%s=%s/packed.npy", outputs[i],
             command_directory);
    snprintf(plain_out, sizeof plain_out, "%s=%s/plain.npy", outputs[i],
             command_directory);
    command_expect(0, WORDS(ETX, "run", packed, "run", "--in", "x=[0.7]",
                            "--out", packed_out));
    command_expect(0, WORDS(ETX, "run", plain, "run", "--in", "x=[0.7]",
                            "--out", plain_out, "--threads", "3"));
    command_expect_same_files(strchr(packed_out, '=') + 1,
                              strchr(plain_out, '=') + 1);
  }
}

static void results_are_bit_equal(void** state) {
  (void)state;
  expect_same_results("none");
  command_expect_out(0, WORDS(ETX, "inspect", packed), "etx::linear_panels");
  expect_same_results("int8");
  command_expect_out(0, WORDS(ETX, "inspect", packed),
                     "etx::linear_a8w8_panels");
}

static void the_pass_can_be_switched_off(void** state) {
  (void)state;
  command_result result = command_run(WORDS(
      ETX, "plan", methods, "-o", packed, "--pack", "--passes=-pack_weights"));
  assert_int_equal(result.code, 0);
  assert_null(strstr(result.out, "packed weights"));
  command_end(&result);
}

static void the_target_executorch_is_refused(void** state) {
  (void)state;
  command_expect_err(2,
                     WORDS(ETX, "plan", methods, "-o", packed, "--pack",
                           "--target", "executorch"),
                     "no operators over packed weights: plan for target etx");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_report_lists_each_weight),
      cmocka_unit_test(results_are_bit_equal),
      cmocka_unit_test(the_pass_can_be_switched_off),
      cmocka_unit_test(the_target_executorch_is_refused),
  };
  return cmocka_run_group_tests(tests, set_up, command_tear_down);
}
