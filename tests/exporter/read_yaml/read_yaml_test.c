// Tests of methods in YAML: their content, and errors with line and column.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/exporter/reading.h"

static reading r;
static scratch_directory directory;

static void read_text(const char* text) {
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "m.yaml", text);
  reading_open(&r, directory.path);
}

static void done(void) {
  reading_close(&r);
  scratch_directory_remove(&directory);
}

static void assert_refused(const char* text, const char* problem) {
  read_text(text);
  assert_problem(&r, problem);
  done();
}

// ---------------------------------------------------------------- content

static const char get_cache[] =
    "etx: 1\n"
    "method: m\n"
    "dims: {b: {min: 1, max: 10}, t: {min: 1, max: 20}}\n"
    "inputs:\n"
    "  - {name: data, type: \"float32[b, t]\", mutable: true}\n"
    "buffers:\n"
    "  - {name: cache, type: \"float32[10, 20]\", init: 0.5}\n"
    "nodes:\n"
    "  - {out: rows, op: aten.slice.Tensor, args: [cache, 0, 0, {sym: b}]}\n"
    "  - {out: part, op: aten.slice.Tensor, args: [rows, 1, 0, {sym: t}]}\n"
    "outputs: []\n"
    "mutates: {data: part}\n";

static void a_method_has_its_content(void** state) {
  (void)state;
  read_text(get_cache);
  assert_reads(&r);
  const etx_ir_method* const method = &r.module.methods[0];
  assert_int_equal(method->symbols.symbol_count, 2);
  assert_int_equal(method->input_count, 1);
  assert_true(method->inputs[0].is_mutable);
  assert_int_equal(method->node_count, 2);
  assert_int_equal(method->nodes[0].arg_count, 5);  // step filled in
  assert_int_equal(method->nodes[0].args[4].as.integer, 1);
  assert_false(method->values[method->nodes[0].outputs[0]].has_shape);
  assert_int_equal(method->nodes[0].place.line, 9);
  assert_int_equal(method->output_count, 0);
  assert_int_equal(r.module.buffer_count, 1);
  assert_false(r.module.buffers[0].is_state);  // no method writes it
  assert_int_equal(r.module.buffers[0].place.line, 7);
  const float* const data =
      (const float*)r.module.constants[r.module.buffers[0].initial].data.data;
  assert_true(data[0] == 0.5f && data[199] == 0.5f);
  done();
}

static void arguments_take_every_form(void** state) {
  (void)state;
  read_text(
      "dims: {n: {max: 8}}\n"
      "inputs:\n"
      "  - {name: x, type: \"float32[2*n, 4]\"}\n"
      "  - {name: k, sym: n}\n"
      "  - {name: flag, fixed: true}\n"
      "  - {name: word, fixed: {str: abc}}\n"
      "nodes:\n"
      "  - {out: a, op: aten.gelu.default, args: [x], kwargs: {approximate: "
      "{str: tanh}}}\n"
      "  - {out: b, op: aten._to_copy.default, args: [a], kwargs: {dtype: "
      "float64, memory_format: preserve_format}}\n"
      "  - {out: c, op: aten.clamp.default, args: [b, -.inf, 2.5]}\n"
      "  - {out: d, op: aten.view.default, args: [c, [{sym: \"2*n\"}, -1]]}\n"
      "  - {out: [e, null], op: aten.max.dim, args: [d, 1]}\n"
      "  - {out: [f, g], op: aten.split.Tensor, args: [x, {sym: n}]}\n"
      "  - {out: \"9\", op: aten.cat.default, args: [[f, g]]}\n"
      "outputs: [e, \"9\", {last: f}, {name: size, sym: \"n + 1\"}, 3, "
      "null]\n");
  assert_reads(&r);
  const etx_ir_method* const method = &r.module.methods[0];
  assert_true(etx_text_is(method->nodes[0].args[1].as.string, "tanh"));
  assert_int_equal(method->nodes[1].args[1].as.dtype, ETX_DTYPE_FLOAT64);
  assert_int_equal(method->nodes[1].args[6].as.integer, 1);
  assert_int_equal(method->nodes[2].args[1].kind, ETX_IR_ARG_DOUBLE);
  assert_false(
      etx_dim_is_number(method->nodes[3].args[1].as.list.items[0].as.integer));
  assert_int_equal(method->nodes[4].outputs[1], ETX_IR_NONE);
  assert_int_equal(method->nodes[6].args[0].as.list.count, 2);
  assert_int_equal(method->output_count, 6);
  static const char* const names[] = {"output_0", "output_1", "last",
                                      "size",     "output_4", "output_5"};
  for (size_t i = 0; i < 6; ++i) {
    assert_true(etx_text_is(method->outputs[i].name, names[i]));
  }
  assert_int_equal(method->outputs[4].arg.as.integer, 3);
  assert_int_equal(method->inputs[1].arg.kind, ETX_IR_ARG_INT);
  assert_true(method->inputs[2].arg.as.boolean);
  done();
}

