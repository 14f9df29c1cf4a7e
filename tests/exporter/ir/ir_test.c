// Tests of the tables of the IR and of the verifier.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/ir/ir.h"

static etx_pool pool;
static etx_ir_module module;
static etx_diag diag;

// A module with one method: y = relu(x), x of n, n in 1..4.
static int set_up(void** state) {
  uint32_t index = 0, x = 0, y = 0;
  etx_dim n = 0;
  (void)state;
  etx_pool_init(&pool);
  etx_diag_init(&diag);
  etx_ir_module_init(&module, &pool);
  assert_int_equal(etx_ir_add_method(&module, etx_text_of("m"), &index),
                   ETX_OK);
  etx_ir_method* const method = &module.methods[0];
  assert_int_equal(
      etx_symbols_add(&method->symbols, etx_text_of("n"), 1, 4, &index),
      ETX_OK);
  assert_int_equal(etx_symbols_dim(&method->symbols, index, &n), ETX_OK);
  etx_ir_value value = {etx_text_of("x"),
                        true,
                        {ETX_DTYPE_FLOAT32, 1, {n}},
                        ETX_IR_FROM_INPUT,
                        0};
  assert_int_equal(etx_ir_add_value(&module, method, &value, &x), ETX_OK);
  static etx_ir_input inputs[1];
  memset(inputs, 0, sizeof inputs);
  inputs[0].name = etx_text_of("x");
  inputs[0].arg = etx_ir_value_arg(x);
  method->inputs = inputs;
  method->input_count = 1;
  value.name = etx_text_of("y");
  value.origin = ETX_IR_FROM_NODE;
  assert_int_equal(etx_ir_add_value(&module, method, &value, &y), ETX_OK);
  etx_ir_arg args[1] = {etx_ir_value_arg(x)};
  uint32_t outputs[1] = {y};
  etx_ir_node node = {0};
  node.aten = etx_text_of("aten.relu.default");
  node.args = args;
  node.arg_count = 1;
  node.outputs = outputs;
  node.output_count = 1;
  assert_int_equal(etx_ir_add_node(&module, method, &node, &index), ETX_OK);
  static etx_ir_output out[1];
  out[0].name = etx_text_of("output_0");
  out[0].arg = etx_ir_value_arg(y);
  method->outputs = out;
  method->output_count = 1;
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  etx_pool_close(&pool);
  return 0;
}

static etx_ir_method* method(void) { return &module.methods[0]; }

static void assert_sound(void) {
  etx_diag_init(&diag);
  if (etx_ir_verify(&module, false, &diag) != ETX_OK) fail_msg("%s", diag.text);
}

static void assert_unsound(const char* part) {
  etx_diag_init(&diag);
  assert_int_equal(etx_ir_verify(&module, false, &diag), ETX_INTERNAL);
  if (strstr(diag.text, part) == NULL) fail_msg("%s", diag.text);
}

// ---------------------------------------------------------------- tables

static void names_of_values_are_unique(void** state) {
  (void)state;
  etx_ir_value value = {{NULL, 0}, false, {0}, ETX_IR_FROM_NODE, 0};
  uint32_t index = 0;
  for (size_t i = 0; i < 300; ++i) {
    value.name = i % 2 == 0 ? etx_text_of("y") : etx_text_of("");
    assert_int_equal(etx_ir_add_value(&module, method(), &value, &index),
                     ETX_OK);
  }
  assert_true(etx_text_is(method()->values[2].name, "y_1"));
  assert_true(etx_text_is(method()->values[3].name, "v3"));
  for (uint32_t i = 0; i < method()->value_count; ++i) {
    assert_true(etx_ir_find_value(method(), method()->values[i].name, &index));
    assert_int_equal(index, i);
  }
  assert_false(etx_ir_find_value(method(), etx_text_of("z"), &index));
}

