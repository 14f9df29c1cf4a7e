// Tests of emission: plans a graph and checks the program file.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "format/pte/etx_blob.h"
#include "format/pte/reserved_names.h"
#include "tests/exporter/graph.h"

static graph g;

static etx_pte_value argument(const etx_pte_plan* plan, size_t instruction,
                              size_t index) {
  const etx_pte_instruction call = etx_pte_instruction_at(plan, 0, instruction);
  assert_true(index < call.argument_count);
  return etx_pte_value_at(plan, (size_t)call.arguments[index]);
}

static void plans_are_in_order_of_their_names(void** state) {
  (void)state;
  static const char* const names[3] = {"c", "a", "b"};
  for (size_t i = 0; i < 3; ++i) {
    graph_method(&g, names[i]);
    const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
    graph_output(&g, "y", graph_add(&g, x, x));
  }
  graph_plan(&g);
  etx_pte pte;
  graph_read_plan(&g, "a", &pte);
  assert_int_equal(etx_pte_plan_count(&pte), 3);
  for (size_t i = 0; i < 3; ++i) {
    const etx_pte_plan plan = etx_pte_plan_at(&pte, i);
    const char expected[2] = {(char)('a' + i), 0};
    assert_true(etx_text_is(etx_pte_plan_name(&plan), expected));
  }
}

static void a_call_carries_its_arguments_its_out_and_the_return_slot(
    void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  graph_output(
      &g, "y",
      graph_node(&g, ETX_OP_add_out, ARGS(VALUE(x), VALUE(x), INT(3))));
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  const etx_pte_instruction call = etx_pte_instruction_at(&plan, 0, 0);
  assert_int_equal(call.argument_count, 5);
  assert_int_equal(call.arguments[0], etx_pte_input_at(&plan, 0));
  assert_int_equal(argument(&plan, 0, 2).as.integer, 3);
  assert_int_equal(call.arguments[3], call.arguments[4]);
  assert_int_equal(call.arguments[3], etx_pte_output_at(&plan, 0));
  assert_int_equal(etx_pte_buffer_size_count(&plan), 2);
  assert_int_equal(etx_pte_buffer_size_at(&plan, 1), 16);
}

static void every_output_of_an_operator_has_memory(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(2, 4));
  const etx_ir_arg epsilon = {ETX_IR_ARG_DOUBLE, .as.real = 1e-5};
  graph_output(
      &g, "y",
      graph_node(&g, ETX_OP_native_layer_norm_out,
                 ARGS(VALUE(x), LIST(INT(4)), NOTHING, NOTHING, epsilon)));
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  const etx_pte_instruction call = etx_pte_instruction_at(&plan, 0, 0);
  assert_int_equal(call.argument_count, 9);
  for (size_t i = 5; i < 8; ++i) {
    assert_true(argument(&plan, 0, i).as.tensor.has_allocation);
  }
  const etx_pte_value outs = argument(&plan, 0, 8);
  assert_int_equal(outs.kind, ETX_PTE_TENSOR_LIST);
  assert_int_equal(outs.as.tensors.count, 3);
  assert_int_equal(argument(&plan, 0, 2).kind, ETX_PTE_NULL);
}

static void states_have_one_address_and_a_name_in_every_method(void** state) {
  (void)state;
  const uint32_t b = graph_state(&g, "b", 1, SIZES(4), 2);
  const uint32_t a = graph_state(&g, "a", 1, SIZES(8), 1);
  graph_method(&g, "get");
  graph_output(&g, "b", graph_buffer(&g, b));
  graph_method(&g, "step");
  graph_mutate(&g, a, graph_add(&g, graph_buffer(&g, a), graph_buffer(&g, a)));
  graph_mutate(&g, b, graph_add(&g, graph_buffer(&g, b), graph_buffer(&g, b)));
  graph_method(&g, "stateless");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  graph_output(&g, "y", graph_add(&g, x, x));
  graph_plan(&g);

  etx_pte pte;
  static const char* const methods[4] = {"get", "step", "stateless",
                                         "et_module_init"};
  for (size_t m = 0; m < 4; ++m) {
    const etx_pte_plan plan = graph_read_plan(&g, methods[m], &pte);
    assert_int_equal(etx_pte_buffer_size_count(&plan), 3);
    assert_int_equal(etx_pte_buffer_size_at(&plan, 2), 48);
    for (size_t i = 0; i < etx_pte_value_count(&plan); ++i) {
      const etx_pte_value value = etx_pte_value_at(&plan, i);
      if (value.kind != ETX_PTE_TENSOR || !value.as.tensor.has_allocation ||
          value.as.tensor.memory_id != 2) {
        continue;
      }
      const bool is_a = etx_text_is(value.as.tensor.name, "a");
      assert_true(is_a || etx_text_is(value.as.tensor.name, "b"));
      assert_int_equal(value.as.tensor.memory_offset, is_a ? 0 : 32);
      assert_int_equal(value.as.tensor.data_buffer_index, 0);
    }
  }
}

