// Tests of archives of torch.export.save: all fixtures are read, one is checked
// in detail, and damaged members are refused.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/exporter/reading.h"

#define PT2 ETX_TEST_DATA "/pt2/"

static reading r;
static scratch_directory directory;

static void read_set(const char* set, const char* form) {
  char path[512];
  snprintf(path, sizeof path, PT2 "%s%s", set, form);
  reading_open(&r, path);
}

static void every_set_reads_in_both_forms(void** state) {
  static const char* const sets[] = {"tiny", "kv",    "counter",  "swap",
                                     "gru",  "llama", "weights",  "whisper",
                                     "cnn",  "mixed", "recurrent"};
  (void)state;
  for (size_t i = 0; i < 2 * sizeof sets / sizeof sets[0]; ++i) {
    read_set(sets[i / 2], i % 2 == 0 ? "" : "/core");
    assert_reads(&r);
    assert_true(r.module.method_count > 0);
    reading_close(&r);
  }
}

static void dynamic_shapes_read(void** state) {
  static const char* const methods[] = {"check",  "double",  "get",   "join",
                                        "scalar", "shifted", "stride"};
  (void)state;
  for (size_t i = 0; i < 2 * sizeof methods / sizeof methods[0]; ++i) {
    char path[512];
    snprintf(path, sizeof path, PT2 "shapes/%s%s.pt2", i % 2 ? "core/" : "",
             methods[i / 2]);
    reading_open(&r, path);
    assert_reads(&r);
    reading_close(&r);
  }
}

// ---------------------------------------------------------------- content

static void the_worked_example_has_its_content(void** state) {
  (void)state;
  read_set("tiny", "");
  assert_reads(&r);
  assert_int_equal(r.module.method_count, 1);
  const etx_ir_method* const method = &r.module.methods[0];
  assert_true(etx_text_is(method->name, "step"));
  assert_int_equal(method->symbols.symbol_count, 1);
  assert_true(etx_text_is(method->symbols.symbols[0].name, "s77"));
  assert_int_equal(method->symbols.symbols[0].minimum, 1);
  assert_int_equal(method->symbols.symbols[0].maximum, 8);
  assert_int_equal(method->input_count, 1);
  assert_true(etx_text_is(method->inputs[0].name, "x"));
  assert_int_equal(method->node_count, 6);
  assert_true(etx_text_is(method->nodes[0].aten, "aten.add.Tensor"));
  assert_int_equal(method->nodes[0].arg_count, 3);  // alpha filled in
  assert_int_equal(method->output_count, 1);
  assert_true(etx_text_is(method->outputs[0].name, "output_0"));
  assert_int_equal(method->mutation_count, 1);
  assert_int_equal(r.module.buffer_count, 3);
  assert_true(etx_text_is(r.module.buffers[0].name, "bias"));
  assert_true(etx_text_is(r.module.buffers[1].name, "n"));
  assert_true(etx_text_is(r.module.buffers[2].name, "w"));
  assert_false(r.module.buffers[0].is_state);
  assert_true(r.module.buffers[1].is_state);
  assert_int_equal(r.module.buffers[1].initial, ETX_IR_NONE);  // zero
  static const float w[4] = {1, 2, 3, 4};
  assert_memory_equal(r.module.constants[r.module.buffers[2].initial].data.data,
                      w, sizeof w);
  assert_int_equal(method->mutations[0].target, 1);
  reading_close(&r);
}

static const etx_ir_constant* initial_of(const char* name) {
  uint32_t index = 0;
  assert_true(etx_ir_find_buffer(&r.module, etx_text_of(name), &index));
  return &r.module.constants[r.module.buffers[index].initial];
}

