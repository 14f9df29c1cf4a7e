// What is prepared again in a second run. A kernel table counts the calls of
// `prepare`; results are compared with sums written out by hand.

#include "runtime/method/method_types.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

enum { ROOM = 8, MOST_KERNELS = 1024 };

static size_t prepared;  // calls since it was set to 0
static etx_kernel counting[MOST_KERNELS];
static etx_kernel_table counting_table;

static etx_status count_and_prepare(etx_call* call) {
  ++prepared;
  return etx_kernel_find(&etx_all_kernels, call->op->id)->prepare(call);
}

static int make_table(void** state) {
  (void)state;
  assert_true(etx_all_kernels.count <= MOST_KERNELS);
  for (size_t i = 0; i < etx_all_kernels.count; ++i) {
    counting[i] = etx_all_kernels.kernels[i];
    counting[i].prepare = count_and_prepare;
  }
  counting_table = (etx_kernel_table){counting, etx_all_kernels.count, NULL};
  return 0;
}

typedef struct versions_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  int x, count, flag;  // inputs
  int alpha, zero, one, never, none;
  int slots[6];  // dynamic, of ROOM elements
} versions_fixture;

static void start(versions_fixture* f) {
  test_program* p = f->p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 6 * ROOM * 8, 0);
  f->x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(ROOM))), "");
  f->count = test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(1)), "");
  f->flag = test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "");
  f->alpha = test_int(p, 1);
  f->zero = test_int(p, 0);
  f->one = test_int(p, 1);
  f->never = test_bool(p, false);
  f->none = test_none(p);
  for (uint64_t i = 0; i < 6; ++i) {
    f->slots[i] = test_dynamic(
        p, test_scratch(p, ETX_DTYPE_INT64, SIZES(ROOM), ROOM * 8 * i));
  }
}

static void load(versions_fixture* f, int output) {
  test_output(f->p, output, "");
  assert_ok(etx_program_open(&f->program, test_file(f->p), &counting_table,
                             NULL, &diag));
  assert_ok(test_load(&f->loaded, &f->program, "forward", NULL, &diag));
}

static void end(versions_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

// to = from + from
static void twice(versions_fixture* f, int from, int to) {
  test_call(f->p, "aten::add", "out", ARGS(from, from, f->alpha, to, to));
}

// to = from[0:number]
static void head(versions_fixture* f, int from, int number, int to) {
  test_call(f->p, "aten::slice_copy", "Tensor_out",
            ARGS(from, f->zero, f->zero, number, f->one, to, to));
}

typedef struct versions_run {
  int32_t size;   // of x, which is 1, 2, 3, ...
  int64_t count;  // the input of this name
  bool flag;
} versions_run;

static etx_status run(versions_fixture* f, versions_run r) {
  static int64_t x[ROOM], count;
  static uint8_t flag;
  etx_method* method = &f->loaded.method;
  for (int i = 0; i < ROOM; ++i) x[i] = i + 1;
  count = r.count;
  flag = r.flag;
  const etx_tensor tensors[3] = {TEST_TENSOR(x, ETX_DTYPE_INT64, r.size),
                                 TEST_TENSOR(&count, ETX_DTYPE_INT64, 1),
                                 TEST_TENSOR(&flag, ETX_DTYPE_BOOL, 1)};
  for (size_t i = 0; i < 3; ++i) {
    assert_ok(etx_method_set_input(method, i, &tensors[i], &diag));
  }
  prepared = 0;
  etx_diag_init(&diag);
  return etx_method_run(method, &diag);
}

// Runs, and expects `size` elements: factor, 2 * factor, 3 * factor, ...
static void run_ok(versions_fixture* f, versions_run r, int32_t size,
                   int64_t factor) {
  assert_ok(run(f, r));
  const etx_tensor* out = test_output_tensor(&f->loaded.method, 0);
  assert_int_equal(out->sizes[0], size);
  for (int32_t i = 0; i < size; ++i) {
    assert_int_equal(((const int64_t*)out->data)[i], factor * (i + 1));
  }
}

// a = x + x; n = item(count); b = a[0:n]; c = b + b; d = c + c
static void only_what_uses_a_new_late_number_is_prepared_again(void** state) {
  (void)state;
  versions_fixture f;
  start(&f);
  const int n = test_int(f.p, 0), *s = f.slots;
  twice(&f, f.x, s[0]);
  test_call(f.p, "aten::_local_scalar_dense", "", ARGS(f.count, n));
  head(&f, s[0], n, s[1]);
  twice(&f, s[1], s[2]);
  twice(&f, s[2], s[3]);
  load(&f, s[3]);
  run_ok(&f, (versions_run){6, 3, true}, 3, 8);
  assert_true(prepared >= 5);
  run_ok(&f, (versions_run){6, 3, true}, 3, 8);
  assert_int_equal(prepared, 0);
  run_ok(&f, (versions_run){6, 2, true}, 2, 8);
  assert_int_equal(prepared, 3);  // the slice and the two sums behind it
  run_ok(&f, (versions_run){6, 2, false}, 2, 8);
  assert_int_equal(prepared, 0);
  // Longer than x: the slice is prepared with another number, and its result
  // has another size. Still longer: its result keeps its size.
  run_ok(&f, (versions_run){6, 7, true}, 6, 8);
  assert_int_equal(prepared, 3);
  run_ok(&f, (versions_run){6, 8, true}, 6, 8);
  assert_int_equal(prepared, 1);
  run_ok(&f, (versions_run){5, 2, true}, 2, 8);
  assert_true(prepared >= 4);
  run_ok(&f, (versions_run){5, 2, true}, 2, 8);
  assert_int_equal(prepared, 0);
  end(&f);
}

static size_t seen;  // calls since it was set to 0

static void see_before(void* context, size_t instruction,
                       const etx_call* call) {
  (void)context, (void)instruction, (void)call;
  ++seen;
}

static void see_after(void* context, size_t instruction, const etx_call* call) {
  (void)context, (void)instruction, (void)call;
}

// The kernels of a = x + x; b = a[0:n]; c = b + b, of which n is late: an
// observer sees all of them, whether n is as in the run before or not.
static void an_observer_sees_kernels_with_equal_late_values(void** state) {
  (void)state;
  static const etx_run_observer observer = {see_before, see_after, NULL};
  versions_fixture f;
  start(&f);
  const int n = test_int(f.p, 0), *s = f.slots;
  twice(&f, f.x, s[0]);
  test_call(f.p, "aten::_local_scalar_dense", "", ARGS(f.count, n));
  head(&f, s[0], n, s[1]);
  twice(&f, s[1], s[2]);
  load(&f, s[2]);
  static const int64_t counts[] = {3, 3, 3, 2, 2, 2};
  for (int is_observed = 0; is_observed < 3; ++is_observed) {
    etx_method_observe(&f.loaded.method, is_observed == 1 ? &observer : NULL);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
      seen = 0;
      run_ok(&f, (versions_run){6, counts[i], true}, (int32_t)counts[i], 4);
      assert_int_equal(seen, is_observed == 1 ? 3 : 0);
    }
  }
  end(&f);
}

