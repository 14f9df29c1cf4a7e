// Which weights are rounded, and the operators that read them.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "exporter/passes/constant_names.h"
#include "exporter/host/name_pattern.h"
#include "exporter/import/quantize_rules.h"
#include "tests/exporter/lowered.h"

#define PASSES "lower fold_matmul_transposes fold_constants simplify"

// A layer, a table that is a layer too, and a layer that is too small.
static const char layers[] =
    "inputs: [{name: x, type: 'float32[2, 64]'}, {name: i, type: 'int64[3]'}]\n"
    "buffers:\n"
    "  - {name: a.fc.weight, type: 'float32[32, 64]', init: 1}\n"
    "  - {name: a.fc.bias, type: 'float32[32]', init: 1}\n"
    "  - {name: a.head.weight, type: 'float32[40, 64]', init: 2}\n"
    "  - {name: a.few.weight, type: 'float32[3, 64]', init: 3}\n"
    "  - {name: a.odd.weight, type: 'float32[40, 40]', init: 4}\n"
    "nodes:\n"
    "  - {out: y, op: aten.linear.default, args: [x, a.fc.weight, a.fc.bias]}\n"
    "  - {out: h, op: aten.linear.default, args: [x, a.head.weight]}\n"
    "  - {out: e, op: aten.embedding.default, args: [a.head.weight, i]}\n"
    "  - {out: f, op: aten.linear.default, args: [x, a.few.weight]}\n"
    "  - {out: o, op: aten.linear.default, args: [h, a.odd.weight]}\n"
    "outputs: [y, o, e, f]\n";

static void add_rules(lowered* l, const char* rules) {
  while (*rules != '\0') {
    const size_t size = strcspn(rules, " ");
    const etx_text rule = {rules, size};
    if (etx_quantize_rule_add(&l->reading.module, rule, &l->diag) != ETX_OK) {
      fail_msg("%s", l->diag.text);
    }
    rules += size;
    while (*rules == ' ') ++rules;
  }
}

static void expect(const char* graph, const char* rules, const char* wanted) {
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, graph);
  add_rules(&l, rules);
  lowered_run(&l, PASSES " quantize_weights");
  assert_lines(&l, wanted);
  lowered_close(&l);
}

#define FEW "f: float32[2, 3] = aten::linear.out(x, a.few.weight, None)\n"
#define RETURN "return y\nreturn o\nreturn e\nreturn f\n"

static void no_rule_changes_nothing(void** state) {
  (void)state;
  expect(
      layers, "",
      "y: float32[2, 32] = aten::linear.out(x, a.fc.weight, a.fc.bias)\n"
      "h: float32[2, 40] = aten::linear.out(x, a.head.weight, None)\n"
      "e: float32[3, 64] = aten::embedding.out(a.head.weight, i, -1, False, "
      "False)\n" FEW
      "o: float32[2, 40] = aten::linear.out(h, a.odd.weight, None)\n" RETURN);
}

#define DEQUANTIZE "quantized_decomposed::dequantize_per_channel.out"

// A weight of a convolution is dequantised in front of it, whatever the kind; a
// transposed convolution has a scale for each input channel. A weight that an
// addition reads, too, stays.
static void convolutions_read_dequantised_weights(void** state) {
  (void)state;
  static const char graph[] =
      "inputs: [{name: x, type: 'float32[1, 16, 9]'}, {name: s, type: "
      "'float32[1]'}]\n"
      "buffers:\n"
      "  - {name: a.weight, type: 'float32[24, 16, 3]', init: 1}\n"
      "  - {name: b.weight, type: 'float32[24, 16, 3]', init: 2}\n"
      "  - {name: c.weight, type: 'float32[16, 40, 3]', init: 3}\n"
      "nodes:\n"
      "  - {out: y, op: aten.conv1d.default, args: [x, a.weight]}\n"
      "  - {out: z, op: aten.conv1d.default, args: [x, b.weight]}\n"
      "  - {out: w, op: aten.add.Tensor, args: [b.weight, s]}\n"
      "  - {out: t, op: aten.conv_transpose1d.default, args: [x, c.weight]}\n"
      "outputs: [y, z, w, t]\n";
  expect(graph, "int4",
         "y.1: float32[24, 16, 3] = " DEQUANTIZE
         "(const int8[24, 16, 3], const float32[24], None, 0, -128, 127, int8, "
         "None)\n"
         "y: float32[1, 24, 7] = aten::convolution.out(x, y.1, None, [1], [0], "
         "[1], False, [0], 1)\n"
         "z: float32[1, 24, 7] = aten::convolution.out(x, b.weight, None, [1], "
         "[0], [1], False, [0], 1)\n"
         "w: float32[24, 16, 3] = aten::add.out(b.weight, s, 1)\n"
         "t.1: float32[16, 40, 3] = " DEQUANTIZE
         "(const int8[16, 40, 3], const float32[16], None, 0, -128, 127, int8, "
         "None)\n"
         "t: float32[1, 40, 11] = aten::convolution.out(x, t.1, None, [1], "
         "[0], [1], True, [0], 1)\n"
         "return y\nreturn z\nreturn w\nreturn t\n");
}