static void views_of_storages_become_dense(void** state) {
  (void)state;
  read_set("weights", "");
  assert_reads(&r);
  // Transposed, expanded, every third element, slices.
  static const char* const names[] = {"turned", "wide", "every",
                                      "rows",   "left", "right"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    const etx_ir_constant* const c = initial_of(names[i]);
    uint64_t bytes = etx_dtype_bytes(c->dtype);
    for (size_t j = 0; j < c->rank; ++j) bytes *= (uint64_t)c->sizes[j];
    assert_int_equal(c->data.size, bytes);
  }
  const float* const wide = (const float*)initial_of("wide")->data.data;
  assert_true(wide[0] == wide[1] && wide[1] == wide[3]);
  assert_true(wide[4] == wide[7] && wide[0] != wide[4]);
  // Overlapping slices of one storage share their common elements.
  const etx_ir_constant* const left = initial_of("left");
  const etx_ir_constant* const right = initial_of("right");
  assert_int_equal(left->data.size, right->data.size);
  assert_true(memcmp(left->data.data, right->data.data, left->data.size) != 0);
  // One storage that tensors of two types use.
  assert_memory_equal(initial_of("bits_f")->data.data,
                      initial_of("bits_i")->data.data, 12);
  reading_close(&r);
}

static void equal_weights_are_one_constant(void** state) {
  (void)state;
  reading_open(&r, PT2 "llama");
  assert_reads(&r);
  for (size_t i = 0; i < r.module.constant_count; ++i) {
    for (size_t j = 0; j < i; ++j) {
      const etx_ir_constant *a = &r.module.constants[i],
                            *b = &r.module.constants[j];
      assert_false(a->dtype == b->dtype && a->data.size == b->data.size &&
                   a->rank == b->rank &&
                   memcmp(a->sizes, b->sizes, a->rank * 8) == 0 &&
                   memcmp(a->data.data, b->data.data, a->data.size) == 0);
    }
  }
  reading_close(&r);
}

static void derived_dimensions_give_the_true_lower_bound(void** state) {
  (void)state;
  reading_open(&r, PT2 "shapes/double.pt2");
  assert_reads(&r);
  const etx_symbol* const symbol = &r.module.methods[0].symbols.symbols[0];
  assert_int_equal(symbol->minimum, 1);  // stated as 2 for the base symbol
  assert_int_equal(symbol->maximum, 16);
  reading_close(&r);
}

static void integer_inputs_are_symbols(void** state) {
  (void)state;
  reading_open(&r, PT2 "shapes/scalar.pt2");
  assert_reads(&r);
  const etx_ir_method* const method = &r.module.methods[0];
  assert_int_equal(method->inputs[1].arg.kind, ETX_IR_ARG_INT);
  assert_false(etx_dim_is_number(method->inputs[1].arg.as.integer));
  reading_close(&r);
}

static const etx_ir_method* method_named(const char* name) {
  uint32_t index = 0;
  assert_true(etx_ir_find_method(&r.module, etx_text_of(name), &index));
  return &r.module.methods[index];
}

static void fixed_inputs_and_odd_outputs_are_kept(void** state) {
  (void)state;
  read_set("mixed", "");
  assert_reads(&r);
  const etx_ir_method* const scalars = method_named("scalars");
  assert_int_equal(scalars->input_count, 5);
  assert_int_equal(scalars->inputs[1].arg.as.integer, 3);
  assert_true(scalars->inputs[2].arg.as.real == 0.25);
  assert_true(scalars->inputs[3].arg.as.boolean);
  assert_int_equal(scalars->inputs[4].arg.kind, ETX_IR_ARG_NONE);
  const etx_ir_method* const numbers = method_named("numbers");
  assert_int_equal(numbers->output_count, 7);
  assert_false(etx_dim_is_number(numbers->outputs[0].arg.as.integer));
  assert_int_equal(numbers->outputs[1].arg.as.integer, 4);
  assert_int_equal(numbers->outputs[6].arg.kind, ETX_IR_ARG_NONE);
  reading_close(&r);
}

static void outputs_are_named_by_keys(void** state) {
  static const char* const names[] = {"sum", "parts_0", "parts_1", "max_0",
                                      "max_1"};
  (void)state;
  read_set("mixed", "");
  const etx_ir_method* const nested = method_named("nested");
  assert_int_equal(nested->output_count, 5);
  for (size_t i = 0; i < 5; ++i) {
    assert_true(etx_text_is(nested->outputs[i].name, names[i]));
  }
  reading_close(&r);
}

