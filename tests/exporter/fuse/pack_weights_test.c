// Which weights are packed, and the operators that read them.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "exporter/import/quantize_rules.h"
#include "tests/exporter/lowered.h"

#define PASSES \
  "lower fold_matmul_transposes fold_constants fuse_linear_epilogue"

static void open_packed(lowered* l, const char* graph) {
  lowered_open(l, ETX_TARGET_ETX, graph);
  l->options.pack_weights = true;
  lowered_run(l, PASSES " pack_weights");
}

static void expect_packed(const char* graph, const char* wanted) {
  lowered l;
  open_packed(&l, graph);
  assert_lines(&l, wanted);
  lowered_close(&l);
}

#define BUFFERS                                         \
  "buffers:\n"                                          \
  "  - {name: a.w, type: 'float32[32, 5]', init: 1}\n"  \
  "  - {name: a.b, type: 'float32[32]', init: 2}\n"     \
  "  - {name: b.w, type: 'float32[20, 32]', init: 3}\n" \
  "  - {name: c.w, type: 'float32[16, 32]', init: 4}\n"

#define LAYERS(rows)                                             \
  "inputs: [{name: x, type: 'float32[" rows ", 5]'}]\n" BUFFERS  \
  "nodes:\n"                                                     \
  "  - {out: a, op: aten.linear.default, args: [x, a.w, a.b]}\n" \
  "  - {out: b, op: aten.linear.default, args: [a, b.w]}\n"      \
  "  - {out: c, op: aten.linear.default, args: [a, c.w]}\n"      \
  "  - {out: r, op: aten.relu.default, args: [c]}\n"             \
  "outputs: [b, r]\n"

static void layers_of_many_rows_read_panels(void** state) {
  (void)state;
  expect_packed(
      LAYERS("13"),
      "a: float32[13, 32] = etx::linear_panels.out(x, const float32[2, 5, 16], "
      "a.b, [], 'x')\n"
      "b: float32[13, 20] = aten::linear.out(a, b.w, None)\n"
      "r: float32[13, 16] = etx::linear_panels.out(a, const float32[1, 32, "
      "16], None, [], 'x relu')\n"
      "return b\n"
      "return r\n");
}

static void layers_with_few_rows_are_not_packed(void** state) {
  (void)state;
  expect_packed(LAYERS("12"),
                "a: float32[12, 32] = aten::linear.out(x, a.w, a.b)\n"
                "b: float32[12, 20] = aten::linear.out(a, b.w, None)\n"
                "r: float32[12, 16] = etx::linear_chain.out(a, c.w, None, [], "
                "'x relu')\n"
                "return b\n"
                "return r\n");
}

#define RECURRENT(batch)                                                       \
  "inputs: [{name: x, type: 'float32[2, " batch                                \
  ", 3]'}, {name: h, type: "                                                   \
  "'float32[1, " batch                                                         \
  ", 16]'}]\n"                                                                 \
  "buffers:\n"                                                                 \
  "  - {name: i, type: 'float32[48, 3]', init: 1}\n"                           \
  "  - {name: w, type: 'float32[48, 16]', init: 2}\n"                          \
  "nodes:\n"                                                                   \
  "  - {out: [y, z], op: aten.gru.input, args: [x, h, [i, w], false, 1, 0.0, " \
  "false, false, false]}\n"                                                    \
  "outputs: [y]\n"

