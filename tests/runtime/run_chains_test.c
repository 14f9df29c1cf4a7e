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

static void load_with(chains_fixture* f, const etx_limits* limits) {
  memset(f->arena, 0, sizeof f->arena);
  f->torn = 0;
  const etx_planned_memory state = {f->arena, sizeof f->arena, &f->torn};
  assert_ok(etx_program_open(&f->program, test_file(f->p), &test_few_kernels,
                             limits, &diag));
  assert_ok(test_load(&f->loaded, &f->program, "forward", &state, &diag));
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

// total = 0; i = 0; do { total += x; i += 1 } while (!(last < i)).
static test_program* loop(int64_t last) {
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
  test_call(p, "aten::add", "out", ARGS(total, x, alpha, total, total));
  test_call(p, "executorch_prim::add", "Scalar", ARGS(i, step, i));
  test_call(p, "executorch_prim::lt", "Scalar", ARGS(end_value, i, done));
  test_jump_false(p, done, 0);
  test_move(p, start_value, i);
  test_output(p, total, "");
  return p;
}

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
  for (count = 4; count > 0; --count) {
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

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW, a_condition_selects_the_branch),
      unit_test_with(ETX_CONTROL_FLOW, a_loop_runs_until_its_condition_holds),
      unit_test_with(ETX_CONTROL_FLOW, an_endless_run_ends_at_the_step_limit),
      cmocka_unit_test(a_run_without_jumps_counts_steps_too),
      unit_test_with(ETX_CONTROL_FLOW, a_size_may_depend_on_data),
      unit_test_with(ETX_CONTROL_FLOW, a_slot_may_become_two_views),
      unit_test_with(ETX_CONTROL_FLOW,
                     a_freed_value_is_missing_until_the_next_run),
      cmocka_unit_test(a_number_must_keep_the_kind_of_its_slot),
      unit_test_with(ETX_CONTROL_FLOW, chains_run_one_after_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
