// The operators on integer, double and bool slots.

#include <math.h>
#include <stdio.h>

#include "tests/support/assert_message.h"
#include "tests/support/assert_status.h"
#include "tests/support/kernel_call.h"

static etx_diag diag;

static void run(test_call* c, const char* name, int64_t a, int64_t b) {
  test_call_begin(c, name);
  test_call_integer(c, a);
  test_call_integer(c, b);
}

static void assert_integer(const char* name, int64_t a, int64_t b,
                           int64_t want) {
  test_call c;
  run(&c, name, a, b);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_int_equal(test_call_scalar(&c)->kind, ETX_VALUE_INT);
  if (test_call_scalar(&c)->as.integer != want) fail_msg("%s", name);
  test_call_end(&c);
}

static void assert_truth(const char* name, int64_t a, int64_t b, bool want) {
  test_call c;
  run(&c, name, a, b);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_int_equal(test_call_scalar(&c)->kind, ETX_VALUE_BOOL);
  if (test_call_scalar(&c)->as.boolean != want) fail_msg("%s", name);
  test_call_end(&c);
}

static void assert_integers_refused(const char* name, int64_t a, int64_t b,
                                    etx_status status) {
  test_call c;
  run(&c, name, a, b);
  assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), status);
  test_call_end(&c);
}

static void integers_give_integers(void** unused) {
  (void)unused;
  assert_integer("executorch_prim::add.Scalar", 2, -5, -3);
  assert_integer("executorch_prim::sub.Scalar", 2, -5, 7);
  assert_integer("executorch_prim::mul.Scalar", 2, -5, -10);
  assert_integer("executorch_prim::sym_max.Scalar", 2, -5, 2);
  assert_integer("executorch_prim::sym_min.Scalar", 2, -5, -5);
}

static etx_status check_range(int64_t value, int64_t least, int64_t most,
                              const char* text) {
  test_call c;
  run(&c, "etx::check_range", value, least);
  test_call_integer(&c, most);
  test_call_string(&c, "size 'u0'");
  const etx_status status = test_call_run(&c, TEST_CALL_RULE_DTYPE);
  if (status == ETX_OK) {
    assert_int_equal(test_call_scalar(&c)->as.integer, value);
  } else {
    assert_true(test_message_has(&c.diag, text));
  }
  test_call_end(&c);
  return status;
}

static void integers_outside_their_range_are_refused(void** unused) {
  static const char planned[] = "the program is planned for 0 to 8";
  (void)unused;
  assert_ok(check_range(0, 0, 8, ""));
  assert_ok(check_range(8, 0, 8, ""));
  assert_ok(check_range(1, 1, 1, ""));
  assert_int_equal(check_range(9, 0, 8, planned), ETX_BAD_ARGUMENT);
  assert_int_equal(check_range(-1, 0, 8, planned), ETX_BAD_ARGUMENT);
  assert_int_equal(check_range(INT64_MIN, 0, 8, planned), ETX_BAD_ARGUMENT);
  assert_int_equal(check_range(4, 1, 3, "planned for 1 to 3"),
                   ETX_BAD_ARGUMENT);
  assert_int_equal(check_range(0, 1, 1, "a check of the model failed"),
                   ETX_BAD_ARGUMENT);
}

static void division_rounds_down(void** unused) {
  (void)unused;
  assert_integer("executorch_prim::floordiv.Scalar", -7, 2, -4);
  assert_integer("executorch_prim::mod.Scalar", -7, 3, 2);
  assert_integer("executorch_prim::mod.Scalar", INT64_MIN, -1, 0);
  assert_integer("executorch_prim::floordiv.Scalar", INT64_MIN, 2,
                 INT64_MIN / 2);
}

static void division_by_zero_and_overflow_are_refused(void** unused) {
  (void)unused;
  assert_integers_refused("executorch_prim::floordiv.Scalar", 1, 0,
                          ETX_BAD_ARGUMENT);
  assert_integers_refused("executorch_prim::mod.Scalar", 1, 0,
                          ETX_BAD_ARGUMENT);
  assert_integers_refused("executorch_prim::floordiv.Scalar", INT64_MIN, -1,
                          ETX_OUT_OF_RANGE);
  assert_integers_refused("executorch_prim::add.Scalar", INT64_MAX, 1,
                          ETX_OUT_OF_RANGE);
  assert_integers_refused("executorch_prim::mul.Scalar", INT64_MAX, 2,
                          ETX_OUT_OF_RANGE);
}