static void the_init_method_copies_constants_into_states(void** state) {
  (void)state;
  const float mixed[4] = {1, 2, 3, 4};
  const uint32_t a = graph_state(&g, "a", 1, SIZES(100), 5);
  const uint32_t b = graph_state_of(&g, "b", 2, SIZES(2, 2), mixed);
  graph_state(&g, "unused", 2, SIZES(0, 3), 0);
  graph_method(&g, "get");
  graph_output(&g, "a", graph_buffer(&g, a));
  graph_output(&g, "b", graph_buffer(&g, b));
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "et_module_init", &pte);
  assert_int_equal(etx_pte_input_count(&plan), 0);
  assert_int_equal(etx_pte_output_count(&plan), 0);
  assert_int_equal(graph_count_calls(&plan, "aten::copy_"), 3);
  const etx_pte_tensor first = argument(&plan, 0, 1).as.tensor;
  assert_true(etx_text_is(argument(&plan, 0, 0).as.tensor.name, "a"));
  assert_int_equal(first.rank, 0);
  const float five = 5;
  assert_memory_equal(etx_pte_constant(&pte, first.data_buffer_index).data,
                      &five, 4);
  const etx_pte_tensor second = argument(&plan, 1, 1).as.tensor;
  assert_memory_equal(etx_pte_constant(&pte, second.data_buffer_index).data,
                      mixed, sizeof mixed);
}

static void self_copies_are_removed(void** state) {
  (void)state;
  const uint32_t a = graph_state(&g, "a", 1, SIZES(4), 5);
  graph_method(&g, "get");
  graph_output(&g, "a", graph_buffer(&g, a));
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "get", &pte);
  assert_int_equal(etx_pte_instruction_count(&plan, 0), 0);
  assert_true(
      etx_text_is(etx_pte_value_at(&plan, (size_t)etx_pte_output_at(&plan, 0))
                      .as.tensor.name,
                  "a"));
}

static void without_the_pass_self_copies_remain(void** state) {
  (void)state;
  const uint32_t a = graph_state(&g, "a", 1, SIZES(4), 5);
  graph_method(&g, "get");
  graph_output(&g, "a", graph_buffer(&g, a));
  g.options.passes = AS_WRITTEN ",-alias_views,!remove_self_copy";
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "get", &pte);
  assert_int_equal(graph_count_calls(&plan, "aten::copy_"), 1);
  const etx_pte_instruction copy = etx_pte_instruction_at(&plan, 0, 0);
  assert_int_equal(copy.arguments[0], copy.arguments[1]);
}

// The input itself has no planned memory, so that the runtime does not copy
// what the caller gives and the method writes to it; the output has.
static void for_executorch_mutated_inputs_are_the_first_outputs(void** state) {
  (void)state;
  g.options.target = ETX_TARGET_EXECUTORCH;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t y = graph_input(&g, "y", 1, SIZES(4));
  graph_mutate_input(&g, y, graph_add(&g, x, y));
  graph_output(&g, "z", graph_add(&g, x, x));
  graph_plan(&g);

  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  assert_int_equal(etx_pte_output_count(&plan), 2);
  const int32_t input = etx_pte_input_at(&plan, 1);
  const int32_t output = etx_pte_output_at(&plan, 0);
  assert_false(etx_pte_value_at(&plan, (size_t)input).as.tensor.has_allocation);
  assert_true(etx_pte_value_at(&plan, (size_t)output).as.tensor.has_allocation);
  const etx_pte_instruction first = etx_pte_instruction_at(&plan, 0, 0);
  assert_int_equal(first.arguments[0], input);
  assert_int_equal(first.arguments[2], output);
  const etx_pte_instruction last =
      etx_pte_instruction_at(&plan, 0, etx_pte_instruction_count(&plan, 0) - 1);
  assert_int_equal(last.arguments[0], input);
  assert_int_equal(last.arguments[1], output);
  assert_false(etx_pte_value_at(&plan, (size_t)etx_pte_input_at(&plan, 0))
                   .as.tensor.has_allocation);
  etx_blob blob;
  size_t method = 0;
  assert_int_equal(etx_blob_open(&blob, &pte, NULL), ETX_OK);
  assert_true(etx_blob_method_find(&blob, etx_text_of("m"), &method));
  assert_int_equal(etx_blob_output_at(&blob, method, 0).mutated_input, 1);
  assert_int_equal(etx_blob_output_at(&blob, method, 1).mutated_input, -1);
  assert_true(etx_blob_input_at(&blob, method, 1).is_mutable);
}

