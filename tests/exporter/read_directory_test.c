// Tests of reading a directory: merged buffers, program.yaml, names of methods.

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

// `encode` writes the cache, `decode` reads it; `decode` has a free table.
static const char encode[] =
    "dims: {n: {min: 1, max: 8}}\n"
    "inputs:\n"
    "  - {name: x, type: \"float32[4]\"}\n"
    "  - {name: y, type: \"float32[2*n, 3]\"}\n"
    "buffers: [{name: net.cache, type: \"float32[4]\"}]\n"
    "outputs: [x, y]\n"
    "mutates: {net.cache: x}\n";
static const char decode[] =
    "buffers:\n"
    "  - {name: net.cache, type: \"float32[4]\"}\n"
    "  - {name: net.table, type: \"float32[4]\", init: 2}\n"
    "nodes: [{out: z, type: \"float32[4]\", op: aten.add.Tensor, args: "
    "[net.cache, net.table]}]\n"
    "outputs: {sum: z}\n";

static void write_methods(void) {
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "encode.yaml", encode);
  scratch_write_text(&directory, "decode.yaml", decode);
}

static void read_with(const char* program) {
  write_methods();
  scratch_write_text(&directory, "program.yaml", program);
  reading_open(&r, directory.path);
}

static void done(void) {
  reading_close(&r);
  scratch_directory_remove(&directory);
}

static void assert_refused(const char* program, const char* problem) {
  read_with(program);
  assert_problem(&r, problem);
  done();
}

static const etx_ir_buffer* buffer_named(const char* name) {
  uint32_t index = 0;
  assert_true(etx_ir_find_buffer(&r.module, etx_text_of(name), &index));
  return &r.module.buffers[index];
}

static const etx_ir_method* method_named(const char* name) {
  uint32_t index = 0;
  assert_true(etx_ir_find_method(&r.module, etx_text_of(name), &index));
  return &r.module.methods[index];
}

// ---------------------------------------------------------------- merging

static void methods_share_buffers_by_name(void** state) {
  (void)state;
  read_with("etx: 1\n");
  assert_reads(&r);
  assert_int_equal(r.module.method_count, 2);
  assert_true(etx_text_is(r.module.methods[0].name, "decode"));  // sorted
  assert_int_equal(r.module.buffer_count, 2);
  assert_true(buffer_named("net.cache")->is_state);
  assert_false(buffer_named("net.table")->is_state);
  done();
}

static void conflicting_shapes_name_both_files(void** state) {
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "a.yaml",
                     "inputs: [{name: x, type: \"float32[4]\"}]\n"
                     "buffers: [{name: c, type: \"float32[4]\"}]\n"
                     "mutates: {c: x}\n");
  scratch_write_text(&directory, "b.yaml",
                     "inputs: [{name: x, type: \"float32[5]\"}]\n"
                     "buffers: [{name: c, type: \"float32[5]\"}]\n"
                     "mutates: {c: x}\n");
  reading_open(&r, directory.path);
  assert_problem(
      &r, "b.yaml:2:11: buffer 'c' is float32[5] here, but float32[4] in ");
  assert_problem(&r, "a.yaml'");
  done();
}

static void program_yaml_decides_conflicting_initial_values(void** state) {
  static const char a[] =
      "inputs: [{name: x, type: \"float32[4]\"}]\n"
      "buffers: [{name: c, type: \"float32[4]\", init: 1}]\n"
      "mutates: {c: x}\n";
  static const char b[] =
      "buffers: [{name: c, type: \"float32[4]\", init: 2}]\n"
      "outputs: [c]\n";
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "a.yaml", a);
  scratch_write_text(&directory, "b.yaml", b);
  reading_open(&r, directory.path);
  assert_problem(&r, "the initial values of state 'c' differ between ");
  assert_problem(&r, "state one under 'initial' in program.yaml");
  reading_close(&r);
  scratch_write_text(&directory, "program.yaml", "initial: {c: 7}\n");
  reading_open(&r, directory.path);
  assert_reads(&r);
  const float* const data =
      (const float*)r.module.constants[buffer_named("c")->initial].data.data;
  assert_true(data[0] == 7.0f);
  done();
}

