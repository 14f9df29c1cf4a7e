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

// Two results with the same bytes, and a list of one tensor with those of the
// result.
static void equal_bytes_are_refused_too(void** state) {
  (void)state;
  assert_refused(load_parted(64), ETX_BAD_FILE,
                 "argument 2 overlaps an output");
  test_program* p = start();
  int x = scratch(p, 0);
  // One tensor as both results.
  const int part = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 64);
  const int list = test_tensors(p, ARGS(part, part));
  test_call(p, "aten::unbind_copy", "int_out",
            ARGS(x, test_int(p, 0), list, list));
  test_output(p, part, "");
  assert_refused(load(p), ETX_BAD_FILE, "argument 2 overlaps an output");
  p = start();
  x = scratch(p, 0);
  const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1, 2, 2), 0);
  test_call(p, "aten::stack", "out",
            ARGS(test_tensors(p, &x, 1), test_int(p, 0), out, out));
  test_output(p, out, "");
  assert_refused(load(p), ETX_BAD_FILE, "argument 0 overlaps an output");
}

// Results in the bytes of an operand, which lie at 0: whether the operator may
// overwrite it, and whether each element of both has the same bytes.
static void operands_may_be_overwritten_element_by_element(void** state) {
  (void)state;
  static const uint8_t turned2[2] = {1, 0}, turned3[3] = {0, 2, 1};
  enum { NEG, COPY, COPY_SELF, PUT, PUT_SELF, CAST, VIEW, ADD };
  static const struct {
    int call;
    etx_dtype from, to;
    test_sizes from_sizes, to_sizes;
    bool from_is_turned, to_is_turned, is_valid;
  } rows[] = {
#define F32 ETX_DTYPE_FLOAT32
      {NEG, F32, F32, {{2, 2}, 2}, {{2, 2}, 2}, false, false, true},
      {NEG, F32, F32, {{2, 2}, 2}, {{2, 2}, 2}, true, true, true},
      {NEG, F32, F32, {{2, 2}, 2}, {{2, 2}, 2}, true, false, false},
      {NEG, F32, F32, {{2, 2}, 2}, {{2, 2}, 2}, false, true, false},
      {NEG, F32, F32, {{2, 2, 2}, 3}, {{2, 2, 2}, 3}, false, false, true},
      {NEG, F32, F32, {{2, 2, 2}, 3}, {{2, 2, 2}, 3}, true, true, true},
      {NEG, F32, F32, {{2, 2, 2}, 3}, {{2, 2, 2}, 3}, true, false, false},
      {NEG, F32, F32, {{2, 2, 2}, 3}, {{2, 2, 2}, 3}, false, true, false},
      {COPY, F32, F32, {{2, 2}, 2}, {{2, 2}, 2}, false, false, true},
      {COPY_SELF, F32, F32, {{2, 2}, 2}, {{2, 2}, 2}, false, false, true},
      {PUT, F32, F32, {{2, 2}, 2}, {{2, 2}, 2}, false, false, false},
      {PUT_SELF, F32, F32, {{2, 2}, 2}, {{2, 2}, 2}, false, false, true},
      {CAST, F32, ETX_DTYPE_INT32, {{4}, 1}, {{4}, 1}, false, false, true},
      {CAST, F32, ETX_DTYPE_INT64, {{4}, 1}, {{4}, 1}, false, false, false},
      {VIEW, F32, F32, {{2, 2}, 2}, {{4, 1}, 2}, false, false, true},
      {VIEW, F32, F32, {{2, 2}, 2}, {{4, 1}, 2}, true, false, false},
      {ADD, ETX_DTYPE_FLOAT64, F32, {{2}, 1}, {{2, 2}, 2}, false, false, false},
#undef F32
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    test_program* p = start();
    const int x = test_scratch(p, rows[i].from, rows[i].from_sizes, 0);
    const int out = test_scratch(p, rows[i].to, rows[i].to_sizes, 0);
    const int other = test_scratch(p, rows[i].to, rows[i].to_sizes, 64);
    const int none = test_none(p), no = test_bool(p, false);
    const int size[2] = {test_int(p, 4), test_int(p, 1)};
    const uint8_t* const turned =
        rows[i].from_sizes.rank == 3 ? turned3 : turned2;
    if (rows[i].from_is_turned) test_tensor_of(p, x)->dim_order = turned;
    if (rows[i].to_is_turned) test_tensor_of(p, out)->dim_order = turned;
    const int64_t zeros[2] = {0, 1};
    const int index = test_constant(p, ETX_DTYPE_INT64, SIZES(2),
                                    test_data(p, zeros, sizeof zeros));
    switch (rows[i].call) {
      case NEG:
        test_call(p, "aten::neg", "out", ARGS(x, out, out));
        break;
      case COPY:
        test_call(p, "aten::copy", "out", ARGS(other, x, no, out, out));
        break;
      case COPY_SELF:
        test_call(p, "aten::copy", "out", ARGS(x, other, no, out, out));
        break;
      case PUT:
        test_call(p, "etx::index_copy", "out",
                  ARGS(other, test_int(p, 0), index, x, out, out));
        break;
      case PUT_SELF:
        test_call(p, "etx::index_copy", "out",
                  ARGS(x, test_int(p, 0), index, other, out, out));
        break;
      case CAST:
        test_call(p, "aten::_to_copy", "out", ARGS(x, no, none, out, out));
        break;
      case VIEW:
        test_call(p, "aten::view_copy", "out",
                  ARGS(x, test_ints(p, size, 2), out, out));
        break;
      default:
        test_call(p, "aten::add", "out",
                  ARGS(other, x, test_int(p, 1), out, out));
    }
    test_output(p, out, "");
    const etx_status status = load(p);
    const etx_status wanted = rows[i].is_valid ? ETX_OK : ETX_BAD_FILE;
    if (status != wanted ||
        (status != ETX_OK && !test_message_has(&diag, "overlaps an output"))) {
      fail_msg("row %u: %s %s", (unsigned)i, etx_status_name(status),
               diag.text);
    }
  }
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
      unit_test_with(ETX_VERIFIER, equal_bytes_are_refused_too),
      unit_test_with(ETX_VERIFIER,
                     operands_may_be_overwritten_element_by_element),
      unit_test_with(ETX_VERIFIER, items_of_a_list_without_memory_are_refused),
      unit_test_with(ETX_VERIFIER, none_in_a_list_of_tensors_is_refused),
      unit_test_with(ETX_VERIFIER,
                     memory_of_the_caller_overlaps_only_its_own_views),
      unit_test_with(ETX_VERIFIER && ETX_DYNAMIC,
                     an_overlap_that_only_other_sizes_have_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
