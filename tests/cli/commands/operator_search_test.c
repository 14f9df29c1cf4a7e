// etx ops WORD: the operators with WORD in their name, or a hint.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"

static void a_part_of_a_name_is_enough(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "ops", "softma"), "aten::_softmax.out(");
  command_expect_out(0, WORDS(ETX, "ops", "softma"), "2 operators\n");
}

static void a_misspelled_name_gets_a_hint(void** state) {
  (void)state;
  command_expect_err(2, WORDS(ETX, "ops", "reelu"),
                     "no operator of this build has 'reelu' in its name; the "
                     "nearest operators of PyTorch that can be imported: "
                     "aten.relu.default");
  command_result result = command_run(WORDS(ETX, "ops", "reelu"));
  assert_string_equal(result.out, "");
  command_end(&result);
}

// tensordot is decomposed, so no kernel has its name.
static void a_decomposed_operator_is_named_by_the_hint(void** state) {
  (void)state;
  command_expect_err(2, WORDS(ETX, "ops", "tensordot"),
                     "imported: aten.tensordot.default");
}

static void a_name_of_pytorch_is_understood(void** state) {
  (void)state;
  command_expect_err(2, WORDS(ETX, "ops", "aten.relu.default"),
                     "imported: aten.relu.default");
}

static void without_a_near_name_the_hint_is_the_list(void** state) {
  (void)state;
  command_expect_err(2, WORDS(ETX, "ops", "qqqqqq"),
                     "has 'qqqqqq' in its name; 'etx ops' lists all");
}

static void json_has_the_nearest_names(void** state) {
  (void)state;
  command_result result = command_run(WORDS(ETX, "ops", "reelu", "--json"));
  assert_int_equal(result.code, 2);
  json_t* const root = json_loads(result.out, 0, NULL);
  assert_non_null(root);
  assert_int_equal(json_array_size(json_object_get(root, "operators")), 0);
  const json_t* const nearest = json_object_get(root, "nearest");
  assert_string_equal(json_string_value(json_array_get(nearest, 0)),
                      "aten.relu.default");
  json_decref(root);
  command_end(&result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_part_of_a_name_is_enough),
      cmocka_unit_test(a_misspelled_name_gets_a_hint),
      cmocka_unit_test(a_decomposed_operator_is_named_by_the_hint),
      cmocka_unit_test(a_name_of_pytorch_is_understood),
      cmocka_unit_test(without_a_near_name_the_hint_is_the_list),
      cmocka_unit_test(json_has_the_nearest_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
