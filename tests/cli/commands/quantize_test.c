// etx plan --quantize: the report, the rules, and refusals.

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
#define MODEL ETX_SOURCE "/samples/translate/model/pt2"

enum { PATH_BYTES = 160 };

static char methods[PATH_BYTES];
static char program[PATH_BYTES];
static char other[PATH_BYTES];

static void write_method(const char* name, const char* text) {
  char path[2 * PATH_BYTES];
  snprintf(path, sizeof path, "%s/%s", command_directory, name);
  command_write_file(path, text);
}

static const char graph[] =
    "etx: 1\n"
    "method: run\n"
    "inputs: [{name: x, type: 'float32[2, 64]'}]\n"
    "buffers:\n"
    "  - {name: net.fc.weight, type: 'float32[64, 64]', init: 0.5}\n"
    "  - {name: net.head.weight, type: 'float32[32, 64]', init: 0.25}\n"
    "nodes:\n"
    "  - {out: h, op: aten.linear.default, args: [x, net.fc.weight]}\n"
    "  - {out: y, op: aten.linear.default, args: [h, net.head.weight]}\n"
    "outputs: [y]\n";

static int set_up(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(methods, sizeof methods, "%s", command_directory);
  snprintf(program, sizeof program, "%s/model.pte", command_directory);
  snprintf(other, sizeof other, "%s/other.pte", command_directory);
  write_method("run.yaml", graph);
  return 0;
}

static void the_report_lists_each_weight(void** state) {
  (void)state;
  command_expect_out(0,
                     WORDS(ETX, "plan", methods, "-o", program, "--quantize",
                           "int8", "--quantize", "none:*.head"),
                     "  1 to int8: 16384 to 4352 bytes");
  command_expect_out(
      0,
      WORDS(ETX, "plan", methods, "-o", program, "--quantize", "int8",
            "--quantize", "none:*.head", "--report", "full"),
      "net.head.weight: is excluded");
  command_expect(0, WORDS(ETX, "verify", program));
  command_result result = command_run(WORDS(ETX, "plan", methods, "-o", program,
                                            "--quantize", "int8", "--json"));
  json_t* const root = json_loads(result.out, 0, NULL);
  const json_t* const rows = json_object_get(root, "quantized");
  assert_int_equal(json_array_size(rows), 2);
  const json_t* const row = json_array_get(rows, 0);
  assert_string_equal(json_string_value(json_object_get(row, "name")),
                      "net.fc.weight");
  assert_string_equal(json_string_value(json_object_get(row, "kind")), "int8");
  assert_int_equal(json_integer_value(json_object_get(row, "bytes")), 16384);
  assert_int_equal(json_integer_value(json_object_get(row, "bytes_after")),
                   4352);
  json_decref(root);
  command_end(&result);
}

// The short spelling is a rule for all weights, before those of --quantize.
static void weights_are_stored_as_halves(void** state) {
  (void)state;
  command_expect_out(0,
                     WORDS(ETX, "plan", methods, "-o", program, "--weights",
                           "bf16", "--quantize", "none:*.head"),
                     "  1 to bf16: 16384 to 8192 bytes, exact");
  command_expect(0, WORDS(ETX, "verify", program));
  command_expect(0, WORDS(ETX, "plan", methods, "-o", other, "-q", "--quantize",
                          "bf16", "--quantize", "none:*.head"));
  command_expect_same_files(program, other);
  // Each result is 64 times 0.25 times a sum of 64 halves.
  char x[3 * 128 + 16] = "x=[[";
  for (int i = 0; i < 128; ++i) {
    strcat(x, i == 0 ? "1" : i == 64 ? "],[1" : ",1");
  }
  strcat(x, "]]");
  command_expect_out(0, WORDS(ETX, "run", program, "run", "--in", x), "512");
  command_expect_err(2,
                     WORDS(ETX, "plan", methods, "-o", other, "--weights",
                           "f16", "--target", "executorch"),
                     "or over halves beside float32");
  command_expect_err(2,
                     WORDS(ETX, "plan", methods, "-o", other, "--weights",
                           "f16", "--weights-names", "x"),
                     "needs a file of weights");
}

// The short report names weights that a half cannot hold.
static void too_large_weights_are_named(void** state) {
  (void)state;
  write_method("run.yaml",
               "etx: 1\n"
               "method: run\n"
               "inputs: [{name: x, type: 'float32[2, 64]'}]\n"
               "buffers:\n"
               "  - {name: net.fc.weight, type: 'float32[64, 64]', init: 7e4}\n"
               "nodes:\n"
               "  - {out: y, op: aten.linear.default, args: [x, "
               "net.fc.weight]}\n"
               "outputs: [y]\n");
  command_expect_out(
      0, WORDS(ETX, "plan", methods, "-o", program, "--weights", "f16"),
      "net.fc.weight: has values that float16 rounds to infinity (its largest "
      "is 65504), or NaN\n");
  write_method("run.yaml", graph);
}

