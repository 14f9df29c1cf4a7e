// Sizes that change between runs, views, state, and calls of a method that is
// in use.

#include "tests/support/assert_status.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

typedef struct run_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  _Alignas(16) uint8_t arena[64];
  uint32_t torn;
} run_fixture;

static etx_planned_memory session(run_fixture* f) {
  return (etx_planned_memory){f->arena, sizeof f->arena, &f->torn};
}

static void load(run_fixture* f, const char* name) {
  memset(f->arena, 0, sizeof f->arena);
  f->torn = 0;
  const etx_planned_memory state = session(f);
  assert_ok(etx_program_open(&f->program, test_file(f->p), &test_few_kernels,
                             NULL, &diag));
  assert_ok(test_load(&f->loaded, &f->program, name, &state, &diag));
}

static void end(run_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

static void set_floats(run_fixture* f, size_t index, float* data,
                       int32_t count) {
  const etx_tensor tensor = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, count);
  assert_ok(etx_method_set_input(&f->loaded.method, index, &tensor, &diag));
}

// z = (x + x).view(n, 1) + one: sizes flow through sym_size and et_view.
static void start_dynamic(run_fixture* f) {
  static const float one = 1;
  test_program* p = f->p = test_program_new();
  const uint32_t data = test_data(p, &one, sizeof one);
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 128, 0);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(8))), "x");
  const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(1, 1), data);
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(8), 0));
  const int z =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(8, 1), 64));
  const int v =
      test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(8, 1)));
  const int fixed = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1, 1), 32);
  const int alpha = test_int(p, 1);
  const int zero = test_int(p, 0);
  const int n = test_int(p, 0);
  const int minus_one = test_int(p, -1);
  const int sizes = test_ints(p, ARGS(n, minus_one));
  test_call(p, "aten::add", "out", ARGS(c, c, alpha, fixed, fixed));
  test_call(p, "aten::add", "out", ARGS(x, x, alpha, y, y));
  test_call(p, "aten::sym_size", "int", ARGS(y, zero, n));
  test_call(p, "executorch_prim::et_view", "default", ARGS(y, sizes, v));
  test_call(p, "aten::add", "out", ARGS(v, c, alpha, z, z));
  test_output(p, z, "z");
  const uint32_t s = test_symbol(p, "s", 1, 8);
  test_dim(p, 0, 0, s, 1, 0);
  load(f, "forward");
}

static void sizes_grow_and_shrink_within_their_bounds(void** state) {
  (void)state;
  run_fixture f;
  start_dynamic(&f);
  float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const int32_t counts[] = {3, 8, 1, 5, 5, 8};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    set_floats(&f, 0, data, counts[i]);
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const etx_tensor* z = test_output_tensor(&f.loaded.method, 0);
    assert_int_equal(z->sizes[0], counts[i]);
    assert_int_equal(z->strides[0], 1);
    for (int32_t k = 0; k < counts[i]; ++k) {
      assert_true(((float*)z->data)[k] == 2 * data[k] + 1);
    }
  }
  end(&f);
}

static void kernels_are_prepared_only_when_their_sizes_change(void** state) {
  (void)state;
  run_fixture f;
  start_dynamic(&f);
  float data[8] = {0};
  // Loading has prepared the calls at the upper bound.
  test_prepare_count = 0;
  set_floats(&f, 0, data, 8);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(test_prepare_count, 0);
  set_floats(&f, 0, data, 4);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  // Two additions are prepared again; the call with fixed sizes and sym_size
  // are not.
  assert_int_equal(test_prepare_count, 2);
  assert_int_equal(etx_method_phase_count(&f.loaded.method), 2);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  set_floats(&f, 0, data, 4);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(test_prepare_count, 2);
  assert_int_equal(etx_method_phase_count(&f.loaded.method), 2);
  end(&f);
}

static void preparing_may_be_done_ahead_of_the_run(void** state) {
  (void)state;
  run_fixture f;
  start_dynamic(&f);
  float data[8] = {1, 2, 3};
  assert_refused(etx_method_prepare(&f.loaded.method, &diag), ETX_BAD_STATE,
                 "never set");
  set_floats(&f, 0, data, 3);
  assert_ok(etx_method_prepare(&f.loaded.method, &diag));
  assert_int_equal(test_output_tensor(&f.loaded.method, 0)->sizes[0], 3);
  test_prepare_count = 0;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(test_prepare_count, 0);
  end(&f);
}