static void mutated_inputs_are_mutable(void** state) {
  (void)state;
  read_set("kv", "");
  const etx_ir_method* const get = method_named("get_cache");
  assert_true(get->inputs[0].is_mutable);
  assert_int_equal(get->mutation_count, 1);
  assert_true(get->mutations[0].is_input);
  assert_int_equal(get->outputs[0].arg.kind, ETX_IR_ARG_NONE);
  assert_false(method_named("read_cache")->inputs[0].is_mutable);
  reading_close(&r);
}

// ---------------------------------------------------------------- refusals

// The node of `method` that sets a symbol from data.
static const etx_ir_node* late_node(const etx_ir_method* method) {
  for (size_t i = 0; i < method->node_count; ++i) {
    if (method->nodes[i].late != 0) return &method->nodes[i];
  }
  fail();
  return NULL;
}

static void sizes_from_data_are_symbols_that_nodes_set(void** state) {
  (void)state;
  read_set("late", "");
  assert_reads(&r);
  const etx_ir_method* const head = method_named("head");
  const etx_ir_node* const item = late_node(head);
  const etx_symbol* const rows = &head->symbols.symbols[item->late - 1];
  assert_true(etx_text_is(item->aten, "aten.item.default"));
  assert_true(rows->is_late);
  assert_int_equal(rows->minimum, 0);
  assert_int_equal(rows->maximum, 8);
  const etx_ir_method* const places = method_named("places");
  const etx_ir_node* const found = late_node(places);
  const etx_ir_value* const value = &places->values[found->outputs[0]];
  assert_true(etx_text_is(found->aten, "aten.nonzero.default"));
  assert_int_equal(etx_symbols_late_in(&places->symbols, value->shape.dims[0]),
                   UINT64_C(1) << (found->late - 1));
  assert_int_equal(value->shape.dims[1], 2);
  reading_close(&r);
}

// Changes one text of tiny's program and expects a problem.
static void assert_change_of(const char* archive, const char* member,
                             const char* old, const char* fresh,
                             const char* part) {
  scratch_directory_make(&directory);
  scratch_archive(&directory, "step.pt2", archive, member, old, fresh);
  reading_open(&r, directory.path);
  assert_problem(&r, part);
  assert_problem(&r, "step.pt2:");
  reading_close(&r);
  scratch_directory_remove(&directory);
}

static void assert_change_refused(const char* member, const char* old,
                                  const char* fresh, const char* part) {
  assert_change_of(PT2 "tiny/step.pt2", member, old, fresh, part);
}

#define MODEL "models/model.json"
#define WEIGHTS "model_weights_config.json"

static void damaged_containers_are_refused(void** state) {
  (void)state;
  assert_change_refused("archive_version", NULL, "1",
                        "'archive_version' should be '0', found '1'");
  assert_change_refused("archive_version", NULL, NULL,
                        "'archive_version' should be '0'");
  assert_change_refused("archive_format", NULL, "zip",
                        "'archive_format' should be 'pt2'");
  assert_change_refused("byteorder", NULL, "big", "byte order 'big'");
  assert_change_refused(MODEL, NULL, NULL, "no program under 'models/'");
  assert_change_refused("model_constants_config.json", NULL, NULL,
                        "no member 'data/constants/model_constants_config");
  assert_change_refused("data/weights/weight_0", NULL, NULL,
                        "no member 'data/weights/weight_0'");
  assert_change_refused("data/weights/weight_0", NULL, "1234",
                        "needs 16 bytes of 'weight_0', which has 4");
  assert_change_refused("data/weights/weight_0", NULL, "",
                        "needs 16 bytes of 'weight_0', which has 0");
}