// ---- dynamic sizes ----

static void sizes_are_upper_bounds_and_the_blob_has_the_symbols(void** state) {
  (void)state;
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 8);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 3));
  graph_output(&g, "y", graph_add(&g, x, x));
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  const etx_pte_tensor input =
      etx_pte_value_at(&plan, (size_t)etx_pte_input_at(&plan, 0)).as.tensor;
  assert_int_equal(input.sizes[0], 8);
  assert_int_equal(input.dynamism, ETX_PTE_DYNAMIC_BOUND);
  assert_int_equal(etx_pte_buffer_size_at(&plan, 1), 96);
  etx_blob blob;
  assert_int_equal(etx_blob_open(&blob, &pte, NULL), ETX_OK);
  assert_int_equal(etx_blob_symbol_count(&blob, 0), 1);
  assert_int_equal(etx_blob_symbol_at(&blob, 0, 0).maximum, 8);
  const etx_blob_input_dim dim = etx_blob_input_dim_at(&blob, 0, 0);
  assert_int_equal(dim.factor, 1);
  assert_int_equal(dim.dim, 0);
}

static void integers_are_computed_once_from_input_sizes(void** state) {
  (void)state;
  // For ExecuTorch, slices of inputs are instructions.
  g.options.target = ETX_TARGET_EXECUTORCH;
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 8);
  etx_symbols* const symbols = &graph_current(&g)->symbols;
  etx_dim twice = 0;
  etx_dim size = 0;
  assert_int_equal(
      etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, s, 2, &twice), ETX_OK);
  assert_int_equal(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, twice, 1, &size),
                   ETX_OK);
  graph_input(&g, "x", 1, SIZES(size));
  const uint32_t y = graph_input(&g, "y", 1, SIZES(16));
  for (size_t i = 0; i < 2; ++i) {
    const uint32_t rows =
        graph_node(&g, ETX_OP_slice_copy_tensor_out,
                   ARGS(VALUE(y), INT(0), INT((etx_dim)i), INT(s), INT(1)));
    graph_output(&g, "z", graph_add(&g, rows, rows));
  }
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  assert_int_equal(graph_count_calls(&plan, "aten::sym_size.int"), 1);
  assert_int_equal(graph_count_calls(&plan, "executorch_prim::sub.Scalar"), 1);
  assert_int_equal(graph_count_calls(&plan, "executorch_prim::floordiv.Scalar"),
                   1);
  assert_int_equal(etx_pte_instruction_count(&plan, 0), 7);
}

static void a_size_that_no_input_determines_is_refused(void** state) {
  (void)state;
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 8);
  const uint32_t y = graph_input(&g, "y", 1, SIZES(16));
  graph_output(&g, "z",
               graph_node(&g, ETX_OP_slice_copy_tensor_out,
                          ARGS(VALUE(y), INT(0), INT(0), INT(s), INT(1))));
  assert_int_equal(graph_try_plan(&g), ETX_UNSUPPORTED);
  assert_non_null(strstr(g.diag.text, "'s' cannot be computed"));
}

static void a_view_has_one_inferred_size(void** state) {
  (void)state;
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 8);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 4));
  const uint32_t sum = graph_add(&g, x, x);
  const uint32_t view = graph_view(&g, sum, 3, SIZES(s, 2, 2));
  graph_output(&g, "y", graph_add(&g, view, view));
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  assert_int_equal(etx_pte_instruction_count(&plan, 0), 3);
  assert_int_equal(graph_count_calls(&plan, "executorch_prim::et_view.default"),
                   1);
  const etx_pte_value sizes = argument(&plan, 1, 1);
  assert_int_equal(sizes.kind, ETX_PTE_INT_LIST);
  assert_int_equal(
      etx_pte_value_at(&plan, (size_t)sizes.as.integers.items[0]).as.integer,
      -1);
}

