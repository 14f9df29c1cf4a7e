// Methods whose control flow or sizes depend on data.

#include "tests/support/assert_status.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"
#include "tests/support/assert_message.h"

static etx_diag diag;

typedef struct chains_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  _Alignas(16) uint8_t arena[64];
  uint32_t torn;
} chains_fixture;

static void load_kernels(chains_fixture* f, const etx_kernel_table* kernels,
                         const etx_limits* limits) {
  memset(f->arena, 0, sizeof f->arena);
  f->torn = 0;
  const etx_planned_memory state = {f->arena, sizeof f->arena, &f->torn};
  assert_ok(
      etx_program_open(&f->program, test_file(f->p), kernels, limits, &diag));
  assert_ok(test_load(&f->loaded, &f->program, "forward", &state, &diag));
}

static void load_with(chains_fixture* f, const etx_limits* limits) {
  load_kernels(f, &test_few_kernels, limits);
}

static void end(chains_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static void set_bool(chains_fixture* f, size_t index, uint8_t* flag) {
  const etx_tensor tensor = TEST_TENSOR(flag, ETX_DTYPE_BOOL, 1);
  assert_ok(etx_method_set_input(&f->loaded.method, index, &tensor, &diag));
}

static void set_floats(chains_fixture* f, size_t index, float* data,
                       int32_t count) {
  const etx_tensor tensor = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, count);
  assert_ok(etx_method_set_input(&f->loaded.method, index, &tensor, &diag));
}

// if flag: result = x + x, else: result = x + one; both moved to one slot, as
// the stock exporter writes a cond.
static void start_branch(chains_fixture* f) {
  static const float one = 1;
  test_program* p = f->p = test_program_new();
  const uint32_t data = test_data(p, &one, sizeof one);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int flag =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "");
  const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(1), data);
  const int a = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int b = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 16);
  const int result = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 32);
  const int alpha = test_int(p, 1);
  const int never = test_bool(p, false);
  test_jump_false(p, flag, 4);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, a, a));
  test_move(p, a, result);
  test_jump_false(p, never, 6);
  test_call(p, "aten::add", "out", ARGS(x, c, alpha, b, b));
  test_move(p, b, result);
  test_output(p, result, "");
  load_with(f, NULL);
}

static void a_condition_selects_the_branch(void** state) {
  (void)state;
  chains_fixture f;
  start_branch(&f);
  float x[2] = {3, 4};
  uint8_t flag = 1;
  set_floats(&f, 0, x, 2);
  set_bool(&f, 1, &flag);
  static const struct {
    uint8_t flag;
    float wanted[2];
  } runs[] = {{1, {6, 8}}, {0, {4, 5}}, {0, {4, 5}}, {1, {6, 8}}};
  for (size_t i = 0; i < sizeof runs / sizeof runs[0]; ++i) {
    flag = runs[i].flag;
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    assert_memory_equal(test_output_tensor(&f.loaded.method, 0)->data,
                        runs[i].wanted, sizeof runs[i].wanted);
  }
  end(&f);
}

// A condition holds if all its elements do, also if it has none.
static void all_elements_of_a_condition_count(void** state) {
  (void)state;
  static const struct {
    test_sizes sizes;
    uint8_t data[4];
    bool holds;
  } rows[] = {{{{0}, 0}, {1}, true},
              {{{0}, 0}, {0}, false},
              {{{2}, 1}, {1, 1}, true},
              {{{2}, 1}, {1, 0}, false},
              {{{2}, 1}, {0, 1}, false},
              {{{0}, 1}, {0}, true},
              {{{2, 2}, 2}, {1, 1, 1, 1}, true},
              {{{2, 2}, 2}, {1, 1, 1, 0}, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    chains_fixture f;
    test_program* p = f.p = test_program_new();
    test_method(p, "forward");
    test_arenas(p, 64, 0);
    const int x =
        test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1)), "");
    const int flag =
        test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, rows[i].sizes), "");
    const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 0);
    const int no = test_bool(p, false), one = test_int(p, 1);
    test_call(p, "aten::copy_", "", ARGS(y, x, no, y));
    test_jump_false(p, flag, 3);
    test_call(p, "aten::add", "out", ARGS(x, x, one, y, y));
    test_output(p, y, "");
    load_with(&f, NULL);
    float data[1] = {5};
    uint8_t flags[4];
    memcpy(flags, rows[i].data, sizeof flags);
    set_floats(&f, 0, data, 1);
    const etx_tensor condition = test_tensor(
        flags, ETX_DTYPE_BOOL, rows[i].sizes.rank, rows[i].sizes.at);
    assert_ok(etx_method_set_input(&f.loaded.method, 1, &condition, &diag));
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const float* const found = test_output_tensor(&f.loaded.method, 0)->data;
    assert_true(*found == (rows[i].holds ? 10 : 5));
    end(&f);
  }
}