static void constants_of_equal_content_are_one(void** state) {
  (void)state;
  static uint8_t bytes[600][8];
  uint32_t index = 0;
  for (size_t i = 0; i < 600; ++i) {
    bytes[i][0] = (uint8_t)(i % 200);
    bytes[i][1] = (uint8_t)(i % 200 >= 100);
    const etx_ir_constant constant = {ETX_DTYPE_UINT8, 1, {8}, {bytes[i], 8}};
    assert_int_equal(etx_ir_add_constant(&module, &constant, &index), ETX_OK);
    assert_int_equal(index, i % 200);
    assert_true(etx_ir_find_constant(&module, &constant, &index));
  }
  assert_int_equal(module.constant_count, 200);
  const etx_ir_constant other = {ETX_DTYPE_INT64, 0, {0}, {bytes[0], 8}};
  assert_false(etx_ir_find_constant(&module, &other, &index));
  assert_int_equal(etx_ir_add_constant(&module, &other, &index), ETX_OK);
  assert_int_equal(index, 200);
}

static void buffers_and_constants_have_one_value_a_method(void** state) {
  (void)state;
  static const float data[2] = {1, 2};
  const etx_ir_constant constant = {
      ETX_DTYPE_FLOAT32, 1, {2}, {(const uint8_t*)data, sizeof data}};
  uint32_t first = 0, second = 0, index = 0;
  assert_int_equal(etx_ir_add_constant(&module, &constant, &index), ETX_OK);
  assert_int_equal(etx_ir_constant_value(&module, method(), index, &first),
                   ETX_OK);
  assert_int_equal(etx_ir_constant_value(&module, method(), index, &second),
                   ETX_OK);
  assert_int_equal(first, second);
  etx_ir_buffer buffer = {0};
  buffer.name = etx_text_of("x");  // the name of a value
  buffer.dtype = ETX_DTYPE_FLOAT32;
  buffer.rank = 1;
  buffer.sizes[0] = 2;
  buffer.initial = index;
  assert_int_equal(etx_ir_add_buffer(&module, &buffer, &index), ETX_OK);
  assert_int_equal(etx_ir_buffer_value(&module, method(), index, &first),
                   ETX_OK);
  assert_int_equal(etx_ir_buffer_value(&module, method(), index, &second),
                   ETX_OK);
  assert_int_equal(first, second);
  assert_true(etx_text_is(method()->values[first].name, "x_1"));
  assert_sound();
}

static void names_are_found_after_values_were_removed(void** state) {
  (void)state;
  enum { COUNT = 300 };
  bool keep[COUNT + 2];
  uint32_t map[COUNT + 2];
  etx_ir_value value = {.has_shape = true,
                        .shape = {ETX_DTYPE_FLOAT32, 0, {0}}};
  uint32_t index = 0;
  for (uint32_t i = 0; i < COUNT; ++i) {
    char name[16];
    etx_format_text(name, sizeof name, "n%u", (uint64_t)i);
    value.name = etx_text_of(name);
    assert_int_equal(etx_ir_add_value(&module, method(), &value, &index),
                     ETX_OK);
    assert_int_equal(index, i + 2);
  }
  for (size_t i = 0; i < COUNT + 2; ++i) keep[i] = i % 3 != 2;
  assert_int_equal(etx_ir_keep_values(&module, method(), keep, map), ETX_OK);
  assert_int_equal(method()->value_count, 2 + COUNT - COUNT / 3);
  for (uint32_t i = 0; i < COUNT; ++i) {
    char name[16];
    etx_format_text(name, sizeof name, "n%u", (uint64_t)i);
    const bool is_kept = (i + 2) % 3 != 2;
    assert_int_equal(etx_ir_find_value(method(), etx_text_of(name), &index),
                     is_kept);
    assert_int_equal(map[i + 2], is_kept ? index : ETX_IR_NONE);
  }
}

// ---------------------------------------------------------------- lists

static void add_relu(uint32_t input) {
  etx_ir_value value = method()->values[1];
  value.name = etx_text_of("z");
  value.index = (uint32_t)method()->node_count;
  uint32_t output = 0, index = 0;
  assert_int_equal(etx_ir_add_value(&module, method(), &value, &output),
                   ETX_OK);
  etx_ir_arg args[1] = {etx_ir_value_arg(input)};
  const etx_ir_node node = {.aten = etx_text_of("aten.relu.default"),
                            .args = args,
                            .arg_count = 1,
                            .outputs = &output,
                            .output_count = 1};
  assert_int_equal(etx_ir_add_node(&module, method(), &node, &index), ETX_OK);
}