// a = as many zeros as count says; b = a + a; c = x[0:1]; d = b + b
static void sizes_that_a_kernel_finds_are_compared_too(void** state) {
  (void)state;
  versions_fixture f;
  start(&f);
  const int* s = f.slots;
  test_call(f.p, "aten::repeat_interleave", "Tensor_out",
            ARGS(f.count, f.none, s[0], s[0]));
  twice(&f, s[0], s[1]);
  head(&f, f.x, f.one, s[2]);
  twice(&f, s[1], s[3]);
  load(&f, s[3]);
  run_ok(&f, (versions_run){6, 3, true}, 3, 0);
  run_ok(&f, (versions_run){6, 3, true}, 3, 0);
  assert_int_equal(prepared, 0);
  run_ok(&f, (versions_run){6, 5, true}, 5, 0);
  assert_int_equal(prepared, 2);  // the two sums
  run_ok(&f, (versions_run){6, 0, true}, 0, 0);
  assert_int_equal(prepared, 2);
  assert_refused(run(&f, (versions_run){6, 9, true}), ETX_OUT_OF_RANGE,
                 "has room for 8 elements, found 9");
  run_ok(&f, (versions_run){6, 0, true}, 0, 0);
  assert_int_equal(prepared, 0);
  end(&f);
}

// n = item(count); a = x[0:n], of at most 4 elements; b = a + a
static void a_late_size_above_its_bound_is_refused_unwritten(void** state) {
  (void)state;
  versions_fixture f;
  start(&f);
  test_program* p = f.p;
  const int n = test_int(p, 0), *s = f.slots;
  const int few =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_INT64, SIZES(4), ROOM * 8));
  test_call(p, "aten::_local_scalar_dense", "", ARGS(f.count, n));
  head(&f, f.x, n, few);
  twice(&f, few, s[2]);
  load(&f, s[2]);
  run_ok(&f, (versions_run){6, 4, true}, 4, 2);
  const int64_t* memory =
      (const int64_t*)test_output_tensor(&f.loaded.method, 0)->data;
  const int64_t* slice = memory - ROOM;
  int64_t before[ROOM];
  memcpy(before, slice, sizeof before);
  for (int i = 0; i < 2; ++i) {
    assert_refused(run(&f, (versions_run){6, 5, true}), ETX_OUT_OF_RANGE,
                   "has room for 4 elements, found 5");
    assert_memory_equal(slice, before, sizeof before);
  }
  run_ok(&f, (versions_run){6, 4, true}, 4, 2);
  run_ok(&f, (versions_run){6, 4, true}, 4, 2);
  assert_int_equal(prepared, 0);
  end(&f);
}