static void a_dynamic_slice_of_a_constant_is_a_view(void** state) {
  (void)state;
  const float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 3);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 2));
  const uint32_t c = graph_constant(&g, 2, SIZES(4, 2), table);
  etx_dim end = 0;
  assert_int_equal(etx_symbols_apply(&graph_current(&g)->symbols,
                                     ETX_SYMBOL_ADD, s, 1, &end),
                   ETX_OK);
  const uint32_t rows =
      graph_node(&g, ETX_OP_slice_copy_tensor_out,
                 ARGS(VALUE(c), INT(0), INT(1), INT(end), INT(1)));
  graph_output(&g, "y", graph_add(&g, x, rows));
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  assert_int_equal(graph_count_calls(&plan, "etx::part_view.default"), 1);
  assert_int_equal(graph_count_calls(&plan, "aten::slice_copy.Tensor_out"), 0);
  assert_int_equal(g.report.constant_count, 1);
  assert_int_equal(argument(&plan, 1, 1).as.integer, 2);  // elements in front
}

// y = x + table[1:1+s], z = table. ExecuTorch's runtime has no etx::part_view;
// aten::empty sets the sizes of the slice and writes no byte.
static void for_executorch_a_slice_is_a_tensor_with_dynamic_sizes(
    void** state) {
  (void)state;
  float table[32];
  for (size_t i = 0; i < 32; ++i) table[i] = (float)i;
  g.options.target = ETX_TARGET_EXECUTORCH;
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 3);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 8));
  const uint32_t c = graph_constant(&g, 2, SIZES(4, 8), table);
  etx_dim end = 0;
  assert_int_equal(etx_symbols_apply(&graph_current(&g)->symbols,
                                     ETX_SYMBOL_ADD, s, 1, &end),
                   ETX_OK);
  const uint32_t rows =
      graph_node(&g, ETX_OP_slice_copy_tensor_out,
                 ARGS(VALUE(c), INT(0), INT(1), INT(end), INT(1)));
  graph_output(&g, "y", graph_add(&g, x, rows));
  graph_output(&g, "z", c);
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  assert_int_equal(graph_count_calls(&plan, "aten::empty.out"), 1);
  assert_int_equal(graph_count_calls(&plan, "aten::slice_copy.Tensor_out"), 0);
  assert_int_equal(etx_pte_instruction_count(&plan, 0), 3);
  const etx_pte_tensor part = argument(&plan, 1, 2).as.tensor;
  assert_int_equal(part.dynamism, ETX_PTE_DYNAMIC_BOUND);
  assert_int_equal(part.sizes[0], 3);
  assert_false(part.has_allocation);
  // The slice is a part of the whole constant, which is in the file once.
  const etx_pte_tensor whole =
      etx_pte_value_at(&plan, (size_t)etx_pte_output_at(&plan, 1)).as.tensor;
  assert_ptr_equal(etx_pte_constant(&pte, part.data_buffer_index).data,
                   etx_pte_constant(&pte, whole.data_buffer_index).data + 32);
  assert_int_equal(g.report.constant_count, 2);
  assert_int_equal(g.report.constant_bytes, sizeof table);
}

// y = x + cache[:s]: no row of the state is copied, and the blob has the base
// of the view.
static void for_executorch_a_slice_of_a_state_is_an_alias(void** state) {
  (void)state;
  g.options.target = ETX_TARGET_EXECUTORCH;
  const uint32_t cache = graph_state(&g, "cache", 2, SIZES(4, 8), 0);
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 4);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 8));
  const uint32_t old = graph_buffer(&g, cache);
  const uint32_t rows =
      graph_node(&g, ETX_OP_slice_copy_tensor_out,
                 ARGS(VALUE(old), INT(0), INT(0), INT(s), INT(1)));
  graph_output(&g, "y", graph_add(&g, x, rows));
  graph_mutate(&g, cache, graph_add(&g, old, old));
  graph_plan(&g);
  etx_pte pte;
  etx_blob blob;
  size_t method = 0;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  assert_int_equal(graph_count_calls(&plan, "aten::empty.out"), 1);
  assert_int_equal(g.report.copy_count, 0);
  const etx_pte_tensor part = argument(&plan, 1, 2).as.tensor;
  assert_int_equal(part.memory_id, ETX_MEMORY_STATE);
  assert_int_equal(part.name.size, 0);
  assert_int_equal(etx_blob_open(&blob, &pte, NULL), ETX_OK);
  assert_true(etx_blob_method_find(&blob, etx_text_of("m"), &method));
  assert_int_equal(etx_blob_view_count(&blob, method), 1);
  const etx_blob_view row = etx_blob_view_at(&blob, method, 0);
  assert_int_equal((int32_t)row.value,
                   etx_pte_instruction_at(&plan, 0, 1).arguments[2]);
  assert_int_equal(row.offset, 0);
}