static void outputs_may_be_a_map(void** state) {
  (void)state;
  read_text(
      "inputs: [{name: x, type: \"float32[2]\"}]\n"
      "outputs: {first: x, second: {fixed: 2.5}}\n");
  assert_reads(&r);
  assert_true(etx_text_is(r.module.methods[0].outputs[0].name, "first"));
  assert_true(r.module.methods[0].outputs[1].arg.as.real == 2.5);
  done();
}

static void unused_buffers_are_dropped(void** state) {
  (void)state;
  read_text(
      "inputs: [{name: x, type: \"float32[2]\"}]\n"
      "buffers:\n"
      "  - {name: unused, type: \"float32[2]\"}\n"
      "  - {name: written, type: \"float32[2]\"}\n"
      "outputs: []\n"
      "mutates: {written: x}\n");
  assert_reads(&r);
  assert_int_equal(r.module.buffer_count, 1);
  assert_true(r.module.buffers[0].is_state);
  done();
}

static void weights_are_found_by_name(void** state) {
  static const char header[] =
      "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}   ";
  static const float values[2] = {3, 4};
  uint8_t file[128] = {0};
  (void)state;
  scratch_directory_make(&directory);
  file[0] = sizeof header - 1;
  memcpy(file + 8, header, sizeof header - 1);
  memcpy(file + 8 + sizeof header - 1, values, sizeof values);
  scratch_write(&directory, "weights.safetensors", file,
                8 + sizeof header - 1 + sizeof values);
  scratch_write_text(&directory, "m.yaml",
                     "buffers: [{name: w, type: \"float32[2]\"}]\n"
                     "nodes: [{out: y, op: aten.relu.default, args: [w]}]\n"
                     "outputs: [y]\n");
  reading_open(&r, directory.path);
  assert_reads(&r);
  assert_memory_equal(r.module.constants[0].data.data, values, sizeof values);
  reading_close(&r);
  scratch_write_text(&directory, "m.yaml",
                     "buffers: [{name: w, type: \"float32[3]\"}]\n"
                     "nodes: [{out: y, op: aten.relu.default, args: [w]}]\n"
                     "outputs: [y]\n");
  reading_open(&r, directory.path);
  assert_problem(&r,
                 "m.yaml:1:11: 'w' is float32[2] in the weights file, "
                 "expected float32[3]");
  reading_close(&r);
  scratch_write_text(&directory, "m.yaml",
                     "buffers:\n"
                     "  - {name: v, type: \"float32[2]\", init: {tensor: "
                     "weights.safetensors#ww}}\n"
                     "  - {name: u, type: \"float32[2]\", init: {tensor: "
                     "other.safetensors#w}}\n"
                     "nodes: [{out: y, op: aten.add.Tensor, args: [v, u]}]\n"
                     "outputs: [y]\n");
  reading_open(&r, directory.path);
  assert_problem(&r,
                 "m.yaml:2:41: file 'weights.safetensors' has no tensor "
                 "'ww', "
                 "did you mean 'w'");
  assert_problem(&r, "m.yaml:3:41: cannot open");
  reading_close(&r);
  scratch_directory_remove(&directory);
}

// ---------------------------------------------------------------- refusals

static void texts_that_are_not_methods_are_refused(void** state) {
  (void)state;
  assert_refused("a: [\n", "m.yaml:2:1: not valid YAML");
  assert_refused("- 1\n", "m.yaml:1:1: 'method' should be a map");
  assert_refused("etx: 2\n",
                 "m.yaml:1:6: format version 2 is not supported, expected 1");
  assert_refused(
      "method: other\n",
      "m.yaml:1:9: 'method' is 'other', but the file is named 'm.yaml'");
  assert_refused("input: []\n",
                 "m.yaml:1:1: unknown key 'input', did you mean 'inputs'");
  assert_refused("nodes: {a: b}\n", "m.yaml:1:8: 'nodes' should be a list");
}