static void layers_and_tables_read_the_same_bytes(void** state) {
  (void)state;
  expect(
      layers, "int8",
      "y: float32[2, 32] = etx::linear_a8w8.out(x, const int8[32, 64], const "
      "float32[32], a.fc.bias)\n"
      "h: float32[2, 40] = etx::linear_a8w8.out(x, const int8[40, 64], const "
      "float32[40], None)\n"
      "e: float32[3, 64] = quantized_decomposed::embedding_byte.out(const "
      "int8[40, 64], const float32[40], None, -128, 127, i)\n" FEW
      "o: float32[2, 40] = etx::linear_a8w8.out(h, const int8[40, 40], const "
      "float32[40], None)\n" RETURN);
}

// Rows of 40 elements cannot be cut into groups of 32 or 64.
static void int4_takes_the_group_that_fits(void** state) {
  (void)state;
  expect(
      layers, "int4/128",
      "y: float32[2, 32] = etx::linear_a8w4g.out(x, const uint8[32, 32], "
      "const float32[32, 1], None, 64, a.fc.bias)\n"
      "h: float32[2, 40] = etx::linear_a8w4g.out(x, const uint8[40, 32], "
      "const float32[40, 1], None, 64, None)\n"
      "e: float32[3, 64] = quantized_decomposed::embedding_4bit.out(const "
      "uint8[40, 32], const float32[40, 1], None, -8, 7, i)\n" FEW
      "o: float32[2, 40] = etx::linear_a8w8.out(h, const int8[40, 40], const "
      "float32[40], None)\n" RETURN);
}

// A scale for each row, and parameters for each group. Rows of 40 elements have
// no groups of 32.
static void groups_have_offsets(void** state) {
  (void)state;
  expect(
      layers, "int4k",
      "y: float32[2, 32] = etx::linear_a8w4g.out(x, const uint8[32, 32], "
      "const float32[32], const int16[32, 2], 32, a.fc.bias)\n"
      "h: float32[2, 40] = etx::linear_a8w4g.out(x, const uint8[40, 32], "
      "const float32[40], const int16[40, 2], 32, None)\n"
      "e: float32[3, 64] = quantized_decomposed::embedding_4bit.out(const "
      "uint8[40, 32], const float32[40], const int16[40, 2], -8, 7, i)\n" FEW
      "o: float32[2, 40] = etx::linear_a8w8.out(h, const int8[40, 40], const "
      "float32[40], None)\n" RETURN);
}

// Rows of 40 elements get one scale.
static void int8_groups_have_scales_of_their_own(void** state) {
  (void)state;
  expect(layers, "int8w/32",
         "y: float32[2, 32] = etx::linear_w8.out(x, const int8[32, 64], const "
         "float32[32, 2], a.fc.bias)\n"
         "h: float32[2, 40] = etx::linear_w8.out(x, const int8[40, 64], const "
         "float32[40, 2], None)\n"
         "e: float32[3, 64] = quantized_decomposed::embedding_byte.out(const "
         "int8[40, 64], const float32[40, 2], None, -128, 127, i)\n" FEW
         "o: float32[2, 40] = etx::linear_w8.out(h, const int8[40, 40], const "
         "float32[40], None)\n" RETURN);
}

static void the_last_rule_that_matches_decides(void** state) {
  (void)state;
  expect(
      layers, "int4w none:*.head,*.odd int8w:a.fc,a.few.weight",
      "y: float32[2, 32] = etx::linear_w8.out(x, const int8[32, 64], const "
      "float32[32], a.fc.bias)\n"
      "h: float32[2, 40] = aten::linear.out(x, a.head.weight, None)\n"
      "e: float32[3, 64] = aten::embedding.out(a.head.weight, i, -1, False, "
      "False)\n"
      // Small as it is: it was named.
      "f: float32[2, 3] = etx::linear_w8.out(x, const int8[3, 64], const "
      "float32[3], None)\n"
      "o: float32[2, 40] = aten::linear.out(h, a.odd.weight, None)\n" RETURN);
}

