// Operators of an application whose shape functions or kernels state sizes
// that they must not.

#include "format/shapes/op_shapes.h"
#include "tests/runtime/shapes/sized_pair.h"
#include "tests/support/optional_parts.h"

static etx_diag diag;

enum { ROOM = 8 };

// What the kernel of my::parts sets.
static int32_t found[2];

static etx_status shape_parts(etx_shape_call* call) {
  etx_shape self;
  if (!call->tensor(call->context, 0, 0, &self)) return ETX_BAD_ARGUMENT;
  ETX_TRY(call->output_at_most(call->context, 0, &self));
  return call->output(call->context, 1, &self);
}

static etx_status run_parts(etx_call* call) {
  ETX_TRY(etx_call_resize_out(call, 1, &found[0]));
  return etx_call_resize_out(call, 2, &found[1]);
}

static etx_status prepare_parts(etx_call* call) {
  call->run = run_parts;
  return ETX_OK;
}

// my::parts(self): the kernel finds the size of the first output alone.
static const etx_op parts_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::parts", "out"),
    .may_size_by_data = true,
    .arguments = "Tensor self, *, Tensor(a!) first, Tensor(b!) second",
    .result = ETX_RESULT_OUT_LIST,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_parts,
};

static etx_status shape_some(etx_shape_call* call) {
  etx_shape self;
  if (!call->tensor(call->context, 0, 0, &self)) return ETX_BAD_ARGUMENT;
  return call->output_at_most(call->context, 0, &self);
}

// my::some(self): the row does not say that its kernel finds the size.
static const etx_op some_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::some", "out"),
    .arguments = "Tensor self, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_some,
};

static etx_status shape_below_zero(etx_shape_call* call) {
  const etx_shape shape = {ETX_DTYPE_FLOAT32, 1, {-2}};
  return call->output(call->context, 0, &shape);
}

// my::below(self): its result has -2 elements.
static const etx_op below_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::below", "out"),
    .arguments = "Tensor self, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_below_zero,
};

static etx_status shape_sevens(etx_shape_call* call) {
  const etx_shape shape = {ETX_DTYPE_FLOAT32, 1, {4}};
  return call->output(call->context, 0, &shape);
}

static etx_status run_sevens(etx_call* call) {
  const etx_tensor* const out = etx_call_tensor(call, 0);
  for (size_t i = 0; i < 4; ++i) ((float*)out->data)[i] = 7;
  return ETX_OK;
}

static etx_status prepare_sevens(etx_call* call) {
  call->run = run_sevens;
  return ETX_OK;
}

// my::sevens(): an operator without operands.
static const etx_op sevens_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::sevens", "out"),
    .arguments = "*, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_sevens,
};

// Reads every argument as what it is not, and the number as what it is.
static etx_status shape_curious(etx_shape_call* call) {
  void* const context = call->context;
  etx_shape self, none;
  double number = 0;
  assert_true(call->tensor(context, 0, 0, &self));
  assert_false(call->tensor(context, 1, 0, &none));
  assert_int_equal(call->list_count(context, 0), 0);
  assert_int_equal(call->list_count(context, 2), 2);
  assert_int_equal(call->list_count(context, 3), 3);
  assert_int_equal(call->integer(context, 0, 0), 0);
  assert_int_equal(call->integer(context, 3, 1), 1);
  assert_int_equal(call->integer(context, 4, 0), 1);
  assert_true(call->real(context, 0, 0) == 0);
  assert_true(call->real(context, 2, 1) == 2.5);
  assert_true(call->real(context, 4, 0) == 1);
  assert_int_equal(call->kind(context, 2), ETX_SHAPE_LIST);
  assert_int_equal(call->kind(context, 4), ETX_SHAPE_BOOL);
  assert_int_equal(call->kind(context, 5), ETX_SHAPE_STRING);
  number = call->real(context, 1, 0);
  assert_true(number >= 0 && number <= ROOM);
  return call->output(context, 0, &self);
}

// my::curious(self, number, reals, truths, truth, text)
static const etx_op curious_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::curious", "out"),
    .arguments =
        "Tensor self, int number, float[] reals, bool[] truths, "
        "bool truth, str text, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_curious,
};

static etx_status shape_first(etx_shape_call* call) {
  etx_shape self;
  if (!call->tensor(call->context, 0, 0, &self)) return ETX_BAD_ARGUMENT;
  return call->output(call->context, 0, &self);
}