// The rows of a recurrent layer are those of one step.
static void recurrent_layers_of_many_rows_read_panels(void** state) {
  (void)state;
  expect_packed(
      RECURRENT("13"),
      "y.1: float32[13, 16] = aten::select_copy.int_out(h, 0, 0)\n"
      "y.2: float32[2, 13, 48] = etx::linear_panels.out(x, const float32[3, 3, "
      "16], None, [], 'x')\n"
      "y: float32[2, 13, 16], y.4: float32[13, 16] = etx::gru_sequence.out("
      "y.2, y.1, const float32[3, 16, 16], None, False, False)\n"
      "z: float32[1, 13, 16] = aten::view_copy.out(y.4, [1, 13, 16])\n"
      "return y\n");
  expect_packed(
      RECURRENT("12"),
      "y.1: float32[12, 16] = aten::select_copy.int_out(h, 0, 0)\n"
      "y.2: float32[2, 12, 48] = etx::linear_panels.out(x, const float32[3, 3, "
      "16], None, [], 'x')\n"
      "y: float32[2, 12, 16], y.4: float32[12, 16] = etx::gru_sequence.out("
      "y.2, y.1, w, None, False, False)\n"
      "z: float32[1, 12, 16] = aten::view_copy.out(y.4, [1, 12, 16])\n"
      "return y\n");
}

// With one row, panels are read in the order of memory.
static void recurrent_layers_of_one_row_read_panels(void** state) {
  (void)state;
  expect_packed(
      RECURRENT("1"),
      "y.1: float32[1, 16] = aten::select_copy.int_out(h, 0, 0)\n"
      "y.2: float32[2, 1, 48] = aten::linear.out(x, i, None)\n"
      "y: float32[2, 1, 16], y.4: float32[1, 16] = etx::gru_sequence.out("
      "y.2, y.1, const float32[3, 16, 16], None, False, False)\n"
      "z: float32[1, 1, 16] = aten::view_copy.out(y.4, [1, 1, 16])\n"
      "return y\n");
}

// Symbolic rows count with their upper bound.
static void rows_are_counted_over_all_dimensions(void** state) {
  (void)state;
  expect_packed(
      "dims: {s: {min: 1, max: 7}}\n"
      "inputs: [{name: x, type: 'float32[2, s, 5]'}]\n" BUFFERS
      "nodes: [{out: a, op: aten.linear.default, args: [x, a.w]}]\n"
      "outputs: [a]\n",
      "a: float32[2, s, 32] = etx::linear_panels.out(x, const float32[2, 5, "
      "16], None, [], 'x')\n"
      "return a\n");
}

#define CONVOLUTION(size, weight, rest)                              \
  "inputs: [{name: x, type: 'float32[1, 16, " size                   \
  "]'}]\n"                                                           \
  "buffers:\n"                                                       \
  "  - {name: w, type: 'float32[" weight                             \
  "]', init: 1}\n"                                                   \
  "  - {name: b, type: 'float32[32]', init: 2}\n"                    \
  "nodes:\n"                                                         \
  "  - {out: a, op: aten.convolution.default, args: [x, w, b, " rest \
  "]}\n"                                                             \
  "  - {out: r, op: aten.relu.default, args: [a]}\n"                 \
  "outputs: [r]\n"
#define PLAIN "[1, 1], [1, 1], [1, 1], false, [0, 0], 1"

static void expect_convolution_stays(const char* graph, const char* reason) {
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, graph);
  l.options.pack_weights = true;
  lowered_run(&l, PASSES " fuse_convolution_epilogue pack_weights");
  assert_int_equal(l.context.packed.count, 1);
  assert_string_equal(l.context.packed.items[0].reason, reason);
  assert_null(strstr(lowered_lines(&l), "winograd"));
  lowered_close(&l);
}

static void convolutions_3x3_use_winograd(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, CONVOLUTION("8, 6", "32, 16, 3, 3", PLAIN));
  l.options.pack_weights = true;
  lowered_run(&l, PASSES " fuse_convolution_epilogue pack_weights");
  assert_lines(&l,
               "r: float32[1, 32, 8, 6] = etx::convolution_winograd.out(x, "
               "const float32[2, 16, 3, 3, 16], b, [1, 1], [], 'x relu')\n"
               "return r\n");
  lowered_close(&l);
}

