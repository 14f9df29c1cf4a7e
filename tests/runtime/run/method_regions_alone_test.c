// Steps that run beside no other one, and methods whose memory the regions
// cannot tell apart.

#include "runtime/variants.h"
#include "tests/runtime/run/regions_fixture.h"
#include "tests/support/assert_status.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;
static float input[COUNT];

static size_t region_steps_of(test_program* p) {
  regions_fixture f;
  regions_start(&f, p);
  const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &x, &diag));
  assert_ok(regions_use(&f, &diag));
  const size_t steps = etx_method_region_steps(&f.loaded.method);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  regions_end(&f);
  return steps;
}

static test_program* begin_pair(int* x) {
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 8 * BYTES, 0);
  *x = test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT)), "x");
  return p;
}

static void random_numbers_are_drawn_in_order(void** state) {
  (void)state;
  int x = 0;
  test_program* const p = begin_pair(&x);
  const int sizes = test_ints(p, (const int[]){test_int(p, COUNT)}, 1);
  for (uint64_t i = 0; i < 2; ++i) {
    const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(COUNT), i * BYTES);
    test_call(p, "aten::rand", "out", ARGS(sizes, y, y));
  }
  assert_int_equal(region_steps_of(p), 0);
}

static void sizes_from_data_are_checked_alone(void** state) {
  (void)state;
  int x = 0;
  test_program* const p = begin_pair(&x);
  for (uint64_t i = 0; i < 2; ++i) {
    const int y =
        test_scratch(p, ETX_DTYPE_INT64, SIZES(COUNT, 1), i * 2 * BYTES);
    test_call(p, "aten::nonzero", "out", ARGS(x, y, y));
  }
  for (size_t i = 0; i < COUNT; ++i) input[i] = 1;
  assert_int_equal(region_steps_of(p), 0);
  memset(input, 0, sizeof input);
}

// A tensor without elements needs no memory, so none is known.
static void steps_without_known_memory_run_alone(void** state) {
  (void)state;
  for (int is_empty = 0; is_empty < 2; ++is_empty) {
    int x = 0;
    test_program* const p = begin_pair(&x);
    const int empty = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(0));
    for (uint64_t i = 0; i < 2; ++i) {
      const int y =
          test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2 * COUNT), i * 2 * BYTES);
      const int items[] = {x, x, empty};
      test_call(
          p, "aten::cat", "out",
          ARGS(test_tensors(p, items, is_empty ? 3 : 2), test_int(p, 0), y, y));
    }
    assert_int_equal(region_steps_of(p), is_empty ? 0 : 2);
  }
}

// A tensor of fixed sizes in the memory of one whose sizes vary.
static void a_fixed_view_of_varying_memory_is_seen(void** state) {
  (void)state;
  regions_fixture f;
  etx_region_step steps[3];
  test_program* const p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 8 * BYTES, 0);
  const test_sizes sizes = SIZES(COUNT);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, sizes)), "x");
  const int u = test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, sizes, 0));
  const int v =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, sizes, BYTES));
  const int first = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1));
  const int w = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 2 * BYTES);
  test_view(p, first, u, 0);
  test_call(p, "aten::relu", "out", ARGS(x, u, u));
  test_call(p, "aten::neg", "out", ARGS(x, v, v));
  test_call(p, "aten::neg", "out", ARGS(first, w, w));
  test_output(p, u, "u");
  test_output(p, v, "v");
  test_output(p, w, "w");
  test_dim(p, 0, 0, test_symbol(p, "n", 1, COUNT), 1, 0);
  regions_start(&f, p);
  input[0] = 5;
  const etx_tensor whole = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &whole, &diag));
  assert_ok(etx_method_prepare(&f.loaded.method, &diag));
  assert_ok(regions_use(&f, &diag));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 3);
  for (size_t i = 0; i < 3; ++i) {
    assert_true(etx_method_region_step_at(&f.loaded.method, i, &steps[i]));
  }
  assert_int_equal(steps[0].group_end, 3);
  assert_int_not_equal(steps[0].region, steps[1].region);
  assert_int_equal(steps[2].region, steps[0].region);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_true(*(float*)test_output_tensor(&f.loaded.method, 2)->data == -5);
  input[0] = 0;
  regions_end(&f);
}