static void damaged_json_is_refused(void** state) {
  (void)state;
  assert_change_refused(MODEL, NULL, "{",
                        "member 'models/model.json': not "
                        "valid JSON at line 1");
  assert_change_refused(
      MODEL, NULL, "[]",
      "expected an object with 'schema_version', found an array");
  assert_change_refused(MODEL, "\"major\": 8", "\"major\": 9",
                        "schema version 9");
  assert_change_refused(MODEL, "\"nodes\": ", "\"nodes\": 1, \"x\": ",
                        "'nodes' should be an array, found an integer");
  assert_change_refused(MODEL, "\"opset_version\"", "\"graph_module\"",
                        "occurs twice");
  assert_change_refused(MODEL, "{\"as_tensor\": {\"name\": \"p_w\"}}",
                        "{\"as_tensor\": {\"name\": \"x\"}}",
                        "entry 0 of the inputs differs from the signature");
  assert_change_refused(MODEL, "{\"as_tensor\": {\"name\": \"p_w\"}}, ", "",
                        "the graph has 4 inputs, the signature 5");
  assert_change_refused(MODEL, "\"as_int\": 1}", "\"as_int\": 1, \"x\": 2}",
                        "a union should have exactly one tag, found 2");
  assert_change_refused(MODEL, "\"as_int\": 1}", "\"as_unknown\": 1}",
                        "an argument of kind 'as_unknown' is not supported");
  assert_change_refused(MODEL, "torch.ops.aten.add.Tensor",
                        "torch.ops.aten.ad.Tensor",
                        "operator 'aten.ad.Tensor' is not supported; calling "
                        ".run_decompositions() before torch.export.save may "
                        "replace it");
  assert_change_refused(MODEL, "torch.ops.aten.add.Tensor",
                        "torch.ops.aten._add.Tensor",
                        "operator 'aten._add.Tensor' is not supported; the "
                        "nearest supported form is 'aten.add.Tensor'; calling "
                        ".run_decompositions() before torch.export.save may "
                        "replace it");
  assert_change_refused(MODEL, "torch.ops.aten.add.Tensor",
                        "torch.ops.aten.normal_.default",
                        "in-place operator 'aten.normal_.default' is not "
                        "supported: call .run_decompositions({}) before "
                        "torch.export.save");
  assert_change_refused(MODEL, "torch.ops.aten.add.Tensor",
                        "torch.ops.mylib.foo.default",
                        "operator 'mylib.foo.default' is not one of etx");
  assert_change_refused(MODEL, "torch.ops.aten.add.Tensor",
                        "torch._functorch.predispatch._add_batch_dim",
                        "target 'torch._functorch.predispatch._add_batch_dim' "
                        "is not supported; calling "
                        ".run_decompositions({}) before torch.export.save "
                        "may replace it");
}

// In-place writes through a view without a known inverse, with another view
// that is read later, and within a sub-graph.
static void in_place_writes_with_stale_views_are_unsupported(void** state) {
  static const char set[] = PT2 "in_place/parts.pt2";
  static const char message[] =
      "writes into a tensor of which another view is read later: call "
      ".run_decompositions({}) before torch.export.save";
  (void)state;
  assert_change_of(set, MODEL, "torch.ops.aten.transpose.int",
                   "torch.ops.aten.swapaxes.default", message);
  assert_change_of(set, MODEL, "torch.ops.aten.view.default",
                   "torch.ops.aten.reshape.default", message);
  assert_change_of(PT2 "cond/step.pt2", MODEL, "torch.ops.aten.sub.Tensor",
                   "torch.ops.aten.sub_.Tensor",
                   "writes into a tensor that the sub-graph of a torch.cond, a "
                   "loop or torch.vmap gets from outside");
  assert_change_of(
      PT2 "loops/count.pt2", MODEL, "higher_order.while_loop\", \"inputs\": [",
      "higher_order.while_loop\", \"inputs\": [{\"name\": "
      "\"mutated_arg_indices\", \"arg\": {\"as_string\": \"2\"}, "
      "\"kind\": 2}, ",
      "the sub-graph writes into a tensor that it gets from outside");
}