static void wrong_types_are_refused(void** state) {
  (void)state;
  assert_refused("inputs: [{name: x, type: float32}]\n",
                 "m.yaml:1:26: expected a type such as \"float32[4, n]\"");
  assert_refused("inputs: [{name: x, type: \"float[2]\"}]\n",
                 "m.yaml:1:26: unknown dtype 'float'");
  assert_refused("inputs: [{name: x, type: \"float32[n]\"}]\n",
                 "m.yaml:1:26: symbol 'n' in 'n' is not declared under dims");
  assert_refused("inputs: [{name: x, type: \"float32[2,]\"}]\n",
                 "m.yaml:1:26: expected an integer");
  assert_refused(
      "dims: {n: {max: 3}}\ninputs: [{name: x, type: \"float32[n - 2]\"}]\n",
      "m.yaml:2:26: size 'n - 2' can be negative (-2)");
  assert_refused(
      "inputs: [{name: x, type: \"float32[1,1,1,1,1,1,1,1,1,1,1,1,1,"
      "1,1,1,1]\"}]\n",
      "more than 16 dimensions");
  assert_refused("dims: {n: {min: 1}}\n",
                 "m.yaml:1:11: dimension 'n' has no 'max'");
  assert_refused("dims: {n: {min: 3, max: 1}}\n",
                 "dimension 'n' has the impossible bounds 3..1");
  assert_refused("dims: {2n: {max: 1}}\n",
                 "m.yaml:1:8: '2n' cannot name a dimension");
  assert_refused("dims: {n: {max: many}}\n",
                 "m.yaml:1:17: 'max' should be an integer, found 'many'");
  assert_refused("inputs: [{name: x, type: \"float32[2]\", sym: n}]\n",
                 "should have exactly one of 'type', 'sym' and 'fixed'");
  assert_refused(
      "inputs: [{name: x, type: \"float32[2]\"}, {name: x, fixed: "
      "1}]\n",
      "m.yaml:1:41: two inputs are named 'x'");
}

// A malformed entry still defines its name, so its uses cause no more errors.
static void an_error_is_reported_once(void** state) {
  (void)state;
  static const char* const texts[] = {
      "inputs: [{name: w, type: 'float33[2]'}]\n",
      "inputs: [{name: w, types: 'float32[2]'}]\n",
      "buffers: [{name: w, type: 'float32[2]', inits: 0}]\n",
      "buffers: [{name: w, type: 'float33[2]', init: 0}]\n",
      "constants: [{name: w, type: 'float32[2]', init: zer}]\n",
      "constants: [{name: v, value: w, type: 'float32[2]', init: 0}]\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    char text[512];
    snprintf(text, sizeof text,
             "%snodes:\n"
             "  - {out: y, op: aten.relu.default, args: [w]}\n"
             "  - {out: z, op: aten.add.Tensor, args: [y, w]}\n"
             "outputs: [z]\n",
             texts[i]);
    read_text(text);
    assert_int_equal(r.problems.count, 1);
    done();
  }
}

#define X "inputs: [{name: x, type: \"float32[2]\"}]\nnodes:\n"

