// Calls that the shape phase refuses: views and parts of other types or places,
// names of other tensors, numbers and sizes that are not there.

#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

enum { ROOM = 8 };

typedef struct refused_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  int c, none, zero, no;  // c: 1 to 8
} refused_fixture;

static void start(refused_fixture* f) {
  static const float data[ROOM] = {1, 2, 3, 4, 5, 6, 7, 8};
  test_program* const p = f->p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 1024, 0);
  f->c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                       test_data(p, data, sizeof data));
  f->none = test_none(p);
  f->zero = test_int(p, 0);
  f->no = test_bool(p, false);
}

static int floats(refused_fixture* f, int32_t count, uint64_t offset) {
  return test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(count), offset);
}

static int borrowed(refused_fixture* f, etx_dtype dtype, int32_t count) {
  return test_borrowed(f->p, dtype, SIZES(count));
}

static int sizes_of(refused_fixture* f, int size) {
  const int number = test_int(f->p, size);
  return test_ints(f->p, &number, 1);
}

static etx_status load(refused_fixture* f, const etx_kernel_table* kernels) {
  ETX_TRY(etx_program_open(&f->program, test_file(f->p), kernels, NULL, &diag));
  return test_load(&f->loaded, &f->program, "forward", NULL, &diag);
}

static void expect_refused(refused_fixture* f, etx_status status,
                           const char* part) {
  assert_refused(load(f, &etx_all_kernels), status, part);
  test_program_end(f->p);
}

// Loads and refuses to run: what is late is checked then.
static void expect_refused_run(refused_fixture* f, etx_status status,
                               const char* part) {
  assert_ok(load(f, &etx_all_kernels));
  assert_refused(etx_method_run(&f->loaded.method, &diag), status, part);
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static void a_view_has_the_type_of_its_base(void** state) {
  (void)state;
  refused_fixture f;
  start(&f);
  const int y = floats(&f, 4, 0), view = borrowed(&f, ETX_DTYPE_INT32, 4);
  test_call(f.p, "executorch_prim::et_view", "default",
            ARGS(y, sizes_of(&f, 4), view));
  test_output(f.p, view, "");
  expect_refused(&f, ETX_BAD_FILE, "or of another type");
}

// Parts of c: the second one stands behind a part that lies elsewhere.
static void a_part_stands_behind_a_part_of_the_same(void** state) {
  (void)state;
  static const struct {
    int64_t self_start, previous_start;  // -1: the previous one is in y
    int self_size, previous_size;
    const char* part;  // NULL: it is valid
  } rows[] = {{0, 0, 8, 2, NULL},
              {4, 0, 4, 2, "is not a part of value"},
              {0, -1, 8, 2, "is not a part of value"},
              {0, 4, 2, 2, "a part of 8 bytes from byte 24"},
              {0, 0, 3, 2, "a part of 8 bytes from byte 8"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    refused_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int y = floats(&f, ROOM, 0), out = floats(&f, 2, 64);
    const int self = borrowed(&f, ETX_DTYPE_FLOAT32, rows[i].self_size);
    const int previous = borrowed(&f, ETX_DTYPE_FLOAT32, rows[i].previous_size);
    const int part = borrowed(&f, ETX_DTYPE_FLOAT32, 2);
    const bool is_in_y = rows[i].previous_start < 0;
    test_call(p, "aten::neg", "out", ARGS(f.c, y, y));
    test_call(p, "etx::part_view", "default",
              ARGS(f.c, test_int(p, rows[i].self_start),
                   sizes_of(&f, rows[i].self_size), self));
    test_call(p, "etx::part_view", "default",
              ARGS(is_in_y ? y : f.c,
                   test_int(p, is_in_y ? 0 : rows[i].previous_start),
                   sizes_of(&f, rows[i].previous_size), previous));
    test_call(p, "etx::part_after", "default",
              ARGS(self, previous, sizes_of(&f, 2), part));
    test_call(p, "aten::neg", "out", ARGS(part, out, out));
    test_output(p, out, "");
    if (rows[i].part != NULL) {
      expect_refused(&f, ETX_BAD_FILE, rows[i].part);
      continue;
    }
    static const float wanted[2] = {-3, -4};
    assert_ok(load(&f, &etx_all_kernels));
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    assert_memory_equal(test_output_tensor(&f.loaded.method, 0)->data, wanted,
                        sizeof wanted);
    assert_true(test_unload(&f.loaded));
    test_program_end(p);
  }
}

// The part before has another type, although it has the same memory.
static void a_part_has_the_type_of_the_part_before(void** state) {
  (void)state;
  refused_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int y = floats(&f, ROOM, 0), out = floats(&f, 2, 64);
  const int previous = borrowed(&f, ETX_DTYPE_INT32, 2);
  const int part = borrowed(&f, ETX_DTYPE_FLOAT32, 2);
  test_blob(p);
  test_view(p, previous, y, 0);
  test_call(p, "aten::neg", "out", ARGS(f.c, y, y));
  test_call(p, "etx::part_after", "default",
            ARGS(y, previous, sizes_of(&f, 2), part));
  test_call(p, "aten::neg", "out", ARGS(part, out, out));
  test_output(p, out, "");
  expect_refused(&f, ETX_BAD_FILE, "is not a part of value");
}

// y = copy_(y, c) under a name of another type or rank.
static void a_name_is_of_the_type_and_rank_of_self(void** state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    refused_fixture f;
    start(&f);
    const int y = floats(&f, ROOM, 0);
    const int name =
        i == 0 ? borrowed(&f, ETX_DTYPE_INT32, ROOM)
               : test_borrowed(f.p, ETX_DTYPE_FLOAT32, SIZES(2, ROOM / 2));
    test_call(f.p, "aten::copy_", "", ARGS(y, f.c, f.no, name));
    test_output(f.p, name, "");
    expect_refused(&f, ETX_BAD_FILE, "replaces a tensor of another type");
  }
}

// A name that is used before it is bound: what it shows then is its own memory,
// if it has some, and what it shows later is known during the run only.
static void a_name_may_be_used_before_it_is_bound(void** state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    refused_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int y = floats(&f, ROOM, 0), out = floats(&f, ROOM, 64);
    const int z = floats(&f, ROOM, 128), other = floats(&f, ROOM, 192);
    const int name =
        i == 0 ? borrowed(&f, ETX_DTYPE_FLOAT32, ROOM) : floats(&f, ROOM, 256);
    test_call(p, "aten::neg", "out", ARGS(f.c, name, name));
    test_call(p, "aten::neg", "out", ARGS(name, z, z));
    test_call(p, "aten::copy_", "", ARGS(y, f.c, f.no, name));
    test_call(p, "aten::neg", "out", ARGS(name, out, out));
    test_call(p, "aten::neg", "out", ARGS(z, other, other));
    test_output(p, out, "");
    test_output(p, other, "");
    if (i == 0) {
      expect_refused(&f, ETX_BAD_FILE, "needs 32 bytes and has 0");
      continue;
    }
    assert_ok(load(&f, &etx_all_kernels));
    for (int k = 0; k < 2; ++k) {
      assert_ok(etx_method_run(&f.loaded.method, &diag));
      for (size_t at = 0; at < 2; ++at) {
        const float* const found =
            test_output_tensor(&f.loaded.method, at)->data;
        for (int n = 0; n < ROOM; ++n) {
          assert_true(found[n] == (float)(-n - 1));
        }
      }
    }
    assert_true(test_unload(&f.loaded));
    test_program_end(p);
  }
}

