#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/base/size_limits.h"
#include "format/ops/op_schema.h"

static const etx_op* find(const char* name, const char* overload) {
  return etx_op_find(etx_text_of(name), etx_text_of(overload));
}

static void name_and_overload_may_be_one_text(void** unused) {
  (void)unused;
  const etx_op* op = find("aten::add", "out");
  assert_non_null(op);
  assert_int_equal(op->id, ETX_OP_add_out);
  assert_ptr_equal(find("aten::add.out", ""), op);
  assert_ptr_equal(etx_op_at(ETX_OP_add_out), op);
}

static void the_default_overload_has_no_dot(void** unused) {
  (void)unused;
  assert_non_null(find("aten::copy_", ""));
  assert_null(find("aten::copy_", "out"));
  assert_null(find("aten::copy_.", ""));
}

static void unknown_names_are_not_found(void** unused) {
  (void)unused;
  assert_null(find("aten::ad", "out"));
  assert_null(find("aten::addd", "out"));
  assert_null(find("aten::add", "ou"));
  assert_null(find("aten::add", ""));
  assert_null(find("aten::add.out.out", ""));
  assert_null(find("", ""));
}

static void every_row_is_found_by_its_name_alone(void** unused) {
  (void)unused;
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    const etx_op* op = etx_op_at((etx_op_id)i);
    assert_int_equal(op->id, i);
    assert_ptr_equal(find(op->name, op->overload), op);
    assert_non_null(op->shape);
  }
}

// Counts out arguments, or those that are changed where there are none, and
// checks that an argument's parts make sense.
static size_t check_arguments(const etx_op* op) {
  etx_argument_cursor cursor = etx_argument_first(op->arguments);
  etx_argument argument;
  size_t outs = 0, changed = 0;
  while (etx_argument_next(&cursor, &argument)) {
    assert_true(argument.name.size > 0);
    if (!argument.written) continue;
    assert_false(argument.optional);
    if (etx_argument_is_changed(&argument)) {
      assert_int_equal(outs, 0);  // out arguments are last
      ++changed;
    } else {
      ++outs;
    }
  }
  return outs > 0 ? outs : changed;
}

static void every_row_can_be_read(void** unused) {
  (void)unused;
  for (size_t i = 0; i < ETX_OP_COUNT; ++i) {
    const etx_op* op = etx_op_at((etx_op_id)i);
    const size_t written = check_arguments(op);
    const size_t count = etx_op_argument_count(op);
    assert_in_range(count, 1, ETX_MAX_ARGUMENTS - 1);
    switch (op->result) {
      case ETX_RESULT_SCALAR:
        assert_int_equal(written, 0);
        break;
      case ETX_RESULT_OUT_LIST:
        assert_true(written > 1);
        break;
      default:
        assert_int_equal(written, 1);
        break;
    }
  }
}

static void types_defaults_and_marks_are_read(void** unused) {
  (void)unused;
  etx_argument_cursor cursor = etx_argument_first(
      "Tensor?[] indices, int[2] pad=[0, 1], Scalar? min=None, *, "
      "str mode='none', ScalarType? dtype=None, Tensor(a!)[] out");
  etx_argument a;
  assert_true(etx_argument_next(&cursor, &a));
  assert_true(etx_text_is(a.name, "indices"));
  assert_int_equal(a.type, ETX_ARGUMENT_OPTIONAL_TENSORS);
  assert_false(a.optional);
  assert_int_equal(a.default_text.size, 0);
  assert_true(etx_argument_next(&cursor, &a));
  assert_int_equal(a.type, ETX_ARGUMENT_INTS);
  assert_int_equal(a.fixed_count, 2);
  assert_true(etx_text_is(a.default_text, "[0, 1]"));
  assert_true(etx_argument_next(&cursor, &a));
  assert_int_equal(a.type, ETX_ARGUMENT_SCALAR);
  assert_true(a.optional);
  assert_false(a.keyword_only);
  assert_true(etx_argument_next(&cursor, &a));
  assert_int_equal(a.type, ETX_ARGUMENT_STRING);
  assert_true(a.keyword_only);
  assert_true(etx_text_is(a.default_text, "'none'"));
  assert_true(etx_argument_next(&cursor, &a));
  assert_int_equal(a.type, ETX_ARGUMENT_SCALAR_TYPE);
  assert_true(a.optional);
  assert_true(etx_argument_next(&cursor, &a));
  assert_int_equal(a.type, ETX_ARGUMENT_TENSORS);
  assert_true(a.written);
  assert_false(etx_argument_next(&cursor, &a));
  assert_false(etx_argument_next(&cursor, &a));
}

static void an_optional_list_is_optional_itself(void** unused) {
  (void)unused;
  etx_argument_cursor cursor = etx_argument_first("int[]? dim_order=None");
  etx_argument a;
  assert_true(etx_argument_next(&cursor, &a));
  assert_int_equal(a.type, ETX_ARGUMENT_INTS);
  assert_true(a.optional);
}

// The numbers of arguments were counted in files that the stock exporter wrote.
static void calls_carry_one_index_for_the_result(void** unused) {
  (void)unused;
  static const struct {
    const char* name;
    size_t count;
  } known[] = {
      {"aten::add.out", 5},
      {"aten::mul.out", 4},
      {"aten::max.dim_max", 6},
      {"aten::native_layer_norm.out", 9},
      {"aten::copy_", 4},
      {"aten::index_put_", 5},
      {"aten::split_with_sizes_copy.out", 5},
      {"aten::sym_size.int", 3},
      {"dim_order_ops::_clone_dim_order.out", 5},
      {"executorch_prim::add.Scalar", 3},
      {"executorch_prim::et_view.default", 3},
      {"executorch_prim::et_copy_index.tensor", 3},
  };
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
    const etx_op* op = find(known[i].name, "");
    assert_non_null(op);
    assert_int_equal(etx_op_call_count(op), known[i].count);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(name_and_overload_may_be_one_text),
      cmocka_unit_test(the_default_overload_has_no_dot),
      cmocka_unit_test(unknown_names_are_not_found),
      cmocka_unit_test(every_row_is_found_by_its_name_alone),
      cmocka_unit_test(every_row_can_be_read),
      cmocka_unit_test(types_defaults_and_marks_are_read),
      cmocka_unit_test(an_optional_list_is_optional_itself),
      cmocka_unit_test(calls_carry_one_index_for_the_result),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