// total = 0; i = 0; do { total += x; i += 1 } while (!(last < i)), behind so
// many other instructions.
static test_program* loop_behind(int64_t last, int others) {
  test_program* p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 64);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1)), "");
  const int total = test_state(p, "total", ETX_DTYPE_FLOAT32, SIZES(1), 0);
  const int alpha = test_int(p, 1);
  const int i = test_int(p, 0);
  const int step = test_int(p, 1);
  const int end_value = test_int(p, last);
  const int done = test_bool(p, false);
  const int start_value = test_int(p, 0);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 0);
  for (int k = 0; k < others; ++k) {
    test_call(p, "aten::relu", "out", ARGS(x, y, y));
  }
  test_call(p, "aten::add", "out", ARGS(total, x, alpha, total, total));
  test_call(p, "executorch_prim::add", "Scalar", ARGS(i, step, i));
  test_call(p, "executorch_prim::lt", "Scalar", ARGS(end_value, i, done));
  test_jump_false(p, done, others);
  test_move(p, start_value, i);
  test_output(p, total, "");
  return p;
}

static test_program* loop(int64_t last) { return loop_behind(last, 0); }

static void a_loop_runs_until_its_condition_holds(void** state) {
  (void)state;
  chains_fixture f;
  f.p = loop(9);
  load_with(&f, NULL);
  float x[1] = {0.5f};
  set_floats(&f, 0, x, 1);
  test_prepare_count = 0;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  float* total = test_output_tensor(&f.loaded.method, 0)->data;
  assert_true(*total == 5);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_true(*total == 10);
  assert_int_equal(f.torn, 0);
  // The addition of tensors was prepared when the method was loaded, the two
  // records that compute numbers in the first iteration.
  assert_int_equal(test_prepare_count, 2);
  end(&f);
}

static void an_endless_run_ends_at_the_step_limit(void** state) {
  (void)state;
  chains_fixture f;
  f.p = loop(INT64_MAX);
  const etx_limits limits = {.max_steps = 1000};
  load_with(&f, &limits);
  float x[1] = {1};
  set_floats(&f, 0, x, 1);
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_OUT_OF_RANGE,
                 "more than 1000 instructions");
  // The run had already written state.
  assert_int_not_equal(f.torn, 0);
  end(&f);
}

// Ten times four instructions, and those in front of the loop and behind it.
static void a_loop_may_take_the_limit_of_steps(void** state) {
  (void)state;
  for (int others = 0; others < 6; ++others) {
    const uint64_t all = 10 * 4 + 1 + (uint64_t)others;
    for (uint64_t most = all - 6; most <= all; ++most) {
      chains_fixture f;
      f.p = loop_behind(9, others);
      const etx_limits limits = {.max_steps = most};
      load_with(&f, &limits);
      float x[1] = {0.5f};
      set_floats(&f, 0, x, 1);
      assert_status(etx_method_run(&f.loaded.method, &diag),
                    most < all ? ETX_OUT_OF_RANGE : ETX_OK);
      if (most == all) {
        assert_true(*(float*)test_output_tensor(&f.loaded.method, 0)->data ==
                    5);
      }
      end(&f);
    }
  }
}

static void a_run_without_jumps_counts_steps_too(void** state) {
  (void)state;
  chains_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(1)), "");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 0);
  for (int i = 0; i < 4; ++i) test_call(p, "aten::relu", "out", ARGS(x, y, y));
  const etx_limits limits = {.max_steps = 3};
  load_with(&f, &limits);
  float data[1] = {1};
  set_floats(&f, 0, data, 1);
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_OUT_OF_RANGE,
                 "has 4 instructions, the limit of a run is 3");
  end(&f);
}