static void comparisons_give_truth_values(void** unused) {
  (void)unused;
  // As doubles the two are equal.
  const int64_t large = INT64_C(9007199254740993);
  assert_truth("executorch_prim::eq.Scalar", large, large - 1, false);
  assert_truth("executorch_prim::gt.Scalar", large, large - 1, true);
  assert_truth("executorch_prim::lt.Scalar", 1, 1, false);
  assert_truth("executorch_prim::le.Scalar", 1, 1, true);
  assert_truth("executorch_prim::ge.Scalar", 0, 1, false);
}

static void a_double_makes_a_double(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "executorch_prim::add.Scalar");
  test_call_integer(&c, 1);
  test_call_real(&c, 0.5);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_int_equal(test_call_scalar(&c)->kind, ETX_VALUE_DOUBLE);
  assert_true(test_call_scalar(&c)->as.real == 1.5);
  test_call_end(&c);
}

static void put(test_call* c, char kind, double value) {
  if (kind == 'i') test_call_integer(c, (int64_t)value);
  if (kind == 'f') test_call_real(c, value);
  if (kind == 'b') test_call_boolean(c, value != 0);
  if (kind == 's') test_call_string(c, "text");
}

// `kinds` are those of the operands, one or two: i, f, b or s.
static etx_status run_kinds(test_call* c, const char* name, const char* kinds,
                            double a, double b) {
  char text[64];
  (void)snprintf(text, sizeof text, "executorch_prim::%s.Scalar", name);
  test_call_begin(c, text);
  put(c, kinds[0], a);
  if (kinds[1] != '\0') put(c, kinds[1], b);
  return test_call_run(c, TEST_CALL_RULE_DTYPE);
}

static void operands_of_other_kinds_are_refused(void** unused) {
  (void)unused;
  static const struct {
    const char *name, *kinds;
  } rows[] = {{"add", "ib"},      {"add", "bi"},      {"sub", "bb"},
              {"mul", "fb"},      {"truediv", "bi"},  {"truediv", "ib"},
              {"floordiv", "bf"}, {"floordiv", "fb"}, {"mod", "bi"},
              {"mod", "ib"},      {"eq", "ib"},       {"eq", "bf"},
              {"gt", "fb"},       {"lt", "bi"},       {"ge", "ib"},
              {"le", "bf"},       {"sym_max", "ib"},  {"sym_min", "fb"},
              {"neg", "b"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    test_call c;
    const etx_status status = run_kinds(&c, rows[i].name, rows[i].kinds, 1, 1);
    if (status != ETX_BAD_ARGUMENT || !test_message_has(&c.diag, "kind") ||
        !test_message_has(&c.diag, rows[i].name)) {
      fail_msg("%s %s: %d %s", rows[i].name, rows[i].kinds, (int)status,
               c.diag.text);
    }
    test_call_end(&c);
  }
}

// As Python does: NaN is neither equal nor larger nor smaller, bools are
// ordered, and equal operands of max and min give the first one.
static void doubles_and_bools_are_compared(void** unused) {
  (void)unused;
  static const struct {
    const char *name, *kinds;
    double a, b;
    bool want;
  } rows[] = {{"eq", "ff", 1.5, 1.5, true},    {"eq", "if", 2, 2, true},
              {"eq", "ff", NAN, NAN, false},   {"ge", "ff", NAN, 1, false},
              {"ge", "ff", 1, NAN, false},     {"le", "ff", NAN, 1, false},
              {"gt", "ff", 1, NAN, false},     {"lt", "ff", NAN, 1, false},
              {"ge", "ff", 2, 1, true},        {"ge", "ff", 1, 1, true},
              {"ge", "ff", 0, 1, false},       {"le", "ff", 1, 1, true},
              {"le", "ff", 0, 1, true},        {"le", "ff", 2, 1, false},
              {"gt", "bb", true, false, true}, {"eq", "bb", true, true, true},
              {"lt", "bb", true, false, false}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    test_call c;
    assert_ok(run_kinds(&c, rows[i].name, rows[i].kinds, rows[i].a, rows[i].b));
    assert_int_equal(test_call_scalar(&c)->kind, ETX_VALUE_BOOL);
    if (test_call_scalar(&c)->as.boolean != rows[i].want) {
      fail_msg("%s %g %g", rows[i].name, rows[i].a, rows[i].b);
    }
    test_call_end(&c);
  }
}

static void a_number_alone_is_converted(void** unused) {
  (void)unused;
  static const struct {
    const char *name, *kinds;
    double a, want;
  } rows[] = {{"neg", "f", 2.5, -2.5},    {"neg", "i", 7, -7},
              {"sym_int", "i", -3, -3},   {"sym_int", "f", -3.9, -3},
              {"sym_int", "b", true, 1},  {"ceil", "f", 1.25, 2},
              {"round", "f", 2.5, 2},     {"trunc", "f", -1.75, -1},
              {"sym_float", "i", 3, 3.0}, {"sym_not", "b", true, 0}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    test_call c;
    assert_ok(run_kinds(&c, rows[i].name, rows[i].kinds, rows[i].a, 0));
    const etx_value* got = test_call_scalar(&c);
    const double number = got->kind == ETX_VALUE_DOUBLE ? got->as.real
                          : got->kind == ETX_VALUE_INT ? (double)got->as.integer
                                                       : got->as.boolean;
    if (number != rows[i].want) fail_msg("%s %g", rows[i].name, rows[i].a);
    test_call_end(&c);
  }
  test_call c;
  assert_int_equal(run_kinds(&c, "neg", "i", -9223372036854775808.0, 0),
                   ETX_OUT_OF_RANGE);
  test_call_end(&c);
}

static void a_double_beyond_integers_is_refused(void** unused) {
  (void)unused;
  static const double values[] = {1e19, -1e19, NAN, INFINITY};
  for (size_t i = 0; i < 4; ++i) {
    test_call c;
    test_call_begin(&c, "executorch_prim::sym_int.Scalar");
    test_call_real(&c, values[i]);
    assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_OUT_OF_RANGE);
    test_call_end(&c);
  }
}