static void conflicting_weights_are_refused(void** state) {
  (void)state;
  scratch_directory_make(&directory);
  scratch_copy(&directory, "step.pt2", ETX_TEST_DATA "/pt2/tiny/step.pt2");
  scratch_archive_bytes(&directory, "other.pt2",
                        ETX_TEST_DATA "/pt2/tiny/step.pt2",
                        "data/weights/weight_0", "0123456789abcdef", 16);
  reading_open(&r, directory.path);
  assert_problem(&r, "values of 'w' differ between ");
  done();
}

static void archives_and_yaml_mix(void** state) {
  (void)state;
  scratch_directory_make(&directory);
  scratch_copy(&directory, "step.pt2", ETX_TEST_DATA "/pt2/tiny/step.pt2");
  scratch_write_text(&directory, "count.yaml",
                     "buffers: [{name: n, type: \"int64[]\"}]\n"
                     "outputs: [n]\n");
  reading_open(&r, directory.path);
  assert_reads(&r);
  assert_int_equal(r.module.method_count, 2);
  assert_true(buffer_named("n")->is_state);
  done();
}

static void names_of_methods_are_checked(void** state) {
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "et_module_init.yaml", "outputs: []\n");
  reading_open(&r, directory.path);
  assert_problem(&r,
                 "'et_module_init' is reserved, since etx generates a method "
                 "of that name");
  done();
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "step.yaml", "outputs: []\n");
  scratch_copy(&directory, "step.pt2", ETX_TEST_DATA "/pt2/tiny/step.pt2");
  reading_open(&r, directory.path);
  assert_problem(&r, "step.yaml:0:0: method 'step' is also defined by ");
  done();
}

static void directories_without_methods_are_refused(void** state) {
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "notes.txt", "x");
  scratch_write_text(&directory, "program.yaml", "etx: 1\n");
  scratch_write_text(&directory, ".hidden.yaml", "x");
  reading_open(&r, directory.path);
  assert_problem(&r, "has no method");
  done();
  reading_open(&r, "/nonexistent/etx");
  assert_problem(&r, "does not exist");
  assert_int_equal(r.status, ETX_NOT_FOUND);
  reading_close(&r);
}

static void valid_methods_are_kept_after_problems(void** state) {
  (void)state;
  write_methods();
  scratch_write_text(&directory, "wrong.yaml", "outputs: [nothing]\n");
  reading_open(&r, directory.path);
  assert_problem(&r, "wrong.yaml:1:11: value 'nothing' is not defined");
  assert_int_equal(r.module.method_count, 2);
  assert_int_equal(etx_ir_verify(&r.module, false, &r.diag), ETX_OK);
  done();
}

// ---------------------------------------------------------------- program.yaml

static void declared_buffers_are_state(void** state) {
  static const char* const patterns[] = {"net.table", "net", "net.*", "*table",
                                         "net.t?ble"};
  (void)state;
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; ++i) {
    char program[128];
    snprintf(program, sizeof program, "shared_buffers: [\"%s\"]\n",
             patterns[i]);
    read_with(program);
    assert_reads(&r);
    assert_true(buffer_named("net.table")->is_state);
    done();
  }
  assert_refused("shared_buffers: [net.tabel]\n",
                 "program.yaml:1:18: no buffer is named 'net.tabel', did you "
                 "mean 'net.table'");
  assert_refused("shared_buffers: [ne]\n", "no buffer is named 'ne'");
}