// A view follows the input's memory when it is replaced without a new size.
static void a_view_of_an_input_follows_its_memory(void** state) {
  (void)state;
  run_fixture f;
  test_program* p = f.p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4)), "x");
  const int half = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  const int whole = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2, 2));
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int z = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2, 2), 16);
  const int alpha = test_int(p, 1);
  const int two = test_int(p, 2);
  const int sizes = test_ints(p, ARGS(two, two));
  test_view(p, half, x, 8);
  test_call(p, "aten::add", "out", ARGS(half, half, alpha, y, y));
  test_call(p, "executorch_prim::et_view", "default", ARGS(x, sizes, whole));
  test_call(p, "aten::add", "out", ARGS(whole, whole, alpha, z, z));
  test_output(p, y, "y");
  test_output(p, z, "z");
  test_output(p, whole, "whole");
  load(&f, "forward");
  float first[4] = {1, 2, 3, 4};
  float second[4] = {5, 6, 7, 8};
  set_floats(&f, 0, first, 4);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  set_floats(&f, 0, second, 4);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const float wanted_y[2] = {14, 16};
  const float wanted_z[4] = {10, 12, 14, 16};
  assert_memory_equal(test_output_tensor(&f.loaded.method, 0)->data, wanted_y,
                      sizeof wanted_y);
  assert_memory_equal(test_output_tensor(&f.loaded.method, 1)->data, wanted_z,
                      sizeof wanted_z);
  assert_ptr_equal(test_output_tensor(&f.loaded.method, 2)->data, second);
  end(&f);
}

// y = x[1:] + x[1:]: a view whose start is fixed and whose size is dynamic.
static void a_dynamic_slice_of_an_input_is_a_view(void** state) {
  (void)state;
  run_fixture f;
  test_program* p = f.p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4))), "x");
  const int part =
      test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(3)));
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(3), 0));
  const int zero = test_int(p, 0);
  const int one = test_int(p, 1);
  const int less = test_int(p, -1);
  const int size = test_int(p, 4);
  const int length = test_int(p, 3);
  const int sizes = test_ints(p, ARGS(length));
  test_call(p, "aten::sym_size", "int", ARGS(x, zero, size));
  test_call(p, "executorch_prim::add", "Scalar", ARGS(size, less, length));
  test_call(p, "etx::part_view", "default", ARGS(x, one, sizes, part));
  test_call(p, "aten::add", "out", ARGS(part, part, one, y, y));
  test_output(p, y, "y");
  const uint32_t s = test_symbol(p, "s", 2, 4);
  test_dim(p, 0, 0, s, 1, 0);
  load(&f, "forward");
  float data[4] = {1, 2, 3, 4};
  for (int32_t count = 4; count > 1; --count) {
    set_floats(&f, 0, data, count);
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const etx_tensor* shown = test_output_tensor(&f.loaded.method, 0);
    const float wanted[3] = {4, 6, 8};
    assert_int_equal(shown->sizes[0], count - 1);
    assert_memory_equal(shown->data, wanted,
                        (size_t)(count - 1) * sizeof *wanted);
  }
  end(&f);
}

// Dynamic slices as programs for ExecuTorch's runtime have them: z = x + c[:n]
// + s[:n]. Operator `name` either only sets the sizes of constant c
// (aten::empty), or writes it. The sizes of s, a part of state, are set too.
static void start_sized(run_fixture* f, const char* name, int32_t room) {
  static const float rows[4] = {10, 20, 30, 40};
  test_program* p = f->p = test_program_new();
  const uint32_t data = test_data(p, rows, sizeof rows);
  test_method(p, "forward");
  test_arenas(p, 64, 64);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(8))), "x");
  const int c =
      test_dynamic(p, test_constant(p, ETX_DTYPE_FLOAT32, SIZES(room), data));
  const int s =
      test_dynamic(p, test_planned(p, ETX_DTYPE_FLOAT32, SIZES(4), 2, 16));
  const int y =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0));
  const int z =
      test_dynamic(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 16));
  const int zero = test_int(p, 0);
  const int one = test_int(p, 1);
  const int size = test_int(p, 4);
  const int sizes = test_ints(p, ARGS(size));
  const int none = test_none(p);
  test_call(p, "aten::sym_size", "int", ARGS(x, zero, size));
  if (strcmp(name, "aten::empty") == 0) {
    test_call(p, name, "out", ARGS(sizes, none, c, c));
  } else {
    test_call(p, name, "out", ARGS(x, c, one, c, c));
  }
  test_call(p, "aten::empty", "out", ARGS(sizes, none, s, s));
  test_call(p, "aten::add", "out", ARGS(x, c, one, y, y));
  test_call(p, "aten::add", "out", ARGS(y, s, one, z, z));
  test_output(p, z, "z");
}