// my::first(self): forgets its second result.
static const etx_op first_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::first", "out"),
    .arguments = "Tensor self, *, Tensor(a!) first, Tensor(b!) second",
    .result = ETX_RESULT_OUT_LIST,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_first,
};

static etx_status run_curious(etx_call* call) {
  const etx_tensor* const self = etx_call_tensor(call, 0);
  memcpy(etx_call_tensor(call, 6)->data, self->data, etx_tensor_bytes(self));
  return ETX_OK;
}

static etx_status prepare_curious(etx_call* call) {
  call->run = run_curious;
  return ETX_OK;
}

static etx_status shape_second(etx_shape_call* call) {
  etx_shape self;
  if (!call->tensor(call->context, 1, 0, &self)) return ETX_BAD_ARGUMENT;
  return call->output(call->context, 0, &self);
}

static etx_status run_scale(etx_call* call) {
  const etx_tensor* const self = etx_call_tensor(call, 1);
  const float factor = (float)etx_call_integer(call, 0);
  float* const out = etx_call_tensor(call, 2)->data;
  for (size_t i = 0; i < etx_tensor_numel(self); ++i) {
    out[i] = factor * ((const float*)self->data)[i];
  }
  return ETX_OK;
}

static etx_status prepare_scale(etx_call* call) {
  call->run = run_scale;
  return ETX_OK;
}

// my::scale(factor, self): may overwrite self, which is not the first argument.
static const etx_op scale_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::scale", "out"),
    .arguments = "int factor, Tensor self, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_SELF,
    .shape = shape_second,
};

static size_t looks;  // calls of my::look

static etx_status shape_nothing(etx_shape_call* call) {
  (void)call;
  return ETX_OK;
}

static etx_status run_look(etx_call* call) {
  (void)call;
  ++looks;
  return ETX_OK;
}

static etx_status prepare_look(etx_call* call) {
  call->run = run_look;
  return ETX_OK;
}

// my::look(self): writes nothing.
static const etx_op look_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::look", ""),
    .arguments = "Tensor self",
    .result = ETX_RESULT_NONE,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = shape_nothing,
};

static etx_status run_copy(etx_call* call) {
  const etx_tensor* const self = etx_call_tensor(call, 0);
  memcpy(etx_call_tensor(call, 1)->data, self->data, etx_tensor_bytes(self));
  return ETX_OK;
}

static etx_status prepare_copy(etx_call* call) {
  call->run = run_copy;
  return ETX_OK;
}

// my::copy(self)
static const etx_op copy_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::copy", "out"),
    .arguments = "Tensor self, *, Tensor(a!) out",
    .result = ETX_RESULT_OUT,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = etx_shape_same,
};

static etx_status run_seven(etx_call* call) {
  etx_value* const out = etx_call_out(call, 0);
  out->kind = ETX_VALUE_INT;
  out->as.integer = 7;
  return ETX_OK;
}

static etx_status prepare_seven(etx_call* call) {
  call->run = run_seven;
  return ETX_OK;
}

// my::seven(): a number, without operands.
static const etx_op seven_row = {
    .id = ETX_OP_COUNT,
    ETX_OP_NAME("my::seven", ""),
    .arguments = "",
    .result = ETX_RESULT_SCALAR,
    .in_place = ETX_IN_PLACE_NEVER,
    .shape = etx_shape_by_kernel,
};

static const etx_kernel kernels[] = {
    {&seven_row, prepare_seven, NULL, NULL},
    {&parts_row, prepare_parts, NULL, NULL},
    {&some_row, prepare_copy, NULL, NULL},
    {&below_row, prepare_copy, NULL, NULL},
    {&sevens_row, prepare_sevens, NULL, NULL},
    {&copy_row, prepare_copy, NULL, NULL},
    {&curious_row, prepare_curious, NULL, NULL},
    {&first_row, prepare_copy, NULL, NULL},
    {&look_row, prepare_look, NULL, NULL},
    {&scale_row, prepare_scale, NULL, NULL},
};
static const etx_kernel_table table = {kernels,
                                       sizeof kernels / sizeof *kernels, NULL};

static int add_floats(sized_pair* pair, uint64_t offset) {
  return test_dynamic(
      pair->p, test_scratch(pair->p, ETX_DTYPE_FLOAT32, SIZES(ROOM), offset));
}

static int start(sized_pair* pair) {
  sized_pair_start(pair);
  return sized_pair_input(pair, ETX_DTYPE_FLOAT32, SIZES(ROOM),
                          test_symbol(pair->p, "s", 1, ROOM));
}

