// Names of passes in options: present ones, former ones and unknown ones.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/pass_list.h"
#include "tests/exporter/lowered.h"

typedef struct renamed_pass {
  const char* former;
  const char* present;
} renamed_pass;

static const renamed_pass renamed[] = {
#define RENAMED(old, new) {#old, #new},
#include "exporter/passes/renamed_passes.def"
#undef RENAMED
};

enum { RENAMED_COUNT = sizeof renamed / sizeof *renamed };

static void former_names_are_taken_and_reported(void** state) {
  (void)state;
  etx_diag diag;
  etx_diag_init(&diag);
  for (size_t i = 0; i < RENAMED_COUNT; ++i) {
    char list[128];
    etx_format_text(list, sizeof list, "-simplify,!%s",
                    etx_text_of(renamed[i].former));
    assert_int_equal(etx_pass_check_name(etx_text_of(renamed[i].former), &diag),
                     ETX_OK);
    assert_true(etx_pass_entry_switches_off(list, renamed[i].present));
    assert_true(etx_pass_entry_switches_off(list, "simplify"));
    assert_false(etx_pass_entry_switches_off(list, "lower"));

    const char* rest = list;
    etx_text former, present;
    assert_true(etx_pass_next_former_name(&rest, &former, &present));
    assert_true(etx_text_is(former, renamed[i].former));
    assert_true(etx_text_is(present, renamed[i].present));
    assert_false(etx_pass_next_former_name(&rest, &former, &present));
  }
}

static void present_names_are_not_reported(void** state) {
  (void)state;
  etx_text former, present;
  const char* list = "-simplify,-fuse_elementwise";
  assert_false(etx_pass_next_former_name(&list, &former, &present));
  list = NULL;
  assert_false(etx_pass_next_former_name(&list, &former, &present));
}

static void expect_unknown(const char* name, const char* message) {
  etx_diag diag;
  etx_diag_init(&diag);
  assert_int_equal(etx_pass_check_name(etx_text_of(name), &diag),
                   ETX_NOT_FOUND);
  assert_string_equal(diag.text, message);
}

static void unknown_names_get_the_nearest_present_name(void** state) {
  (void)state;
  expect_unknown("simplfy",
                 "there is no pass 'simplfy', did you mean 'simplify'");
  expect_unknown("fuse_chain",
                 "there is no pass 'fuse_chain', did you mean "
                 "'fuse_elementwise'");
  expect_unknown("nothing_like_it", "there is no pass 'nothing_like_it'");
}

static void expect_refused_list(const char* passes, etx_status status,
                                const char* message) {
  static lowered l;  // too large for a stack
  lowered_open(&l, ETX_TARGET_ETX,
               "inputs: [{name: x, type: 'float32[4]'}]\n"
               "nodes: [{out: y, op: aten.neg.default, args: [x]}]\n"
               "outputs: [y]\n");
  l.options.passes = passes;
  assert_int_equal(etx_passes_run(&l.context), status);
  assert_string_equal(l.diag.text, message);
  lowered_close(&l);
}

static void the_runner_refuses_wrong_lists(void** state) {
  (void)state;
  expect_refused_list("-simplify,-part_product", ETX_NOT_FOUND,
                      "there is no pass 'part_product', did you mean "
                      "'narrow_linear'");
  expect_refused_list("-place_values", ETX_BAD_ARGUMENT,
                      "pass 'place_values' cannot be switched off");
  expect_refused_list("fuse_bytes", ETX_BAD_ARGUMENT,
                      "passes can only be switched off: write '-fuse_bytes', "
                      "not 'fuse_bytes'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(former_names_are_taken_and_reported),
      cmocka_unit_test(present_names_are_not_reported),
      cmocka_unit_test(unknown_names_get_the_nearest_present_name),
      cmocka_unit_test(the_runner_refuses_wrong_lists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