// if flag: a = x + x, b = a + a. else: b = x. c = b + b
static void both_arms_of_a_choice_are_prepared_ahead(void** state) {
  (void)state;
  versions_fixture f;
  start(&f);
  const int* s = f.slots;
  test_jump_false(f.p, f.flag, 4);
  twice(&f, f.x, s[0]);
  twice(&f, s[0], s[1]);
  test_jump_false(f.p, f.never, 5);
  test_call(f.p, "aten::clone", "out", ARGS(f.x, f.none, s[1], s[1]));
  twice(&f, s[1], s[2]);
  load(&f, s[2]);
  run_ok(&f, (versions_run){6, 0, true}, 6, 8);
  run_ok(&f, (versions_run){6, 0, false}, 6, 2);
  assert_int_equal(prepared, 0);
  run_ok(&f, (versions_run){3, 0, false}, 3, 2);
  assert_true(prepared > 0);
  run_ok(&f, (versions_run){3, 0, true}, 3, 8);
  assert_int_equal(prepared, 0);
  end(&f);
}

// if flag: b = x + x. else: b = x[0:n] with n = item(count). c = b + b
static void arms_of_other_sizes_keep_what_they_prepared(void** state) {
  (void)state;
  versions_fixture f;
  start(&f);
  const int n = test_int(f.p, 0), *s = f.slots;
  test_jump_false(f.p, f.flag, 3);
  twice(&f, f.x, s[1]);
  test_jump_false(f.p, f.never, 5);
  test_call(f.p, "aten::_local_scalar_dense", "", ARGS(f.count, n));
  head(&f, f.x, n, s[1]);
  twice(&f, s[1], s[2]);
  load(&f, s[2]);
  run_ok(&f, (versions_run){6, 2, true}, 6, 4);
  run_ok(&f, (versions_run){6, 2, true}, 6, 4);
  assert_int_equal(prepared, 0);
  run_ok(&f, (versions_run){6, 2, false}, 2, 2);
  run_ok(&f, (versions_run){6, 2, false}, 2, 2);
  assert_int_equal(prepared, 0);
  // The slots of b and c have other sizes than in the last run.
  run_ok(&f, (versions_run){6, 2, true}, 6, 4);
  assert_true(prepared <= 2);
  end(&f);
}

// if flag: b = x + y, with y of 3 elements. else: b = x + x. c = b + b
static void an_invalid_arm_fails_only_when_it_is_taken(void** state) {
  (void)state;
  versions_fixture f;
  start(&f);
  test_program* p = f.p;
  static const int64_t data[3] = {1, 2, 3};
  const int y = test_constant(p, ETX_DTYPE_INT64, SIZES(3),
                              test_data(p, data, sizeof data));
  const int* s = f.slots;
  test_jump_false(p, f.flag, 3);
  test_call(p, "aten::add", "out", ARGS(f.x, y, f.alpha, s[0], s[0]));
  test_jump_false(p, f.never, 4);
  twice(&f, f.x, s[0]);
  twice(&f, s[0], s[1]);
  load(&f, s[1]);
  run_ok(&f, (versions_run){6, 0, false}, 6, 4);
  run_ok(&f, (versions_run){6, 0, false}, 6, 4);
  assert_int_equal(prepared, 0);
  assert_refused(run(&f, (versions_run){6, 0, true}), ETX_BAD_ARGUMENT,
                 "sizes 6 and 3 do not broadcast");
  run_ok(&f, (versions_run){6, 0, false}, 6, 4);
  run_ok(&f, (versions_run){3, 0, true}, 3, 4);
  run_ok(&f, (versions_run){3, 0, false}, 3, 4);
  assert_int_equal(prepared, 0);
  end(&f);
}

// i = 0; do { a = x[0:n]; b = a + a; i = i + 1 } while (i < 4)
static void a_loop_body_is_prepared_once(void** state) {
  (void)state;
  versions_fixture f;
  start(&f);
  test_program* p = f.p;
  const int n = test_int(p, 0), i = test_int(p, 0), four = test_int(p, 4);
  const int done = test_bool(p, false), *s = f.slots;
  test_move(p, f.zero, i);
  test_call(p, "aten::_local_scalar_dense", "", ARGS(f.count, n));
  head(&f, f.x, n, s[0]);
  twice(&f, s[0], s[1]);
  test_call(p, "executorch_prim::add", "Scalar", ARGS(i, f.one, i));
  test_call(p, "executorch_prim::eq", "Scalar", ARGS(i, four, done));
  test_jump_false(p, done, 2);
  load(&f, s[1]);
  run_ok(&f, (versions_run){6, 2, true}, 2, 2);
  run_ok(&f, (versions_run){6, 2, true}, 2, 2);
  assert_int_equal(prepared, 0);
  run_ok(&f, (versions_run){6, 3, true}, 3, 2);
  assert_int_equal(prepared, 2);  // the slice and the sum, in one iteration
  end(&f);
}

