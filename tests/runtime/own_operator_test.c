// Operators of an application: a row of its own in the table that it passes,
// with a schema, a shape function and a kernel that the library does not have;
// and a table that states which types its kernels are called with.

#include "format/shapes/op_shapes.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/test_program.h"

static etx_diag diag;

// my::scale(self, factor): every element times the factor.

static etx_status run_scale(etx_call* call) {
  const etx_tensor* const self = etx_call_tensor(call, 0);
  const etx_tensor* const out = etx_call_tensor(call, 2);
  const float factor = (float)etx_call_real(call, 1);
  for (size_t i = 0; i < etx_tensor_numel(self); ++i) {
    ((float*)out->data)[i] = ((const float*)self->data)[i] * factor;
  }
  return ETX_OK;
}

static etx_status prepare_scale(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(call, 0, ETX_DTYPE_FLOAT32));
  call->run = run_scale;
  return ETX_OK;
}

static const etx_op scale_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::scale", "out"),
    .arguments = "Tensor self, float factor, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_ELEMENTWISE,
    .shape = etx_shape_same,
};

// my::halves(self): the two halves of a vector, as two outputs.

static etx_status shape_halves(etx_shape_call* call) {
  etx_shape half;
  if (!call->tensor(call->context, 0, 0, &half) || half.rank != 1 ||
      !etx_dim_is_number(half.dims[0]) || half.dims[0] % 2 != 0) {
    return etx_diag_fail(
        call->diag, ETX_BAD_ARGUMENT,
        "'self' is not a vector of an even number of elements");
  }
  half.dims[0] /= 2;
  ETX_TRY(call->output(call->context, 0, &half));
  return call->output(call->context, 1, &half);
}

static etx_status run_halves(etx_call* call) {
  const etx_tensor* const self = etx_call_tensor(call, 0);
  const size_t bytes = etx_tensor_bytes(self) / 2;
  memcpy(etx_call_tensor(call, 1)->data, self->data, bytes);
  memcpy(etx_call_tensor(call, 2)->data, (const char*)self->data + bytes,
         bytes);
  return ETX_OK;
}

static etx_status prepare_halves(etx_call* call) {
  call->run = run_halves;
  return ETX_OK;
}

static const etx_op halves_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::halves", "out"),
    .arguments = "Tensor self, *, Tensor(a!) first, Tensor(b!) second",
    .result = ETX_RESULT_OUT_LIST,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_halves,
};

// my::above(self, limit): the elements above the limit.

static etx_status shape_above(etx_shape_call* call) {
  etx_shape most;
  if (!call->tensor(call->context, 0, 0, &most) || most.rank != 1) {
    return etx_diag_fail(call->diag, ETX_BAD_ARGUMENT, "'self' is no vector");
  }
  if (call->output_at_most == NULL) return ETX_UNSUPPORTED;
  return call->output_at_most(call->context, 0, &most);
}

static etx_status run_above(etx_call* call) {
  const etx_tensor* const self = etx_call_tensor(call, 0);
  const float* const from = self->data;
  const float limit = (float)etx_call_real(call, 1);
  int32_t count = 0;
  for (size_t i = 0; i < etx_tensor_numel(self); ++i) count += from[i] > limit;
  ETX_TRY(etx_call_resize_out(call, 2, &count));
  float* to = etx_call_tensor(call, 2)->data;
  for (size_t i = 0; i < etx_tensor_numel(self); ++i) {
    if (from[i] > limit) *to++ = from[i];
  }
  return ETX_OK;
}

static etx_status prepare_above(etx_call* call) {
  call->run = run_above;
  return ETX_OK;
}

static const etx_op above_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::above", ""),
    .may_size_by_data = true,
    .arguments = "Tensor self, float limit, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_above,
};

// my::add_to(total!, self): changes its first argument.

static etx_status run_add_to(etx_call* call) {
  const etx_tensor* const total = etx_call_tensor(call, 0);
  const float* const self = etx_call_tensor(call, 1)->data;
  for (size_t i = 0; i < etx_tensor_numel(total); ++i) {
    ((float*)total->data)[i] += self[i];
  }
  return ETX_OK;
}

static etx_status prepare_add_to(etx_call* call) {
  call->run = run_add_to;
  return ETX_OK;
}

static const etx_op add_to_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::add_to", ""),
    .arguments = "Tensor(a!) total, Tensor self",
    .result = ETX_RESULT_SELF,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = etx_shape_same,
};

static const etx_kernel kernels[] = {
    {&scale_row, prepare_scale, NULL, NULL},
    {&halves_row, prepare_halves, NULL, NULL},
    {&above_row, prepare_above, NULL, NULL},
    {&add_to_row, prepare_add_to, NULL, NULL},
};
static const etx_kernel_table table = {kernels, 4, NULL};

