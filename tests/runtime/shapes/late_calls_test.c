// Calls that are prepared during the run: what they see, and what is restored
// when nothing has changed since the last run.

#include "runtime/method/method_types.h"
#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROOM = 8, COLUMNS = 2, ROW_BYTES = COLUMNS * 4 };

typedef struct late_fixture {
  sized_pair pair;
  test_program* p;
  int x;        // s floats
  int integer;  // an int64, `number` of the pair
  int n;        // the same as a number
  int none, zero, one, no;
  uint64_t offset;
} late_fixture;

static void start(late_fixture* f) {
  sized_pair_start(&f->pair);
  test_program* const p = f->p = f->pair.p;
  f->offset = 0;
  f->x = sized_pair_input(&f->pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                          test_symbol(p, "s", 0, ROOM));
  f->integer = test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(1)), "");
  f->none = test_none(p);
  f->zero = test_int(p, 0);
  f->one = test_int(p, 1);
  f->no = test_bool(p, false);
  f->n = test_int(p, 0);
  test_call(p, "aten::_local_scalar_dense", "", ARGS(f->integer, f->n));
}

static int add_scratch(late_fixture* f, etx_dtype dtype, test_sizes sizes) {
  const int tensor = test_scratch(f->p, dtype, sizes, f->offset);
  f->offset += 128;
  return tensor;
}

static int add_vector(late_fixture* f) {
  return test_dynamic(f->p, add_scratch(f, ETX_DTYPE_FLOAT32, SIZES(ROOM)));
}

static void negate(late_fixture* f, int from, int to) {
  test_call(f->p, "aten::neg", "out", ARGS(from, to, to));
}

// to = from[0:n]
static void head(late_fixture* f, int from, int to) {
  test_call(f->p, "aten::slice_copy", "Tensor_out",
            ARGS(from, f->zero, f->zero, f->n, f->one, to, to));
}

static void load(late_fixture* f) {
  sized_pair_load(&f->pair, &etx_all_kernels);
}

static const etx_tensor* run_ok(late_fixture* f, int64_t size, int64_t number) {
  f->pair.number = number;
  assert_ok(sized_pair_run(&f->pair, &size, &diag));
  return sized_pair_output(&f->pair, 0);
}

// Expects the elements first, first + step and so on.
static void expect(const etx_tensor* out, size_t count, float first,
                   float step) {
  assert_int_equal(etx_tensor_numel(out), count);
  for (size_t i = 0; i < count; ++i) {
    assert_true(((const float*)out->data)[i] == first + step * (float)i);
  }
}

static void end(late_fixture* f) { sized_pair_end(&f->pair); }

// A real number from data, and None that is moved.
static void numbers_of_all_kinds_may_be_late(void** state) {
  (void)state;
  late_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int real = test_double(p, 0), none = test_none(p);
  const int sum = add_vector(&f), out = add_vector(&f);
  const int first =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1)), "");
  test_call(p, "aten::_local_scalar_dense", "", ARGS(first, real));
  test_move(p, f.none, none);
  test_call(p, "aten::add", "out", ARGS(f.x, f.x, real, sum, sum));
  test_call(p, "aten::clone", "out", ARGS(sum, none, out, out));
  test_output(p, out, "");
  load(&f);
  for (int64_t size = 1; size < 8; size += 3) {
    for (size_t i = 0; i < 3; ++i) {
      expect(run_ok(&f, size, 1), (size_t)size, 2, 2);
    }
  }
  end(&f);
}

// -y[n:n+2], of a tensor that is computed: a view of other memory in each run,
// and a view of the view.
static void views_may_begin_elsewhere_in_each_run(void** state) {
  (void)state;
  for (size_t is_dynamic = 0; is_dynamic < 2; ++is_dynamic) {
    late_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int y = add_scratch(&f, ETX_DTYPE_FLOAT32, SIZES(ROOM));
    const int z = test_data(p, (float[ROOM]){1, 2, 3, 4, 5, 6, 7, 8}, 32);
    const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(ROOM), z);
    const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
    const int other = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
    const int out = add_scratch(&f, ETX_DTYPE_FLOAT32, SIZES(2));
    const int two = test_int(p, 2);
    if (is_dynamic != 0) {
      test_dynamic(p, view);
      test_dynamic(p, other);
      test_dynamic(p, out);
    }
    negate(&f, c, y);
    test_call(p, "etx::part_view", "default",
              ARGS(y, f.n, test_ints(p, &two, 1), view));
    test_call(p, "executorch_prim::et_view", "default",
              ARGS(view, test_ints(p, &two, 1), other));
    negate(&f, other, out);
    test_output(p, out, "");
    load(&f);
    static const int64_t starts[] = {1, 1, 1, 5, 5, 0, 6, 6, 6};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; ++i) {
      expect(run_ok(&f, 3, starts[i]), 2, (float)starts[i] + 1, 1);
    }
    f.pair.number = 7;
    assert_status(sized_pair_run(&f.pair, &(int64_t){3}, &diag),
                  ETX_BAD_ARGUMENT);
    end(&f);
  }
}