static void keep(const etx_ir_node* node, uint32_t expected) {
  uint32_t index = 0;
  assert_int_equal(etx_ir_keep_node(&module, method(), node, &index), ETX_OK);
  assert_int_equal(index, expected);
}

static void an_unchanged_list_stays_where_it_is(void** state) {
  (void)state;
  for (uint32_t i = 1; i < 20; ++i) add_relu(i);
  etx_ir_node* const nodes = method()->nodes;
  const size_t bytes = pool.total_bytes;
  for (size_t turn = 0; turn < 50; ++turn) {
    etx_ir_restart_nodes(method());
    assert_int_equal(method()->node_count, 0);
    for (uint32_t i = 0; i < 20; ++i) keep(&nodes[i], i);
    assert_ptr_equal(method()->nodes, nodes);
    assert_int_equal(method()->node_count, 20);
  }
  assert_int_equal(pool.total_bytes, bytes);
  assert_sound();
}

// A node is added in the middle and dropped in the next turn.
static void a_changed_list_leaves_the_old_one_readable(void** state) {
  (void)state;
  for (uint32_t i = 1; i < 20; ++i) add_relu(i);
  const etx_ir_node added = method()->nodes[19];
  method()->node_count = 19;
  const etx_ir_node* arrays[50];
  for (size_t turn = 0; turn < 50; ++turn) {
    const etx_ir_node* const old = method()->nodes;
    const size_t count = method()->node_count;
    etx_ir_node before[20];
    uint32_t index = 0;
    arrays[turn] = old;
    memcpy(before, old, count * sizeof *before);
    etx_ir_restart_nodes(method());
    for (uint32_t i = 0; i < 7; ++i) keep(&old[i], i);
    if (count == 19) {
      assert_int_equal(etx_ir_add_node(&module, method(), &added, &index),
                       ETX_OK);
      assert_int_equal(index, 7);
      for (uint32_t i = 7; i < 19; ++i) keep(&old[i], i + 1);
    } else {
      for (uint32_t i = 8; i < 20; ++i) keep(&old[i], i - 1);
    }
    assert_ptr_not_equal(method()->nodes, old);
    assert_memory_equal(old, before, count * sizeof *before);
    assert_memory_equal(method()->nodes, before, 7 * sizeof *before);
    assert_memory_equal(&method()->nodes[count == 19 ? 8 : 7],
                        &before[count == 19 ? 7 : 8], 12 * sizeof *before);
  }
  // Two arrays are used in turns.
  for (size_t turn = 4; turn < 50; ++turn) {
    assert_ptr_equal(arrays[turn], arrays[turn - 2]);
  }
}

// ---------------------------------------------------------------- sizes

static void sizes_have_upper_bounds(void** state) {
  int64_t sizes[ETX_MAX_RANK];
  uint64_t bytes = 0;
  (void)state;
  const etx_shape* const shape = &method()->values[0].shape;
  assert_true(etx_ir_upper_sizes(method(), shape, sizes));
  assert_int_equal(sizes[0], 4);
  assert_true(etx_ir_upper_bytes(method(), shape, &bytes));
  assert_int_equal(bytes, 16);
  assert_false(etx_ir_is_static(shape));
  const etx_shape huge = {
      ETX_DTYPE_INT64, 2, {INT64_C(1) << 40, INT64_C(1) << 40}};
  assert_false(etx_ir_upper_bytes(method(), &huge, &bytes));
}

static void sizes_follow_tighter_bounds(void** state) {
  etx_dim minimum = 0;
  (void)state;
  assert_int_equal(
      etx_symbols_apply(&method()->symbols, ETX_SYMBOL_MINIMUM,
                        method()->values[0].shape.dims[0], 3, &minimum),
      ETX_OK);
  method()->values[1].shape.dims[0] = minimum;
  etx_symbols_set_bounds(&method()->symbols, 0, 1, 2);
  assert_int_equal(etx_ir_refresh_sizes(method()), ETX_OK);
  assert_true(method()->values[0].shape.dims[0] ==
              method()->values[1].shape.dims[0]);
  assert_sound();
}