static void a_number_that_cannot_be_computed_is_refused(void** state) {
  (void)state;
  refused_fixture f;
  start(&f);
  const int number = test_int(f.p, 0);
  test_call(f.p, "executorch_prim::floordiv", "Scalar",
            ARGS(f.zero, f.zero, number));
  test_output(f.p, number, "");
  expect_refused(&f, ETX_BAD_ARGUMENT, "the divisor is zero");
}

static void the_element_of_a_tensor_without_memory_is_refused(void** state) {
  (void)state;
  refused_fixture f;
  start(&f);
  const int number = test_int(f.p, 0);
  test_call(f.p, "aten::_local_scalar_dense", "",
            ARGS(borrowed(&f, ETX_DTYPE_INT64, 1), number));
  test_output(f.p, number, "");
  expect_refused_run(&f, ETX_BAD_FILE, "needs 8 bytes and has 0");
}

// empty would set other sizes, for which the caller has no memory.
static void an_input_keeps_the_sizes_of_its_caller(void** state) {
  (void)state;
  refused_fixture f;
  start(&f);
  const int x = test_input(
      f.p, test_dynamic(f.p, borrowed(&f, ETX_DTYPE_FLOAT32, ROOM)), "");
  test_call(f.p, "aten::empty", "out", ARGS(sizes_of(&f, 4), f.none, x, x));
  test_output(f.p, f.zero, "");
  assert_ok(load(&f, &etx_all_kernels));
  float data[ROOM] = {0};
  const etx_tensor three = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &three, &diag));
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_FILE,
                 "an input (value 4) is resized");
  const etx_tensor four = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 4);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &four, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_true(test_unload(&f.loaded));
  test_program_end(f.p);
}

// As in a stock file.
static void an_output_may_be_a_list_with_gaps(void** state) {
  (void)state;
  refused_fixture f;
  start(&f);
  const int x = floats(&f, 2, 0);
  const int y = floats(&f, 2, 16);
  test_call(f.p, "aten::neg", "out", ARGS(x, y, y));
  test_output(f.p, test_optional_tensors(f.p, ARGS(y, -1)), "");
  assert_ok(load(&f, &etx_all_kernels));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_true(test_unload(&f.loaded));
  test_program_end(f.p);
}

