// A method that keeps values for each change of sizes (runtime/size_values.h),
// and in which later sizes leave a part to the run; and a method whose steps
// must not depend on sizes.

#include "runtime/method/method_types.h"
#include "runtime/regions.h"
#include "runtime/size_values.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

enum { ROOM = 8 };

static void set_input(etx_method* method, size_t index, int32_t size) {
  static float data[ROOM];
  for (int i = 0; i < ROOM; ++i) data[i] = (float)(i + 1);
  const etx_tensor tensor = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, size);
  assert_ok(etx_method_set_input(method, index, &tensor, &diag));
}

static int add_input(test_program* p, uint32_t index, const char* symbol) {
  const int input = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(ROOM))), "");
  test_dim(p, index, 0, test_symbol(p, symbol, 0, ROOM), 1, 0);
  return input;
}

static int add_scratch(test_program* p, uint64_t offset) {
  return test_dynamic(p,
                      test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(ROOM), offset));
}

static void negate(test_program* p, int from, int to) {
  test_call(p, "aten::neg", "out", ARGS(from, to, to));
}

// k = -10, -20, and so on, as many as x has elements, is kept. `slot` has the
// sizes of x and then those of y: at other sizes than those of loading, it is
// sized during the run.
static void kept_values_stay_when_others_become_late(void** state) {
  (void)state;
  float tens[ROOM];
  for (int i = 0; i < ROOM; ++i) tens[i] = 10.0f * (float)(i + 1);
  test_program* const p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 1024, 0);
  test_blob(p);
  const int x = add_input(p, 0, "s"), y = add_input(p, 1, "t");
  const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                              test_data(p, tens, sizeof tens));
  const int head = add_scratch(p, 0), k = add_scratch(p, 64);
  const int sum = add_scratch(p, 128), slot = add_scratch(p, 192);
  const int first = add_scratch(p, 256), second = add_scratch(p, 320);
  const int size = test_int(p, 0), zero = test_int(p, 0), one = test_int(p, 1);
  test_call(p, "aten::sym_size", "int", ARGS(x, zero, size));
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(c, zero, zero, size, one, head, head));
  negate(p, head, k);
  test_call(p, "aten::add", "out", ARGS(x, k, one, sum, sum));
  negate(p, x, slot);
  negate(p, slot, first);
  negate(p, y, slot);
  negate(p, slot, second);
  test_output(p, sum, "");
  test_output(p, first, "");
  test_output(p, second, "");
  etx_program program;
  test_loaded loaded;
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  etx_method* const method = &loaded.method;
  const size_t bytes = etx_method_size_values_needed(method);
  assert_true(bytes > 0);
  test_block block = test_block_new(bytes, ETX_MEMORY_ALIGNMENT);
  assert_ok(etx_method_keep_size_values(method, block.bytes, &diag));
  // What is computed once needs less scratch than what each call computes.
  etx_memory_needed needed;
  assert_ok(etx_method_needed_at(method, NULL, 0, &needed, &diag));
  assert_true(needed.scratch_bytes <= 256);
  static const int32_t sizes[][2] = {{8, 8}, {5, 5}, {5, 3}, {5, 3}, {2, 7},
                                     {8, 8}, {0, 4}, {4, 4}, {4, 4}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    set_input(method, 0, sizes[i][0]);
    set_input(method, 1, sizes[i][1]);
    assert_ok(etx_method_run(method, &diag));
    const int32_t counts[3] = {sizes[i][0], sizes[i][0], sizes[i][1]};
    for (size_t o = 0; o < 3; ++o) {
      const etx_tensor* const out = test_output_tensor(method, o);
      assert_int_equal(out->sizes[0], counts[o]);
      for (int n = 0; n < counts[o]; ++n) {
        assert_true(((const float*)out->data)[n] ==
                    (float)(n + 1) * (o == 0 ? -9.0f : 1.0f));
      }
    }
  }
  assert_true(etx_method_has_flow(method));
  assert_true(test_unload(&loaded));
  assert_true(test_block_end(&block));
  test_program_end(p);
}

static bool submit_none(void* context, etx_work* work) {
  (void)context;
  (void)work;
  return false;
}

// With regions, a call without elements is a step like all others.
static void regions_have_the_same_steps_at_all_sizes(void** state) {
  (void)state;
  const etx_launcher launcher = {.submit = submit_none};
  for (int has_regions = 0; has_regions < 2; ++has_regions) {
    test_program* const p = test_program_new();
    test_method(p, "forward");
    test_arenas(p, 1024, 0);
    test_blob(p);
    const int x = add_input(p, 0, "s"), out = add_scratch(p, 0);
    negate(p, x, out);
    test_output(p, out, "");
    etx_program program;
    test_loaded loaded;
    size_t bytes = 0;
    assert_ok(etx_program_open(&program, test_file(p), &etx_all_kernels, NULL,
                               &diag));
    assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
    etx_method* const method = &loaded.method;
    assert_ok(etx_method_regions_needed(method, 2, &bytes, &diag));
    test_block block = test_block_new(bytes, ETX_MEMORY_ALIGNMENT);
    if (has_regions != 0) {
      assert_ok(
          etx_method_use_regions(method, &launcher, 2, block.bytes, &diag));
    }
    for (int32_t size = 3; size >= 0; --size) {
      set_input(method, 0, size);
      assert_ok(etx_method_run(method, &diag));
      assert_int_equal(method->step_count, has_regions != 0 || size > 0);
    }
    assert_true(test_unload(&loaded));
    assert_true(test_block_end(&block));
    test_program_end(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW,
                     kept_values_stay_when_others_become_late),
      unit_test_with(ETX_DYNAMIC, regions_have_the_same_steps_at_all_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