typedef struct own_fixture {
  test_program* p;
  etx_program program;
  test_loaded loaded;
  int x;
} own_fixture;

static void start(own_fixture* f, etx_dtype dtype, int64_t state_bytes) {
  f->p = test_program_new();
  test_method(f->p, "forward");
  test_arenas(f->p, 64, state_bytes);
  f->x = test_input(f->p, test_borrowed(f->p, dtype, SIZES(4)), "");
}

static etx_status load_with(own_fixture* f, const etx_kernel_table* kernels_of,
                            const etx_planned_memory* state) {
  ETX_TRY(
      etx_program_open(&f->program, test_file(f->p), kernels_of, NULL, &diag));
  return test_load(&f->loaded, &f->program, "forward", state, &diag);
}

static void run(own_fixture* f, float* x) {
  const etx_tensor tensor = TEST_TENSOR(x, ETX_DTYPE_FLOAT32, 4);
  assert_ok(etx_method_set_input(&f->loaded.method, 0, &tensor, &diag));
  assert_ok(etx_method_run(&f->loaded.method, &diag));
}

static const float* output(own_fixture* f, size_t index) {
  return test_output_tensor(&f->loaded.method, index)->data;
}

static void end(own_fixture* f) {
  assert_true(test_unload(&f->loaded));
  test_program_end(f->p);
}

// y = my::scale(x, factor)
static void call_scale(own_fixture* f, int factor) {
  const int y = test_scratch(f->p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  test_call(f->p, "my::scale", "out", ARGS(f->x, factor, y, y));
  test_output(f->p, y, "");
}

static void an_own_kernel_runs(void** state) {
  (void)state;
  own_fixture f;
  float x[4] = {1, -2, 3, 4};
  start(&f, ETX_DTYPE_FLOAT32, 0);
  call_scale(&f, test_double(f.p, 2.5));
  assert_ok(load_with(&f, &table, NULL));
  run(&f, x);
  static const float expected[4] = {2.5f, -5, 7.5f, 10};
  assert_memory_equal(output(&f, 0), expected, sizeof expected);
  end(&f);
}

static void two_outputs_are_a_list(void** state) {
  (void)state;
  own_fixture f;
  float x[4] = {1, 2, 3, 4};
  start(&f, ETX_DTYPE_FLOAT32, 0);
  const int a = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int b = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 16);
  const int list = test_tensors(f.p, (int[]){a, b}, 2);
  test_call(f.p, "my::halves", "out", ARGS(f.x, a, b, list));
  test_output(f.p, a, "");
  test_output(f.p, b, "");
  assert_ok(load_with(&f, &table, NULL));
  run(&f, x);
  assert_memory_equal(output(&f, 0), x, 2 * sizeof *x);
  assert_memory_equal(output(&f, 1), x + 2, 2 * sizeof *x);
  end(&f);
}

static void an_output_may_have_a_size_that_the_kernel_finds(void** state) {
  (void)state;
  own_fixture f;
  float rows[2][4] = {{1, 5, 0, 7}, {0, 1, 2, 1}};
  start(&f, ETX_DTYPE_FLOAT32, 0);
  const int y = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  test_dynamic(f.p, y);
  test_call(f.p, "my::above", "", ARGS(f.x, test_double(f.p, 3), y, y));
  test_output(f.p, y, "");
  assert_ok(load_with(&f, &table, NULL));
  run(&f, rows[0]);
  assert_int_equal(test_output_tensor(&f.loaded.method, 0)->sizes[0], 2);
  assert_true(output(&f, 0)[0] == 5 && output(&f, 0)[1] == 7);
  run(&f, rows[1]);
  assert_int_equal(test_output_tensor(&f.loaded.method, 0)->sizes[0], 0);
  end(&f);
}

static void an_own_operator_changes_a_state(void** unused) {
  (void)unused;
  own_fixture f;
  _Alignas(16) float total[16] = {10, 20, 30, 40};
  uint32_t torn = 0;
  const etx_planned_memory state = {(uint8_t*)total, sizeof total, &torn};
  float x[4] = {1, 2, 3, 4};
  start(&f, ETX_DTYPE_FLOAT32, 64);
  const int s = test_state(f.p, "total", ETX_DTYPE_FLOAT32, SIZES(4), 0);
  test_call(f.p, "my::add_to", "", ARGS(s, f.x, s));
  test_output(f.p, s, "");
  assert_ok(load_with(&f, &table, &state));
  run(&f, x);
  run(&f, x);
  static const float expected[4] = {12, 24, 36, 48};
  assert_memory_equal(total, expected, sizeof expected);
  end(&f);
}