static void a_tensor_that_is_only_resized_keeps_its_bytes(void** state) {
  (void)state;
  run_fixture f;
  start_sized(&f, "aten::empty", 4);
  load(&f, "forward");
  float data[5] = {1, 2, 3, 4, 5};
  float kept[4] = {100, 200, 300, 400};
  memcpy(f.arena + 16, kept, sizeof kept);
  for (int32_t count = 4; count >= 0; --count) {
    const float wanted[4] = {111, 222, 333, 444};
    set_floats(&f, 0, data, count);
    assert_ok(etx_method_run(&f.loaded.method, &diag));
    const etx_tensor* shown = test_output_tensor(&f.loaded.method, 0);
    assert_int_equal(shown->sizes[0], count);
    assert_memory_equal(shown->data, wanted, (size_t)count * sizeof *wanted);
  }
  assert_memory_equal(f.arena + 16, kept, sizeof kept);
  // Sizes above the bound are refused.
  set_floats(&f, 0, data, 5);
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_OUT_OF_RANGE,
                 "has room for 4 elements, found 5");
  assert_int_equal(f.torn, 0);
  end(&f);
}

static void resizing_a_constant_does_not_make_it_writable(void** state) {
  (void)state;
  run_fixture f;
  start_sized(&f, "aten::add", 4);
  assert_ok(etx_program_open(&f.program, test_file(f.p), &test_few_kernels,
                             NULL, &diag));
  const etx_planned_memory memory = session(&f);
  assert_refused(test_load(&f.loaded, &f.program, "forward", &memory, &diag),
                 ETX_BAD_FILE, "expected a writable tensor");
  test_program_end(f.p);
  // A tensor past the end of the constant it lies in.
  start_sized(&f, "aten::empty", 5);
  assert_refused(etx_program_open(&f.program, test_file(f.p), &test_few_kernels,
                                  NULL, &diag),
                 ETX_BAD_FILE, "constant");
  test_program_end(f.p);
}

// A view of fixed size over an input that is too short for it.
static void a_view_past_the_end_of_its_input_is_refused(void** state) {
  (void)state;
  run_fixture f;
  test_program* p = f.p = test_program_new();
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(4))), "x");
  const int half = test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2));
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int alpha = test_int(p, 1);
  test_view(p, half, x, 8);
  test_call(p, "aten::add", "out", ARGS(half, half, alpha, y, y));
  const uint32_t s = test_symbol(p, "s", 1, 4);
  test_dim(p, 0, 0, s, 1, 0);
  load(&f, "forward");
  float data[4] = {1, 2, 3, 4};
  set_floats(&f, 0, data, 3);
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_FILE,
                 "needs 8 bytes and has 4");
  set_floats(&f, 0, data, 4);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  end(&f);
}

// Writes into state, then fails because of an index in its input.
static void start_state(run_fixture* f) {
  test_program* p = f->p = test_program_new();
  test_blob(p);
  test_method(p, "put");
  test_arenas(p, 64, 64);
  const int at =
      test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "at");
  const int value =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "value");
  const int check =
      test_input(p, test_borrowed(p, ETX_DTYPE_INT64, SIZES(2)), "check");
  const int s = test_state(p, "s", ETX_DTYPE_FLOAT32, SIZES(4), 16);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int accumulate = test_bool(p, false);
  const int indices = test_optional_tensors(p, ARGS(at));
  const int checks = test_optional_tensors(p, ARGS(check));
  test_call(p, "aten::index_put", "out",
            ARGS(s, checks, value, accumulate, y, y));
  test_call(p, "aten::index_put", "out",
            ARGS(s, indices, value, accumulate, s, s));
  test_output(p, s, "s");
  test_state_row(p, "s", ETX_DTYPE_FLOAT32, SIZES(4), 16, 0);
  load(f, "put");
}