// mm reads its weight transposed; the transpose is folded.
static void folded_weights_keep_their_names(void** state) {
  (void)state;
  expect(
      "inputs: [{name: x, type: 'float32[2, 32]'}]\n"
      "buffers: [{name: a.w, type: 'float32[32, 64]', init: 1}, {name: b.w, "
      "type: 'float32[32, 96]', init: 1}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.mm.default, args: [x, a.w]}\n"
      "  - {out: z, op: aten.mm.default, args: [x, b.w]}\n"
      "outputs: [y, z]\n",
      "int8:a",
      "y: float32[2, 64] = etx::linear_a8w8.out(x, const int8[64, 32], const "
      "float32[64], None)\n"
      "z: float32[2, 96] = aten::linear.out(x, const float32[96, 32], None)\n"
      "return y\nreturn z\n");
}

static const etx_quantized* row_of(const lowered* l, const char* name) {
  for (size_t i = 0; i < l->context.quantized.count; ++i) {
    const etx_quantized* const row = &l->context.quantized.items[i];
    if (etx_text_is(row->name, name)) return row;
  }
  fail_msg("'%s' is not reported", name);
  return NULL;
}

static void the_report_lists_each_weight(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, layers);
  add_rules(&l, "int4 none:a.head");
  lowered_run(&l, PASSES " quantize_weights");
  assert_int_equal(l.context.quantized.count, 4);
  const etx_quantized* row = row_of(&l, "a.fc.weight");
  assert_string_equal(row->kind, "int4/32");
  assert_null(row->reason);
  assert_int_equal(row->bytes, 32 * 64 * 4);
  assert_int_equal(row->bytes_after, 32 * 32 + 32 * 2 * 4);
  assert_true(row->signal == 32 * 64);
  assert_true(row->noise < 1e-9);
  row = row_of(&l, "a.head.weight");
  assert_null(row->kind);
  assert_string_equal(row->reason, "is excluded");
  assert_int_equal(row->bytes_after, row->bytes);
  row = row_of(&l, "a.few.weight");
  assert_string_equal(row->reason, "is too small");
  row = row_of(&l, "a.odd.weight");
  assert_string_equal(row->kind, "int8");
  assert_non_null(
      strstr(row->reason, "not a multiple of the requested group size"));
  lowered_close(&l);
}

// A table that is also sliced as floats would be stored twice.
static void weights_with_other_readers_stay(void** state) {
  (void)state;
  lowered l;
  lowered_open(
      &l, ETX_TARGET_ETX,
      "inputs: [{name: x, type: 'float32[2, 64]'}]\n"
      "buffers: [{name: w, type: 'float32[32, 64]', init: 1}, {name: v, type: "
      "'float32[32, 64]', init: 2}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.linear.default, args: [x, w]}\n"
      "  - {out: z, op: aten.linear.default, args: [x, v]}\n"
      "  - {out: n, op: aten.mul.Tensor, args: [y, y]}\n"
      "  - {out: m, op: aten.mm.default, args: [n, w]}\n"
      "  - {out: o, op: aten.mul.Tensor, args: [x, m]}\n"
      "outputs: [o, z, v]\n");
  add_rules(&l, "int8");
  lowered_run(&l, PASSES " quantize_weights");
  assert_null(strstr(lowered_lines(&l), "int8"));
  assert_string_equal(row_of(&l, "w")->reason, "is also read as floats by");
  assert_true(etx_text_is(row_of(&l, "w")->reader, "aten::mm"));
  assert_true(etx_text_is(row_of(&l, "v")->reader, "the caller"));
  lowered_close(&l);
}

// float16 and bfloat16 layers, tables and convolutions; results keep the dtype.
static void half_weights_are_rounded(void** state) {
  (void)state;
  static const char graph[] =
      "inputs: [{name: x, type: 'bfloat16[2, 64]'}, {name: i, type: "
      "'int64[3]'}, {name: c, type: 'float16[1, 16, 9]'}]\n"
      "buffers:\n"
      "  - {name: w, type: 'bfloat16[32, 64]', init: 1}\n"
      "  - {name: v, type: 'float16[24, 16, 3]', init: 2}\n"
      "nodes:\n"
      "  - {out: y, op: aten.linear.default, args: [x, w]}\n"
      "  - {out: e, op: aten.embedding.default, args: [w, i]}\n"
      "  - {out: z, op: aten.conv1d.default, args: [c, v]}\n"
      "outputs: [y, e, z]\n";
  expect(graph, "int8",
         "y: bfloat16[2, 32] = etx::linear_a8w8.out(x, const int8[32, 64], "
         "const float32[32], None)\n"
         "e: bfloat16[3, 64] = quantized_decomposed::embedding_byte.dtype_out("
         "const int8[32, 64], const float32[32], None, -128, 127, i, "
         "bfloat16)\n"
         "z.1: float16[24, 16, 3] = " DEQUANTIZE
         "(const int8[24, 16, 3], const float32[24], None, 0, -128, 127, int8, "
         "float16)\n"
         "z: float16[1, 24, 7] = aten::convolution.out(c, z.1, None, [1], [0], "
         "[1], False, [0], 1)\n"
         "return y\nreturn e\nreturn z\n");
}

