// Outputs that overlap other arguments of their call.

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

static test_program* start(void) {
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 256, 0);
  return p;
}

// Loads the program's method; ends the program.
static etx_status load(test_program* p) {
  etx_program program;
  test_loaded loaded;
  etx_diag_init(&diag);
  const etx_status opened =
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag);
  if (opened != ETX_OK) fail_msg("%s", diag.text);
  const etx_status status =
      test_load(&loaded, &program, "forward", NULL, &diag);
  if (status == ETX_OK) assert_true(test_unload(&loaded));
  test_program_end(p);
  return status;
}

static int scratch(test_program* p, uint64_t offset) {
  return test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), offset);
}

static void a_product_may_not_be_its_own_factor(void** state) {
  (void)state;
  test_program* p = start();
  const int x = scratch(p, 0), y = scratch(p, 16);
  test_call(p, "aten::mm", "out", ARGS(y, x, x, x));
  test_output(p, x, "");
  assert_refused(load(p), ETX_BAD_FILE, "argument 1 overlaps an output");
}

// cat writes 4 by 2 floats at 0 and reads 2 by 2 at 64 and at `second`.
static etx_status load_joined(uint64_t second) {
  test_program* p = start();
  const int parts[2] = {scratch(p, 64), scratch(p, second)};
  const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4, 2), 0);
  const int list = test_tensors(p, parts, 2);
  test_call(p, "aten::cat", "out", ARGS(list, test_int(p, 0), out, out));
  test_output(p, out, "");
  return load(p);
}

static void items_of_a_list_are_compared(void** state) {
  (void)state;
  assert_ok(load_joined(32));
  assert_refused(load_joined(28), ETX_BAD_FILE,
                 "argument 0 overlaps an output");
}

// unbind_copy reads 2 by 2 floats at 0, writes 2 at 64 and 2 at `second`.
static etx_status load_parted(uint64_t second) {
  test_program* p = start();
  const int x = scratch(p, 0);
  const int parts[2] = {test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 64),
                        test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), second)};
  const int list = test_tensors(p, parts, 2);
  test_call(p, "aten::unbind_copy", "int_out",
            ARGS(x, test_int(p, 0), list, list));
  test_output(p, parts[0], "");
  return load(p);
}

static void outputs_of_a_list_are_compared_with_each_other(void** state) {
  (void)state;
  assert_ok(load_parted(72));
  assert_refused(load_parted(68), ETX_BAD_FILE,
                 "argument 2 overlaps an output");
  assert_refused(load_parted(12), ETX_BAD_FILE,
                 "argument 0 overlaps an output");
}

// max reads 2 by 2 floats at 0, writes 2 of them at 64 and 2 integers at
// `indices`.
static etx_status load_largest(uint64_t indices) {
  test_program* p = start();
  const int x = scratch(p, 0);
  const int most = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 64);
  const int at = test_scratch(p, ETX_DTYPE_INT64, SIZES(2), indices);
  const int both[2] = {most, at};
  test_call(p, "aten::max", "dim_max",
            ARGS(x, test_int(p, 1), test_bool(p, false), most, at,
                 test_tensors(p, both, 2)));
  test_output(p, most, "");
  return load(p);
}

static void several_outputs_are_compared_with_each_other(void** state) {
  (void)state;
  assert_ok(load_largest(72));
  assert_refused(load_largest(64), ETX_BAD_FILE,
                 "argument 4 overlaps an output");
  assert_refused(load_largest(8), ETX_BAD_FILE,
                 "argument 0 overlaps an output");
}

static void items_of_a_list_without_memory_are_refused(void** state) {
  (void)state;
  test_program* p = start();
  const int parts[2] = {scratch(p, 64),
                        test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2, 2))};
  const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4, 2), 0);
  const int list = test_tensors(p, parts, 2);
  test_call(p, "aten::cat", "out", ARGS(list, test_int(p, 0), out, out));
  test_output(p, out, "");
  assert_refused(load(p), ETX_BAD_FILE, "needs 16 bytes and has 0");
}

