// Outputs and other arguments of calls in scratch that moves together: which
// calls are checked again when sizes change, and what the check finds.

#include "runtime/method/method_types.h"
#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROOM = 8 };

typedef struct apart_fixture {
  sized_pair pair;
  test_program* p;
  int x;  // s floats
  int none, zero, one, no;
} apart_fixture;

// With `has_number`, the method has a number as input, so that it is first
// prepared at the sizes of a call, not at its bounds.
static void start(apart_fixture* f, int64_t least, bool has_number) {
  sized_pair_start(&f->pair);
  test_program* const p = f->p = f->pair.p;
  f->x = sized_pair_input(&f->pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                          test_symbol(p, "s", least, ROOM));
  f->none = test_none(p);
  f->zero = test_int(p, 0);
  f->one = test_int(p, 1);
  f->no = test_bool(p, false);
  if (!has_number) return;
  test_input(p, test_int(p, 0), "");
  test_dim(p, 1, -1, test_symbol(p, "n", 0, ROOM), 1, 0);
}

static int add_at(apart_fixture* f, etx_dtype dtype, test_sizes sizes,
                  uint64_t offset) {
  return test_dynamic(f->p, test_scratch(f->p, dtype, sizes, offset));
}

static int add_floats(apart_fixture* f, uint64_t offset) {
  return add_at(f, ETX_DTYPE_FLOAT32, SIZES(ROOM), offset);
}

static void negate(apart_fixture* f, int from, int to) {
  test_call(f->p, "aten::neg", "out", ARGS(from, to, to));
}

static etx_status run(apart_fixture* f, int64_t size, int64_t number) {
  const int64_t symbols[2] = {size, number};
  return sized_pair_run(&f->pair, symbols, &diag);
}

static void load(apart_fixture* f) {
  sized_pair_load(&f->pair, &etx_all_kernels);
}

static bool is_apart(const apart_fixture* f, size_t record) {
  return f->pair.loaded[0].method.records[record].is_apart;
}

static void end(apart_fixture* f) {
  assert_true(sized_pair_is_used(&f->pair));
  sized_pair_end(&f->pair);
}

// An output with exactly the bytes of the operand: with its sizes and type, it
// has them at all sizes.
static void outputs_may_have_the_bytes_of_an_operand(void** state) {
  (void)state;
  apart_fixture f;
  start(&f, 1, false);
  test_program* const p = f.p;
  const int a = add_floats(&f, 0), same = add_floats(&f, 0);
  const int all = test_int(p, -1), column[2] = {all, f.one};
  const int matrix = add_at(&f, ETX_DTYPE_FLOAT32, SIZES(ROOM, 1), 0);
  const int numbers = add_at(&f, ETX_DTYPE_COMPLEX64, SIZES(ROOM), 64);
  const int rows = add_at(&f, ETX_DTYPE_FLOAT32, SIZES(ROOM, 2), 384);
  const int twice[2] = {f.x, f.x};
  const int pairs = add_at(&f, ETX_DTYPE_FLOAT32, SIZES(ROOM, 2), 64);
  const int real = add_at(&f, ETX_DTYPE_FLOAT32, SIZES(ROOM, 2), 256);
  test_call(p, "aten::stack", "out",
            ARGS(test_tensors(p, twice, 2), f.one, rows, rows));
  test_call(p, "etx::view_as_complex_copy", "out",
            ARGS(rows, numbers, numbers));
  negate(&f, f.x, a);
  negate(&f, a, same);
  test_call(p, "aten::view_copy", "out",
            ARGS(same, test_ints(p, column, 2), matrix, matrix));
  test_call(p, "aten::view_as_real_copy", "out", ARGS(numbers, pairs, pairs));
  test_call(p, "aten::neg", "out", ARGS(pairs, real, real));
  test_output(p, matrix, "");
  test_output(p, real, "");
  load(&f);
  for (int64_t size = 8; size > 1; size -= 3) {
    assert_ok(run(&f, size, 0));
    const float* const found = sized_pair_output(&f.pair, 0)->data;
    const float* const other = sized_pair_output(&f.pair, 1)->data;
    for (int64_t i = 0; i < size; ++i) {
      assert_true(found[i] == (float)(i + 1));
      assert_true(other[2 * i] == (float)(-i - 1) &&
                  other[2 * i + 1] == other[2 * i]);
    }
  }
  static const bool wanted[7] = {true, true, true, true, false, false, true};
  for (size_t i = 0; i < 7; ++i) {
    if (is_apart(&f, i) != wanted[i]) fail_msg("call %zu", i);
  }
  end(&f);
}

// Outputs that share bytes with an operand in a way that is not allowed, but
// for tensors without elements. The check finds them at the first other size.
static void outputs_that_overlap_are_refused_with_elements(void** state) {
  (void)state;
  static const etx_dtype dtypes[3] = {ETX_DTYPE_FLOAT32, ETX_DTYPE_INT64,
                                      ETX_DTYPE_FLOAT32};
  static const uint64_t offsets[3] = {16, 0, 64};
  for (size_t i = 0; i < 3; ++i) {
    apart_fixture f;
    start(&f, 0, true);
    const int a = add_floats(&f, 0);
    const int out = add_at(&f, dtypes[i], SIZES(ROOM), offsets[i]);
    negate(&f, f.x, a);
    test_call(f.p, "aten::_to_copy", "out", ARGS(a, f.no, f.none, out, out));
    test_output(f.p, out, "");
    load(&f);
    assert_ok(run(&f, 0, 1));
    assert_ok(run(&f, 0, 2));
    assert_ok(run(&f, 0, 3));
    if (i < 2) {
      for (int64_t k = 3; k < 6; ++k) {
        assert_refused(run(&f, 8, k), ETX_BAD_FILE, "overlaps an output");
      }
    } else {
      assert_ok(run(&f, 8, 3));
    }
    assert_ok(run(&f, 0, 2));
    end(&f);
  }
}