static void convolutions_1x1_read_panels(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               "inputs: [{name: x, type: 'float32[1, 64, 7, 7]'}]\n"
               "buffers:\n"
               "  - {name: w, type: 'float32[48, 64, 1, 1]', init: 1}\n"
               "nodes:\n"
               "  - {out: a, op: aten.convolution.default, args: [x, w, null, "
               "[1, 1], [0, 0], [1, 1], false, [0, 0], 1]}\n"
               "  - {out: r, op: aten.hardswish.default, args: [a]}\n"
               "  - {out: s, op: aten.add.Tensor, args: [r, a]}\n"
               "outputs: [a, s]\n");
  l.options.pack_weights = true;
  lowered_run(&l, PASSES " fuse_convolution_epilogue pack_weights");
  assert_non_null(
      strstr(lowered_lines(&l),
             "a: float32[1, 48, 7, 7] = etx::convolution_panels.out(x, const "
             "float32[3, 64, 1, 1, 16], None, [], 'x')\n"));
  lowered_close(&l);
}

// Strides, dilations, groups, oblong windows, few results and lines.
static void other_convolutions_read_panels(void** state) {
  static const struct {
    const char* graph;
    const char* call;
  } cases[] = {
      {CONVOLUTION("9, 9", "32, 16, 5, 5",
                   "[2, 2], [2, 2], [1, 1], false, [0, 0], 1"),
       "r: float32[1, 32, 5, 5] = etx::convolution_packed.out(x, const "
       "float32[2, 16, 5, 5, 16], b, [2, 2], [2, 2], [1, 1], False, [0, 0], "
       "1, [], 'x relu')\n"},
      {CONVOLUTION("9, 9", "32, 16, 5, 4",
                   "[1, 1], [1, 1], [2, 2], false, [0, 0], 1"),
       "r: float32[1, 32, 3, 5] = etx::convolution_packed.out(x, const "
       "float32[2, 16, 5, 4, 16], b, [1, 1], [1, 1], [2, 2], False, [0, 0], "
       "1, [], 'x relu')\n"},
      {"inputs: [{name: x, type: 'float32[1, 32, 90]'}]\n"
       "buffers: [{name: w, type: 'float32[64, 16, 20]', init: 1}]\n"
       "nodes:\n"
       "  - {out: r, op: aten.convolution.default, args: [x, w, null, [1], "
       "[0], "
       "[1], false, [0], 2]}\n"
       "outputs: [r]\n",
       "r: float32[1, 64, 71] = etx::convolution_packed.out(x, const "
       "float32[4, 16, 20, 16], None, [1], [0], [1], False, [0], 2, [], "
       "'x')\n"},
      {"inputs: [{name: x, type: 'float32[1, 64, 49]'}]\n"
       "buffers: [{name: w, type: 'float32[32, 64, 1]', init: 1}]\n"
       "nodes:\n"
       "  - {out: r, op: aten.convolution.default, args: [x, w, null, [1], "
       "[0], "
       "[1], false, [0], 1]}\n"
       "outputs: [r]\n",
       "r: float32[1, 32, 49] = etx::convolution_packed.out(x, const "
       "float32[2, "
       "64, 1, 16], None, [1], [0], [1], False, [0], 1, [], 'x')\n"},
      {CONVOLUTION("9, 9", "16, 32, 3, 3",
                   "[2, 2], [1, 1], [1, 1], true, [1, 1], 1"),
       "r: float32[1, 32, 18, 18] = etx::convolution_packed.out(x, const "
       "float32[2, 16, 3, 3, 16], b, [2, 2], [1, 1], [1, 1], True, [1, 1], 1, "
       "[], 'x relu')\n"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, cases[i].graph);
    l.options.pack_weights = true;
    lowered_run(&l, PASSES " fuse_convolution_epilogue pack_weights");
    if (strstr(lowered_lines(&l), cases[i].call) == NULL) {
      fail_msg("%s", lowered_lines(&l));
    }
    lowered_close(&l);
  }
}