static void wrong_nodes_are_refused(void** state) {
  (void)state;
  assert_refused(X "  - {out: y, op: aten.reelu.default, args: [x]}\n",
                 "m.yaml:3:18: operator 'aten.reelu.default' is not "
                 "supported; the nearest supported form is "
                 "'aten.relu.default'");
  assert_refused(X "  - {out: y, op: aten.relu, args: [x]}\n",
                 "the nearest supported form is 'aten.relu.default'");
  assert_refused(X "  - {out: y, op: aten.relu.default, args: [z]}\n",
                 "m.yaml:3:44: value 'z' is not defined before its use");
  assert_refused(X "  - {out: y, op: aten.relu.default, args: [y]}\n",
                 "value 'y' is not defined before its use");
  assert_refused(X "  - {out: x, op: aten.relu.default, args: [x]}\n",
                 "m.yaml:3:11: the name 'x' is already in use");
  assert_refused(X "  - {out: y, op: aten.relu.default, args: [x, x]}\n",
                 "m.yaml:3:47: too many positional arguments (2)");
  assert_refused(X "  - {out: y, op: aten.relu.default}\n",
                 "m.yaml:3:5: argument 'self' is missing");
  assert_refused(X
                 "  - {out: y, op: aten.add.Tensor, args: [x, x], kwargs: "
                 "{beta: 1}}\n",
                 "m.yaml:3:58: 'aten.add.Tensor' has no argument 'beta'");
  assert_refused(X "  - {out: [y, z], op: aten.relu.default, args: [x]}\n",
                 "m.yaml:3:11: 'aten.relu.default' has 1 result, but 'out' has "
                 "2 names");
  assert_refused(X "  - {out: y, op: aten.split.Tensor, args: [x, 1]}\n",
                 "'out' should be a list of names, since 'aten.split.Tensor'");
  assert_refused(X "  - {op: aten.relu.default, args: [x]}\n",
                 "m.yaml:3:5: 'out' is missing");
  assert_refused(X
                 "  - {out: y, op: aten.gelu.default, args: [x], kwargs: "
                 "{approximate: tanh}}\n",
                 "'tanh' names a value: write a string as {str: tanh}");
  assert_refused(X "  - {out: y, op: aten.sum.dim_IntList, args: [x, 0.5]}\n",
                 "argument 'dim' has the wrong type");
  assert_refused(X "  - {out: y, op: aten.relu.default, args: [[[x]]]}\n",
                 "nested lists are not supported");
  assert_refused(X "  - {out: y, op: higher_order.cond, args: [x]}\n",
                 "control flow operator 'higher_order.cond' is not supported: "
                 "write a node with 'if', 'while' or 'scan'");
  assert_refused(X
                 "  - {out: y, type: [\"float32[2]\"], op: "
                 "aten.relu.default, args: [x]}\n",
                 "'type' should have one type for each name");
  assert_refused(X
                 "  - {out: y, op: aten.add.Tensor, args: [x, "
                 "-9223372036854775808]}\n",
                 "is too small");
}

static void all_errors_of_a_file_are_reported(void** state) {
  (void)state;
  read_text(X
            "  - {out: a, op: aten.nothing.default, args: [x]}\n"
            "  - {out: b, op: aten.relu.default, args: [q]}\n"
            "  - {out: c, op: aten.relu.default, args: [a]}\n"
            "outputs: [a, zz]\n");
  assert_problem(&r, "m.yaml:3:18:");
  assert_problem(&r, "m.yaml:4:44:");
  assert_problem(&r, "m.yaml:6:14:");
  assert_int_equal(r.problems.count, 3);
  done();
}

static void wrong_buffers_and_mutations_are_refused(void** state) {
  (void)state;
  assert_refused(
      "buffers: [{name: b, type: \"float32[2]\"}]\n"
      "nodes: [{out: y, op: aten.relu.default, args: [b]}]\n",
      "m.yaml:1:11: 'b' has no value");
  assert_refused(
      "dims: {n: {max: 2}}\n"
      "buffers: [{name: b, type: \"float32[n]\"}]\n",
      "m.yaml:2:27: buffers and constants need fixed sizes");
  assert_refused(
      "buffers: [{name: b, type: \"int64[2]\", init: 1.5}]\n"
      "nodes: [{out: y, op: aten.relu.default, args: [b]}]\n",
      "m.yaml:1:45: '1.5' is not a value of dtype int64");
  assert_refused(
      "buffers: [{name: b, type: \"int64[2]\", init: many}]\n"
      "nodes: [{out: y, op: aten.relu.default, args: [b]}]\n",
      "m.yaml:1:45: an initial value should be a number or {tensor:");
  assert_refused(
      "buffers:\n  - {name: b, type: \"int64[2]\"}\n"
      "  - {name: b, type: \"int64[2]\"}\n",
      "m.yaml:3:5: buffer 'b' is listed twice");
  assert_refused(
      "inputs: [{name: x, type: \"float32[2]\"}]\n"
      "mutates: {x: x}\n",
      "m.yaml:2:11: input 'x' is mutated but lacks 'mutable: true'");
  assert_refused(
      "inputs: [{name: x, type: \"float32[2]\"}]\n"
      "mutates: {cach: x}\n"
      "buffers: [{name: cache, type: \"float32[2]\"}]\n",
      "m.yaml:2:11: 'cach' is not a buffer or tensor input of this "
      "method, did you mean 'cache'");
  assert_refused(
      "inputs: [{name: x, type: \"float32[2]\"}]\n"
      "mutates: {cache: x}\n"
      "buffers: [{name: cache, type: \"float32[3]\"}]\n",
      "m.yaml:2:18: 'x' and 'cache', which it replaces, have different");
  assert_refused("constants: [{name: c, type: \"float32[2]\"}]\n",
                 "m.yaml:1:13: 'init' is missing");
  assert_refused("outputs: [{name: a, value: b, sym: c}]\n",
                 "an output should have exactly one of 'value', 'number', "
                 "'sym' and 'fixed'");
  assert_refused(
      "inputs: [{name: x, type: \"float32[2]\"}]\n"
      "outputs: [{name: a, number: x}]\n",
      "m.yaml:2:29: a 'number' should be a tensor of rank 0");
  assert_refused(
      "inputs: [{name: x, type: \"float32[2]\"}]\n"
      "outputs: [{name: a, value: x}, {name: a, value: x}]\n",
      "m.yaml:2:32: two outputs are named 'a'");
}

