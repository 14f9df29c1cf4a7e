// Values of one number: encoding, refusals, shortest texts.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "exporter/ir/uniform_value.h"
#include "tests/exporter/pool_and_diag.h"

static etx_yaml_value number(double real) {
  etx_yaml_value value = {0};
  value.type = ETX_YAML_DOUBLE;
  value.real = real;
  return value;
}

static etx_yaml_value integer(int64_t whole) {
  etx_yaml_value value = {0};
  value.type = ETX_YAML_INT;
  value.integer = whole;
  return value;
}

static uint16_t half_of(etx_dtype dtype, double real) {
  const etx_ir_constant type = {dtype, 0, {0}, {NULL, 0}};
  const etx_yaml_value value = number(real);
  etx_ir_constant made;
  uint16_t bits = 0;
  assert_int_equal(etx_uniform_make(&pool, &type, &value, &made, &diag),
                   ETX_OK);
  memcpy(&bits, made.data.data, 2);
  return bits;
}

static void halves_round_to_nearest_even(void** state) {
  (void)state;
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, 1.0), 0x3c00);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, -2.0), 0xc000);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, 65504.0), 0x7bff);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, 65520.0), 0x7c00);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, 1e30), 0x7c00);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, 5.9604644775390625e-8), 0x0001);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, 2.98e-8), 0x0000);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, 6.103515625e-5), 0x0400);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, 2049.0), 0x6800);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, 2051.0), 0x6802);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, -0.0), 0x8000);
  assert_int_equal(half_of(ETX_DTYPE_FLOAT16, HUGE_VAL), 0x7c00);
  assert_int_equal(half_of(ETX_DTYPE_BFLOAT16, 1.0), 0x3f80);
  assert_int_equal(half_of(ETX_DTYPE_BFLOAT16, 1.00390625), 0x3f80);
  assert_int_equal(half_of(ETX_DTYPE_BFLOAT16, 3.0e38), 0x7f62);
  assert_int_equal(half_of(ETX_DTYPE_BFLOAT16, 1e39), 0x7f80);
}

static void values_outside_their_type_are_refused(void** state) {
  (void)state;
  static const struct {
    etx_dtype dtype;
    int64_t value;
    bool is_fine;
  } cases[] = {
      {ETX_DTYPE_UINT8, 255, true}, {ETX_DTYPE_UINT8, 256, false},
      {ETX_DTYPE_UINT8, -1, false}, {ETX_DTYPE_INT8, -128, true},
      {ETX_DTYPE_INT8, 128, false}, {ETX_DTYPE_INT32, INT32_MIN, true},
      {ETX_DTYPE_BOOL, 1, true},    {ETX_DTYPE_BOOL, 2, false},
      {ETX_DTYPE_FLOAT32, 3, true}, {ETX_DTYPE_COMPLEX64, 0, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const etx_ir_constant type = {cases[i].dtype, 1, {2}, {NULL, 0}};
    const etx_yaml_value value = integer(cases[i].value);
    etx_ir_constant made;
    assert_int_equal(
        etx_uniform_make(&pool, &type, &value, &made, &diag) == ETX_OK,
        cases[i].is_fine);
  }
  const etx_ir_constant type = {ETX_DTYPE_INT64, 0, {0}, {NULL, 0}};
  const etx_yaml_value real = number(1.5);
  etx_ir_constant made;
  assert_int_equal(etx_uniform_make(&pool, &type, &real, &made, &diag),
                   ETX_BAD_FILE);
}

static void tensors_without_end_are_refused(void** state) {
  (void)state;
  const etx_ir_constant type = {
      ETX_DTYPE_FLOAT32, 2, {60000, 60000}, {NULL, 0}};
  const etx_yaml_value value = number(1);
  etx_ir_constant made;
  assert_int_equal(etx_uniform_make(&pool, &type, &value, &made, &diag),
                   ETX_OUT_OF_RANGE);
  assert_non_null(strstr(diag.text, "14400000000 bytes from one value"));
}

static void doubles_have_their_shortest_text(void** state) {
  (void)state;
  static const struct {
    double value;
    const char* text;
  } cases[] = {
      {0.1, "0.1"},
      {2.0, "2.0"},
      {-0.0, "-0.0"},
      {1e300, "1e+300"},
      {1.0 / 3, "0.333333333333333"},
      {5e-324, NULL},
      {HUGE_VAL, ".inf"},
      {-HUGE_VAL, "-.inf"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    char text[48];
    etx_double_text(cases[i].value, text, sizeof text);
    if (isinf(cases[i].value)) {
      assert_string_equal(text, cases[i].text);
      continue;
    }
    assert_true(strtod(text, NULL) == cases[i].value);
    assert_true(strpbrk(text, ".e") != NULL);
    if (cases[i].text != NULL && cases[i].value != 1.0 / 3) {
      assert_string_equal(text, cases[i].text);
    }
  }
}

static void only_uniform_tensors_have_a_text(void** state) {
  (void)state;
  static const float ones[3] = {1.5f, 1.5f, 1.5f}, others[2] = {1, 2};
  static const uint8_t odd_bool[1] = {3};
  static const uint32_t odd_nan[1] = {0x7fc00001};
  char text[48];
  const etx_ir_constant a = {
      ETX_DTYPE_FLOAT32, 1, {3}, {(const uint8_t*)ones, sizeof ones}};
  const etx_ir_constant b = {
      ETX_DTYPE_FLOAT32, 1, {2}, {(const uint8_t*)others, sizeof others}};
  const etx_ir_constant c = {ETX_DTYPE_BOOL, 0, {0}, {odd_bool, 1}};
  const etx_ir_constant d = {
      ETX_DTYPE_FLOAT32, 0, {0}, {(const uint8_t*)odd_nan, 4}};
  const etx_ir_constant e = {ETX_DTYPE_FLOAT32, 1, {0}, {NULL, 0}};
  assert_true(etx_uniform_text(&a, text, sizeof text));
  assert_string_equal(text, "1.5");
  assert_false(etx_uniform_text(&b, text, sizeof text));
  assert_false(etx_uniform_text(&c, text, sizeof text));
  assert_false(etx_uniform_text(&d, text, sizeof text));
  assert_false(etx_uniform_text(&e, text, sizeof text));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(halves_round_to_nearest_even),
      TEST(values_outside_their_type_are_refused),
      TEST(tensors_without_end_are_refused),
      TEST(doubles_have_their_shortest_text),
      TEST(only_uniform_tensors_have_a_text),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