static void damaged_associative_scans_are_refused(void** state) {
  static const char sums[] = PT2 "inner_writes/sums.pt2";
  (void)state;
  assert_change_of(sums, MODEL,
                   "\"as_tensors\": [{\"name\": \"flip\"}, {\"name\": "
                   "\"flip_1\"}, {\"name\": \"flip_2\"}]",
                   "\"as_tensors\": [{\"name\": \"flip\"}]",
                   "associative_scan has 3 results for 1 tensors");
  assert_change_of(sums, MODEL,
                   "\"as_tensors\": [{\"name\": \"flip\"}, {\"name\": "
                   "\"flip_1\"}, {\"name\": \"flip_2\"}]",
                   "\"as_tensors\": [{\"name\": \"flip\"}, {\"name\": "
                   "\"flip_1\"}, {\"name\": \"b_offset\"}]",
                   "'b_offset', which has no dimension, has no rows");
  assert_change_of(sums, MODEL, "{\"as_graph\": {\"name\": \"associative",
                   "{\"as_graphs\": {\"name\": \"associative", "as_graph");
  assert_change_of(sums, MODEL,
                   "\"as_tensors\": [{\"name\": \"weight\"}, {\"name\": "
                   "\"sym_size_int_5\"}, {\"name\": \"b_offset\"}]",
                   "\"as_tensors\": [{\"name\": \"weight\"}]",
                   "a sub-graph has 9 inputs, but the node passes 7 operands");
}

static void damaged_loops_are_refused(void** state) {
  static const char count[] = PT2 "loops/count.pt2";
  (void)state;
  assert_change_of(count, MODEL, "{\"as_graph\": ", "{\"as_unknown\": ",
                   "argument 0 of a loop should be 'as_graph'");
  assert_change_of(
      count, MODEL, "\"outputs\": [{\"as_tensor\": {\"name\": \"lt\"}}]",
      "\"outputs\": []", "a sub-graph of a loop has 0 results, expected 1");
  assert_change_of(count, MODEL, "{\"as_tensors\": [{\"name\": ",
                   "{\"as_strings\": [{\"name\": ",
                   "should be a list of tensors and sizes, found 'as_strings'");
}

static void unknown_control_flow_is_unsupported(void** state) {
  (void)state;
  assert_change_of(PT2 "cond/step.pt2", MODEL, "torch.ops.higher_order.cond",
                   "torch.ops.higher_order.flex_attention",
                   "control flow operator "
                   "'torch.ops.higher_order.flex_attention' is not supported: "
                   "only cond, while_loop, scan, map and "
                   "associative_scan are");
}

static void damaged_wrapped_graphs_are_refused(void** state) {
  static const char set[] = PT2 "wrapped/angles.pt2";
  (void)state;
  assert_change_of(set, MODEL,
                   "13}, \"kind\": 1}, {\"name\": \"\", \"arg\": "
                   "{\"as_bool\": false}",
                   "13}, \"kind\": 1}, {\"name\": \"\", \"arg\": "
                   "{\"as_bool\": true}",
                   "torch.autocast changes the dtypes of the sub-graph: call "
                   ".run_decompositions({}) before torch.export.save");
  assert_change_of(set, MODEL, "{\"as_graph\": ", "{\"as_unknown\": ",
                   "the node has no sub-graph");
  assert_change_of(set, MODEL, "\"graph\": {\"inputs\": [{\"as_sym_int\"",
                   "\"graph\": {\"inputs\": [{\"as_int\": 1}, "
                   "{\"as_sym_int\"",
                   "operands");
}

// A number that only assertions use is not read. Floats that become operands
// and integers are read; conditions on them are not supported.
static void item_calls_are_read_unless_only_asserted(void** state) {
  static const char set[] = PT2 "wrapped/checked.pt2";
  (void)state;
  assert_change_of(set, MODEL, "\"target\": \"_operator.lt\"",
                   "\"target\": \"torch.ops.aten.lt.Scalar\"",
                   "a result of kind 'as_sym_bool' is not supported");
  assert_change_of(set, MODEL, "\"target\": \"_operator.le\"",
                   "\"target\": \"torch.ops.aten.le.Scalar\"",
                   "a result of kind 'as_sym_bool' is not supported");
}

