// Size programs of methods with jumps, moves and late values: what is known
// ahead comes from the program, and the rest is left to the run.

#include "runtime/method/method_types.h"
#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROOM = 8 };

typedef struct flow_fixture {
  sized_pair pair;
  test_program* p;
  int x, flag;  // s floats, a bool
  int none, zero, one, no;
  uint64_t offset;  // of the next tensor in scratch
} flow_fixture;

static void start(flow_fixture* f) {
  sized_pair_start(&f->pair);
  f->p = f->pair.p;
  f->offset = 0;
  f->x = sized_pair_input(&f->pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                          test_symbol(f->p, "s", 0, ROOM));
  f->flag = test_input(f->p, test_borrowed(f->p, ETX_DTYPE_BOOL, SIZES(1)), "");
  f->none = test_none(f->p);
  f->zero = test_int(f->p, 0);
  f->one = test_int(f->p, 1);
  f->no = test_bool(f->p, false);
}

static int add_scratch(flow_fixture* f) {
  const int tensor = test_dynamic(
      f->p, test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(ROOM), f->offset));
  f->offset += 64;
  return tensor;
}

static int add_borrowed(flow_fixture* f) {
  return test_dynamic(f->p,
                      test_borrowed(f->p, ETX_DTYPE_FLOAT32, SIZES(ROOM)));
}

// to = -from
static void negate(flow_fixture* f, int from, int to) {
  test_call(f->p, "aten::neg", "out", ARGS(from, to, to));
}

static void load(flow_fixture* f) {
  sized_pair_load(&f->pair, &etx_all_kernels);
}

// Expects output 0 to be factor * x.
static void run_ok(flow_fixture* f, int64_t size, bool flag, float factor) {
  f->pair.truth = flag;
  assert_ok(sized_pair_run(&f->pair, &size, &diag));
  const etx_tensor* const out = sized_pair_output(&f->pair, 0);
  assert_int_equal(out->sizes[0], size);
  for (int64_t i = 0; i < size; ++i) {
    assert_true(((const float*)out->data)[i] == factor * (float)(i + 1));
  }
}

// Runs at many sizes, with both values of the flag.
static void run_all(flow_fixture* f, float if_true, float if_false) {
  static const int64_t sizes[] = {5, 3, 8, 0, 4};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    run_ok(f, sizes[i], true, if_true);
    run_ok(f, sizes[i], false, if_false);
  }
}

static void end(flow_fixture* f) {
  assert_true(sized_pair_is_used(&f->pair));
  sized_pair_end(&f->pair);
}

// z is -x or, if the flag holds, x; a number is moved, too. The result is -z.
static int add_choice(flow_fixture* f) {
  test_program* const p = f->p;
  const int a = add_scratch(f), b = add_scratch(f), z = add_scratch(f);
  const int size = test_int(p, 0), moved = test_int(p, 0);
  negate(f, f->x, a);
  negate(f, a, b);
  test_call(p, "aten::sym_size", "int", ARGS(f->x, f->zero, size));
  test_move(p, size, moved);
  test_move(p, a, z);
  test_jump_false(p, f->flag, 7);
  test_move(p, b, z);
  return z;
}

static void moved_tensors_have_sizes_of_symbols(void** state) {
  (void)state;
  flow_fixture f;
  start(&f);
  const int z = add_choice(&f), out = add_scratch(&f);
  negate(&f, z, out);
  test_output(f.p, out, "");
  load(&f);
  run_all(&f, -1, 1);
  end(&f);
}