// y = x[0:n], n read from a tensor.
static void a_size_may_depend_on_data(void** state) {
  (void)state;
  chains_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "");
  const int n = test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(1)), "");
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0));
  const int zero = test_int(p, 0);
  const int one = test_int(p, 1);
  const int stop = test_int(p, 0);
  test_call(p, "aten::_local_scalar_dense", "", ARGS(n, stop));
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(x, zero, zero, stop, one, y, y));
  test_output(p, y, "");
  load_with(&f, NULL);
  float data[4] = {1, 2, 3, 4};
  int64_t count = 3;
  set_floats(&f, 0, data, 4);
  const etx_tensor tensor = TEST_TENSOR(&count, ETX_DTYPE_INT64, 1);
  assert_ok(etx_method_set_input(&f.loaded.method, 1, &tensor, &diag));
  for (int i = 0; i < 12; ++i) {  // three runs with each
    count = 4 - i / 3;
    data[0] = (float)i;
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const etx_tensor* out = test_output_tensor(&f.loaded.method, 0);
    assert_int_equal(out->sizes[0], count);
    assert_memory_equal(out->data, data, (size_t)count * sizeof(float));
  }
  end(&f);
}

// One slot becomes two views, one after the other: the shape phase cannot run
// before the instructions.
static void a_slot_may_become_two_views(void** state) {
  (void)state;
  chains_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int a =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int b =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int v = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int z = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 16);
  const int alpha = test_int(p, 1);
  const int two = test_int(p, 2);
  const int sizes = test_ints(p, ARGS(two));
  test_call(p, "executorch_prim::et_view", "default", ARGS(a, sizes, v));
  test_call(p, "aten::add", "out", ARGS(v, v, alpha, y, y));
  test_call(p, "executorch_prim::et_view", "default", ARGS(b, sizes, v));
  test_call(p, "aten::add", "out", ARGS(v, v, alpha, z, z));
  test_output(p, y, "");
  test_output(p, z, "");
  load_with(&f, NULL);
  float first[2] = {1, 2};
  float second[2] = {3, 4};
  set_floats(&f, 0, first, 2);
  set_floats(&f, 1, second, 2);
  for (int i = 0; i < 2; ++i) {
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const float wanted_y[2] = {2, 4};
    const float wanted_z[2] = {6, 8};
    assert_memory_equal(test_output_tensor(&f.loaded.method, 0)->data, wanted_y,
                        sizeof wanted_y);
    assert_memory_equal(test_output_tensor(&f.loaded.method, 1)->data, wanted_z,
                        sizeof wanted_z);
  }
  end(&f);
}

static void a_freed_value_is_missing_until_the_next_run(void** state) {
  (void)state;
  chains_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int z = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 16);
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_release(p, y);
  test_call(p, "aten::add", "out", ARGS(y, x, alpha, z, z));
  load_with(&f, NULL);
  float data[2] = {1, 2};
  set_floats(&f, 0, data, 2);
  for (int i = 0; i < 2; ++i) {
    assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_FILE,
                   "has 0 at this point");
    assert_true(test_message_has(&diag, "instruction 2"));
    assert_int_equal(diag.line, ETX_MESSAGES ? 0 : 3);
  }
  end(&f);
}

static void a_number_must_keep_the_kind_of_its_slot(void** state) {
  (void)state;
  chains_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int half = test_double(p, 0.5);
  const int slot = test_int(p, 0);
  test_call(p, "executorch_prim::add", "Scalar", ARGS(half, half, slot));
  etx_program program;
  test_loaded loaded;
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_refused(test_load(&loaded, &program, "forward", NULL, &diag),
                 ETX_BAD_FILE, "of another kind than its slot");
  test_program_end(p);
}

static void chains_run_one_after_another(void** state) {
  (void)state;
  chains_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int alpha = test_int(p, 1);
  const int never = test_bool(p, false);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_jump_false(p, never, 3);  // leaves this chain, not the method
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_next_chain(p);
  test_call(p, "aten::add", "out", ARGS(y, x, alpha, y, y));
  test_next_chain(p);
  test_output(p, y, "");
  load_with(&f, NULL);
  float data[2] = {1, 2};
  set_floats(&f, 0, data, 2);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const float wanted[2] = {3, 6};
  assert_memory_equal(test_output_tensor(&f.loaded.method, 0)->data, wanted,
                      sizeof wanted);
  end(&f);
}

// ---- state ----