// A sum overlaps its operand, which has no elements at first.
static void a_number_may_overlap_no_elements(void** state) {
  (void)state;
  apart_fixture f;
  start(&f, 0, true);
  test_program* const p = f.p;
  const int a = add_floats(&f, 0), all = add_floats(&f, 64);
  const int sum = test_scratch(p, ETX_DTYPE_FLOAT32, SCALAR_SIZES, 16);
  const int dims = test_ints(p, &f.zero, 1);
  negate(&f, f.x, a);
  test_call(p, "aten::sum", "IntList_out",
            ARGS(a, dims, f.no, f.none, sum, sum));
  negate(&f, f.x, all);
  test_output(p, sum, "");
  load(&f);
  for (int64_t i = 0; i < 3; ++i) {
    assert_ok(run(&f, 0, i));
    assert_true(*(float*)sized_pair_output(&f.pair, 0)->data == 0);
  }
  assert_false(is_apart(&f, 1));
  assert_refused(run(&f, 8, 1), ETX_BAD_FILE, "overlaps an output");
  assert_refused(run(&f, 1, 2), ETX_BAD_FILE, "overlaps an output");
  assert_ok(run(&f, 0, 2));
  end(&f);
}

// The parts of a result in its memory, the second one from a fixed byte on.
// They are joined at one size; at all others a kernel would overwrite what it
// reads.
static void parts_that_are_joined_at_one_size_only(void** state) {
  (void)state;
  apart_fixture f;
  start(&f, 1, false);
  test_program* const p = f.p;
  const int y = sized_pair_input(&f.pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                                 test_symbol(p, "t", 1, ROOM));
  const int z = add_at(&f, ETX_DTYPE_FLOAT32, SIZES(2 * ROOM), 0);
  int parts[2];
  for (size_t i = 0; i < 2; ++i) {
    parts[i] =
        test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(ROOM)));
    test_view(p, parts[i], z, 32 * i);
  }
  negate(&f, f.x, parts[0]);
  negate(&f, y, parts[1]);
  test_call(p, "aten::cat", "out",
            ARGS(test_tensors(p, parts, 2), f.zero, z, z));
  test_output(p, z, "");
  load(&f);
  for (int64_t i = 0; i < 3; ++i) {
    assert_ok(run(&f, 8, 8 - i));
    const float* const found = sized_pair_output(&f.pair, 0)->data;
    for (int k = 0; k < 16 - i; ++k) {
      assert_true(found[k] == (float)(-1 - k % 8));
    }
    assert_refused(run(&f, 7, 8), ETX_BAD_FILE, "overlaps an output");
  }
  assert_ok(run(&f, 8, 2));
  end(&f);
}

// A list of results, each apart from the operand, and a list with a tensor that
// has no elements and no memory.
static void lists_of_outputs_are_checked_at_each_size(void** state) {
  (void)state;
  apart_fixture f;
  start(&f, 1, false);
  test_program* const p = f.p;
  const int rows = add_at(&f, ETX_DTYPE_FLOAT32, SIZES(2, ROOM), 0);
  const int halves[2] = {add_at(&f, ETX_DTYPE_FLOAT32, SIZES(1, ROOM), 64),
                         add_at(&f, ETX_DTYPE_FLOAT32, SIZES(1, ROOM), 128)};
  const int both[2] = {f.x, f.x},
            empty = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(0));
  const int some[2] = {empty, f.x}, out = add_floats(&f, 192);
  const int results = test_tensors(p, halves, 2);
  test_call(p, "aten::stack", "out",
            ARGS(test_tensors(p, both, 2), f.zero, rows, rows));
  test_call(p, "aten::split_copy", "Tensor_out",
            ARGS(rows, f.one, f.zero, results, results));
  test_call(p, "aten::cat", "out",
            ARGS(test_tensors(p, some, 2), f.zero, out, out));
  test_output(p, halves[1], "");
  test_output(p, out, "");
  load(&f);
  for (int64_t size = 7; size > 0; size -= 2) {
    assert_ok(run(&f, size, 0));
    for (size_t i = 0; i < 2; ++i) {
      const float* const found = sized_pair_output(&f.pair, i)->data;
      for (int64_t k = 0; k < size; ++k) {
        assert_true(found[k] == (float)(k + 1));
      }
    }
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_SIZE_PROGRAMS,
                     outputs_may_have_the_bytes_of_an_operand),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_VERIFIER,
                     outputs_that_overlap_are_refused_with_elements),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_VERIFIER,
                     a_number_may_overlap_no_elements),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_VERIFIER,
                     parts_that_are_joined_at_one_size_only),
      unit_test_with(ETX_SIZE_PROGRAMS,
                     lists_of_outputs_are_checked_at_each_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
