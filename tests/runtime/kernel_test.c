// Kernels are found in tables, and read and check their arguments.

#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"
#include "tests/support/optional_parts.h"
#include "tests/support/short_kernel_table.h"

static etx_diag diag;

static void a_kernel_is_found_in_the_whole_table_and_in_a_short_one(
    void** state) {
  (void)state;
  const etx_op_id ids[] = {ETX_OP_relu_out, ETX_OP_copy_in_place,
                           ETX_OP_add_out};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; ++i) {
    const etx_kernel* const whole = etx_kernel_find(&etx_all_kernels, ids[i]);
    const etx_kernel* const few = etx_kernel_find(&test_few_kernels, ids[i]);
    assert_non_null(whole);
    assert_non_null(few);
    assert_int_equal(whole->op->id, ids[i]);
    assert_int_equal(few->op->id, ids[i]);
    assert_ptr_equal(whole, &etx_all_kernels.kernels[ids[i]]);
  }
  assert_null(etx_kernel_find(&test_few_kernels, ETX_OP_tanh_out));
  assert_null(etx_kernel_find(&test_few_kernels, ETX_OP_COUNT));
}

static void check_refused(test_call* c, etx_status found, const char* message) {
  assert_int_not_equal(found, ETX_OK);
  if (ETX_MESSAGES) assert_int_equal(found, c->diag.status);
  if (!test_message_is(&c->diag, message)) fail_msg("%s", c->diag.text);
  etx_diag_init(&c->diag);
}

// An argument has its name of the schema in messages; the slot behind it is the
// result.
static void messages_name_the_argument(void** state) {
  (void)state;
  test_call c;
  const int32_t sizes[] = {2, 2};
  const int32_t columns[] = {1, 2};
  const float data[] = {1, 2, 3, 4};
  test_call_begin(&c, "aten::sym_size.int");
  test_call_tensor(&c, ETX_DTYPE_FLOAT32, 2, sizes, columns, data);
  test_call_integer(&c, 0);
  test_call_tensor(&c, ETX_DTYPE_FLOAT32, 2, sizes, NULL, data);
  etx_diag_init(&c.diag);
  for (size_t i = 0; i < c.count; ++i) c.arguments[i] = &c.values[i];
  c.call = (etx_call){.op = c.op,
                      .arguments = c.arguments,
                      .argument_count = c.count,
                      .diag = &c.diag};
  check_refused(&c, etx_call_refuse_dtype(&c.call, 0, "int64"),
                "'self' has type 'float32', expected int64, in "
                "'aten::sym_size.int'");
  check_refused(&c, etx_call_check_dtype(&c.call, 2, ETX_DTYPE_INT64),
                "'result' has type 'float32', expected 'int64', in "
                "'aten::sym_size.int'");
  check_refused(&c, etx_call_check_contiguous(&c.call, 0),
                "'self' is not contiguous, in 'aten::sym_size.int'");
  assert_ok(etx_call_check_contiguous(&c.call, 2));
  c.values[2].as.tensor.strides = NULL;  // those of a dense tensor
  assert_ok(etx_call_check_contiguous(&c.call, 2));
  assert_ok(etx_call_check_same_dtype(&c.call, 0, 2));
  test_call_end(&c);
}

// Sizes that the elements decide, without a resizer: out must have them.
static void an_output_without_a_resizer_has_its_sizes(void** state) {
  (void)state;
  test_call c;
  const int32_t sizes[] = {2};
  const int32_t more[] = {3};
  const float data[] = {1, 2};
  test_call_begin(&c, "aten::relu.out");
  test_call_floats(&c, 1, sizes, data);
  test_call_floats(&c, 1, sizes, data);
  etx_diag_init(&c.diag);
  for (size_t i = 0; i < c.count; ++i) c.arguments[i] = &c.values[i];
  c.call = (etx_call){.op = c.op,
                      .arguments = c.arguments,
                      .argument_count = c.count,
                      .diag = &c.diag};
  assert_ok(etx_call_resize_out(&c.call, 1, sizes));
  check_refused(
      &c, etx_call_resize_out(&c.call, 1, more),
      "'out' has size 2 in dimension 0, found 3, in 'aten::relu.out'");
  test_call_end(&c);
}

// An operator without overload has no point behind its name.
static void an_operator_without_overload_has_its_name(void** state) {
  (void)state;
  test_call c;
  const int32_t sizes[] = {2};
  const float data[] = {1, 2};
  test_call_begin(&c, "aten::_local_scalar_dense");
  test_call_floats(&c, 1, sizes, data);
  etx_diag_init(&c.diag);
  c.arguments[0] = &c.values[0];
  c.call = (etx_call){.op = c.op,
                      .arguments = c.arguments,
                      .argument_count = 1,
                      .diag = &c.diag};
  check_refused(&c, etx_call_refuse_dtype(&c.call, 0, "bool"),
                "'self' has type 'float32', expected bool, in "
                "'aten::_local_scalar_dense'");
  const etx_argument argument = {.name = {"self", 4}};
  assert_refused(
      etx_argument_refuse_dtype(argument.name, ETX_DTYPE_FLOAT32, c.op, &diag),
      ETX_UNSUPPORTED,
      "argument 'self' of 'aten::_local_scalar_dense' has type "
      "'float32', which this build leaves out");
  assert_refused(
      etx_argument_refuse_dtype(
          argument.name, ETX_DTYPE_FLOAT32,
          etx_op_find(etx_text_of("aten::relu.out"), (etx_text){NULL, 0}),
          &diag),
      ETX_UNSUPPORTED, "argument 'self' of 'aten::relu.out' has type");
  test_call_end(&c);
}

static void numbers_of_any_kind_are_reals(void** state) {
  (void)state;
  test_call c;
  test_call_begin(&c, "aten::relu.out");
  test_call_integer(&c, -3);
  test_call_boolean(&c, true);
  test_call_boolean(&c, false);
  test_call_real(&c, 0.5);
  for (size_t i = 0; i < c.count; ++i) c.arguments[i] = &c.values[i];
  c.call = (etx_call){.op = c.op, .arguments = c.arguments};
  const double expected[] = {-3, 1, 0, 0.5};
  for (size_t i = 0; i < c.count; ++i) {
    assert_true(etx_call_real(&c.call, i) == expected[i]);
  }
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kernel_is_found_in_the_whole_table_and_in_a_short_one),
      unit_test_with(ETX_MESSAGES, messages_name_the_argument),
      cmocka_unit_test(an_output_without_a_resizer_has_its_sizes),
      unit_test_with(ETX_MESSAGES, an_operator_without_overload_has_its_name),
      cmocka_unit_test(numbers_of_any_kind_are_reals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