static void kernels_set_sizes_that_are_free_alone(void** state) {
  (void)state;
  sized_pair pair;
  const int x = start(&pair);
  const int outs[2] = {add_floats(&pair, 0), add_floats(&pair, 64)};
  test_call(pair.p, "my::parts", "out",
            ARGS(x, outs[0], outs[1], test_tensors(pair.p, outs, 2)));
  test_output(pair.p, outs[0], "");
  test_output(pair.p, outs[1], "");
  sized_pair_load(&pair, &table);
  static const struct {
    int64_t size;
    int32_t found[2];
    etx_status status;
    const char* part;
  } rows[] = {{5, {2, 5}, ETX_OK, ""},
              {5,
               {-2, 5},
               ETX_OUT_OF_RANGE,
               "size -2 of dimension 0 is outside 0 to 2147483647"},
              {5, {2, 4}, ETX_INTERNAL, "was sized before the run and changes"},
              {6, {0, 6}, ETX_OK, ""},
              {6, {9, 6}, ETX_OUT_OF_RANGE, "has room for 8 elements, found 9"},
              {4, {4, 4}, ETX_OK, ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    memcpy(found, rows[i].found, sizeof found);
    if (rows[i].status != ETX_OK) {
      assert_refused(sized_pair_run(&pair, &rows[i].size, &diag),
                     rows[i].status, rows[i].part);
      continue;
    }
    assert_ok(sized_pair_run(&pair, &rows[i].size, &diag));
    for (size_t k = 0; k < 2; ++k) {
      assert_int_equal(sized_pair_output(&pair, k)->sizes[0], found[k]);
    }
  }
  sized_pair_end(&pair);
}

static void a_size_is_at_least_zero(void** state) {
  (void)state;
  sized_pair pair;
  etx_program program;
  test_loaded loaded;
  const int x = start(&pair), out = add_floats(&pair, 0);
  test_call(pair.p, "my::below", "out", ARGS(x, out, out));
  test_output(pair.p, out, "");
  assert_ok(etx_program_open(&program, test_file(pair.p), &table, NULL, &diag));
  assert_refused(test_load(&loaded, &program, "forward", NULL, &diag),
                 ETX_OUT_OF_RANGE,
                 "size -2 of dimension 0 is outside 0 to 2147483647");
  test_program_end(pair.p);
}

static void rows_say_that_kernels_set_sizes(void** state) {
  (void)state;
  sized_pair pair;
  const int x = start(&pair), out = add_floats(&pair, 0);
  test_call(pair.p, "my::some", "out", ARGS(x, out, out));
  test_output(pair.p, out, "");
  sized_pair_load(&pair, &table);
  assert_refused(sized_pair_run(&pair, &(int64_t){3}, &diag), ETX_INTERNAL,
                 "'my::some' is not in the list of operators whose sizes "
                 "depend on elements");
  sized_pair_end(&pair);
}

// The memory of the result is not known ahead, because it is released in the
// end.
static void a_late_call_may_have_no_operands(void** state) {
  (void)state;
  sized_pair pair;
  (void)start(&pair);
  test_program* const p = pair.p;
  const int sevens = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 0);
  const int out = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(4), 64);
  test_call(p, "my::sevens", "out", ARGS(sevens, sevens));
  test_call(p, "my::copy", "out", ARGS(sevens, out, out));
  test_release(p, sevens);
  test_output(p, out, "");
  test_lifetime(p, ETX_LIFETIME_STABLE);  // so that all memory stays
  sized_pair_load(&pair, &table);
  for (int64_t size = 2; size < 6; ++size) {
    static const float wanted[4] = {7, 7, 7, 7};
    assert_ok(sized_pair_run(&pair, &size, &diag));
    assert_memory_equal(sized_pair_output(&pair, 0)->data, wanted,
                        sizeof wanted);
  }
  sized_pair_end(&pair);
}

// The number varies, so sizes may not depend on it if it is read as a real one.
static void arguments_may_be_read_as_what_they_are_not(void** state) {
  (void)state;
  static const double reals[2] = {1.5, 2.5};
  static const uint8_t truths[3] = {0, 1, 0};
  for (int varies = 0; varies < 2; ++varies) {
    sized_pair pair;
    const int x = start(&pair), out = add_floats(&pair, 0);
    test_program* const p = pair.p;
    const int number = test_int(p, 3);
    if (varies != 0) {
      test_input(p, number, "");
      test_dim(p, 1, -1, 0, 1, 0);
    }
    test_call(
        p, "my::curious", "out",
        ARGS(x, number, test_doubles(p, reals, 2), test_bools(p, truths, 3),
             test_bool(p, true), test_string(p, "text"), out, out));
    test_output(p, out, "");
    sized_pair_load(&pair, &table);
    for (int64_t size = 2; size < 6; ++size) {
      assert_ok(sized_pair_run(&pair, &size, &diag));
      assert_int_equal(sized_pair_output(&pair, 0)->sizes[0], size);
    }
    assert_int_equal(sized_pair_is_used(&pair), varies == 0);
    sized_pair_end(&pair);
  }
}