// Layers and tables over float32 share halves; rows of a table, and the weight
// of a convolution, are expanded.
static void float_weights_become_halves(void** state) {
  (void)state;
  expect(
      layers, "bf16 f16:a.odd",
      "y: float32[2, 32] = aten::linear.out(x, const bfloat16[32, 64], "
      "a.fc.bias)\n"
      "h: float32[2, 40] = aten::linear.out(x, const bfloat16[40, 64], None)\n"
      "e.1: bfloat16[3, 64] = aten::embedding.out(const bfloat16[40, 64], i, "
      "-1, False, False)\n"
      "e: float32[3, 64] = dim_order_ops::_to_dim_order_copy.out(e.1, False, "
      "[0, 1])\n" FEW
      "o: float32[2, 40] = aten::linear.out(h, const float16[40, 40], "
      "None)\n" RETURN);
  expect(
      "inputs: [{name: x, type: 'float32[1, 16, 9]'}]\n"
      "buffers: [{name: w, type: 'float32[24, 16, 3]', init: 1}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.conv1d.default, args: [x, w]}\n"
      "outputs: [y]\n",
      "float16",
      "y.1: float32[24, 16, 3] = dim_order_ops::_to_dim_order_copy.out(const "
      "float16[24, 16, 3], False, [0, 1, 2])\n"
      "y: float32[1, 24, 7] = aten::convolution.out(x, y.1, None, [1], [0], "
      "[1], False, [0], 1)\n"
      "return y\n");
}

// 65504 is the largest float16; what rounds to it is stored, too. Halves of a
// model whose activations are halves stay.
static void weights_that_have_no_half_stay(void** state) {
  (void)state;
  static const struct {
    const char* type;
    const char* init;
    const char* rule;
    const char* reason;
  } cases[] = {
      {"float32", "65504", "f16", NULL},
      {"float32", "65519.99", "f16", NULL},
      {"float32", "65520", "f16",
       "has values that float16 rounds to infinity (its largest is 65504), or "
       "NaN"},
      {"float32", "-1e5", "f16",
       "has values that float16 rounds to infinity (its largest is 65504), or "
       "NaN"},
      {"float32", "1e38", "bf16", NULL},
      {"float32", "3.4e38", "bf16",
       "has values that bfloat16 rounds to infinity (its largest is 3.39e38), "
       "or NaN"},
      {"bfloat16", "1", "f16", "is not float32"},
      {"float16", "1", "f16", "is not float32"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char graph[400];
    lowered l;
    snprintf(graph, sizeof graph,
             "inputs: [{name: x, type: '%s[2, 64]'}]\n"
             "buffers: [{name: w, type: '%s[32, 64]', init: %s}]\n"
             "nodes:\n"
             "  - {out: y, op: aten.linear.default, args: [x, w]}\n"
             "outputs: [y]\n",
             cases[i].type, cases[i].type, cases[i].init);
    lowered_open(&l, ETX_TARGET_ETX, graph);
    add_rules(&l, cases[i].rule);
    lowered_run(&l, PASSES " quantize_weights");
    const etx_quantized* const row = row_of(&l, "w");
    if (cases[i].reason == NULL) {
      assert_null(row->reason);
      assert_string_equal(row->kind, cases[i].rule);
      assert_int_equal(row->bytes_after, 32 * 64 * 2);
    } else {
      assert_string_equal(row->reason, cases[i].reason);
      assert_null(row->kind);
    }
    lowered_close(&l);
  }
}

static void other_float_weights_are_reported(void** state) {
  (void)state;
  lowered l;
  lowered_open(
      &l, ETX_TARGET_ETX,
      "inputs: [{name: x, type: 'float16[2, 64]'}, {name: i, type: "
      "'int64[3]'}]\n"
      "buffers: [{name: w, type: 'float16[32, 64]', init: 1}, {name: t, type: "
      "'float64[32, 64]', init: 2}, {name: s, type: 'float16[2, 64]', init: "
      "3}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.linear.default, args: [x, w]}\n"
      "  - {out: e, op: aten.embedding.default, args: [t, i]}\n"
      "  - {out: z, op: aten.add.Tensor, args: [x, s]}\n"
      "outputs: [y, e, z]\n");
  add_rules(&l, "int8");
  lowered_run(&l, PASSES " quantize_weights");
  assert_int_equal(l.context.quantized.count, 2);
  assert_null(row_of(&l, "w")->reason);
  assert_string_equal(row_of(&l, "w")->type, "float16");
  assert_int_equal(row_of(&l, "w")->bytes, 32 * 64 * 2);
  assert_int_equal(row_of(&l, "w")->bytes_after, 32 * 64 + 32 * 4);
  assert_string_equal(row_of(&l, "t")->reason,
                      "is not float32, float16 or bfloat16");
  assert_string_equal(row_of(&l, "t")->type, "float64");
  assert_null(row_of(&l, "t")->kind);
  lowered_close(&l);
}

static void executorch_is_refused(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_EXECUTORCH, layers);
  add_rules(&l, "int8");
  lowered_run(&l, PASSES);
  assert_int_equal(etx_pass_quantize_weights(&l.context), ETX_UNSUPPORTED);
  assert_non_null(strstr(l.diag.text, "ExecuTorch has no linear layer"));
  lowered_close(&l);
}

