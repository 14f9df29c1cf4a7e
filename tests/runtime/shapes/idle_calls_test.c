// Calls that have nothing to do, and calls that look like them.

#include "runtime/method/method_types.h"
#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROOM = 8 };

typedef struct idle_fixture {
  sized_pair pair;
  test_program* p;
  int x;  // s floats
  int none, zero, one;
} idle_fixture;

static void start(idle_fixture* f) {
  sized_pair_start(&f->pair);
  f->p = f->pair.p;
  f->x = sized_pair_input(&f->pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                          test_symbol(f->p, "s", 0, ROOM));
  f->none = test_none(f->p);
  f->zero = test_int(f->p, 0);
  f->one = test_int(f->p, 1);
}

static int floats(idle_fixture* f, test_sizes sizes, uint64_t offset) {
  return test_scratch(f->p, ETX_DTYPE_FLOAT32, sizes, offset);
}

static void load(idle_fixture* f) {
  sized_pair_load(&f->pair, &etx_all_kernels);
}

static etx_status run(idle_fixture* f, int64_t size) {
  return sized_pair_run(&f->pair, &size, &diag);
}

// Loads, which must be refused because the parts overlap the result.
static void expect_overlap(idle_fixture* f) {
  etx_program program;
  test_loaded loaded;
  assert_ok(etx_program_open(&program, test_file(f->p), &etx_all_kernels, NULL,
                             &diag));
  assert_refused(test_load(&loaded, &program, "forward", NULL, &diag),
                 ETX_BAD_FILE, "overlaps an output");
  test_program_end(f->p);
}

// Two parts of two rows in the memory of a result of four rows. They are where
// a concatenation would copy them if all have one order of elements and one
// type.
static void parts_must_lie_as_they_would_be_copied(void** state) {
  (void)state;
  static const uint8_t turned[2] = {1, 0};
  static const float data[4] = {1, 2, 3, 4};
  for (int i = 0; i < 4; ++i) {
    idle_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int z = floats(&f, SIZES(4, 2), 0);
    const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(2, 2),
                                test_data(p, data, sizeof data));
    int parts[2];
    for (uint64_t k = 0; k < 2; ++k) {
      parts[k] = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2, 2));
      test_view(p, parts[k], z, 16 * k);
      test_call(p, "aten::neg", "out", ARGS(c, parts[k], parts[k]));
    }
    if (i == 1) test_tensor_of(p, z)->dim_order = turned;
    if (i == 2) test_tensor_of(p, parts[1])->dim_order = turned;
    if (i == 3) {
      parts[1] = test_borrowed(p, ETX_DTYPE_INT32, SIZES(2, 2));
      test_view(p, parts[1], z, 16);
    }
    test_call(p, "aten::cat", "out",
              ARGS(test_tensors(p, parts, 2), f.zero, z, z));
    test_output(p, z, "");
    if (i > 0) {
      expect_overlap(&f);
      continue;
    }
    load(&f);
    assert_ok(run(&f, 3));
    const float* const found = sized_pair_output(&f.pair, 0)->data;
    for (int k = 0; k < 8; ++k) assert_true(found[k] == -data[k % 4]);
    assert_int_equal(f.pair.loaded[0].method.step_count, 2);
    sized_pair_end(&f.pair);
  }
}

// The result has no memory, which is enough for no elements.
static void no_elements_need_no_memory(void** state) {
  (void)state;
  idle_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int base = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(0));
  const int none = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(0));
  const int out = test_dynamic(p, floats(&f, SIZES(ROOM), 0));
  const int parts[2] = {base, base};
  test_view(p, none, base, 0);
  test_call(p, "aten::cat", "out",
            ARGS(test_tensors(p, parts, 2), f.zero, none, none));
  test_call(p, "aten::neg", "out", ARGS(f.x, out, out));
  test_output(p, out, "");
  load(&f);
  for (int64_t size = 3; size >= 0; --size) {
    assert_ok(run(&f, size));
    assert_int_equal(f.pair.loaded[0].method.step_count, size > 0);
  }
  sized_pair_end(&f.pair);
}

// Columns of a matrix without columns or rows. An index is checked even if
// there is nothing to select; a list of indices may have gaps.
static void indices_are_checked_without_elements(void** state) {
  (void)state;
  static const int32_t valid[1] = {2}, invalid[1] = {7};
  static const int64_t none[1] = {0};
  for (int i = 0; i < 3; ++i) {
    idle_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int rows =
        sized_pair_input(&f.pair, ETX_DTYPE_FLOAT32, SIZES(ROOM, 4), 0);
    const int index =
        i == 2 ? test_constant(p, ETX_DTYPE_INT64, SIZES(1),
                               test_data(p, none, sizeof none))
               : test_constant(
                     p, ETX_DTYPE_INT32, SIZES(1),
                     test_data(p, i == 0 ? valid : invalid, sizeof valid));
    const int out = test_dynamic(p, floats(&f, SIZES(ROOM, 1), 0));
    const int items[2] = {-1, index};
    if (i < 2) {
      test_call(p, "aten::index_select", "out",
                ARGS(rows, f.one, index, out, out));
    } else {
      test_call(p, "aten::index", "Tensor_out",
                ARGS(rows, test_optional_tensors(p, items, 2), out, out));
    }
    test_output(p, out, "");
    load(&f);
    for (int64_t size = 2; size >= 0; --size) {
      if (i != 1) {
        assert_ok(run(&f, size));
        continue;
      }
      assert_refused(run(&f, size), ETX_BAD_ARGUMENT, "index 7 is not in 0..3");
    }
    assert_int_equal(f.pair.loaded[0].method.step_count, 1);
    sized_pair_end(&f.pair);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC && ETX_VERIFIER,
                     parts_must_lie_as_they_would_be_copied),
      unit_test_with(ETX_DYNAMIC, no_elements_need_no_memory),
      unit_test_with(ETX_DYNAMIC, indices_are_checked_without_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