// A view of the chosen tensor, and a result of it under another name: their
// memory is known during the run only.
static void views_of_moved_tensors_are_bound_during_the_run(void** state) {
  (void)state;
  for (size_t i = 0; i < 3; ++i) {
    flow_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int z = add_choice(&f), out = add_scratch(&f);
    const int other = add_scratch(&f), view = add_borrowed(&f);
    if (i == 0) {
      const int all = test_int(p, -1);
      test_call(p, "executorch_prim::et_view", "default",
                ARGS(z, test_ints(p, &all, 1), view));
      negate(&f, view, out);
      negate(&f, view, other);
    } else if (i == 1) {  // z = copy_(z, z), as `view`
      test_call(p, "aten::copy_", "", ARGS(z, z, f.no, view));
      negate(&f, view, out);
      negate(&f, view, other);
    } else {  // `view` is `other`, then z
      negate(&f, f.x, other);
      test_call(p, "aten::copy_", "", ARGS(other, f.x, f.no, view));
      negate(&f, view, other);
      test_move(p, z, view);
      negate(&f, view, out);
    }
    test_output(p, out, "");
    test_output(p, other, "");
    load(&f);
    run_all(&f, -1, 1);
    end(&f);
  }
}

// Which sizes a branch takes, without a program: it is left to the run then.
// If it is taken, it fails; otherwise the run goes on.
static void a_branch_may_be_invalid_at_some_sizes(void** state) {
  (void)state;
  flow_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  const int first = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 1024);
  const int out = add_scratch(&f);
  test_view(p, view, f.x, 8);
  test_jump_false(p, f.flag, 2);
  negate(&f, view, first);
  negate(&f, f.x, out);
  test_output(p, out, "");
  load(&f);
  run_ok(&f, 5, true, -1);
  run_ok(&f, 6, true, -1);
  run_ok(&f, 3, false, -1);
  f.pair.truth = 1;
  assert_refused(sized_pair_run(&f.pair, &(int64_t){3}, &diag), ETX_BAD_FILE,
                 "needs 8 bytes and has 4");
  run_ok(&f, 4, true, -1);
  run_ok(&f, 8, false, -1);
  end(&f);
}

// A number from data, a call that has it, and calls that do not.
static void late_calls_are_left_to_the_run(void** state) {
  (void)state;
  static const int64_t data[1] = {2};
  flow_fixture f;
  start(&f);
  test_program* const p = f.p;
  const int c = test_constant(p, ETX_DTYPE_INT64, SIZES(1),
                              test_data(p, data, sizeof data));
  const int number = test_int(p, 0), out = add_scratch(&f);
  const int head = add_scratch(&f);
  test_call(p, "aten::_local_scalar_dense", "", ARGS(c, number));
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(f.x, f.zero, f.zero, number, f.one, head, head));
  negate(&f, f.x, out);
  test_output(p, out, "");
  test_output(p, head, "");
  load(&f);
  run_all(&f, -1, -1);
  end(&f);
}

// Results of changes in place in a method with jumps: one whose name is bound
// ahead, and one whose name is released in the end, so that its memory is not
// known ahead.
static void names_may_be_released(void** state) {
  (void)state;
  for (int is_released = 0; is_released < 2; ++is_released) {
    flow_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int a = add_scratch(&f), b = add_borrowed(&f), out = add_scratch(&f);
    negate(&f, f.x, a);
    test_jump_false(p, f.flag, 3);
    negate(&f, a, a);
    test_call(p, "aten::copy_", "", ARGS(a, f.x, f.no, b));
    negate(&f, b, out);
    if (is_released != 0) test_release(p, b);
    test_output(p, out, "");
    load(&f);
    run_all(&f, -1, -1);
    end(&f);
  }
}