// The call has one argument, which is the slot of its result. It is an input,
// too, so that the number depends on a symbol.
static void a_number_may_have_no_operands(void** state) {
  (void)state;
  sized_pair pair;
  (void)start(&pair);
  const int number = test_input(pair.p, test_int(pair.p, 3), "");
  test_dim(pair.p, 1, -1, 0, 1, 0);
  test_call(pair.p, "my::seven", "", ARGS(number));
  test_output(pair.p, number, "");
  sized_pair_load(&pair, &table);
  for (int64_t size = 2; size < 6; ++size) {
    const etx_value* result = NULL;
    assert_ok(sized_pair_run(&pair, &size, &diag));
    assert_ok(etx_method_output(&pair.loaded[0].method, 0, &result));
    assert_int_equal(result->as.integer, 7);
  }
  sized_pair_end(&pair);
}

static void each_result_needs_a_size(void** state) {
  (void)state;
  sized_pair pair;
  etx_program program;
  test_loaded loaded;
  const int x = start(&pair);
  const int outs[2] = {add_floats(&pair, 0), add_floats(&pair, 64)};
  test_call(pair.p, "my::first", "out",
            ARGS(x, outs[0], outs[1], test_tensors(pair.p, outs, 2)));
  test_output(pair.p, outs[0], "");
  assert_ok(etx_program_open(&program, test_file(pair.p), &table, NULL, &diag));
  assert_refused(test_load(&loaded, &program, "forward", NULL, &diag),
                 ETX_BAD_FILE, "'my::first' has 1 outputs, the call has more");
  test_program_end(pair.p);
}

// A call without results may do something else, so it is never left out.
static void a_call_without_results_is_run(void** state) {
  (void)state;
  sized_pair pair;
  const int x = start(&pair), out = add_floats(&pair, 0);
  test_call(pair.p, "my::look", "", ARGS(x));
  test_call(pair.p, "my::copy", "out", ARGS(x, out, out));
  test_output(pair.p, out, "");
  sized_pair_load(&pair, &table);
  looks = 0;
  for (int64_t size = 2; size < 6; ++size) {
    assert_ok(sized_pair_run(&pair, &size, &diag));
  }
  assert_int_equal(looks, 8);  // of both methods
  sized_pair_end(&pair);
}

static void the_first_tensor_may_be_overwritten(void** state) {
  (void)state;
  sized_pair pair;
  const int x = start(&pair), y = add_floats(&pair, 0);
  const int out = add_floats(&pair, 0);
  test_call(pair.p, "my::copy", "out", ARGS(x, y, y));
  test_call(pair.p, "my::scale", "out", ARGS(test_int(pair.p, 3), y, out, out));
  test_output(pair.p, out, "");
  sized_pair_load(&pair, &table);
  for (int64_t size = 2; size < 6; ++size) {
    assert_ok(sized_pair_run(&pair, &size, &diag));
    const float* const tripled = sized_pair_output(&pair, 0)->data;
    for (int64_t i = 0; i < size; ++i) {
      assert_true(tripled[i] == 3.0f * (float)(i + 1));
    }
  }
  sized_pair_end(&pair);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      unit_test_with(ETX_CONTROL_FLOW, kernels_set_sizes_that_are_free_alone),
      unit_test_with(ETX_DYNAMIC, a_size_is_at_least_zero),
      unit_test_with(ETX_CONTROL_FLOW, rows_say_that_kernels_set_sizes),
      unit_test_with(ETX_SIZE_PROGRAMS,
                     arguments_may_be_read_as_what_they_are_not),
      unit_test_with(ETX_SIZE_PROGRAMS, a_number_may_have_no_operands),
      unit_test_with(ETX_DYNAMIC, each_result_needs_a_size),
      unit_test_with(ETX_DYNAMIC, a_call_without_results_is_run),
      unit_test_with(ETX_DYNAMIC, the_first_tensor_may_be_overwritten),
      unit_test_with(ETX_CONTROL_FLOW, a_late_call_may_have_no_operands),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
