#include "tests/format/fixtures/format_test.h"

#include <math.h>

static void a_new_diag_is_empty(void** state) {
  etx_diag diag;
  (void)state;
  memset(&diag, 0xff, sizeof diag);
  etx_diag_init(&diag);
  assert_int_equal(diag.status, ETX_OK);
  assert_string_equal(diag.text, "");
}

static void every_conversion_is_known(void** state) {
  char out[200];
  (void)state;
  const etx_text text = {"abcdef", 3};
  etx_format_text(out, sizeof out, "%s %t %i %u %z %x %f %%", "s", text,
                  (int64_t)-5, (uint64_t)7, (size_t)9, (uint64_t)0xbeef, 1.5);
  assert_string_equal(out, "s abc -5 7 9 beef 1.5 %");
}

static void the_largest_and_smallest_numbers_are_exact(void** state) {
  char out[100];
  (void)state;
  etx_format_text(out, sizeof out, "%i %i %u", INT64_MIN, INT64_MAX,
                  UINT64_MAX);
  assert_string_equal(
      out, "-9223372036854775808 9223372036854775807 18446744073709551615");
}

static void doubles_have_six_digits_or_are_inf_or_nan(void** state) {
  char out[100];
  (void)state;
  etx_format_text(out, sizeof out, "%f %f %f %f", 0.0, -0.25, (double)NAN,
                  (double)-INFINITY);
  assert_string_equal(out, "0 -0.25 nan -inf");
}

static void a_null_string_is_printed_as_none(void** state) {
  char out[20];
  (void)state;
  etx_format_text(out, sizeof out, "%s", (const char*)NULL);
  assert_string_equal(out, "(none)");
}

static void text_that_does_not_fit_is_truncated(void** state) {
  char out[5];
  (void)state;
  assert_int_equal(etx_format_text(out, sizeof out, "%s", "abcdefgh"), 4);
  assert_string_equal(out, "abcd");
  assert_int_equal(etx_format_text(NULL, 0, "%s", "abc"), 0);
}

static void control_characters_of_names_are_replaced(void** state) {
  char out[20];
  (void)state;
  etx_format_text(out, sizeof out, "'%s'", "a\x1b[2Jb\n");
  assert_string_equal(out, "'a?[2Jb?'");
}

static void the_first_message_wins(void** state) {
  etx_diag diag;
  (void)state;
  etx_diag_init(&diag);
  assert_int_equal(etx_diag_fail_at(&diag, ETX_BAD_FILE, 12, "first"),
                   ETX_BAD_FILE);
  assert_int_equal(etx_diag_fail_line(&diag, ETX_NOT_FOUND, 3, 4, "second"),
                   ETX_NOT_FOUND);
  assert_int_equal(diag.status, ETX_BAD_FILE);
  assert_int_equal(diag.offset, 12);
  assert_int_equal(diag.line, 0);
  assert_string_equal(diag.text, "first");
}

static void a_line_and_a_column_are_kept(void** state) {
  etx_diag diag;
  (void)state;
  etx_diag_init(&diag);
  (void)etx_diag_fail_line(&diag, ETX_BAD_FILE, 3, 4, "here");
  assert_int_equal(diag.line, 3);
  assert_int_equal(diag.column, 4);
}

static void appended_text_is_truncated_at_the_end_of_the_buffer(void** state) {
  etx_diag diag;
  (void)state;
  etx_diag_init(&diag);
  etx_diag_append(&diag, "nothing to append to");
  assert_string_equal(diag.text, "");
  (void)etx_diag_fail(&diag, ETX_BAD_FILE, "bad");
  etx_diag_append(&diag, " (method '%s')", "forward");
  assert_string_equal(diag.text, "bad (method 'forward')");
  for (int i = 0; i < 100; ++i) etx_diag_append(&diag, " and so on");
  assert_int_equal(diag.text_size, sizeof diag.text - 1);
  assert_int_equal(strlen(diag.text), diag.text_size);
}

static void a_note_has_a_status_and_no_text(void** state) {
  etx_diag diag;
  (void)state;
  etx_diag_init(&diag);
  assert_int_equal(etx_diag_note_at(&diag, ETX_BAD_FILE, 7, 1, 2),
                   ETX_BAD_FILE);
  assert_int_equal(etx_diag_note(&diag, ETX_OUT_OF_RANGE), ETX_OUT_OF_RANGE);
  assert_int_equal(diag.status, ETX_BAD_FILE);
  assert_int_equal(diag.offset, 7);
  assert_string_equal(diag.text, "");
  etx_diag_init(&diag);
  diag.line = 3;
  assert_int_equal(etx_diag_note(&diag, ETX_OK), ETX_OK);
  assert_int_equal(etx_diag_note(&diag, ETX_BAD_FILE), ETX_BAD_FILE);
  assert_int_equal(diag.status, ETX_BAD_FILE);
  assert_int_equal(diag.line, 3);
}

static void a_diag_is_optional(void** state) {
  (void)state;
  etx_diag_init(NULL);
  etx_diag_append(NULL, "x");
  assert_int_equal(etx_diag_fail(NULL, ETX_INTERNAL, "x"), ETX_INTERNAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_new_diag_is_empty),
      cmocka_unit_test(every_conversion_is_known),
      cmocka_unit_test(the_largest_and_smallest_numbers_are_exact),
      cmocka_unit_test(doubles_have_six_digits_or_are_inf_or_nan),
      cmocka_unit_test(a_null_string_is_printed_as_none),
      cmocka_unit_test(text_that_does_not_fit_is_truncated),
      cmocka_unit_test(control_characters_of_names_are_replaced),
      cmocka_unit_test(the_first_message_wins),
      cmocka_unit_test(a_line_and_a_column_are_kept),
      cmocka_unit_test(appended_text_is_truncated_at_the_end_of_the_buffer),
      cmocka_unit_test(a_note_has_a_status_and_no_text),
      cmocka_unit_test(a_diag_is_optional),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