static void constant_methods_have_values(void** state) {
  (void)state;
  read_with(
      "constant_methods:\n  max_length: 64\n  scale: 0.5\n  fast: true\n"
      "  name: some text\n  tokens: [2, 7]\n");
  assert_reads(&r);
  assert_int_equal(r.module.constant_method_count, 5);
  assert_true(r.module.constant_methods[0].arg.as.boolean);  // sorted: fast
  assert_int_equal(r.module.constant_methods[1].arg.as.integer, 64);
  assert_true(
      etx_text_is(r.module.constant_methods[2].arg.as.string, "some text"));
  assert_true(r.module.constant_methods[3].arg.as.real == 0.5);
  const etx_ir_arg* const tokens = &r.module.constant_methods[4].arg;
  assert_int_equal(tokens->kind, ETX_IR_ARG_LIST);
  assert_int_equal(tokens->as.list.count, 2);
  assert_int_equal(tokens->as.list.items[1].as.integer, 7);
  done();
  assert_refused("constant_methods: {encode: 1}\n",
                 "program.yaml:1:20: a method named 'encode' already exists");
  assert_refused("constant_methods: {et_get_shared_buffer_names: 1}\n",
                 "is reserved: etx generates a method of that name");
  assert_refused("constant_methods: {a: null}\n",
                 "a constant method needs a value");
  assert_refused("constant_methods: {a: []}\n",
                 "program.yaml:1:23: a constant method needs a value");
  assert_refused("constant_methods: {a: [1, null]}\n",
                 "program.yaml:1:27: a constant method needs a value");
  assert_refused("constant_methods: {a: [[1]]}\n", "program.yaml:1:24");
  assert_refused("constant_methods: {a: {tensor: w.safetensors#b}}\n",
                 "cannot open");
}

static void dims_tighten_bounds(void** state) {
  (void)state;
  read_with("dims: {\"encode.y[0]\": {min: 3, max: 9}}\n");
  assert_reads(&r);
  const etx_symbol* const symbol = &method_named("encode")->symbols.symbols[0];
  assert_int_equal(symbol->minimum, 2);  // 2*n >= 3
  assert_int_equal(symbol->maximum, 4);  // 2*n <= 9
  done();
  assert_refused("dims: {\"encode.y[0]\": {max: 18}}\n",
                 "program.yaml:1:8: bounds can only be tightened: the model "
                 "bounds 'n' by 1..8");
  assert_refused("dims: {\"encode.y[0]\": {min: 9, max: 9}}\n",
                 "'n' gets the empty range 5..4");
  assert_refused("dims: {\"encode.y[1]\": {max: 2}}\n", "is fixed");
  assert_refused("dims: {\"encode.y[2]\": {max: 2}}\n",
                 "input 'y' has 2 dimensions");
  assert_refused("dims: {\"encode.yy[0]\": {max: 2}}\n",
                 "method 'encode' has no input 'yy', did you mean 'y'");
  assert_refused("dims: {\"encod.y[0]\": {max: 2}}\n",
                 "there is no method 'encod', did you mean 'encode'");
  assert_refused("dims: {encode: {max: 2}}\n",
                 "expected the name of a value after the method, "
                 "'encode.NAME', found 'encode'");
  assert_refused("dims: {\"encode.y[]\": {max: 2}}\n",
                 "should have the form method.input[dimension]");
}

static void dims_get_names(void** state) {
  (void)state;
  read_with("dims: {\"encode.y[0]\": {name: rows}}\n");
  assert_reads(&r);
  const etx_symbol* symbol = &method_named("encode")->symbols.symbols[0];
  assert_true(etx_text_is(symbol->name, "rows"));
  assert_int_equal(symbol->minimum, 1);
  assert_int_equal(symbol->maximum, 8);
  done();
  read_with("dims: {\"encode.y[0]\": {name: rows, max: 8}}\n");
  assert_reads(&r);
  symbol = &method_named("encode")->symbols.symbols[0];
  assert_true(etx_text_is(symbol->name, "rows"));
  assert_int_equal(symbol->maximum, 4);
  done();
  assert_refused("dims: {\"encode.y[1]\": {name: rows}}\n",
                 "the size is fixed or depends on several symbols: 'rows' can "
                 "name one symbol only");
  assert_refused("dims: {\"encode.y[0]\": {name: 2n}}\n",
                 "'2n' cannot name a dimension: expected letters");
  assert_refused("dims: {\"encode.y[0]\": {name: min}}\n",
                 "'min' cannot name a dimension");
  assert_refused("dims: {\"encode.y[0]\": {name: [a]}}\n", "name");
}