static void set_indices(run_fixture* f, size_t index, int64_t* data) {
  const etx_tensor tensor = TEST_TENSOR(data, ETX_DTYPE_INT64, 2);
  assert_ok(etx_method_set_input(&f->loaded.method, index, &tensor, &diag));
}

static void a_run_that_fails_before_it_writes_state_keeps_it(void** state) {
  (void)state;
  run_fixture f;
  start_state(&f);
  int64_t good[2] = {1, 3};
  int64_t bad[2] = {1, 4};
  float values[2] = {5, 6};
  set_indices(&f, 0, good);
  set_indices(&f, 2, bad);
  set_floats(&f, 1, values, 2);
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT,
                 "index 4 is outside 0 to 3, in 'aten::index_put.out' (method "
                 "'put', instruction 0)");
  assert_int_equal(f.torn, 0);
  for (size_t i = 0; i < sizeof f.arena; ++i) assert_int_equal(f.arena[i], 0);
  set_indices(&f, 2, good);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const float wanted[4] = {0, 5, 0, 6};
  assert_memory_equal(f.arena + 16, wanted, sizeof wanted);
  assert_int_equal(f.torn, 0);
  end(&f);
}

static void a_run_that_fails_after_it_wrote_state_tears_it(void** state) {
  (void)state;
  run_fixture f;
  start_state(&f);
  int64_t good[2] = {1, 3};
  int64_t bad[2] = {1, 99};
  float values[2] = {5, 6};
  set_indices(&f, 0, bad);
  set_indices(&f, 2, good);
  set_floats(&f, 1, values, 2);
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_BAD_ARGUMENT,
                 "instruction 1");
  assert_int_not_equal(f.torn, 0);
  set_indices(&f, 0, good);
  assert_refused(etx_method_run(&f.loaded.method, &diag), ETX_TORN_STATE,
                 "half-written");
  f.torn = 0;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  end(&f);
}

static void another_session_only_changes_pointers(void** state) {
  (void)state;
  run_fixture f;
  start_state(&f);
  int64_t good[2] = {0, 1};
  float values[2] = {5, 6};
  set_indices(&f, 0, good);
  set_indices(&f, 2, good);
  set_floats(&f, 1, values, 2);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  _Alignas(16) uint8_t other[64] = {0};
  uint32_t torn = 0;
  const etx_planned_memory second = {other, sizeof other, &torn};
  assert_ok(etx_method_bind(&f.loaded.method, &second, &diag));
  assert_ptr_equal(test_output_tensor(&f.loaded.method, 0)->data, other + 16);
  values[0] = 7;
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_true(((float*)(void*)(f.arena + 16))[0] == 5);
  assert_true(((float*)(void*)(other + 16))[0] == 7);
  const etx_planned_memory small = {other, 63, &torn};
  assert_status(etx_method_bind(&f.loaded.method, &small, &diag),
                ETX_OUT_OF_MEMORY);
  assert_status(etx_method_bind(&f.loaded.method, NULL, &diag),
                ETX_BAD_ARGUMENT);
  end(&f);
}

// A kernel that calls its own method, as a second thread might.
static etx_method* entered;
static etx_status second_run;
static etx_status second_prepare;
static etx_status second_bind;

static etx_status run_and_enter(etx_call* call) {
  static uint32_t torn;
  static _Alignas(16) uint8_t arena[64];
  const etx_planned_memory other = {arena, sizeof arena, &torn};
  (void)call;
  second_run = etx_method_run(entered, NULL);
  second_prepare = etx_method_prepare(entered, NULL);
  second_bind = etx_method_bind(entered, &other, NULL);
  return ETX_OK;
}

static etx_status prepare_entering(etx_call* call) {
  call->run = run_and_enter;
  return ETX_OK;
}