// Halves of one tensor, whose places never change: steps that write them need
// not wait for each other.
static void fixed_parts_of_one_tensor_are_apart(void** state) {
  (void)state;
  regions_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 2 * BYTES, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT)), "x");
  const int both = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2 * COUNT), 0);
  for (uint64_t i = 0; i < 2; ++i) {
    const int half = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(COUNT));
    test_view(p, half, both, i * BYTES);
    test_call(p, "aten::neg", "out", ARGS(x, half, half));
  }
  test_output(p, both, "both");
  regions_start(&f, p);
  const etx_tensor given = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &given, &diag));
  assert_ok(regions_use(&f, &diag));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 2);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  regions_end(&f);
}

// In the end, b is a view of c. The empty view of b has no bytes in a block.
static void roots_without_bytes_are_in_no_block(void** state) {
  (void)state;
  regions_fixture f;
  test_program* const p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 1024, 0);
  const test_sizes sizes = SIZES(8);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, sizes)), "x");
  const int c = test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, sizes), "c");
  const int u = test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, sizes, 0));
  const int b = test_scratch(p, ETX_DTYPE_FLOAT32, sizes, 256);
  const int empty = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(0));
  const int o = test_scratch(p, ETX_DTYPE_FLOAT32, sizes, 512);
  const int size = test_ints(p, ARGS(test_int(p, 8)));
  test_view(p, empty, b, 0);
  test_call(p, "aten::neg", "out", ARGS(x, u, u));
  test_call(p, "aten::cat", "out",
            ARGS(test_tensors(p, ARGS(empty, c)), test_int(p, 0), o, o));
  test_call(p, "executorch_prim::et_view", "default", ARGS(c, size, b));
  test_output(p, u, "u");
  test_output(p, o, "o");
  test_dim(p, 0, 0, test_symbol(p, "n", 0, 8), 1, 0);
  regions_start(&f, p);
  float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const etx_tensor given = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 8);
  for (size_t i = 0; i < 2; ++i) {
    assert_ok(etx_method_set_input(&f.loaded.method, i, &given, &diag));
  }
  assert_ok(regions_use(&f, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const float* const negated = test_output_tensor(&f.loaded.method, 0)->data;
  assert_true(negated[0] == -1 && negated[7] == -8);
  assert_memory_equal(test_output_tensor(&f.loaded.method, 1)->data, data,
                      sizeof data);
  regions_end(&f);
}

static void a_method_with_variants_has_no_regions(void** state) {
  (void)state;
  regions_fixture f;
  size_t count = 0;
  etx_memory_needed needed;
  test_program* const p = test_program_new();
  test_blob(p);
  regions_add_dynamic(p, "forward", true);
  regions_add_dynamic(p, "forward@1", true);
  regions_start(&f, p);
  assert_ok(etx_method_variants_needed(&f.program, etx_text_of("forward"),
                                       &count, &needed, &diag));
  assert_int_equal(count, 1);
  test_block variants =
      test_block_new(needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  assert_ok(
      etx_method_use_variants(&f.loaded.method, variants.bytes, NULL, &diag));
  const etx_tensor x = TEST_TENSOR(input, ETX_DTYPE_FLOAT32, COUNT);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &x, &diag));
  assert_ok(regions_use(&f, &diag));
  assert_int_equal(etx_method_region_steps(&f.loaded.method), 0);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(f.submitted, 0);
  assert_true(test_block_end(&variants));
  regions_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_numbers_are_drawn_in_order),
      unit_test_with(ETX_DYNAMIC, sizes_from_data_are_checked_alone),
      cmocka_unit_test(steps_without_known_memory_run_alone),
      unit_test_with(ETX_DYNAMIC, a_fixed_view_of_varying_memory_is_seen),
      cmocka_unit_test(fixed_parts_of_one_tensor_are_apart),
      unit_test_with(ETX_DYNAMIC && ETX_VIEWS,
                     roots_without_bytes_are_in_no_block),
      unit_test_with(ETX_DYNAMIC, a_method_with_variants_has_no_regions),
  };
  return cmocka_run_group_tests_name("method_regions_alone", tests, NULL, NULL);
}