static void two_dims_have_two_names(void** state) {
  (void)state;
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "f.yaml",
                     "etx: 1\nmethod: f\ndims: {a: {max: 4}, b: {max: 5}}\n"
                     "inputs: [{name: x, type: \"float32[a, b]\"}]\n"
                     "nodes: [{name: y, op: aten.neg.default, inputs: [x]}]\n"
                     "outputs: [y]\n");
  scratch_write_text(&directory, "program.yaml",
                     "dims: {\"f.x[0]\": {name: b}}\n");
  reading_open(&r, directory.path);
  assert_problem(&r, "another size of method 'f' has the name 'b'");
  done();
}

static void missing_upper_bounds_can_be_stated(void** state) {
  (void)state;
  scratch_directory_make(&directory);
  scratch_archive(&directory, "step.pt2", ETX_TEST_DATA "/pt2/tiny/step.pt2",
                  "models/model.json", "\"max_val\": 8", "\"max_val\": null");
  scratch_write_text(&directory, "program.yaml",
                     "dims: {\"step.x[0]\": {max: 12}}\n");
  reading_open(&r, directory.path);
  assert_reads(&r);
  assert_int_equal(r.module.methods[0].symbols.symbols[0].maximum, 12);
  done();
}

static void outputs_have_lifetimes(void** state) {
  (void)state;
  read_with("outputs: {decode.sum: stable, encode.output_0: scratch}\n");
  assert_reads(&r);
  assert_int_equal(method_named("decode")->outputs[0].lifetime, ETX_IR_STABLE);
  assert_int_equal(method_named("encode")->outputs[0].lifetime, ETX_IR_SCRATCH);
  done();
  read_with("outputs: {decode.sum: state}\n");
  assert_reads(&r);
  assert_true(buffer_named("decode.sum")->is_state);
  assert_int_equal(method_named("decode")->mutation_count, 1);
  done();
  assert_refused("outputs: {decode.summ: stable}\n",
                 "program.yaml:1:11: method 'decode' has no output 'summ', did "
                 "you mean 'sum'");
  assert_refused("outputs: {decode.sum: forever}\n",
                 "expected 'scratch', 'stable' or 'state', found 'forever'");
  assert_refused("outputs: {encode.output_1: state}\n",
                 "its type must be stated and its sizes must be fixed");
}