static void damaged_branches_are_refused(void** state) {
  static const char cond[] = PT2 "cond/step.pt2";
  (void)state;
  assert_change_of(cond, MODEL, "{\"as_graph\": ", "{\"as_unknown\": ",
                   "argument 1 of torch.cond should be 'as_graph'");
  assert_change_of(cond, MODEL, "[{\"name\": \"x\"}, ", "[",
                   "a sub-graph has 3 inputs, but the node passes "
                   "2 operands");
  assert_change_of(cond, MODEL,
                   "\"outputs\": [{\"as_tensor\": {\"name\": "
                   "\"add_6\"}}], \"nodes\"",
                   "\"outputs\": [], \"nodes\"",
                   "torch.cond has 1 results, but a sub-graph has 0");
  assert_change_of(cond, MODEL,
                   "\"outputs\": [{\"as_tensor\": {\"name\": "
                   "\"add_6\"}}], \"nodes\"",
                   "\"outputs\": [{\"as_tensor\": {\"name\": \"matmul\"}}], "
                   "\"nodes\"",
                   "the branches of torch.cond return different types");
  assert_change_of(cond, MODEL, "\"arg\": {\"as_tensor\": {\"name\": \"gt\"}}",
                   "\"arg\": {\"as_tensor\": {\"name\": \"sum_1\"}}",
                   "the condition of torch.cond should be a bool tensor");
}

static void damaged_unrolled_loops_are_refused(void** state) {
  static const char set[] = PT2 "scans/backwards.pt2";
  static const char two[] = "{\"as_tensors\": [{\"name\": \"zeros\"}, ";
  (void)state;
  assert_change_of(set, MODEL, "{\"as_graph\": ", "{\"as_unknown\": ",
                   "argument 0 of a loop should be 'as_graph'");
  assert_change_of(set, MODEL, two, "{\"as_tensors\": [",
                   "a sub-graph has 3 inputs, but the node passes 2 operands");
  assert_change_of(set, MODEL, "torch.ops.higher_order.scan",
                   "torch.ops.higher_order.map_impl",
                   "should have 3 arguments, found 4");
}

static void operands_of_loops_are_tensors_and_sizes(void** state) {
  static const char set[] = PT2 "loop_sizes/bounded.pt2";
  static const char carried[] =
      "{\"as_tensors\": [{\"name\": \"zeros\"}, {\"name\": \"clone\"}]}";
  static const char read[] =
      "[{\"name\": \"sym_size_int_1\"}, {\"name\": \"n\"}]";
  (void)state;
  assert_change_of(set, MODEL, carried,
                   "{\"as_tensors\": [{\"name\": \"sym_size_int_1\"}, "
                   "{\"name\": \"clone\"}]}",
                   "operand 0, of which a loop has another value in each "
                   "iteration, is an integer: make it a tensor");
  assert_change_of(set, MODEL, carried, "{\"as_floats\": [0.5, 1.5]}",
                   "argument 2 should be a list of tensors and sizes, found "
                   "'as_floats'");
  assert_change_of(set, MODEL, read, "[{\"name\": \"n\"}, {\"name\": \"n\"}]",
                   "input 2 of a sub-graph is an integer, but its operand is "
                   "not");
  assert_change_of(
      set, MODEL, read,
      "[{\"name\": \"sym_size_int_1\"}, {\"name\": "
      "\"sym_size_int_1\"}]",
      "input 3 of a sub-graph is a tensor, but its operand is not");
  assert_change_of(set, MODEL, read,
                   "[{\"name\": \"sym_size_int_1\"}, {\"name\": \"m\"}]",
                   "tensor 'm' has no entry in tensor_values");
}