static void none_in_a_list_of_tensors_is_refused(void** state) {
  (void)state;
  test_program* p = start();
  const int parts[2] = {scratch(p, 64), test_none(p)};
  const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4, 2), 0);
  const int list = test_optional_tensors(p, parts, 2);
  test_call(p, "aten::cat", "out", ARGS(list, test_int(p, 0), out, out));
  test_output(p, out, "");
  assert_refused(load(p), ETX_BAD_FILE,
                 "item 1 of argument 'tensors' of 'aten::cat' is not a tensor");
}

static int lent(test_program* p, const char* name) {
  return test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2, 2)), name);
}

static void memory_of_the_caller_overlaps_only_its_own_views(void** state) {
  (void)state;
  test_program* p = start();
  const int out = test_mutable_input(
      p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2, 2)), "out");
  const int x = lent(p, "x"), y = lent(p, "y");
  test_call(p, "aten::mm", "out", ARGS(x, y, out, out));
  test_shown(p, out, "out", 0);
  test_blob(p);
  assert_ok(load(p));

  p = start();
  const int all = test_mutable_input(
      p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2, 2)), "all");
  const int part = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1));
  test_call(p, "aten::add", "out", ARGS(all, part, test_int(p, 1), all, all));
  test_shown(p, all, "all", 0);
  test_blob(p);
  test_view(p, part, all, 4);
  assert_refused(load(p), ETX_BAD_FILE, "argument 1 overlaps an output");
}

// c = relu(a) + relu(b), computed in the bytes of relu(b): that is in place at
// equal sizes, and writes too much where b is broadcast.
static void an_overlap_that_only_other_sizes_have_is_refused(void** state) {
  (void)state;
  test_program* p = start();
  static const char* const names[2] = {"a", "b"};
  int inputs[2], scratches[2];
  for (int i = 0; i < 2; ++i) {
    const uint32_t symbol = test_symbol(p, names[i], 1, 4);
    inputs[i] = test_input(
        p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4))),
        names[i]);
    test_dim(p, (uint32_t)i, 0, symbol, 1, 0);
    scratches[i] = test_dynamic(
        p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), (uint64_t)(16 * i)));
    test_call(p, "aten::relu", "out",
              ARGS(inputs[i], scratches[i], scratches[i]));
  }
  const int c =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 16));
  test_call(p, "aten::add", "out",
            ARGS(scratches[0], scratches[1], test_int(p, 1), c, c));
  test_output(p, c, "c");
  test_blob(p);
  etx_program program;
  test_loaded loaded;
  float data[4] = {1, 2, 3, 4};
  const etx_tensor four = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 4);
  const etx_tensor two = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 2);
  const etx_tensor one = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 1);
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  etx_method* const method = &loaded.method;
  assert_ok(etx_method_set_input(method, 0, &two, &diag));
  assert_ok(etx_method_set_input(method, 1, &two, &diag));
  assert_ok(etx_method_run(method, &diag));
  assert_ok(etx_method_set_input(method, 0, &four, &diag));
  assert_ok(etx_method_set_input(method, 1, &one, &diag));
  assert_refused(etx_method_run(method, &diag), ETX_BAD_FILE,
                 "argument 1 overlaps an output");
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_VERIFIER, a_product_may_not_be_its_own_factor),
      unit_test_with(ETX_VERIFIER, items_of_a_list_are_compared),
      unit_test_with(ETX_VERIFIER,
                     outputs_of_a_list_are_compared_with_each_other),
      unit_test_with(ETX_VERIFIER,
                     several_outputs_are_compared_with_each_other),
      unit_test_with(ETX_VERIFIER, items_of_a_list_without_memory_are_refused),
      unit_test_with(ETX_VERIFIER, none_in_a_list_of_tensors_is_refused),
      unit_test_with(ETX_VERIFIER,
                     memory_of_the_caller_overlaps_only_its_own_views),
      unit_test_with(ETX_VERIFIER && ETX_DYNAMIC,
                     an_overlap_that_only_other_sizes_have_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
