// Values that change after a call has used them, and calls that are prepared
// again.

#include "tests/support/assert_status.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

typedef struct shapes_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
} shapes_fixture;

static void start(shapes_fixture* f) {
  f->p = test_program_new();
  test_method(f->p, "forward");
  test_arenas(f->p, 256, 0);
}

static void run(shapes_fixture* f, const etx_kernel_table* kernels) {
  etx_diag_init(&diag);
  assert_ok(
      etx_program_open(&f->program, test_file(f->p), kernels, NULL, &diag));
  assert_ok(test_load(&f->loaded, &f->program, "forward", NULL, &diag));
  assert_ok(etx_method_run(&f->loaded.method, &diag));
}

static void end(shapes_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static int constant(shapes_fixture* f, test_sizes sizes) {
  static const float data[4] = {1, 2, 3, 4};
  return test_constant(f->p, ETX_DTYPE_FLOAT32, sizes,
                       test_data(f->p, data, sizeof data));
}

static int scratch(shapes_fixture* f, uint64_t offset) {
  return test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(4), offset);
}

static void assert_output(const shapes_fixture* f, size_t index,
                          const float* wanted, int32_t count) {
  const etx_tensor* out = test_output_tensor(&f->loaded.method, index);
  assert_int_equal(out->sizes[0], count);
  assert_memory_equal(out->data, wanted, (size_t)count * sizeof *wanted);
}

// One slot has two floats, then four. The call that reads two of them equals
// the call that writes them.
static void a_slot_may_change_its_size_after_a_use(void** state) {
  (void)state;
  shapes_fixture f;
  start(&f);
  const int slot = test_dynamic(f.p, scratch(&f, 0));
  const int from[2] = {constant(&f, SIZES(2)), constant(&f, SIZES(4))};
  const int out[2] = {test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 64),
                      scratch(&f, 128)};
  for (size_t i = 0; i < 2; ++i) {
    test_call(f.p, "aten::neg", "out", ARGS(from[i], slot, slot));
    test_call(f.p, "aten::neg", "out", ARGS(slot, out[i], out[i]));
    test_output(f.p, out[i], "");
  }
  run(&f, &etx_all_kernels);
  static const float wanted[4] = {1, 2, 3, 4};
  assert_true(f.loaded.method.prepares_during_run);
  assert_output(&f, 0, wanted, 2);
  assert_output(&f, 1, wanted, 4);
  end(&f);
}

// x + 5 x is computed twice; the second time the number is 2.
static void a_number_may_change_after_a_use(void** state) {
  (void)state;
  shapes_fixture f;
  start(&f);
  const int x = constant(&f, SIZES(4)), one = test_int(f.p, 1);
  const int number = test_int(f.p, 5), same = test_int(f.p, 5);
  const int out[3] = {scratch(&f, 0), scratch(&f, 64), scratch(&f, 128)};
  test_call(f.p, "aten::add", "out", ARGS(x, x, same, out[0], out[0]));
  test_call(f.p, "aten::add", "out", ARGS(x, x, number, out[1], out[1]));
  test_call(f.p, "executorch_prim::add", "Scalar", ARGS(one, one, number));
  test_call(f.p, "aten::add", "out", ARGS(x, x, number, out[2], out[2]));
  for (size_t i = 0; i < 3; ++i) test_output(f.p, out[i], "");
  run(&f, &etx_all_kernels);
  static const float wanted[2][4] = {{6, 12, 18, 24}, {3, 6, 9, 12}};
  assert_true(f.loaded.method.prepares_during_run);
  assert_output(&f, 0, wanted[0], 4);
  assert_output(&f, 1, wanted[0], 4);
  assert_output(&f, 2, wanted[1], 4);
  end(&f);
}

// x + 0 x, x + 1 x and x + 2 x: one call with three numbers.
static void a_call_is_prepared_again_when_a_number_changes(void** state) {
  (void)state;
  shapes_fixture f;
  start(&f);
  const int x = constant(&f, SIZES(4)), sum = scratch(&f, 0);
  const int number = test_int(f.p, 0), one = test_int(f.p, 1);
  const int two = test_int(f.p, 2), is_done = test_bool(f.p, false);
  test_call(f.p, "aten::add", "out", ARGS(x, x, number, sum, sum));
  test_call(f.p, "executorch_prim::add", "Scalar", ARGS(number, one, number));
  test_call(f.p, "executorch_prim::lt", "Scalar", ARGS(two, number, is_done));
  test_jump_false(f.p, is_done, 0);
  test_output(f.p, sum, "");
  test_prepare_count = 0;
  run(&f, &test_few_kernels);
  // The sum for each number, the two that compute numbers once.
  assert_int_equal(test_prepare_count, 3 + 2);
  end(&f);
}

// Sizes of a result that numbers state: elements are counted without overflow,
// and a size is from 0 to 2^31 - 1.
static void stated_sizes_are_bounded(void** state) {
  (void)state;
  static const struct {
    int sizes[3];
    const char* message;  // NULL: they fit
  } rows[] = {{{2, 1, 2}, NULL},
              {{65536, 65536, 0}, NULL},
              {{65536, 65536, 2}, "has room for 4 elements"},
              {{3, 1, 2}, "has room for 4 elements, found 6"},
              {{-5, 1, 2}, "size -5"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    shapes_fixture f;
    start(&f);
    int numbers[3];
    const int out = test_dynamic(
        f.p, test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(1, 2, 2), 0));
    for (size_t k = 0; k < 3; ++k) {
      numbers[k] = test_int(f.p, rows[i].sizes[k]);
    }
    test_call(f.p, "aten::full", "out",
              ARGS(test_ints(f.p, numbers, 3), test_int(f.p, 7), out, out));
    test_output(f.p, out, "");
    assert_ok(etx_program_open(&f.program, test_file(f.p), &etx_all_kernels,
                               NULL, &diag));
    etx_diag_init(&diag);
    const etx_status status =
        test_load(&f.loaded, &f.program, "forward", NULL, &diag);
    if ((status == ETX_OK) != (rows[i].message == NULL)) {
      fail_msg("row %u: %s", (unsigned)i, diag.text);
    }
    if (status != ETX_OK) {
      if (!test_message_has(&diag, rows[i].message)) fail_msg("%s", diag.text);
      test_program_end(f.p);
      continue;
    }
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const etx_tensor* const y = test_output_tensor(&f.loaded.method, 0);
    assert_int_equal(y->sizes[0], rows[i].sizes[0]);
    assert_int_equal(y->sizes[2], rows[i].sizes[2]);
    end(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC, stated_sizes_are_bounded),
      unit_test_with(ETX_CONTROL_FLOW, a_slot_may_change_its_size_after_a_use),
      unit_test_with(ETX_CONTROL_FLOW, a_number_may_change_after_a_use),
      unit_test_with(ETX_CONTROL_FLOW,
                     a_call_is_prepared_again_when_a_number_changes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