static void caches_are_described(void** state) {
  static const char step[] =
      "inputs: [{name: x, type: \"float32[2, 1]\"}]\n"
      "buffers:\n"
      "  - {name: a.k, type: \"float32[2, 8]\"}\n"
      "  - {name: a.v, type: \"float32[2, 8]\"}\n"
      "  - {name: a.w, type: \"float32[2, 8]\", init: 1}\n"
      "  - {name: pos, type: \"int64[1]\"}\n"
      "nodes: [{out: y, type: \"float32[2, 8]\", op: aten.add.Tensor, args: "
      "[a.w, x]}]\n"
      "outputs: [y]\n"
      "mutates: {a.k: a.v, a.v: a.k, pos: pos}\n";
  static const struct {
    const char* program;
    const char* problem;
  } refused[] = {
      {"caches: {a.k: {}}\n", "cache 'a.k' needs 'dim'"},
      {"caches: {a.k: {dim: 2}}\n", "has 2 dimensions, so 'dim' cannot be 2"},
      {"caches: {a.k: {dim: -3}}\n", "'dim' cannot be -3"},
      {"caches: {a.q: {dim: 1}}\n", "no state is named 'a.q'"},
      {"caches: {a.w: {dim: 1}}\n", "'a.w' is a constant"},
      {"caches: {a.k: {dim: 1, length: poss}}\n", "did you mean 'pos'"},
      {"caches: {a.k: {dim: 1, length: a.v}}\n", "'a.v' cannot count rows"},
      {"caches: {a.k: {dim: 1, overflow: wrap}}\n",
       "expected 'error', 'ring' or 'slide', found 'wrap'"},
      {"caches: {a.k: {dim: 1, size: 3}}\n", "unknown key 'size'"},
      {"caches: {a: {dim: 1}, a.k: {dim: 1}}\n", "described twice"},
      {"caches: {a.k: {dim: 1, length: pos}, pos: {dim: 0}}\n",
       "cannot be a cache itself"},
      {"caches: {pos: {dim: 0, length: pos}}\n", "cannot count its own rows"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; ++i) {
    scratch_directory_make(&directory);
    scratch_write_text(&directory, "step.yaml", step);
    scratch_write_text(&directory, "program.yaml", refused[i].program);
    reading_open(&r, directory.path);
    assert_problem(&r, refused[i].problem);
    done();
  }
  scratch_directory_make(&directory);
  scratch_write_text(&directory, "step.yaml", step);
  scratch_write_text(&directory, "program.yaml",
                     "caches: {\"a.*\": {dim: -1, length: pos, "
                     "overflow: ring}}\n");
  reading_open(&r, directory.path);
  assert_reads(&r);
  const etx_ir_cache* const cache = &buffer_named("a.v")->cache;
  assert_true(cache->is_cache);
  assert_int_equal(cache->dim, 1);
  assert_int_equal(cache->overflow, ETX_CACHE_RING);
  assert_true(etx_text_is(r.module.buffers[cache->counter].name, "pos"));
  assert_false(buffer_named("a.w")->cache.is_cache);
  assert_false(buffer_named("pos")->cache.is_cache);
  done();
}

static void other_keys_are_checked(void** state) {
  (void)state;
  read_with("align: 64\n");
  assert_reads(&r);
  assert_int_equal(r.module.alignment, 64);
  done();
  assert_refused("align: 24\n", "program.yaml:1:8: 'align' should be a power");
  read_with("concurrent: [[encode, decode]]\n");
  assert_reads(&r);
  assert_int_equal(r.module.concurrent_count, 1);
  assert_true(etx_text_is(r.module.concurrent[0].first, "decode"));
  assert_true(etx_text_is(r.module.concurrent[0].second, "encode"));
  done();
  assert_refused("concurrent: [[encode, decod]]\n",
                 "program.yaml:1:23: there is no method 'decod', did you mean "
                 "'decode'");
  assert_refused("concurrent: [encode, decode]\n", "program.yaml:1:14: ");
  assert_refused("concurrent: [[encode]]\n",
                 "program.yaml:1:15: expected at least two concurrent "
                 "methods, found 1");
  assert_refused("shared: []\n", "program.yaml:1:1: unknown key 'shared'");
  assert_refused("initial: {net.cach: 0}\n",
                 "no buffer is named 'net.cach', did you mean 'net.cache'");
  assert_refused("initial: {net.table: 1}\n",
                 "program.yaml:1:11: 'net.table' is a constant");
  assert_refused("initial: {net.cache: x}\n",
                 "an initial value should be a number");
  assert_refused("weights: [missing.safetensors]\n",
                 "program.yaml:1:11: cannot open");
  assert_refused("a: 1\na: 2\n", "program.yaml:2:1: duplicate key 'a'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(methods_share_buffers_by_name),
      cmocka_unit_test(conflicting_shapes_name_both_files),
      cmocka_unit_test(program_yaml_decides_conflicting_initial_values),
      cmocka_unit_test(conflicting_weights_are_refused),
      cmocka_unit_test(archives_and_yaml_mix),
      cmocka_unit_test(names_of_methods_are_checked),
      cmocka_unit_test(directories_without_methods_are_refused),
      cmocka_unit_test(valid_methods_are_kept_after_problems),
      cmocka_unit_test(declared_buffers_are_state),
      cmocka_unit_test(constant_methods_have_values),
      cmocka_unit_test(dims_tighten_bounds),
      cmocka_unit_test(dims_get_names),
      cmocka_unit_test(two_dims_have_two_names),
      cmocka_unit_test(missing_upper_bounds_can_be_stated),
      cmocka_unit_test(outputs_have_lifetimes),
      cmocka_unit_test(caches_are_described),
      cmocka_unit_test(other_keys_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