// A transposed convolution of two groups of 32 channels, whose weights [I, O /
// 2, 1, 2] are counted, panel 2 has the first sixteen of the second.
static void panels_of_transposed_groups_are_in_output_order(void** state) {
  enum { IN = 16, OUT = 32, TAPS = 2, PANEL = 16 };
  enum { NUMBERS = 2 * IN * OUT * TAPS };
  (void)state;
  lowered l;
  lowered_open(
      &l, ETX_TARGET_ETX,
      "inputs: [{name: x, type: 'float32[1, 32, 9, 9]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [2048]}\n"
      "  - {out: f, op: aten._to_copy.default, args: [i], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: w, op: aten.view.default, args: [f, [32, 32, 1, 2]]}\n"
      "  - {out: r, op: aten.convolution.default, args: [x, w, null, [1, 2], "
      "[0, 0], [1, 1], true, [0, 0], 2]}\n"
      "outputs: [r]\n");
  l.options.pack_weights = true;
  lowered_run(&l, PASSES " pack_weights");
  const etx_ir_method* const method = &l.reading.module.methods[0];
  const etx_ir_node* const node = &method->nodes[method->node_count - 1];
  const etx_ir_value* const value = &method->values[node->args[1].as.value];
  const etx_ir_constant* const panels =
      &l.reading.module.constants[value->index];
  const float* const found = (const float*)(const void*)panels->data.data;
  assert_int_equal(panels->data.size, NUMBERS * sizeof(float));
  for (size_t k = 0; k < NUMBERS; ++k) {
    const size_t lane = k % PANEL, tap = k / PANEL % TAPS;
    const size_t in = k / PANEL / TAPS % IN;
    const size_t out = k / PANEL / TAPS / IN * PANEL + lane;
    const size_t row = out / OUT * IN + in;
    assert_true(found[k] == (float)((row * OUT + out % OUT) * TAPS + tap));
  }
  lowered_close(&l);
}

static void other_convolutions_are_reported(void** state) {
  (void)state;
  expect_convolution_stays(
      CONVOLUTION("9, 9", "32, 8, 3, 3",
                  "[1, 1], [1, 1], [1, 1], false, [0, 0], 2"),
      "has few channels");
  expect_convolution_stays(
      CONVOLUTION("9, 9", "32, 16, 1, 1",
                  "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"),
      "has few channels");
  expect_convolution_stays(
      CONVOLUTION("9, 9", "32, 16, 2, 2",
                  "[1, 1], [1, 1], [1, 1], false, [0, 0], 1"),
      "has few channels");
  expect_convolution_stays(
      CONVOLUTION("9, 9", "32, 4, 3, 3",
                  "[1, 1], [1, 1], [1, 1], false, [0, 0], 4"),
      "has a number of output channels that is not a multiple of 16");
  expect_convolution_stays(
      CONVOLUTION("99, 99", "32, 16, 5, 5", PLAIN),
      "is used for many output pixels, so packing at run time costs little");
  expect_convolution_stays(
      CONVOLUTION("5, 5", "32, 16, 5, 5",
                  "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"),
      "is used for few output pixels");
  expect_convolution_stays(
      CONVOLUTION("1, 1", "16, 32, 4, 4",
                  "[1, 1], [0, 0], [1, 1], true, [0, 0], 1"),
      "is used for few output pixels");
  expect_convolution_stays(
      CONVOLUTION("19, 19", "32, 16, 13, 13",
                  "[1, 1], [0, 0], [1, 1], false, [0, 0], 1"),
      "has windows of more than 147 elements");
  expect_convolution_stays(
      "inputs: [{name: x, type: 'float32[1, 16, 400]'}]\n"
      "buffers: [{name: w, type: 'float32[32, 16, 148]', init: 1}]\n"
      "nodes:\n"
      "  - {out: r, op: aten.convolution.default, args: [x, w, null, [1], [0], "
      "[1], false, [0], 1]}\n"
      "outputs: [r]\n",
      "has windows of more than 147 elements");
}

