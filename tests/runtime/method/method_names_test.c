// Names of inputs and outputs that the file does not state.

#include <stdio.h>

#include "runtime/method/method_names.h"
#include "tests/support/assert_status.h"
#include "tests/support/loaded_method.h"
#include "tests/support/optional_parts.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/test_program.h"

static etx_diag diag;

enum { PORTS = 101 };

static void assert_name(etx_text name, const char* prefix, size_t index) {
  char wanted[32];
  snprintf(wanted, sizeof wanted, "%s%u", prefix, (unsigned)index);
  if (!etx_text_is(name, wanted)) {
    fail_msg("'%.*s', expected '%s'", (int)name.size, name.data, wanted);
  }
}

// Those of a stock file are numbered; each is found by its name.
static void names_are_numbered_without_a_blob(void** state) {
  (void)state;
  test_program* const p = test_program_new();
  etx_program program;
  test_loaded loaded;
  char buffer[ETX_INPUT_NAME_BYTES];
  test_method(p, "forward");
  for (size_t i = 0; i < PORTS; ++i) {
    const int port = test_input(p, test_int(p, (int64_t)i), "");
    test_output(p, port, "");
  }
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  for (size_t i = 0; i < PORTS; ++i) {
    char name[32];
    size_t found = PORTS;
    assert_name(etx_method_input_name(&loaded.method, i, buffer), "input_", i);
    snprintf(name, sizeof name, "input_%u", (unsigned)i);
    assert_ok(etx_method_find_input(&loaded.method, etx_text_of(name), &found));
    assert_int_equal(found, i);
    snprintf(name, sizeof name, "output_%u", (unsigned)i);
    found = PORTS;
    assert_ok(
        etx_method_find_output(&loaded.method, etx_text_of(name), &found));
    assert_int_equal(found, i);
  }
  static const char* const none[] = {
      "input_101", "output_101", "input_",   "input_00",
      "output_00", "input_1000", "output_x", ""};
  for (size_t i = 0; i < sizeof none / sizeof *none; ++i) {
    size_t found = PORTS;
    assert_int_equal(
        etx_method_find_input(&loaded.method, etx_text_of(none[i]), &found),
        ETX_NOT_FOUND);
    assert_int_equal(
        etx_method_find_output(&loaded.method, etx_text_of(none[i]), &found),
        ETX_NOT_FOUND);
    assert_int_equal(found, PORTS);
  }
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

// Those of a program of etx have their own names.
static void names_are_those_of_the_blob(void** state) {
  (void)state;
  test_program* const p = test_program_new();
  etx_program program;
  test_loaded loaded;
  char buffer[ETX_INPUT_NAME_BYTES];
  size_t found = PORTS;
  test_blob(p);
  test_method(p, "forward");
  test_arenas(p, 64, 0);
  const int x =
      test_input(p, test_borrowed(p, ETX_DTYPE_FLOAT32, SIZES(2)), "x");
  const int n = test_input(p, test_int(p, 3), "count");
  const int y = test_scratch(p, ETX_DTYPE_FLOAT32, SIZES(2), 0);
  test_call(p, "aten::relu", "out", ARGS(x, y, y));
  test_output(p, y, "y");
  test_output(p, n, "again");
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  assert_ok(test_load(&loaded, &program, "forward", NULL, &diag));
  assert_true(
      etx_text_is(etx_method_input_name(&loaded.method, 0, buffer), "x"));
  assert_true(
      etx_text_is(etx_method_input_name(&loaded.method, 1, buffer), "count"));
  assert_ok(etx_method_find_input(&loaded.method, etx_text_of("x"), &found));
  assert_int_equal(found, 0);
  assert_ok(
      etx_method_find_input(&loaded.method, etx_text_of("count"), &found));
  assert_int_equal(found, 1);
  assert_ok(etx_method_find_output(&loaded.method, etx_text_of("y"), &found));
  assert_int_equal(found, 0);
  assert_ok(
      etx_method_find_output(&loaded.method, etx_text_of("again"), &found));
  assert_int_equal(found, 1);
  assert_int_equal(
      etx_method_find_input(&loaded.method, etx_text_of("y"), &found),
      ETX_NOT_FOUND);
  assert_int_equal(
      etx_method_find_output(&loaded.method, etx_text_of("x"), &found),
      ETX_NOT_FOUND);
  assert_true(test_unload(&loaded));
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_numbered_without_a_blob),
      cmocka_unit_test(names_are_those_of_the_blob),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