static void refuse(const char* rule, const char* part) {
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, layers);
  assert_int_not_equal(
      etx_quantize_rule_add(&l.reading.module, etx_text_of(rule), &l.diag),
      ETX_OK);
  if (strstr(l.diag.text, part) == NULL) {
    fail_msg("expected '%s' in '%s'", part, l.diag.text);
  }
  assert_int_equal(l.reading.module.quantize_count, 0);
  lowered_close(&l);
}

static void wrong_rules_are_refused(void** state) {
  (void)state;
  refuse("int5", "cannot be quantised to 'int5': expected none, int8");
  refuse("", "cannot be quantised to ''");
  refuse("int4/16", "cannot be quantised to 'int4/16'");
  refuse("int8:", "has an empty pattern");
  refuse("int8:a.fc,", "has an empty pattern");
  refuse("int8:a.head,*.haed.*", "no weight matches pattern '*.haed.*'");
  refuse("int8:*.haed.*", "did you mean 'head'");
  refuse("int8:a.fc.wieght", "did you mean 'a.fc.weight'");
}

static void patterns_match_names_and_modules(void** state) {
  (void)state;
  static const struct {
    const char* pattern;
    const char* name;
    bool matches;
  } cases[] = {
      {"a.b", "a.b", true},
      {"a.b", "a.b.c", true},
      {"a.b", "a.bc", false},
      {"a", "b.a", false},
      {"*.a", "b.a.c", true},
      {"*.a", "a.c", true},
      {"*.a", "ba.c", false},
      {"a.?.c", "a.0.c.weight", true},
      {"a.*.c", "a.0.1.c", true},
      {"*", "x", true},
      {"*.weight", "a.bias", false},
      {"a.*", "a", false},
      {"*.", "a", false},
      {"", "a", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (etx_name_matches_module(etx_text_of(cases[i].pattern),
                                etx_text_of(cases[i].name)) !=
        cases[i].matches) {
      fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].name);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_rule_changes_nothing),
      cmocka_unit_test(convolutions_read_dequantised_weights),
      cmocka_unit_test(layers_and_tables_read_the_same_bytes),
      cmocka_unit_test(int4_takes_the_group_that_fits),
      cmocka_unit_test(groups_have_offsets),
      cmocka_unit_test(int8_groups_have_scales_of_their_own),
      cmocka_unit_test(the_last_rule_that_matches_decides),
      cmocka_unit_test(folded_weights_keep_their_names),
      cmocka_unit_test(the_report_lists_each_weight),
      cmocka_unit_test(weights_with_other_readers_stay),
      cmocka_unit_test(half_weights_are_rounded),
      cmocka_unit_test(float_weights_become_halves),
      cmocka_unit_test(weights_that_have_no_half_stay),
      cmocka_unit_test(other_float_weights_are_reported),
      cmocka_unit_test(executorch_is_refused),
      cmocka_unit_test(wrong_rules_are_refused),
      cmocka_unit_test(patterns_match_names_and_modules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