// A result that lies within another tensor, in scratch that moves together or
// not: its memory and that of the operand are checked at each size.
static void parts_in_branches_are_checked_at_each_size(void** state) {
  (void)state;
  for (int is_stable = 0; is_stable < 2; ++is_stable) {
    flow_fixture f;
    start(&f);
    test_program* const p = f.p;
    const int view = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
    const int whole = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 1024);
    const int part = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
    const int sum = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
    const int out = add_scratch(&f);
    test_view(p, view, f.x, 8);
    test_view(p, part, whole, 8);
    test_view(p, sum, whole, 0);
    test_jump_false(p, f.flag, 3);
    negate(&f, view, part);
    test_call(p, "aten::add", "out", ARGS(part, part, f.one, sum, sum));
    negate(&f, f.x, out);
    test_output(p, out, "");
    test_output(p, whole, "");
    if (is_stable != 0) test_lifetime(p, ETX_LIFETIME_STABLE);
    load(&f);
    run_ok(&f, 5, true, -1);
    run_ok(&f, 6, true, -1);
    const float* const found = sized_pair_output(&f.pair, 1)->data;
    assert_true(found[0] == -6 && found[2] == -3);
    f.pair.truth = 1;
    assert_refused(sized_pair_run(&f.pair, &(int64_t){3}, &diag), ETX_BAD_FILE,
                   "needs 8 bytes and has 4");
    run_ok(&f, 3, false, -1);
    run_ok(&f, 8, true, -1);
    end(&f);
  }
}

// Results that stay until the next call of the method keep the plan's places.
static void stable_results_keep_their_places(void** state) {
  (void)state;
  flow_fixture f;
  start(&f);
  const int z = add_choice(&f), out = add_scratch(&f);
  negate(&f, z, out);
  test_output(f.p, out, "");
  test_lifetime(f.p, ETX_LIFETIME_STABLE);
  load(&f);
  run_all(&f, -1, 1);
  assert_int_equal(f.pair.loaded[0].method.scratch_block_count, 0);
  end(&f);
}

// w is read before a call gives it its size. That call changes nothing while
// the size is the bound, so a program is made without late values. At other
// sizes, which that program does not take, the size of w is late.
static void values_may_become_late_after_sizes_of_no_program(void** state) {
  (void)state;
  sized_pair pair;
  sized_pair_start(&pair);
  test_program* const p = pair.p;
  const uint32_t s = test_symbol(p, "s", 1, 4), t = test_symbol(p, "t", 1, 8);
  const int x = sized_pair_input(&pair, ETX_DTYPE_FLOAT32, SIZES(4), s);
  const int y = sized_pair_input(&pair, ETX_DTYPE_FLOAT32, SIZES(8, 4), t);
  const int w =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0));
  const int out =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(8, 4), 64));
  test_call(p, "etx::prelu", "out", ARGS(y, w, out, out));
  test_call(p, "aten::neg", "out", ARGS(x, w, w));
  test_output(p, w, "");
  test_output(p, out, "");
  sized_pair_load(&pair, &etx_all_kernels);
  static const int64_t runs[][2] = {{4, 5}, {4, 6}, {2, 5}, {3, 5}, {4, 5}};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i) {
    assert_ok(sized_pair_run(&pair, runs[i], &diag));
    const etx_tensor* const found = sized_pair_output(&pair, 0);
    assert_int_equal(found->sizes[0], runs[i][0]);
    for (int64_t k = 0; k < runs[i][0]; ++k) {
      assert_true(((const float*)found->data)[k] == -(float)(k + 1));
    }
    // All elements of y are positive, so it does not matter which w has.
    const etx_tensor* const same = sized_pair_output(&pair, 1);
    assert_int_equal(same->sizes[0], runs[i][1]);
    for (int64_t k = 0; k < 4 * runs[i][1]; ++k) {
      assert_true(((const float*)same->data)[k] == (float)(k + 1));
    }
    assert_true(sized_pair_is_used(&pair));
  }
  sized_pair_end(&pair);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     moved_tensors_have_sizes_of_symbols),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     views_of_moved_tensors_are_bound_during_the_run),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     a_branch_may_be_invalid_at_some_sizes),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     late_calls_are_left_to_the_run),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     names_may_be_released),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     parts_in_branches_are_checked_at_each_size),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     stable_results_keep_their_places),
      unit_test_with(ETX_SIZE_PROGRAMS && ETX_CONTROL_FLOW,
                     values_may_become_late_after_sizes_of_no_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