static bool takes_over(const versions_fixture* f) {
  return (f->loaded.method.flow & ETX_FLOW_SAME) != 0;
}

// n = item(count); b = x[0:n]; v = a view of b with n elements; c = v + v: the
// sizes of the view are late.
static void a_run_takes_over_the_sizes_of_a_late_view(void** state) {
  (void)state;
  versions_fixture f;
  start(&f);
  test_program* p = f.p;
  const int n = test_int(p, 0), *s = f.slots;
  const int view =
      test_dynamic(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(ROOM)));
  test_call(p, "aten::_local_scalar_dense", "", ARGS(f.count, n));
  head(&f, f.x, n, s[0]);
  test_call(p, "executorch_prim::et_view", "default",
            ARGS(s[0], test_ints(p, &n, 1), view));
  twice(&f, view, s[1]);
  load(&f, s[1]);
  for (int64_t count = 3; count < 6; ++count) {
    run_ok(&f, (versions_run){7, count, true}, (int32_t)count, 2);
    assert_true(prepared >= 2);
    assert_false(takes_over(&f));
    for (size_t i = 0; i < 3; ++i) {
      run_ok(&f, (versions_run){7, count, true}, (int32_t)count, 2);
      assert_int_equal(prepared, 0);
      assert_true(takes_over(&f));
    }
  }
  end(&f);
}

// n = item(count); a = x + x; v = a view of a[n:n+2]; c = v + v: only the place
// of the view is late.
static void a_run_takes_over_the_place_of_a_late_view(void** state) {
  (void)state;
  versions_fixture f;
  start(&f);
  test_program* p = f.p;
  const int n = test_int(p, 0), two = test_int(p, 2), *s = f.slots;
  const int view = test_borrowed(p, ETX_DTYPE_INT64, SIZES(2));
  const int out = test_scratch(p, ETX_DTYPE_INT64, SIZES(2), ROOM * 8);
  test_call(p, "aten::_local_scalar_dense", "", ARGS(f.count, n));
  twice(&f, f.x, s[0]);
  test_call(p, "etx::part_view", "default",
            ARGS(s[0], n, test_ints(p, &two, 1), view));
  twice(&f, view, out);
  load(&f, out);
  static const int64_t counts[] = {3, 3, 3, 3, 0, 0, 0, 4, 4};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    assert_ok(run(&f, (versions_run){7, counts[i], true}));
    const int64_t* data =
        (const int64_t*)test_output_tensor(&f.loaded.method, 0)->data;
    assert_int_equal(data[0], 4 * (counts[i] + 1));
    assert_int_equal(data[1], 4 * (counts[i] + 2));
    const bool is_equal = i > 0 && counts[i] == counts[i - 1];
    if (is_equal) assert_int_equal(prepared, 0);
    assert_int_equal(takes_over(&f), is_equal);
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW,
                     only_what_uses_a_new_late_number_is_prepared_again),
      unit_test_with(ETX_CONTROL_FLOW,
                     an_observer_sees_kernels_with_equal_late_values),
      unit_test_with(ETX_CONTROL_FLOW,
                     sizes_that_a_kernel_finds_are_compared_too),
      unit_test_with(ETX_CONTROL_FLOW,
                     a_late_size_above_its_bound_is_refused_unwritten),
      unit_test_with(ETX_CONTROL_FLOW,
                     both_arms_of_a_choice_are_prepared_ahead),
      unit_test_with(ETX_CONTROL_FLOW,
                     arms_of_other_sizes_keep_what_they_prepared),
      unit_test_with(ETX_CONTROL_FLOW,
                     an_invalid_arm_fails_only_when_it_is_taken),
      unit_test_with(ETX_CONTROL_FLOW, a_loop_body_is_prepared_once),
      unit_test_with(ETX_CONTROL_FLOW && ETX_VIEWS,
                     a_run_takes_over_the_sizes_of_a_late_view),
      unit_test_with(ETX_CONTROL_FLOW && ETX_VIEWS,
                     a_run_takes_over_the_place_of_a_late_view),
  };
  return cmocka_run_group_tests(tests, make_table, NULL);
}
