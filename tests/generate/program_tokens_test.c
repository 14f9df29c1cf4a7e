// Tokens that programs state in each of the forms that exporters write.

#include "generate/program_tokens.h"
#include "tests/support/assert_status.h"
#include "tests/support/short_kernel_table.h"
#include "tests/support/test_program.h"

static etx_diag diag;
static etx_program program;
static int64_t memory[ETX_PROGRAM_TOKENS_MAX];

static const int64_t several[2] = {31, 7};

// `outputs` integers from 0 on, as the constant method "many".
static test_program* program_with(size_t outputs) {
  test_program* p = test_program_new();
  const uint32_t data = test_data(p, several, sizeof several);
  test_method(p, "one");
  test_output(p, test_int(p, 2), "");
  test_method(p, "tensor");
  test_output(p, test_constant(p, ETX_DTYPE_INT64, SIZES(2), data), "");
  test_method(p, "table");
  test_output(p, test_constant(p, ETX_DTYPE_INT64, SIZES(1, 2), data), "");
  test_method(p, "text");
  test_output(p, test_string(p, "</s>"), "");
  test_method(p, "mixed");
  test_output(p, test_int(p, 2), "");
  test_output(p, test_string(p, "</s>"), "");
  test_method(p, "many");
  for (size_t i = 0; i < outputs; ++i) {
    test_output(p, test_int(p, (int64_t)i), "");
  }
  assert_ok(
      etx_program_open(&program, test_file(p), &test_few_kernels, NULL, &diag));
  return p;
}

static etx_token_list tokens_of(const char* name) {
  etx_token_list found = {NULL, 0};
  assert_ok(etx_program_tokens(&program, name, memory, &found, &diag));
  return found;
}

static void all_forms_are_read(void** state) {
  (void)state;
  test_program* p = program_with(ETX_PROGRAM_TOKENS_MAX);
  assert_int_equal(tokens_of("one").count, 1);
  assert_int_equal(tokens_of("one").ids[0], 2);
  assert_int_equal(tokens_of("tensor").count, 2);
  assert_int_equal(tokens_of("tensor").ids[1], 7);
  const etx_token_list many = tokens_of("many");
  assert_int_equal(many.count, ETX_PROGRAM_TOKENS_MAX);
  for (size_t i = 0; i < many.count; ++i) {
    assert_int_equal(many.ids[i], (int64_t)i);
  }
  test_program_end(p);
}

static void assert_tokens_refused(const char* name, etx_status status,
                                  const char* message) {
  etx_token_list found = {several, 2};
  assert_refused(etx_program_tokens(&program, name, memory, &found, &diag),
                 status, message);
  assert_ptr_equal(found.ids, several);
  assert_int_equal(found.count, 2);
}

static void other_forms_are_refused(void** state) {
  (void)state;
  test_program* p = program_with(ETX_PROGRAM_TOKENS_MAX + 1);
  assert_tokens_refused("none", ETX_NOT_FOUND, "none");
  assert_tokens_refused("text", ETX_BAD_ARGUMENT,
                        "constant 'text' is neither integers nor int64 [n]");
  assert_tokens_refused("mixed", ETX_BAD_ARGUMENT, "constant 'mixed'");
  assert_tokens_refused("table", ETX_BAD_ARGUMENT, "constant 'table'");
  assert_tokens_refused("many", ETX_OUT_OF_RANGE,
                        "constant 'many' has 33 outputs, at most 32 are read");
  test_program_end(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_forms_are_read),
      cmocka_unit_test(other_forms_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