static void a_method_in_use_is_busy(void** state) {
  (void)state;
  static const etx_kernel kernels[] = {
      {&etx_op_row_relu_out, prepare_entering, NULL, NULL}};
  static const etx_kernel_table table = {kernels, 1, NULL};
  run_fixture f;
  test_program* p = f.p = test_program_new();
  test_method(p, "forward");
  test_arenas(p, 64, 64);
  const int s = test_state(p, "s", ETX_DTYPE_FLOAT32, SIZES(1), 0);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(1), 0);
  test_call(p, "aten::relu", "out", ARGS(s, y, y));
  f.torn = 0;
  const etx_planned_memory arena = session(&f);
  assert_ok(etx_program_open(&f.program, test_file(p), &table, NULL, &diag));
  assert_ok(test_load(&f.loaded, &f.program, "forward", &arena, &diag));
  entered = &f.loaded.method;
  assert_ok(etx_method_run(entered, &diag));
  assert_int_equal(second_run, ETX_BAD_STATE);
  assert_int_equal(second_prepare, ETX_BAD_STATE);
  assert_int_equal(second_bind, ETX_BAD_STATE);
  // The method is free again afterwards.
  assert_ok(etx_method_run(entered, &diag));
  end(&f);
}

static void constants_are_read_where_the_file_has_them(void** state) {
  (void)state;
  run_fixture f;
  static const float values[4] = {1, 2, 3, 4};
  test_program* p = f.p = test_program_new();
  const uint32_t data = test_data(p, values, sizeof values);
  test_method(p, "forward");
  test_arenas(p, 0, 0);
  const int c = test_constant(p, ETX_DTYPE_FLOAT32, SIZES(4), data);
  test_output(p, c, "");
  load(&f, "forward");
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const uint8_t* at = test_output_tensor(&f.loaded.method, 0)->data;
  const etx_bytes file = f.program.pte.file;
  assert_true(at >= file.data && at + sizeof values <= file.data + file.size);
  assert_memory_equal(at, values, sizeof values);
  end(&f);
}

// A stock file keeps its state in private arenas: zeros first, then its initial
// data.
static void private_state_starts_with_its_initial_data(void** state) {
  (void)state;
  run_fixture f;
  static const float start_value[2] = {10, 20};
  test_program* p = f.p = test_program_new();
  const uint32_t data = test_initial_data(p, start_value, sizeof start_value);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int s =
      test_initial(p, test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0), data);
  const int zero = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 32);
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 16);
  const int alpha = test_int(p, 1);
  const int blocking = test_bool(p, false);
  test_call(p, "aten::add", "out", ARGS(s, s, alpha, y, y));
  test_call(p, "aten::add", "out", ARGS(y, zero, alpha, y, y));
  test_call(p, "aten::copy_", "", ARGS(s, y, blocking, s));
  test_output(p, s, "");
  load(&f, "forward");
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  const float wanted[2] = {40, 80};
  assert_memory_equal(test_output_tensor(&f.loaded.method, 0)->data, wanted,
                      sizeof wanted);
  end(&f);
}