static etx_status prepare_nothing(etx_call* call) {
  return etx_call_refuse(call, ETX_UNSUPPORTED, "this build cannot add");
}

static void a_kernel_may_refuse_to_compute_a_number(void** state) {
  (void)state;
  const etx_kernel addition = {etx_op_at(ETX_OP_prim_add_scalar),
                               prepare_nothing, NULL, NULL};
  const etx_kernel_table table = {&addition, 1, NULL};
  refused_fixture f;
  start(&f);
  const int number = test_int(f.p, 0);
  test_call(f.p, "executorch_prim::add", "Scalar",
            ARGS(f.zero, f.zero, number));
  test_output(f.p, number, "");
  assert_refused(load(&f, &table), ETX_UNSUPPORTED, "this build cannot add");
  test_program_end(f.p);
}

// Rows of indices need two dimensions; a bound of one element needs none.
static void places_have_two_dimensions(void** state) {
  (void)state;
  refused_fixture f;
  start(&f);
  const int places =
      test_dynamic(f.p, test_scratch(f.p, ETX_DTYPE_INT64, SIZES(ROOM), 0));
  test_call(f.p, "aten::nonzero", "out", ARGS(f.c, places, places));
  test_output(f.p, places, "");
  expect_refused_run(&f, ETX_BAD_ARGUMENT, "has rank 1, found 2");
}

static void a_dynamic_tensor_may_have_no_dimensions(void** state) {
  (void)state;
  refused_fixture f;
  start(&f);
  const int sum =
      test_dynamic(f.p, test_scratch(f.p, ETX_DTYPE_FLOAT32, SCALAR_SIZES, 0));
  const int dims = test_ints(f.p, &f.zero, 1);
  test_call(f.p, "aten::sum", "IntList_out",
            ARGS(f.c, dims, f.no, f.none, sum, sum));
  test_output(f.p, sum, "");
  assert_ok(load(&f, &etx_all_kernels));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_true(*(float*)test_output_tensor(&f.loaded.method, 0)->data == 36);
  assert_true(test_unload(&f.loaded));
  test_program_end(f.p);
}

// An input of four elements, which is said to be three times a symbol.
static void a_fixed_size_may_not_be_that_of_its_symbol(void** state) {
  (void)state;
  refused_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int x = test_input(p, borrowed(&f, ETX_DTYPE_FLOAT32, 4), "x");
  const int out = floats(&f, 4, 0);
  test_blob(p);
  test_dim(p, 0, 0, test_symbol(p, "s", 1, 1), 3, 0);
  test_input(p, test_dynamic(p, borrowed(&f, ETX_DTYPE_FLOAT32, 4)), "y");
  test_dim(p, 1, 0, test_symbol(p, "n", 1, 4), 1, 0);
  test_call(p, "aten::neg", "out", ARGS(x, out, out));
  test_output(p, out, "");
  assert_ok(load(&f, &etx_all_kernels));
  float data[4] = {1, 2, 3, 4};
  const etx_tensor tensor = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 4);
  assert_ok(etx_method_set_input(&f.loaded.method, 0, &tensor, &diag));
  const etx_tensor three = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, 3);
  assert_ok(etx_method_set_input(&f.loaded.method, 1, &three, &diag));
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT,
                 "'x' has size 4 in dimension 0, expected 3 times 's' plus 0");
  assert_true(test_unload(&f.loaded));
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_VIEWS, a_view_has_the_type_of_its_base),
      unit_test_with(ETX_VIEWS && ETX_DYNAMIC,
                     a_part_stands_behind_a_part_of_the_same),
      unit_test_with(ETX_VIEWS && ETX_DYNAMIC,
                     a_part_has_the_type_of_the_part_before),
      cmocka_unit_test(a_name_is_of_the_type_and_rank_of_self),
      unit_test_with(ETX_CONTROL_FLOW, a_name_may_be_used_before_it_is_bound),
      cmocka_unit_test(a_number_that_cannot_be_computed_is_refused),
      unit_test_with(ETX_CONTROL_FLOW,
                     the_element_of_a_tensor_without_memory_is_refused),
      unit_test_with(ETX_DYNAMIC, an_input_keeps_the_sizes_of_its_caller),
      cmocka_unit_test(an_output_may_be_a_list_with_gaps),
      cmocka_unit_test(a_kernel_may_refuse_to_compute_a_number),
      unit_test_with(ETX_CONTROL_FLOW, places_have_two_dimensions),
      unit_test_with(ETX_DYNAMIC, a_dynamic_tensor_may_have_no_dimensions),
      unit_test_with(ETX_DYNAMIC, a_fixed_size_may_not_be_that_of_its_symbol),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