// Rows of columns that a list selects, None for the rows.
static void lists_of_late_calls_may_have_gaps(void** state) {
  (void)state;
  static const int64_t columns[2] = {1, 0};
  static const float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  late_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(4, 2),
                              test_data(p, data, sizeof data));
  const int index = test_constant(p, ETX_DTYPE_INT64, SIZES(2),
                                  test_data(p, columns, sizeof columns));
  const int rows =
      test_dynamic(p, add_scratch(&f, ETX_DTYPE_FLOAT32, SIZES(4, 2)));
  const int out =
      test_dynamic(p, add_scratch(&f, ETX_DTYPE_FLOAT32, SIZES(4, 2)));
  const int items[2] = {-1, index};
  head(&f, c, rows);
  test_call(p, "aten::index", "Tensor_out",
            ARGS(rows, test_optional_tensors(p, items, 2), out, out));
  test_output(p, out, "");
  load(&f);
  static const int64_t counts[] = {2, 2, 2, 3, 3, 1};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    const etx_tensor* const found = run_ok(&f, 3, counts[i]);
    assert_int_equal(found->sizes[0], counts[i]);
    for (int64_t k = 0; k < 2 * counts[i]; ++k) {
      assert_true(((const float*)found->data)[k] == data[k ^ 1]);
    }
  }
  end(&f);
}

// y = x[0:n]; y becomes its own copy under another name.
static void late_calls_may_change_self(void** state) {
  (void)state;
  late_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int y = add_vector(&f), other = add_vector(&f), out = add_vector(&f);
  const int name =
      test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(ROOM)));
  head(&f, f.x, y);
  negate(&f, y, other);
  test_call(p, "aten::copy_", "", ARGS(y, other, f.no, name));
  negate(&f, name, out);
  test_output(p, out, "");
  load(&f);
  static const int64_t counts[] = {2, 2, 2, 5, 5, 5, 0, 0, 0, 3};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    expect(run_ok(&f, 6, counts[i]), (size_t)counts[i], 1, 1);
  }
  end(&f);
}

// Places of the elements of x that are not zero, written to an input that the
// method changes. It has the size that the caller has set.
static void an_input_is_not_sized_by_data(void** state) {
  (void)state;
  late_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int places = test_mutable_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(ROOM, 1))),
      "");
  test_dim(p, 2, 0, test_symbol(p, "rows", 0, ROOM), 1, 0);
  test_call(p, "aten::nonzero", "out", ARGS(f.x, places, places));
  test_output(p, places, "");
  load(&f);
  const int64_t rows[][2] = {{3, 3}, {5, 5}, {5, 4}, {4, 4}};
  for (size_t i = 0; i < 4; ++i) {
    if (rows[i][0] != rows[i][1]) {
      assert_refused(sized_pair_run(&f.pair, rows[i], &diag), ETX_BAD_FILE,
                     "an input (value ");
      continue;
    }
    assert_ok(sized_pair_run(&f.pair, rows[i], &diag));
    const etx_tensor* const out = sized_pair_output(&f.pair, 0);
    assert_int_equal(out->sizes[0], rows[i][0]);
    for (int64_t k = 0; k < rows[i][0]; ++k) {
      assert_int_equal(((const int64_t*)out->data)[k], k);
    }
  }
  end(&f);
}