// A check of the model may exclude the sizes that a method is loaded with: then
// it is loaded, and a run of these sizes is refused.
static void a_check_that_fails_at_the_bounds_refuses_their_run(void** state) {
  (void)state;
  test_program* p = test_program_new();
  etx_program program;
  test_loaded loaded;
  float data[8] = {0};
  test_blob(p);
  test_method(p, "forward");
  const int x = test_input(
      p, test_dynamic(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(8))), "x");
  test_dim(p, 0, 0, test_symbol(p, "n", 1, 8), 1, 0);
  const int size = test_int(p, 0), number = test_int(p, 0);
  test_call(p, "aten::sym_size", "int", ARGS(x, test_int(p, 0), size));
  test_call(
      p, "etx::check_range", "",
      ARGS(size, test_int(p, 1), test_int(p, 4), test_string(p, "n"), number));
  test_output(p, number, "n");
  assert_ok(
      etx_program_open(&program, test_file(p), &etx_all_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  for (int32_t count = 8; count > 2; --count) {
    const etx_tensor input = TEST_TENSOR(data, ETX_DTYPE_FLOAT32, count);
    assert_ok(etx_method_set_input(&loaded.method, 0, &input, &diag));
    assert_status(etx_method_run(&loaded.method, &diag),
                  count > 4 ? ETX_BAD_ARGUMENT : ETX_OK);
  }
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

// State in a private arena may be one byte, which moves to other memory and has
// its initial data there again.
static void one_byte_of_initial_data_is_enough(void** state) {
  (void)state;
  run_fixture f;
  static const uint8_t five = 5;
  _Alignas(16) uint8_t other[64] = {0};
  test_program* p = f.p = test_program_new();
  const uint32_t data = test_initial_data(p, &five, 1);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int s =
      test_initial(p, test_scratch(p, ETX_DTYPE_UINT8, SIZES(1), 0), data);
  test_output(p, s, "");
  load(&f, "forward");
  etx_method* const method = &f.loaded.method;
  assert_ok(etx_method_run(method, &diag));
  assert_int_equal(*(const uint8_t*)test_output_tensor(method, 0)->data, 5);
  const etx_bytes_mut scratch = {other, sizeof other};
  assert_ok(etx_method_set_memory(method, scratch, method->temporary, &diag));
  assert_ptr_equal(test_output_tensor(method, 0)->data, other);
  assert_int_equal(other[0], 5);
  end(&f);
}

typedef struct seen {
  size_t instructions[8];
  size_t begun, ended;
} seen;

static void see_before(void* context, size_t instruction,
                       const etx_call* call) {
  seen* s = context;
  assert_int_equal(s->begun, s->ended);
  assert_true(call->op->id == ETX_OP_add_out);
  s->instructions[s->begun++] = instruction;
}

static void see_after(void* context, size_t instruction, const etx_call* call) {
  seen* s = context;
  (void)call;
  assert_int_equal(s->instructions[s->ended++], instruction);
}

static void an_observer_sees_each_kernel_call_in_order(void** state) {
  (void)state;
  run_fixture f;
  float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  seen s = {{0}, 0, 0};
  const etx_run_observer observer = {see_before, see_after, &s};
  start_dynamic(&f);
  set_floats(&f, 0, data, 5);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  etx_method_observe(&f.loaded.method, &observer);
  assert_int_equal(s.begun, 0);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(s.ended, 3);
  assert_int_equal(s.instructions[0], 0);
  assert_int_equal(s.instructions[1], 1);
  assert_int_equal(s.instructions[2], 4);
  etx_method_observe(&f.loaded.method, NULL);
  assert_ok(etx_method_run(&f.loaded.method, &diag));
  assert_int_equal(s.ended, 3);
  assert_true(
      ((const float*)test_output_tensor(&f.loaded.method, 0)->data)[4] == 11);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_DYNAMIC, an_observer_sees_each_kernel_call_in_order),
      unit_test_with(ETX_DYNAMIC, sizes_grow_and_shrink_within_their_bounds),
      unit_test_with(ETX_DYNAMIC,
                     kernels_are_prepared_only_when_their_sizes_change),
      unit_test_with(ETX_DYNAMIC, preparing_may_be_done_ahead_of_the_run),
      cmocka_unit_test(a_view_of_an_input_follows_its_memory),
      unit_test_with(ETX_DYNAMIC, a_dynamic_slice_of_an_input_is_a_view),
      unit_test_with(ETX_DYNAMIC,
                     a_tensor_that_is_only_resized_keeps_its_bytes),
      unit_test_with(ETX_VERIFIER && ETX_DYNAMIC,
                     resizing_a_constant_does_not_make_it_writable),
      unit_test_with(ETX_DYNAMIC, a_view_past_the_end_of_its_input_is_refused),
      cmocka_unit_test(a_run_that_fails_before_it_writes_state_keeps_it),
      cmocka_unit_test(a_run_that_fails_after_it_wrote_state_tears_it),
      cmocka_unit_test(another_session_only_changes_pointers),
      cmocka_unit_test(a_method_in_use_is_busy),
      cmocka_unit_test(constants_are_read_where_the_file_has_them),
      cmocka_unit_test(private_state_starts_with_its_initial_data),
      cmocka_unit_test(one_byte_of_initial_data_is_enough),
      unit_test_with(ETX_DYNAMIC,
                     a_check_that_fails_at_the_bounds_refuses_their_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
