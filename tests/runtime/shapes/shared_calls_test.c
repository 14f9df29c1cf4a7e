// Size programs: calls that are alike at all sizes share one prepared call,
// that of their leader, and all others are prepared by themselves.

#include "runtime/method/method_types.h"
#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROWS = 8, COLUMNS = 2, OUT_BYTES = ROWS * COLUMNS * 8 };

// The input x has s rows. Calls follow what it starts with.
typedef struct calls_fixture {
  sized_pair pair;
  test_program* p;
  int x, size, zero, one, sorted;  // size: the number s
  uint64_t offset;                 // of the next output
} calls_fixture;

static void start(calls_fixture* f) {
  sized_pair_start(&f->pair);
  test_program* const p = f->p = f->pair.p;
  f->offset = 0;
  f->x = sized_pair_input(&f->pair, ETX_DTYPE_FLOAT32, SIZES(ROWS, COLUMNS),
                          test_symbol(p, "s", 1, ROWS));
  f->size = test_int(p, 0);
  f->zero = test_int(p, 0);
  f->one = test_int(p, 1);
  f->sorted = test_bool(p, true);
  test_call(p, "aten::sym_size", "int", ARGS(f->x, f->zero, f->size));
}

// An output of dynamic sizes, with memory of its own.
static int add_output(calls_fixture* f, etx_dtype dtype, test_sizes bounds) {
  const int out =
      test_dynamic(f->p, test_scratch(f->p, dtype, bounds, f->offset));
  f->offset += OUT_BYTES;
  return test_output(f->p, out, "");
}

static int add_rows(calls_fixture* f) {
  return add_output(f, ETX_DTYPE_FLOAT32, SIZES(ROWS, COLUMNS));
}

// Runs at three sizes. Expects the last two calls to be alike or not.
static void finish(calls_fixture* f, bool are_alike, const char* what) {
  static const int64_t sizes[4] = {5, 8, 3, 1};
  sized_pair_load(&f->pair, &etx_all_kernels);
  for (size_t i = 0; i < 4; ++i) {
    assert_ok(sized_pair_run(&f->pair, &sizes[i], &diag));
  }
  assert_true(sized_pair_is_used(&f->pair));
  const etx_method* const method = &f->pair.loaded[0].method;
  const size_t last = method->record_count - 1;
  const uint32_t leader = method->sizes.records[last].leader;
  if (leader != (are_alike ? last - 1 : last))
    fail_msg("%s: %u of %zu", what, leader, last);
  sized_pair_end(&f->pair);
}

typedef enum number_kind {
  ONE,
  OTHER_ONE,
  TWO,
  LEAST,  // no size, and so no number, of a size program
  OTHER_LEAST,
  SIZE,
  SIZE_AGAIN,
  REST,  // has no expression
  REST_AGAIN,
  REAL,
  OTHER_REAL,
  TRUE,
  OTHER_TRUE,
  FALSE,
  COMPUTED_TRUE,
} number_kind;

static int add_number(calls_fixture* f, number_kind kind) {
  test_program* const p = f->p;
  const int number = test_int(p, 0), truth = test_bool(p, false);
  switch (kind) {
    case ONE:
    case OTHER_ONE:
      return test_int(p, 1);
    case TWO:
      return test_int(p, 2);
    case LEAST:
    case OTHER_LEAST:
      return test_int(p, INT64_MIN);
    case SIZE:
      return f->size;
    case SIZE_AGAIN:
      test_call(p, "aten::sym_size", "int", ARGS(f->x, f->zero, number));
      return number;
    case REST:
    case REST_AGAIN:
      test_call(p, "executorch_prim::mod", "Scalar",
                ARGS(f->size, f->one, number));
      return number;
    case TRUE:
    case OTHER_TRUE:
      return test_bool(p, true);
    case FALSE:
      return test_bool(p, false);
    case COMPUTED_TRUE:
      test_call(p, "executorch_prim::gt", "Scalar",
                ARGS(f->size, f->zero, truth));
      return truth;
    default:
      return test_double(p, 0.5);
  }
}