static void sizes_are_read(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::sym_size.int");
  test_call_floats(&c, 2, (int32_t[]){3, 5}, NULL);
  test_call_integer(&c, -1);
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_int_equal(test_call_scalar(&c)->as.integer, 5);
  test_call_end(&c);
  for (int64_t dimension = -3; dimension <= 2; dimension += 5) {
    test_call_begin(&c, "aten::sym_size.int");
    test_call_floats(&c, 2, (int32_t[]){3, 5}, NULL);
    test_call_integer(&c, dimension);
    assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_BAD_ARGUMENT);
    test_call_end(&c);
  }
}

static void one_element_becomes_a_number(void** unused) {
  (void)unused;
  test_call c;
  test_call_begin(&c, "aten::_local_scalar_dense");
  test_call_tensor(&c, ETX_DTYPE_UINT8, 1, (int32_t[]){1}, NULL, "\xc8");
  assert_ok(test_call_run(&c, TEST_CALL_RULE_DTYPE));
  assert_int_equal(test_call_scalar(&c)->as.integer, 200);
  test_call_end(&c);
  test_call_begin(&c, "aten::_local_scalar_dense");
  test_call_floats(&c, 1, (int32_t[]){2}, NULL);
  assert_int_equal(test_call_run(&c, TEST_CALL_RULE_DTYPE), ETX_BAD_ARGUMENT);
  test_call_end(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_give_integers),
      cmocka_unit_test(division_rounds_down),
      cmocka_unit_test(integers_outside_their_range_are_refused),
      cmocka_unit_test(division_by_zero_and_overflow_are_refused),
      cmocka_unit_test(comparisons_give_truth_values),
      cmocka_unit_test(a_double_makes_a_double),
      cmocka_unit_test(operands_of_other_kinds_are_refused),
      cmocka_unit_test(doubles_and_bools_are_compared),
      cmocka_unit_test(a_number_alone_is_converted),
      cmocka_unit_test(a_double_beyond_integers_is_refused),
      cmocka_unit_test(sizes_are_read),
      cmocka_unit_test(one_element_becomes_a_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