static void damaged_sizes_are_refused(void** state) {
  (void)state;
  assert_change_refused(MODEL, "Symbol('s77', positive=True, integer=True)",
                        "Unknown(Integer(1))",
                        "sizes computed with 'Unknown' are not supported");
  assert_change_refused(MODEL, "Symbol('s77', positive=True, integer=True)",
                        "Symbol('s78', positive=True, integer=True)",
                        "symbol 's78' has no entry in range_constraints");
  assert_change_refused(MODEL, "Symbol('s77', positive=True, integer=True)",
                        "Add(Integer(1)", "expected ')'");
  assert_change_refused(MODEL, "Symbol('s77', positive=True, integer=True)",
                        "FloorDiv(Integer(4), Integer(0))", "divides by zero");
  assert_change_refused(MODEL, "Symbol('s77', positive=True, integer=True)",
                        "Integer(-4611686018427387904)",
                        "expected an integer above -2^62");
  assert_change_refused(MODEL, "Symbol('s77', positive=True, integer=True)",
                        "Add(Integer(1), TruncToInt(ToFloat(Symbol('s77', "
                        "positive=True, integer=True))))",
                        "sizes computed with 'TruncToInt' are not supported");
  assert_change_refused(MODEL, "\"max_val\": 8", "\"max_val\": 0",
                        "symbol 's77' has the empty range 1..0");
  assert_change_refused(MODEL, "\"max_val\": 8", "\"max_val\": null",
                        "size 's77' of method 'step' has no upper bound: write "
                        "dims: {\"step.x[0]\": {max: N}} in program.yaml");
}

// Other notations for the size of tiny's input.
static void sizes_take_every_known_function(void** state) {
  static const char s77[] = "Symbol('s77', positive=True, integer=True)";
  static const char* const spellings[] = {
      "Identity(%s)",
      "Pow(%s, Integer(1))",
      "CeilDiv(%s, Integer(1))",
      "FloorToInt(IntTrueDiv(Mul(Integer(3), %s), Integer(3)))",
      "CeilToInt(IntTrueDiv(%s, Integer(1)))",
      "ModularIndexing(Mul(%s, Integer(2)), Integer(2), Integer(9))",
      "Max(Integer(1), %s)",
      "Min(%s, Integer(8), Integer(9))",
      ("Add(%s, Mod(Integer(4), Integer(2)), PythonMod(Integer(-4), "
       "Integer(2)))"),
      "CleanDiv(Mul(Integer(2), %s), Integer(2))",
  };
  (void)state;
  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; ++i) {
    char text[256];
    snprintf(text, sizeof text, spellings[i], s77);
    scratch_directory_make(&directory);
    scratch_archive(&directory, "step.pt2", PT2 "tiny/step.pt2", MODEL, s77,
                    text);
    reading_open(&r, directory.path);
    assert_reads(&r);
    const etx_ir_method* const method = &r.module.methods[0];
    for (size_t j = 0; j < method->value_count; ++j) {
      const etx_shape* const shape = &method->values[j].shape;
      if (shape->rank == 0 || etx_dim_is_number(shape->dims[0])) continue;
      uint32_t symbol = 0;
      int64_t factor = 0, offset = 0;
      assert_true(etx_symbols_affine(&method->symbols, shape->dims[0], &symbol,
                                     &factor, &offset));
      assert_int_equal(factor, 1);
      assert_int_equal(offset, 0);
    }
    reading_close(&r);
    scratch_directory_remove(&directory);
  }
}

static void damaged_weights_are_refused(void** state) {
  (void)state;
  assert_change_refused(WEIGHTS, "\"weight_0\"", "\"../weights/weight_0\"",
                        "'../weights/weight_0' is not a plain file name");
  assert_change_refused(WEIGHTS, "\"use_pickle\": false",
                        "\"use_pickle\": true",
                        "the tensor is pickled, like those of torchao's tensor "
                        "subclasses: call .run_decompositions({}) before "
                        "torch.export.save");
  assert_change_refused(WEIGHTS, "\"dtype\": 7", "\"dtype\": 0",
                        "the dtype with code 0");
  assert_change_refused(WEIGHTS, "\"dtype\": 7", "\"dtype\": 10", "complex");
  assert_change_refused(WEIGHTS, "\"dtype\": 7", "\"dtype\": 8",
                        "the stored tensor is float64[2, 2], but the graph");
  assert_change_refused(WEIGHTS, "\"layout\": 7", "\"layout\": 1", "layout 1");
  assert_change_refused(WEIGHTS, "\"type\": \"cpu\"", "\"type\": \"cuda\"",
                        "device 'cuda'");
  assert_change_refused(WEIGHTS, "{\"as_int\": 2}, {\"as_int\": 1}",
                        "{\"as_int\": 9}, {\"as_int\": 1}", "needs 44 bytes");
  assert_change_refused(WEIGHTS, "{\"as_int\": 2}, {\"as_int\": 1}",
                        "{\"as_int\": 9223372036854775807}, {\"as_int\": 4}",
                        "overflow");
  assert_change_refused(WEIGHTS, "{\"as_int\": 2}, {\"as_int\": 1}",
                        "{\"as_int\": -2}, {\"as_int\": 1}",
                        "a stride should be a non-negative integer");
  assert_change_refused(WEIGHTS,
                        "\"sizes\": [{\"as_int\": 2}, {\"as_int\": 2}]",
                        "\"sizes\": [{\"as_int\": 2}]", "1 sizes and 2");
  assert_change_refused(WEIGHTS, "\"w\": {", "\"v\": {",
                        "'w': the archive has no tensor of that name");
}