// x + number * x
static void calls_with_equal_numbers_are_alike(void** state) {
  (void)state;
  static const struct {
    number_kind first, second;
    bool are_alike;
  } rows[] = {
      {ONE, OTHER_ONE, true},      {ONE, TWO, false},
      {LEAST, OTHER_LEAST, false}, {ONE, SIZE, false},
      {SIZE, SIZE_AGAIN, true},    {REST, REST_AGAIN, false},
      {ONE, REAL, false},          {REAL, OTHER_REAL, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    calls_fixture f;
    start(&f);
    const int first = add_number(&f, rows[i].first);
    const int second = add_number(&f, rows[i].second);
    const int outs[2] = {add_rows(&f), add_rows(&f)};
    test_call(f.p, "aten::add", "out", ARGS(f.x, f.x, first, outs[0], outs[0]));
    test_call(f.p, "aten::add", "out",
              ARGS(f.x, f.x, second, outs[1], outs[1]));
    char what[16] = {(char)('0' + i / 10), (char)('0' + i % 10)};
    finish(&f, rows[i].are_alike, what);
  }
}

// The largest or the smallest element of each row, and its index.
static void calls_with_equal_truths_are_alike(void** state) {
  (void)state;
  static const struct {
    number_kind first, second;
    bool are_alike;
  } rows[] = {{TRUE, OTHER_TRUE, true},
              {TRUE, FALSE, false},
              {COMPUTED_TRUE, TRUE, false},
              {TRUE, COMPUTED_TRUE, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    calls_fixture f;
    start(&f);
    const int largest[2] = {add_number(&f, rows[i].first),
                            add_number(&f, rows[i].second)};
    for (size_t k = 0; k < 2; ++k) {
      const int values = add_output(&f, ETX_DTYPE_FLOAT32, SIZES(ROWS, 1));
      const int indices = add_output(&f, ETX_DTYPE_INT64, SIZES(ROWS, 1));
      const int both[2] = {values, indices};
      test_call(f.p, "aten::topk", "values",
                ARGS(f.x, f.one, f.one, largest[k], f.sorted, values, indices,
                     test_tensors(f.p, both, 2)));
    }
    char what[2] = {(char)('0' + i)};
    finish(&f, rows[i].are_alike, what);
  }
}

// A bound that is None, which two values state, and one that is a number.
static void calls_without_an_argument_are_alike(void** state) {
  (void)state;
  for (size_t i = 0; i < 2; ++i) {
    calls_fixture f;
    start(&f);
    const int least[2] = {test_none(f.p),
                          i == 0 ? test_none(f.p) : test_int(f.p, -1)};
    for (size_t k = 0; k < 2; ++k) {
      const int out = add_rows(&f);
      test_call(f.p, "aten::clamp", "out",
                ARGS(f.x, least[k], f.one, out, out));
    }
    finish(&f, i == 0, "a bound");
  }
}

// x[:, i] with two indices, and x[i].
static void calls_with_lists_of_like_tensors_are_alike(void** state) {
  (void)state;
  for (size_t i = 0; i < 4; ++i) {
    static const int64_t data[3] = {0, 0, 0};
    calls_fixture f;
    start(&f);
    const uint32_t zeros = test_data(f.p, data, sizeof data);
    const int index[2] = {test_constant(f.p, ETX_DTYPE_INT64, SIZES(2), zeros),
                          test_constant(f.p, ETX_DTYPE_INT64, SIZES(2), zeros)};
    const int lists[4][2] = {
        {-1, index[1]}, {index[1], -1}, {index[1]}, {-1, index[1]}};
    const int first[2] = {i < 3 ? -1 : index[0], i < 3 ? index[0] : -1};
    const int outs[2] = {add_rows(&f), add_rows(&f)};
    test_call(
        f.p, "aten::index", "Tensor_out",
        ARGS(f.x, test_optional_tensors(f.p, first, 2), outs[0], outs[0]));
    test_call(f.p, "aten::index", "Tensor_out",
              ARGS(f.x, test_optional_tensors(f.p, lists[i], i == 2 ? 1 : 2),
                   outs[1], outs[1]));
    finish(&f, i == 0, "a list");
  }
}

// Results of -x for tensors that differ from x in one respect.
static void calls_on_other_tensors_are_not_alike(void** state) {
  (void)state;
  static const uint8_t turned[2] = {1, 0};
  static const float data[4] = {1, 2, 3, 4};
  for (size_t i = 0; i < 8; ++i) {
    calls_fixture f;
    start(&f);
    test_program* const p = f.p;
    test_sizes bounds = SIZES(ROWS, COLUMNS);
    etx_dtype dtype = ETX_DTYPE_FLOAT32;
    int tensors[2] = {f.x, f.x};
    switch (i) {
      case 0:  // the same sizes
        break;
      case 1:
        dtype = ETX_DTYPE_INT64;
        break;
      case 2:
        bounds = SIZES(ROWS);
        break;
      case 3:
        bounds = SIZES(ROWS, COLUMNS + 1);
        break;
      case 4:
      case 5:  // sizes that are fixed, equal or not
      case 6:  // or once in the other order
      case 7:  // or of another rank
        bounds = i == 4   ? SIZES(2, 2)
                 : i == 5 ? SIZES(1, 4)
                 : i == 6 ? SIZES(2, 2)
                          : SIZES(4);
        tensors[0] = test_constant(p, dtype, SIZES(2, 2),
                                   test_data(p, data, sizeof data));
        break;
    }
    tensors[1] = i < 4 ? sized_pair_input(&f.pair, dtype, bounds, 0)
                       : test_constant(p, dtype, bounds,
                                       test_data(p, data, sizeof data));
    if (i == 6) test_tensor_of(p, tensors[1])->dim_order = turned;
    for (size_t k = 0; k < 2; ++k) {
      const int out = k == 0 ? add_rows(&f) : add_output(&f, dtype, bounds);
      test_call(p, "aten::neg", "out", ARGS(tensors[k], out, out));
    }
    finish(&f, i == 0 || i == 4, "a tensor");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_SIZE_PROGRAMS, calls_with_equal_numbers_are_alike),
      unit_test_with(ETX_SIZE_PROGRAMS, calls_with_equal_truths_are_alike),
      unit_test_with(ETX_SIZE_PROGRAMS, calls_without_an_argument_are_alike),
      unit_test_with(ETX_SIZE_PROGRAMS,
                     calls_with_lists_of_like_tensors_are_alike),
      unit_test_with(ETX_SIZE_PROGRAMS, calls_on_other_tensors_are_not_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