// The name of an operator follows a reason that ends in "by", and no other.
static void reasons_name_operators(void** state) {
  (void)state;
  const char* const* const words =
      WORDS(ETX, "plan", MODEL, "-o", program, "--report", "full", "--quantize",
            "int8", "--quantize", "none:model.decoder.embed_positions");
  command_expect_out(
      0, words,
      "final_logits_bias: is not the weight of a linear layer, convolution or "
      "embedding\n");
  command_expect_out(0, words, "bytes: is excluded\n");
  command_expect_out(
      0, WORDS(ETX, "plan", MODEL, "-o", program, "--quantize", "int8"),
      "bytes: is also read as floats by aten::slice_copy\n");
}

static void a_rule_without_effect_is_reported(void** state) {
  (void)state;
  command_result result = command_run(
      WORDS(ETX, "plan", methods, "-o", program, "--quantize", "int8:net.fc",
            "--quantize", "none:net.fc", "--quantize", "int8:net.head"));
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.out, "rule 'int8:net.fc' quantised no weight"));
  assert_null(strstr(result.out, "rule 'int8:net.head' quantised no weight"));
  assert_null(strstr(result.out, "rule 'none"));
  command_end(&result);
  result =
      command_run(WORDS(ETX, "plan", methods, "-o", program, "--quantize",
                        "int8:net.fc", "--quantize", "none:net.fc", "--json"));
  json_t* const root = json_loads(result.out, 0, NULL);
  const json_t* const rule =
      json_array_get(json_object_get(root, "quantize_rules"), 0);
  assert_string_equal(json_string_value(json_object_get(rule, "rule")),
                      "int8:net.fc");
  assert_int_equal(json_integer_value(json_object_get(rule, "rounded")), 0);
  json_decref(root);
  command_end(&result);
}

static void nothing_is_quantised_by_default(void** state) {
  (void)state;
  command_result result =
      command_run(WORDS(ETX, "plan", methods, "-o", program));
  assert_int_equal(result.code, 0);
  assert_null(strstr(result.out, "quantised"));
  command_end(&result);
  command_expect(0, WORDS(ETX, "plan", methods, "-o", other, "--quantize",
                          "none", "--quiet"));
  command_result ops = command_run(WORDS(ETX, "inspect", other));
  assert_null(strstr(ops.out, "w8.out"));
  command_end(&ops);
}

static void the_key_and_the_option_give_the_same_file(void** state) {
  (void)state;
  write_method("program.yaml", "quantize: [int4, 'int8:net.head']\n");
  command_expect(0, WORDS(ETX, "plan", methods, "-o", other, "-q"));
  write_method("program.yaml", "etx: 1\n");
  command_expect(0, WORDS(ETX, "plan", methods, "-o", program, "-q",
                          "--quantize", "int4", "--quantize", "int8:net.head"));
  command_expect_same_files(program, other);
}

static void quantisation_is_reproducible(void** state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    command_expect(0, WORDS(ETX, "plan", MODEL, "-o", i == 0 ? program : other,
                            "-q", "--quantize", "int4/64"));
  }
  command_expect_same_files(program, other);
}

static void wrong_rules_are_refused(void** state) {
  (void)state;
  command_expect_err(
      2,
      WORDS(ETX, "plan", methods, "-o", program, "--quantize", "int8:net.haed"),
      "no weight matches pattern 'net.haed' of rule 'int8:net.haed', did you "
      "mean 'net.head', in option '--quantize'");
  command_expect_err(
      2, WORDS(ETX, "plan", methods, "-o", program, "--quantize", "int3"),
      "weights cannot be quantised to 'int3'");
  command_expect_err(2,
                     WORDS(ETX, "plan", methods, "-o", program, "--quantize",
                           "int8", "--target", "executorch"),
                     "plan for target etx");
  write_method("program.yaml", "quantize:\n  - int8:net.tail\n");
  command_expect_err(2, WORDS(ETX, "plan", methods, "-o", program),
                     "program.yaml:2:5: no weight matches pattern 'net.tail'");
  write_method("program.yaml", "etx: 1\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_report_lists_each_weight),
      cmocka_unit_test(weights_are_stored_as_halves),
      cmocka_unit_test(too_large_weights_are_named),
      cmocka_unit_test(reasons_name_operators),
      cmocka_unit_test(a_rule_without_effect_is_reported),
      cmocka_unit_test(nothing_is_quantised_by_default),
      cmocka_unit_test(the_key_and_the_option_give_the_same_file),
      cmocka_unit_test(quantisation_is_reproducible),
      cmocka_unit_test(wrong_rules_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, command_tear_down);
}