// A tensor whose size data decide becomes another one.
static void a_tensor_sized_by_data_may_be_moved_to(void** state) {
  (void)state;
  static const int64_t data[4] = {4, 3, 2, 1};
  late_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int places =
      test_dynamic(p, add_scratch(&f, ETX_DTYPE_INT64, SIZES(ROOM, 1)));
  const int out =
      test_dynamic(p, add_scratch(&f, ETX_DTYPE_INT64, SIZES(ROOM, 1)));
  const int c = test_constant(p, ETX_DTYPE_INT64, SIZES(4, 1),
                              test_data(p, data, sizeof data));
  test_call(p, "aten::nonzero", "out", ARGS(f.x, places, places));
  test_move(p, c, places);
  test_call(p, "aten::neg", "out", ARGS(places, out, out));
  test_output(p, out, "");
  load(&f);
  for (int64_t size = 2; size < 5; ++size) {
    const etx_tensor* const found = run_ok(&f, size, 1);
    assert_int_equal(found->sizes[0], 4);
    for (size_t i = 0; i < 4; ++i) {
      assert_int_equal(((const int64_t*)found->data)[i], -data[i]);
    }
  }
  end(&f);
}

// The index of each unique element goes to state. So what the kernel finds is
// late, and the call that finds it writes state.
static void a_call_sized_by_data_may_write_state(void** state) {
  (void)state;
  late_fixture f;
  start(&f);
  test_program* const p = f.p;
  static const float data[4] = {7, 5, 7, 5};
  test_arena(p, PAIR_STATE_BYTES);
  const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(4),
                              test_data(p, data, sizeof data));
  const int inverse = test_state(p, "m.inverse", ETX_DTYPE_INT64, SIZES(4), 0);
  const int values =
      test_dynamic(p, add_scratch(&f, ETX_DTYPE_FLOAT32, SIZES(4)));
  const int counts = add_scratch(&f, ETX_DTYPE_INT64, SIZES(0));
  const int yes = test_bool(p, true), out = add_vector(&f);
  const int results[3] = {values, inverse, counts};
  test_state_row(p, "m.inverse", ETX_DTYPE_INT64, SIZES(4), 0, 0);
  negate(&f, f.x, out);
  test_call(p, "etx::_unique2", "out",
            ARGS(c, yes, yes, f.no, values, inverse, counts,
                 test_tensors(p, results, 3)));
  test_output(p, values, "");
  load(&f);
  static const int64_t wanted[4] = {1, 0, 1, 0};
  for (int64_t size = 2; size < 6; ++size) {
    expect(run_ok(&f, size, 1), 2, 5, 2);
    for (size_t i = 0; i < 2; ++i) {
      assert_memory_equal(f.pair.state[i].data, wanted, sizeof wanted);
      assert_int_equal(f.pair.loaded[i].method.first_state_step, SIZE_MAX);
      memset(f.pair.state[i].data, 0, sizeof wanted);
    }
  }
  end(&f);
}

// x[n:given], of a number that the caller gives and the method computes before
// it is used. Each run begins with the caller's.
static void a_given_number_may_be_computed_again(void** state) {
  (void)state;
  late_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int given = test_input(p, test_int(p, ROOM), "");
  const int out = add_vector(&f);
  test_dim(p, 2, -1, test_symbol(p, "given", 0, ROOM), 1, 0);
  test_jump_false(p, f.no, 2);
  test_call(p, "aten::sym_size", "int", ARGS(f.x, f.zero, given));
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(f.x, f.zero, f.n, given, f.one, out, out));
  test_output(p, out, "");
  load(&f);
  static const int64_t starts[] = {1, 2, 2, 3, 0};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; ++i) {
    f.pair.number = starts[i];
    assert_ok(sized_pair_run(&f.pair, (const int64_t[]){6, 2}, &diag));
    expect(sized_pair_output(&f.pair, 0), 6 - (size_t)starts[i],
           (float)starts[i] + 1, 1);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW, numbers_of_all_kinds_may_be_late),
      unit_test_with(ETX_CONTROL_FLOW, views_may_begin_elsewhere_in_each_run),
      unit_test_with(ETX_CONTROL_FLOW, lists_of_late_calls_may_have_gaps),
      unit_test_with(ETX_CONTROL_FLOW, late_calls_may_change_self),
      unit_test_with(ETX_CONTROL_FLOW, an_input_is_not_sized_by_data),
      unit_test_with(ETX_CONTROL_FLOW, a_tensor_sized_by_data_may_be_moved_to),
      unit_test_with(ETX_CONTROL_FLOW, a_call_sized_by_data_may_write_state),
      unit_test_with(ETX_CONTROL_FLOW, a_given_number_may_be_computed_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