// An ordinary and a transposed convolution read the same weight.
static void a_weight_of_different_convolutions_stays(void** state) {
  (void)state;
  lowered l;
  lowered_open(
      &l, ETX_TARGET_ETX,
      "inputs: [{name: x, type: 'float32[1, 32, 9, 9]'}]\n"
      "buffers: [{name: w, type: 'float32[32, 32, 3, 3]', init: 1}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.convolution.default, args: [x, w, null, [2, 2], "
      "[1, 1], [1, 1], false, [0, 0], 1]}\n"
      "  - {out: b, op: aten.convolution.default, args: [x, w, null, [2, 2], "
      "[1, 1], [1, 1], true, [0, 0], 1]}\n"
      "outputs: [a, b]\n");
  l.options.pack_weights = true;
  lowered_run(&l, PASSES " pack_weights");
  assert_int_equal(l.context.packed.count, 1);
  assert_string_equal(l.context.packed.items[0].reason,
                      "is read by convolutions that need different panels");
  assert_null(strstr(lowered_lines(&l), "packed"));
  lowered_close(&l);
}

static void int8_panels_have_column_sums(void** state) {
  (void)state;
  static const char graph[] =
      "inputs: [{name: x, type: 'float32[8, 64]'}, {name: y, type: "
      "'float32[7, 64]'}]\n"
      "buffers:\n"
      "  - {name: a.w, type: 'float32[32, 64]', init: 1}\n"
      "  - {name: a.b, type: 'float32[32]', init: 2}\n"
      "  - {name: b.w, type: 'float32[48, 64]', init: 3}\n"
      "nodes:\n"
      "  - {out: a, op: aten.linear.default, args: [x, a.w, a.b]}\n"
      "  - {out: b, op: aten.linear.default, args: [y, b.w]}\n"
      "outputs: [a, b]\n";
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, graph);
  l.options.pack_weights = true;
  const etx_status status =
      etx_quantize_rule_add(&l.reading.module, etx_text_of("int8"), &l.diag);
  assert_int_equal(status, ETX_OK);
  lowered_run(&l, "lower quantize_weights pack_weights");
  assert_lines(&l,
               "a: float32[8, 32] = etx::linear_a8w8_panels.out(x, const "
               "int8[2, 16, 16, 4], const float32[32], const int32[32], a.b)\n"
               "b: float32[7, 48] = etx::linear_a8w8.out(y, const int8[48, "
               "64], const float32[48], None)\n"
               "return a\n"
               "return b\n");
  const etx_ir_method* const method = &l.reading.module.methods[0];
  const etx_ir_node* const node = &method->nodes[0];
  const etx_ir_value* const sums = &method->values[node->args[3].as.value];
  const etx_ir_constant* const c = &l.reading.module.constants[sums->index];
  for (size_t i = 0; i < 32; ++i) {
    assert_int_equal(((const int32_t*)(const void*)c->data.data)[i], 64 * 127);
  }
  assert_int_equal(l.context.packed.count, 2);
  assert_true(etx_text_is(l.context.packed.items[0].name, "a.w"));
  assert_string_equal(l.context.packed.items[0].type, "int8");
  assert_string_equal(l.context.packed.items[1].reason,
                      "is multiplied with few rows only");
  lowered_close(&l);
}

// The last int8 panel is padded, and an embedding table is stored twice.
static void a_tied_embedding_is_packed_for_its_layer(void** state) {
  (void)state;
  static const char graph[] =
      "inputs: [{name: x, type: 'float32[8, 64]'}, {name: i, type: "
      "'int64[3]'}]\n"
      "buffers: [{name: t, type: 'float32[21, 64]', init: 1}]\n"
      "nodes:\n"
      "  - {out: e, op: aten.embedding.default, args: [t, i]}\n"
      "  - {out: y, op: aten.linear.default, args: [x, t]}\n"
      "outputs: [e, y]\n";
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, graph);
  l.options.pack_weights = true;
  const etx_status status =
      etx_quantize_rule_add(&l.reading.module, etx_text_of("int8"), &l.diag);
  assert_int_equal(status, ETX_OK);
  lowered_run(&l, "lower quantize_weights pack_weights");
  assert_lines(
      &l,
      "e: float32[3, 64] = quantized_decomposed::embedding_byte.out(const "
      "int8[21, 64], const float32[21], None, -128, 127, i)\n"
      "y: float32[8, 21] = etx::linear_a8w8_panels.out(x, const int8[2, 16, "
      "16, "
      "4], const float32[21], const int32[21], None)\n"
      "return e\n"
      "return y\n");
  const etx_ir_method* const method = &l.reading.module.methods[0];
  const etx_ir_value* const panels =
      &method->values[method->nodes[1].args[1].as.value];
  const uint8_t* const bytes =
      l.reading.module.constants[panels->index].data.data;
  for (size_t i = 0; i < 2048; ++i) {
    const bool is_there = i < 1024 || i % 64 < 20;
    assert_int_equal(bytes[i], is_there ? 127 : 0);
  }
  assert_int_equal(l.context.packed.count, 1);
  assert_null(l.context.packed.items[0].reason);
  assert_true(etx_text_is(l.context.packed.items[0].reader,
                          "quantized_decomposed::embedding_byte"));
  lowered_close(&l);
}