static void a_table_without_the_row_is_refused_by_name(void** state) {
  (void)state;
  own_fixture f;
  start(&f, ETX_DTYPE_FLOAT32, 0);
  call_scale(&f, test_double(f.p, 2));
  assert_refused(load_with(&f, &etx_all_kernels, NULL), ETX_MISSING_OPERATOR,
                 "operator 'my::scale.out' of instruction 0 of method "
                 "'forward' is missing");
  test_program_end(f.p);
}

static void another_type_is_refused_by_name(void** state) {
  (void)state;
  own_fixture f;
  start(&f, ETX_DTYPE_INT64, 0);
  const int y = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(4), 0);
  test_call(f.p, "my::scale", "out", ARGS(f.x, test_double(f.p, 2), y, y));
  test_output(f.p, y, "");
  assert_refused(load_with(&f, &table, NULL), ETX_BAD_ARGUMENT,
                 "'self' has type 'int64', expected 'float32'");
  test_program_end(f.p);
}

static void calls_that_the_schema_excludes_are_refused(void** state) {
  (void)state;
  own_fixture f;
  start(&f, ETX_DTYPE_FLOAT32, 0);
  call_scale(&f, test_string(f.p, "two"));
  assert_refused(load_with(&f, &table, NULL), ETX_BAD_FILE, "factor");
  test_program_end(f.p);
  start(&f, ETX_DTYPE_FLOAT32, 0);
  const int y = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  test_call(f.p, "my::scale", "out", ARGS(f.x, y, y));
  test_output(f.p, y, "");
  assert_refused(load_with(&f, &table, NULL), ETX_BAD_FILE, "my::scale");
  test_program_end(f.p);
}

// ------------------------------------------------ cells: which types a table
// has

#define FLOATS (UINT32_C(1) << ETX_DTYPE_FLOAT32)
#define INTEGERS (UINT32_C(1) << ETX_DTYPE_INT64)

static etx_status load_with_cells(own_fixture* f, const uint32_t dtypes[4]) {
  const etx_cells cells = {dtypes, UINT32_MAX, "do this",
                           etx_missing_cells_check};
  const etx_kernel_table chosen = {kernels, 4, &cells};
  return load_with(f, &chosen, NULL);
}

static void types_that_the_cells_have_are_loaded(void** state) {
  (void)state;
  own_fixture f;
  static const uint32_t dtypes[4] = {FLOATS, 0, 0, 0};
  start(&f, ETX_DTYPE_FLOAT32, 0);
  call_scale(&f, test_double(f.p, 2));
  assert_ok(load_with_cells(&f, dtypes));
  end(&f);
}

static void a_type_outside_the_cells_is_refused_by_name(void** state) {
  (void)state;
  own_fixture f;
  static const uint32_t dtypes[4] = {INTEGERS, FLOATS, FLOATS, FLOATS};
  start(&f, ETX_DTYPE_FLOAT32, 0);
  call_scale(&f, test_double(f.p, 2));
  assert_refused(load_with_cells(&f, dtypes), ETX_UNSUPPORTED,
                 "method 'forward' needs what the selection of this build does "
                 "not have: 'my::scale.out' has no float32; do this");
  test_program_end(f.p);
}

static void a_type_in_a_list_is_a_cell_too(void** state) {
  (void)state;
  own_fixture f;
  static const uint32_t dtypes[4] = {0, FLOATS, 0, 0};
  start(&f, ETX_DTYPE_FLOAT32, 0);
  const int a = test_scratch(f.p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  const int b = test_scratch(f.p, ETX_DTYPE_INT64, SIZES(2), 16);
  const int list = test_tensors(f.p, (int[]){a, b}, 2);
  test_call(f.p, "my::halves", "out", ARGS(f.x, a, a, list));
  test_output(f.p, a, "");
  assert_refused(load_with_cells(&f, dtypes), ETX_UNSUPPORTED,
                 "'my::halves.out' has no int64");
  test_program_end(f.p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_own_kernel_runs),
      cmocka_unit_test(two_outputs_are_a_list),
      unit_test_with(ETX_CONTROL_FLOW,
                     an_output_may_have_a_size_that_the_kernel_finds),
      cmocka_unit_test(an_own_operator_changes_a_state),
      cmocka_unit_test(a_table_without_the_row_is_refused_by_name),
      cmocka_unit_test(another_type_is_refused_by_name),
      cmocka_unit_test(types_that_the_cells_have_are_loaded),
      unit_test_with(ETX_CELLS, a_type_outside_the_cells_is_refused_by_name),
      unit_test_with(ETX_CELLS, a_type_in_a_list_is_a_cell_too),
      unit_test_with(ETX_VERIFIER, calls_that_the_schema_excludes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