#define LATE(nodes)                              \
  "etx: 1\nmethod: m\n"                          \
  "dims: {n: {max: 9}, u: {max: 24}}\n"          \
  "inputs: [{name: x, type: 'float32[n, 3]'}]\n" \
  "nodes:\n" nodes "outputs: [x]\n"
#define FOUND                              \
  "  - {out: y, type: 'int64[u, 2]', op: " \
  "aten.nonzero.default, args: [x], sets: "
#define USES "  - {out: z, op: aten.arange.default, args: [{sym: u}]}\n"

static void nodes_set_sizes_from_data(void** state) {
  (void)state;
  read_text(LATE(FOUND "u}\n" USES));
  assert_reads(&r);
  const etx_ir_method* const method = &r.module.methods[0];
  const etx_symbol* const symbol = &method->symbols.symbols[1];
  assert_int_equal(method->nodes[0].late, 2);
  assert_true(symbol->is_late);
  assert_int_equal(symbol->maximum, 24);
  done();
  assert_refused(LATE(FOUND "v}\n"), "'v' is not a dimension of 'dims'");
  assert_refused(LATE(FOUND "n}\n"), "'n' is a size of an input");
  assert_refused(LATE(FOUND "u}\n"
                            "  - {out: w, op: aten.nonzero.default, args: [x], "
                            "sets: u}\n"),
                 "another node sets 'u' already");
  assert_refused(LATE(USES FOUND "u}\n"),
                 "'u' is needed before this node sets it");
}

// nonzero of at most 9 x 3 elements has at most 27 rows, whatever `dims` says.
static void the_operator_bounds_a_size_from_data(void** state) {
  (void)state;
  read_text(
      "etx: 1\nmethod: m\n"
      "dims: {n: {max: 9}, u: {max: 1000}}\n"
      "inputs: [{name: x, type: 'float32[n, 3]'}]\n"
      "nodes:\n" FOUND "u}\noutputs: [y]\n");
  assert_reads(&r);
  assert_int_equal(r.module.methods[0].symbols.symbols[1].maximum, 27);
  done();
}

// A size that a branch sets is not known outside of it.
static void a_size_from_data_stays_in_its_branch(void** state) {
  (void)state;
  assert_refused(
      "etx: 1\nmethod: m\n"
      "dims: {u: {max: 24}}\n"
      "inputs: [{name: x, type: 'float32[8, 3]'}, {name: c, type: 'bool[]'}]\n"
      "nodes:\n"
      "  - out: [k]\n"
      "    if: c\n"
      "    then:\n"
      "      nodes:\n"
      "        - {out: y, type: 'int64[u, 2]', op: aten.nonzero.default, "
      "args: [x], sets: u}\n"
      "      outputs: [x]\n"
      "    else: {outputs: [x]}\n" USES "outputs: [z]\n",
      "'u' is needed where no node has set it");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_set_sizes_from_data),
      cmocka_unit_test(the_operator_bounds_a_size_from_data),
      cmocka_unit_test(a_size_from_data_stays_in_its_branch),
      cmocka_unit_test(a_method_has_its_content),
      cmocka_unit_test(arguments_take_every_form),
      cmocka_unit_test(outputs_may_be_a_map),
      cmocka_unit_test(unused_buffers_are_dropped),
      cmocka_unit_test(weights_are_found_by_name),
      cmocka_unit_test(texts_that_are_not_methods_are_refused),
      cmocka_unit_test(wrong_types_are_refused),
      cmocka_unit_test(an_error_is_reported_once),
      cmocka_unit_test(wrong_nodes_are_refused),
      cmocka_unit_test(all_errors_of_a_file_are_reported),
      cmocka_unit_test(wrong_buffers_and_mutations_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