static void set_integers(chains_fixture* f, size_t index, int64_t* data,
                         int32_t count) {
  const etx_tensor tensor = TEST_TENSOR(data, ETX_DTYPE_INT64, count);
  assert_ok(etx_method_set_input(&f->loaded.method, index, &tensor, &diag));
}

static void put(chains_fixture* f, int self, int index, int value) {
  const int indices = test_optional_tensors(f->p, ARGS(index));
  test_call(f->p, "aten::index_put", "out",
            ARGS(self, indices, value, test_bool(f->p, false), self, self));
}

// The first n of two.
static int head(chains_fixture* f, int from, etx_dtype dtype, int n,
                uint64_t offset) {
  test_program* const p = f->p;
  const int zero = test_int(p, 0), one = test_int(p, 1);
  const int out = test_dynamic(p, test_scratch(p, dtype, SIZES(2), offset));
  test_call(p, "aten::slice_copy", "Tensor_out",
            ARGS(from, zero, zero, n, one, out, out));
  return out;
}

// scratch[early] = values; state[at[0:n]] = values[0:n], n from a tensor. The
// call that writes state is prepared during the run. Its kernel writes before
// it finds an index that it refuses.
static void a_late_write_of_state_is_noted(void** state) {
  (void)state;
  chains_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 64);
  const int values =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int early =
      test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "");
  const int at = test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "");
  const int count =
      test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(1)), "");
  const int s = test_state(p, "s", ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int n = test_int(p, 0);
  test_call(p, "aten::_local_scalar_dense", "", ARGS(count, n));
  const int first_at = head(&f, at, ETX_DTYPE_INT64, n, 16);
  const int first = head(&f, values, ETX_DTYPE_FLOAT32, n, 32);
  put(&f, y, early, values);
  put(&f, s, first_at, first);
  load_with(&f, NULL);
  float data[2] = {5, 6};
  int64_t early_data[2] = {0, 1}, at_data[2] = {1, 3}, wanted_count = 2;
  set_floats(&f, 0, data, 2);
  set_integers(&f, 1, early_data, 2);
  set_integers(&f, 2, at_data, 2);
  set_integers(&f, 3, &wanted_count, 1);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const float both[4] = {0, 5, 0, 6};
  assert_memory_equal(f.arena, both, sizeof both);
  assert_int_equal(f.torn, 0);

  at_data[0] = 2;
  at_data[1] = 99;  // not among the first
  wanted_count = 1;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const float one_more[4] = {0, 5, 5, 6};
  assert_memory_equal(f.arena, one_more, sizeof one_more);
  assert_int_equal(f.torn, 0);

  early_data[1] = 99;  // in front of the write of state
  at_data[0] = 0;
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT,
                 "index 99");
  assert_memory_equal(f.arena, one_more, sizeof one_more);
  assert_int_equal(f.torn, 0);

  early_data[1] = 1;
  wanted_count = 2;
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT,
                 "index 99");
  assert_true(((const float*)f.arena)[0] == 5);
  assert_int_not_equal(f.torn, 0);
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_TORN_STATE,
                 "half-written");
  end(&f);
}

// state[at] = values; two jumps, and then an index that is refused: what a part
// of the run wrote is not forgotten by later parts.
static void a_write_is_noted_for_the_whole_run(void** state) {
  (void)state;
  chains_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 64);
  const int values =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int at = test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "");
  const int bad =
      test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "");
  const int flag =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "");
  const int s = test_state(p, "s", ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  put(&f, s, at, values);
  test_jump_false(p, flag, 2);
  put(&f, y, at, values);
  test_jump_false(p, flag, 4);
  put(&f, y, bad, values);
  load_with(&f, NULL);
  float data[2] = {5, 6};
  int64_t at_data[2] = {1, 3}, bad_data[2] = {1, 99};
  uint8_t no = 0;
  set_floats(&f, 0, data, 2);
  set_integers(&f, 1, at_data, 2);
  set_integers(&f, 2, bad_data, 2);
  set_bool(&f, 3, &no);
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT,
                 "index 99");
  assert_int_not_equal(f.torn, 0);
  end(&f);
}