static void nothing_is_packed_without_the_option(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, LAYERS("13"));
  lowered_run(&l, PASSES " pack_weights");
  assert_null(strstr(lowered_lines(&l), "panels"));
  assert_int_equal(l.context.packed.count, 0);
  lowered_close(&l);
}

static const etx_packed* row_of(const lowered* l, const char* name) {
  for (size_t i = 0; i < l->context.packed.count; ++i) {
    const etx_packed* const row = &l->context.packed.items[i];
    if (etx_text_is(row->name, name)) return row;
  }
  fail_msg("'%s' is not reported", name);
  return NULL;
}

static void the_report_lists_each_weight(void** state) {
  (void)state;
  lowered l;
  open_packed(&l,
              "inputs: [{name: x, type: 'float32[40, 5]'}, {name: y, type: "
              "'float32[3, 5]'}, {name: z, type: 'float32[16, 5]'}]\n"
              "buffers:\n"
              "  - {name: all, type: 'float32[16, 5]', init: 1}\n"
              "  - {name: odd, type: 'float32[17, 5]', init: 2}\n"
              "  - {name: few, type: 'float32[16, 5]', init: 3}\n"
              "  - {name: table, type: 'float32[16, 5]', init: 4}\n"
              "  - {name: half, type: 'float16[16, 5]', init: 5}\n"
              "  - {name: other, type: 'float32[40, 5]', init: 6}\n"
              "nodes:\n"
              "  - {out: a, op: aten.linear.default, args: [x, all]}\n"
              "  - {out: b, op: aten.linear.default, args: [x, odd]}\n"
              "  - {out: c, op: aten.linear.default, args: [x, few]}\n"
              "  - {out: d, op: aten.linear.default, args: [y, few]}\n"
              "  - {out: e, op: aten.linear.default, args: [x, table]}\n"
              "  - {out: f, op: aten.mul.Tensor, args: [z, table]}\n"
              "  - {out: i, op: aten.add.Tensor, args: [x, other]}\n"
              "  - {out: g, op: aten._to_copy.default, args: [x], kwargs: "
              "{dtype: float16}}\n"
              "  - {out: h, op: aten.linear.default, args: [g, half]}\n"
              "outputs: [a, b, c, d, e, f, h, i]\n");
  assert_int_equal(l.context.packed.count, 5);
  assert_null(row_of(&l, "all")->reason);
  assert_int_equal(row_of(&l, "all")->bytes, 16 * 5 * 4);
  assert_string_equal(row_of(&l, "all")->type, "float32");
  assert_string_equal(
      row_of(&l, "odd")->reason,
      "has a number of output columns that is not a multiple of 16");
  assert_string_equal(row_of(&l, "few")->reason,
                      "is multiplied with few rows only");
  assert_string_equal(row_of(&l, "table")->reason, "is also read unpacked by");
  assert_true(etx_text_is(row_of(&l, "table")->reader, "aten::mul"));
  assert_string_equal(row_of(&l, "half")->reason, "is not float32");
  lowered_close(&l);
}

