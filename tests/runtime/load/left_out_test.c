// Builds that leave parts out: which methods they refuse, and that full builds
// run the same methods.

#include "tests/support/assert_status.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/loaded_method.h"
#include "tests/support/assert_message.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

// Loads the program's only method. Builds without a part refuse it.
static void needs_part(test_program* p, bool has_part, etx_status without,
                       const char* message) {
  etx_program program;
  test_loaded loaded;
  etx_diag_init(&diag);
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  const etx_status status =
      test_load(&loaded, &program, "forward", NULL, &diag);
  if (has_part) {
    assert_ok(status);
    assert_true(test_unload(&loaded));
  } else {
    assert_int_equal(status, without);
    assert_true(test_message_has(&diag, message));
  }
  test_program_end(p);
}

static void needs_dynamic(test_program* p, etx_status without,
                          const char* message) {
  needs_part(p, ETX_DYNAMIC, without, message);
}

static void needs_control_flow(test_program* p, const char* message) {
  needs_part(p, ETX_CONTROL_FLOW, ETX_UNSUPPORTED, message);
}

// y = x + x, of two elements.
static test_program* start(int* x, int* y) {
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  *x = test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "x");
  *y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(*x, *x, alpha, *y, *y));
  test_output(p, *y, "y");
  return p;
}

static void sizes_that_change(void** state) {
  (void)state;
  int x = 0;
  int y = 0;
  test_program* p = start(&x, &y);
  test_dynamic(p, x);
  test_dynamic(p, y);
  needs_dynamic(p, ETX_UNSUPPORTED,
                "value 0 of method 'forward' has dynamic sizes");
}

static void dynamic_integers(void** state) {
  (void)state;
  int x = 0;
  int y = 0;
  test_program* p = start(&x, &y);
  test_blob(p);
  test_input(p, test_int(p, 1), "n");
  test_dim(p, 1, -1, test_symbol(p, "s", 1, 4), 1, 0);
  needs_dynamic(p, ETX_UNSUPPORTED, "method 'forward' has dynamic inputs");
}

static void branches(void** state) {
  (void)state;
  int x = 0;
  int y = 0;
  test_program* p = start(&x, &y);
  test_jump_false(p, test_bool(p, false), 2);
  needs_control_flow(p, "instruction is not a kernel call");
}

static void moves(void** state) {
  (void)state;
  int x = 0;
  int y = 0;
  test_program* p = start(&x, &y);
  test_move(p, x, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)));
  needs_control_flow(p, "instruction is not a kernel call");
}

static void slots_that_become_two_views(void** state) {
  (void)state;
  int x = 0;
  int y = 0;
  test_program* p = start(&x, &y);
  const int two = test_int(p, 2);
  const int sizes = test_ints(p, ARGS(two));
  const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  const int alpha = test_int(p, 1);
  test_call(p, "executorch_prim::et_view", "default", ARGS(x, sizes, view));
  test_call(p, "aten::add", "out", ARGS(view, view, alpha, y, y));
  test_call(p, "executorch_prim::et_view", "default", ARGS(y, sizes, view));
  needs_control_flow(p, "depends on data");
}

static void views_of_values(void** state) {
  (void)state;
  int x = 0;
  int y = 0;
  test_program* p = start(&x, &y);
  const int two = test_int(p, 2);
  const int sizes = test_ints(p, ARGS(two));
  const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  test_call(p, "executorch_prim::et_view", "default", ARGS(x, sizes, view));
  needs_part(p, ETX_VIEWS, ETX_MISSING_OPERATOR,
             "operator 'executorch_prim::et_view.default' of instruction 1 of "
             "method 'forward' is missing");
}

static void outputs_without_memory(void** state) {
  (void)state;
  int x = 0;
  int y = 0;
  test_program* p = start(&x, &y);
  const int bare = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, bare, bare));
  needs_dynamic(p, ETX_BAD_FILE, "value 3 needs 8 bytes and has 0");
}

static void a_static_method_runs_in_every_build(void** state) {
  (void)state;
  int x = 0;
  int y = 0;
  test_program* p = start(&x, &y);
  etx_program program;
  test_loaded loaded;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  float data[2] = {1, -2};
  const etx_tensor given = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 2);
  assert_ok(etx_method_set_input(&loaded.method, 0, &given, &diag));
  assert_ok(etx_method_run(&loaded.method, &diag));
  const float wanted[2] = {2, -4};
  assert_memory_equal(test_output_tensor(&loaded.method, 0)->data, wanted,
                      sizeof wanted);
  const etx_tensor longer = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 1);
  assert_int_equal(etx_method_set_input(&loaded.method, 0, &longer, &diag),
                   ETX_BAD_ARGUMENT);
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

// In every build, an invalid file does no harm.
static void invalid_programs_are_refused(void** state) {
  (void)state;
  static const struct {
    const char* bytes;
    size_t size;
  } files[] = {
      {"", 0},
      {"ET12", 4},
      {"\x7f"
       "ELF\2\1\1\0\0\0\0\0\0\0\0\0",
       16},
      {"\x10\0\0\0ET11\0\0\0\0\0\0\0\0", 16},
  };
  _Alignas(16) uint8_t bytes[64];
  for (size_t i = 0; i < sizeof files / sizeof files[0]; ++i) {
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, files[i].bytes, files[i].size);
    etx_program program;
    etx_diag_init(&diag);
    assert_int_equal(
        etx_program_open(&program, (etx_bytes){bytes, files[i].size},
                         &test_few_kernels, NULL, &diag),
        ETX_BAD_FILE);
    assert_true(test_has_message(&diag));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_that_change),
      cmocka_unit_test(dynamic_integers),
      cmocka_unit_test(branches),
      cmocka_unit_test(moves),
      unit_test_with(ETX_VIEWS, slots_that_become_two_views),
      cmocka_unit_test(views_of_values),
      cmocka_unit_test(outputs_without_memory),
      cmocka_unit_test(a_static_method_runs_in_every_build),
      cmocka_unit_test(invalid_programs_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