// do { i += 1 } while (!(100 < i)); state[at] = values. The limit of
// instructions comes before the first write of state.
static void the_limit_before_the_first_write_leaves_state(void** state) {
  (void)state;
  chains_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 64);
  const int values =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int at = test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "");
  const int s = test_state(p, "s", ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int i = test_int(p, 0), step = test_int(p, 1), last = test_int(p, 100);
  const int done = test_bool(p, false), start_value = test_int(p, 0);
  test_call(p, "executorch_prim::add", "Scalar", ARGS(i, step, i));
  test_call(p, "executorch_prim::lt", "Scalar", ARGS(last, i, done));
  test_jump_false(p, done, 0);
  put(&f, s, at, values);
  test_move(p, start_value, i);
  float data[2] = {5, 6};
  int64_t at_data[2] = {1, 3};
  for (int allows_all = 0; allows_all < 2; ++allows_all) {
    const etx_limits limits = {.max_steps = allows_all ? 1000 : 100};
    load_kernels(&f, &etx_all_kernels, &limits);
    set_floats(&f, 0, data, 2);
    set_integers(&f, 1, at_data, 2);
    etx_diag_init(&diag);
    const etx_status status = etx_method_run(&f.loaded.method, &diag);
    const float wanted[4] = {0, allows_all ? 5 : 0, 0, allows_all ? 6 : 0};
    assert_int_equal(status, allows_all ? ETX_OK : ETX_OUT_OF_RANGE);
    assert_int_equal(f.torn, 0);
    assert_memory_equal(f.arena, wanted, sizeof wanted);
    if (!allows_all) assert_true(test_unload(&f.loaded));
  }
  end(&f);
}

// y = x + x; slot = flag; if (slot) y = y + x. `freed`: if (freed) the slot is
// released in front of its use.
static void a_condition_may_be_in_a_slot(void** state) {
  (void)state;
  chains_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "");
  const int flag =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "");
  const int freed =
      test_input(p, test_borrowed(p, ETX_DTYPE_BOOL, SIZES(1)), "");
  const int slot = test_scratch(p, ETX_DTYPE_BOOL, SIZES(1), 0);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 16);
  const int alpha = test_int(p, 1);
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_move(p, flag, slot);
  test_jump_false(p, freed, 4);
  test_release(p, slot);
  test_jump_false(p, slot, 6);
  test_call(p, "aten::add", "out", ARGS(y, x, alpha, y, y));
  test_output(p, y, "");
  load_with(&f, NULL);
  float data[2] = {1, 2};
  uint8_t flag_data = 0, freed_data = 0;
  set_floats(&f, 0, data, 2);
  set_bool(&f, 1, &flag_data);
  set_bool(&f, 2, &freed_data);
  for (int round = 0; round < 4; ++round) {
    flag_data = round % 2 == 1;
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const float* const found = test_output_tensor(&f.loaded.method, 0)->data;
    assert_true(found[0] == (flag_data ? 3 : 2));
    assert_true(found[1] == (flag_data ? 6 : 4));
  }
  freed_data = 1;
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_FILE,
                 "needs 1 bytes and has 0 at this point");
  assert_true(test_message_has(&diag, "instruction 4"));
  freed_data = 0;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW, a_condition_selects_the_branch),
      unit_test_with(ETX_CONTROL_FLOW, a_loop_runs_until_its_condition_holds),
      unit_test_with(ETX_CONTROL_FLOW, all_elements_of_a_condition_count),
      unit_test_with(ETX_CONTROL_FLOW, an_endless_run_ends_at_the_step_limit),
      unit_test_with(ETX_CONTROL_FLOW, a_loop_may_take_the_limit_of_steps),
      cmocka_unit_test(a_run_without_jumps_counts_steps_too),
      unit_test_with(ETX_CONTROL_FLOW, a_size_may_depend_on_data),
      unit_test_with(ETX_CONTROL_FLOW, a_slot_may_become_two_views),
      unit_test_with(ETX_CONTROL_FLOW,
                     a_freed_value_is_missing_until_the_next_run),
      cmocka_unit_test(a_number_must_keep_the_kind_of_its_slot),
      unit_test_with(ETX_CONTROL_FLOW, chains_run_one_after_another),
      unit_test_with(ETX_CONTROL_FLOW, a_late_write_of_state_is_noted),
      unit_test_with(ETX_CONTROL_FLOW, a_write_is_noted_for_the_whole_run),
      unit_test_with(ETX_CONTROL_FLOW,
                     the_limit_before_the_first_write_leaves_state),
      unit_test_with(ETX_CONTROL_FLOW, a_condition_may_be_in_a_slot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
