#include "tests/format/fixtures/format_test.h"

static void every_code_has_a_name_and_a_sentence(void** state) {
  (void)state;
  for (int i = 0; i < ETX_STATUS_COUNT; ++i) {
    const char* text = etx_status_text((etx_status)i);
    assert_non_null(text);
    assert_true(strlen(text) > 0);
    assert_true(text[strlen(text) - 1] != '.');
    assert_true(strlen(etx_status_name((etx_status)i)) > 0);
  }
  assert_string_equal(etx_status_name(ETX_BAD_FILE), "BAD_FILE");
}

static void a_code_outside_the_list_still_has_text(void** state) {
  (void)state;
  assert_non_null(etx_status_text((etx_status)1000));
  assert_non_null(etx_status_name((etx_status)1000));
}

static etx_status stop_at(int* calls, etx_status status) {
  ++*calls;
  return status;
}

static etx_status run_three(int* calls, etx_status second) {
  ETX_TRY(stop_at(calls, ETX_OK));
  ETX_TRY(stop_at(calls, second));
  ETX_TRY(stop_at(calls, ETX_OK));
  return ETX_OK;
}

static void try_returns_the_first_failure(void** state) {
  int calls = 0;
  (void)state;
  assert_int_equal(run_three(&calls, ETX_NOT_FOUND), ETX_NOT_FOUND);
  assert_int_equal(calls, 2);
  calls = 0;
  assert_ok(run_three(&calls, ETX_OK));
  assert_int_equal(calls, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_code_has_a_name_and_a_sentence),
      cmocka_unit_test(a_code_outside_the_list_still_has_text),
      cmocka_unit_test(try_returns_the_first_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