static void damaged_signatures_are_refused(void** state) {
  (void)state;
  assert_change_refused(MODEL,
                        "\"buffer_mutation\": {\"arg\": {\"name\": \"add\"}, "
                        "\"buffer_name\": \"n\"}",
                        "\"buffer_mutation\": {\"arg\": {\"name\": \"add\"}, "
                        "\"buffer_name\": \"m\"}",
                        "mutation of 'm': the program has no such buffer");
  assert_change_refused(MODEL,
                        "\"buffer_mutation\": {\"arg\": {\"name\": \"add\"}, "
                        "\"buffer_name\": \"n\"}",
                        "\"buffer_mutation\": {\"arg\": {\"name\": \"add\"}, "
                        "\"buffer_name\": \"bias\"}",
                        "the type of 'add' is not that of the tensor");
  assert_change_refused(MODEL, "\"parameter_name\": \"w\"",
                        "\"parameter_name\": \"n\"", "'n'");
  assert_change_refused(MODEL, "{\"buffer_mutation\": {", "{\"loss_output\": {",
                        "an output of kind 'loss_output'");
}

static void a_second_copy_of_a_name_is_refused(void** state) {
  (void)state;
  assert_change_refused(MODEL,
                        "\"outputs\": [{\"as_tensor\": {\"name\": "
                        "\"matmul\"}}]",
                        "\"outputs\": [{\"as_tensor\": {\"name\": \"add\"}}]",
                        "tensor 'add' is defined twice");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_set_reads_in_both_forms),
      cmocka_unit_test(dynamic_shapes_read),
      cmocka_unit_test(the_worked_example_has_its_content),
      cmocka_unit_test(views_of_storages_become_dense),
      cmocka_unit_test(equal_weights_are_one_constant),
      cmocka_unit_test(derived_dimensions_give_the_true_lower_bound),
      cmocka_unit_test(integer_inputs_are_symbols),
      cmocka_unit_test(fixed_inputs_and_odd_outputs_are_kept),
      cmocka_unit_test(outputs_are_named_by_keys),
      cmocka_unit_test(mutated_inputs_are_mutable),
      cmocka_unit_test(unknown_control_flow_is_unsupported),
      cmocka_unit_test(sizes_from_data_are_symbols_that_nodes_set),
      cmocka_unit_test(damaged_containers_are_refused),
      cmocka_unit_test(damaged_json_is_refused),
      cmocka_unit_test(in_place_writes_with_stale_views_are_unsupported),
      cmocka_unit_test(damaged_branches_are_refused),
      cmocka_unit_test(damaged_associative_scans_are_refused),
      cmocka_unit_test(damaged_loops_are_refused),
      cmocka_unit_test(damaged_wrapped_graphs_are_refused),
      cmocka_unit_test(damaged_unrolled_loops_are_refused),
      cmocka_unit_test(operands_of_loops_are_tensors_and_sizes),
      cmocka_unit_test(item_calls_are_read_unless_only_asserted),
      cmocka_unit_test(damaged_sizes_are_refused),
      cmocka_unit_test(sizes_take_every_known_function),
      cmocka_unit_test(damaged_weights_are_refused),
      cmocka_unit_test(damaged_signatures_are_refused),
      cmocka_unit_test(a_second_copy_of_a_name_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