// ---------------------------------------------------------------- verifier

static void a_sound_module_passes(void** state) {
  (void)state;
  assert_sound();
  etx_diag_init(&diag);
  assert_int_equal(etx_ir_verify(&module, true, &diag), ETX_INTERNAL);
  assert_non_null(strstr(diag.text, "is not lowered"));
}

static void uses_before_definitions_are_refused(void** state) {
  (void)state;
  method()->nodes[0].args[0] = etx_ir_value_arg(1);
  assert_unsound("reads 'y' before it is defined");
  method()->nodes[0].args[0] = etx_ir_value_arg(77);
  assert_unsound("reads value 77 of 2");
}

static void values_of_other_nodes_are_refused(void** state) {
  (void)state;
  method()->values[1].index = 5;
  assert_unsound("is not its own value");
}

static void unknown_sizes_are_refused(void** state) {
  (void)state;
  method()->values[1].shape.dims[0] = ETX_DIM_HANDLE - 1000;
  assert_unsound("impossible type");
  method()->values[1].shape.dims[0] = -1;
  assert_unsound("impossible type");
}

// Names that did not change since the last time are not looked up again.
static void names_that_a_pass_changed_are_refused(void** state) {
  (void)state;
  assert_sound();
  const etx_text name = method()->values[1].name;
  method()->values[1].name = method()->values[0].name;
  assert_unsound("is not unique");
  method()->values[1].name = etx_text_of("other");
  assert_unsound("is not unique");
  method()->values[1].name = name;
  assert_sound();
}

static void inputs_without_value_are_refused(void** state) {
  (void)state;
  method()->values[0].index = 1;
  assert_unsound("input");
}

static void wrong_mutations_are_refused(void** state) {
  etx_ir_mutation mutations[2] = {{true, 0, 1, {.line = 0}},
                                  {true, 0, 1, {.line = 0}}};
  (void)state;
  method()->mutations = mutations;
  method()->mutation_count = 1;
  assert_unsound("which is not mutable");
  method()->inputs[0].is_mutable = true;
  assert_sound();
  method()->mutation_count = 2;
  assert_unsound("have the same target");
  method()->mutation_count = 1;
  method()->values[1].shape.dtype = ETX_DTYPE_INT64;
  assert_unsound("whose type is not that of the target");
  mutations[0].is_input = false;
  assert_unsound("which is not state");
}

static void buffers_without_value_are_refused(void** state) {
  etx_ir_buffer buffer = {0};
  uint32_t index = 0;
  (void)state;
  buffer.name = etx_text_of("b");
  buffer.dtype = ETX_DTYPE_FLOAT32;
  buffer.initial = ETX_IR_NONE;
  buffer.is_state = true;
  assert_int_equal(etx_ir_add_buffer(&module, &buffer, &index), ETX_OK);
  assert_sound();
  module.buffers[index].is_state = false;
  assert_unsound("buffer 'b' has no initial value");
  static const uint8_t byte[1] = {0};
  const etx_ir_constant constant = {ETX_DTYPE_FLOAT32, 0, {0}, {byte, 1}};
  assert_int_equal(
      etx_ir_add_constant(&module, &constant, &module.buffers[index].initial),
      ETX_OK);
  assert_unsound("constant 0 has 1 bytes");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(names_of_values_are_unique),
      TEST(constants_of_equal_content_are_one),
      TEST(buffers_and_constants_have_one_value_a_method),
      TEST(names_are_found_after_values_were_removed),
      TEST(an_unchanged_list_stays_where_it_is),
      TEST(a_changed_list_leaves_the_old_one_readable),
      TEST(sizes_have_upper_bounds),
      TEST(sizes_follow_tighter_bounds),
      TEST(a_sound_module_passes),
      TEST(uses_before_definitions_are_refused),
      TEST(values_of_other_nodes_are_refused),
      TEST(unknown_sizes_are_refused),
      TEST(names_that_a_pass_changed_are_refused),
      TEST(inputs_without_value_are_refused),
      TEST(wrong_mutations_are_refused),
      TEST(buffers_without_value_are_refused),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