// ---- constants, views, determinism ----

static void equal_bytes_are_stored_once_in_the_file(void** state) {
  (void)state;
  const float elements[4] = {1, 2, 3, 4};
  for (size_t i = 0; i < 2; ++i) {
    graph_method(&g, i == 0 ? "a" : "b");
    const uint32_t c = i == 0 ? graph_constant(&g, 1, SIZES(4), elements)
                              : graph_constant(&g, 2, SIZES(2, 2), elements);
    graph_output(&g, "c", c);
  }
  graph_plan(&g);
  assert_int_equal(g.report.constant_count, 1);
  assert_int_equal(g.report.constant_bytes, 16);
}

static void a_constant_without_elements_has_an_index(void** state) {
  (void)state;
  graph_method(&g, "a");
  graph_output(&g, "c",
               graph_constant(&g, 2, SIZES(0, 4), (const float[1]){0}));
  graph_plan(&g);
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "a", &pte);
  const etx_pte_tensor tensor =
      etx_pte_value_at(&plan, (size_t)etx_pte_output_at(&plan, 0)).as.tensor;
  assert_true(tensor.data_buffer_index > 0);
}

static void the_blob_names_the_base_of_every_view(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(4, 4));
  const uint32_t sum = graph_add(&g, x, x);
  const uint32_t row = graph_select(&g, sum, 0, 2);
  graph_output(&g, "y", graph_add(&g, row, row));
  graph_plan(&g);
  etx_pte pte;
  etx_blob blob;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  assert_int_equal(etx_blob_open(&blob, &pte, NULL), ETX_OK);
  assert_int_equal(etx_blob_view_count(&blob, 0), 1);
  const etx_blob_view view = etx_blob_view_at(&blob, 0, 0);
  assert_int_equal(view.offset, 32);
  const etx_pte_instruction add = etx_pte_instruction_at(&plan, 0, 0);
  assert_int_equal(view.base, add.arguments[3]);
}

static void build_mixed(graph* target) {
  const uint32_t a = graph_state(target, "a", 2, SIZES(4, 3), 1);
  const uint32_t b = graph_state(target, "b", 1, SIZES(3), 2);
  graph_method(target, "step");
  const uint32_t x = graph_input(target, "x", 1, SIZES(3));
  const uint32_t row = graph_select(target, graph_buffer(target, a), 0, 1);
  const uint32_t sum = graph_add(target, row, x);
  graph_mutate(
      target, a,
      graph_select_scatter(target, graph_buffer(target, a), sum, 0, 1));
  graph_mutate(target, b, sum);
  graph_output(target, "old", graph_buffer(target, b));
  graph_plan(target);
}

static void the_same_graph_gives_the_same_bytes(void** state) {
  (void)state;
  build_mixed(&g);
  graph again;
  graph_open(&again);
  build_mixed(&again);
  assert_int_equal(again.file_size, g.file_size);
  assert_memory_equal(again.file, g.file, g.file_size);
  graph_close(&again);
}

int main(void) {
#define TEST(name) GRAPH_TEST(name, &g)
  const struct CMUnitTest tests[] = {
      TEST(plans_are_in_order_of_their_names),
      TEST(a_call_carries_its_arguments_its_out_and_the_return_slot),
      TEST(every_output_of_an_operator_has_memory),
      TEST(states_have_one_address_and_a_name_in_every_method),
      TEST(the_init_method_copies_constants_into_states),
      TEST(self_copies_are_removed),
      TEST(without_the_pass_self_copies_remain),
      TEST(for_executorch_mutated_inputs_are_the_first_outputs),
      TEST(sizes_are_upper_bounds_and_the_blob_has_the_symbols),
      TEST(integers_are_computed_once_from_input_sizes),
      TEST(a_size_that_no_input_determines_is_refused),
      TEST(a_view_has_one_inferred_size),
      TEST(a_dynamic_slice_of_a_constant_is_a_view),
      TEST(for_executorch_a_slice_is_a_tensor_with_dynamic_sizes),
      TEST(for_executorch_a_slice_of_a_state_is_an_alias),
      TEST(equal_bytes_are_stored_once_in_the_file),
      TEST(a_constant_without_elements_has_an_index),
      TEST(the_blob_names_the_base_of_every_view),
      TEST(the_same_graph_gives_the_same_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