// A recurrent layer of one row needs whole panels of each gate. These are four
// gates of four units.
static void gates_do_not_share_a_panel_of_one_row(void** state) {
  (void)state;
  lowered l;
  open_packed(&l,
              "inputs: [{name: x, type: 'float32[2, 1, 3]'}, {name: h, type: "
              "'float32[1, 1, 4]'}, {name: c, type: 'float32[1, 1, 4]'}]\n"
              "buffers:\n"
              "  - {name: i, type: 'float32[16, 3]', init: 1}\n"
              "  - {name: w, type: 'float32[16, 4]', init: 2}\n"
              "nodes:\n"
              "  - {out: [y, z, d], op: aten.lstm.input, args: [x, [h, c], [i, "
              "w], false, 1, 0.0, false, false, false]}\n"
              "outputs: [y]\n");
  assert_string_equal(row_of(&l, "w")->reason,
                      "is multiplied with few rows only");
  lowered_close(&l);
}

// Two layers read the same bytes, column by column of each panel.
static void a_shared_weight_is_packed_once(void** state) {
  (void)state;
  lowered l;
  open_packed(&l,
              "inputs: [{name: x, type: 'float32[20, 3]'}]\n"
              "buffers:\n"
              "  - {name: w, type: 'float32[3, 32]', init: 1}\n"
              "nodes:\n"
              "  - {out: i, op: aten.arange.default, args: [96]}\n"
              "  - {out: f, op: aten._to_copy.default, args: [i], kwargs: "
              "{dtype: float32}}\n"
              "  - {out: m, op: aten.view.default, args: [f, [32, 3]]}\n"
              "  - {out: a, op: aten.linear.default, args: [x, m]}\n"
              "  - {out: b, op: aten.neg.default, args: [x]}\n"
              "  - {out: c, op: aten.linear.default, args: [b, m]}\n"
              "outputs: [a, c]\n");
  const etx_ir_method* const method = &l.reading.module.methods[0];
  const etx_ir_node* product = NULL;
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (node->op->id != ETX_OP_linear_panels_out) continue;
    if (product != NULL) {
      assert_int_equal(node->args[1].as.value, product->args[1].as.value);
    }
    product = node;
  }
  assert_non_null(product);
  const etx_ir_value* const value = &method->values[product->args[1].as.value];
  assert_int_equal(value->origin, ETX_IR_FROM_CONSTANT);
  const etx_ir_constant* const c = &l.reading.module.constants[value->index];
  const float* const data = (const float*)(const void*)c->data.data;
  assert_int_equal(c->data.size, 96 * sizeof(float));
  for (size_t n = 0; n < 32; ++n) {
    for (size_t k = 0; k < 3; ++k) {
      assert_true(data[(n / 16 * 3 + k) * 16 + n % 16] == (float)(n * 3 + k));
    }
  }
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers_of_many_rows_read_panels),
      cmocka_unit_test(layers_with_few_rows_are_not_packed),
      cmocka_unit_test(recurrent_layers_of_many_rows_read_panels),
      cmocka_unit_test(recurrent_layers_of_one_row_read_panels),
      cmocka_unit_test(gates_do_not_share_a_panel_of_one_row),
      cmocka_unit_test(rows_are_counted_over_all_dimensions),
      cmocka_unit_test(convolutions_3x3_use_winograd),
      cmocka_unit_test(convolutions_1x1_read_panels),
      cmocka_unit_test(other_convolutions_read_panels),
      cmocka_unit_test(panels_of_transposed_groups_are_in_output_order),
      cmocka_unit_test(other_convolutions_are_reported),
      cmocka_unit_test(a_weight_of_different_convolutions_stays),
      cmocka_unit_test(int8_panels_have_column_sums),
      cmocka_unit_test(a_tied_embedding_is_packed_for_its_layer),
      cmocka_unit_test(nothing_is_packed_without_the_option),
      cmocka_unit_test(the_report_lists_each_weight),
      cmocka_unit_test(a_shared_weight_is_packed_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
