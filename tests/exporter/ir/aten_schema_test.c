// Tests of ATen schemas: the rows of the table, completion of arguments, hints.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "exporter/ir/aten_schema.h"
#include "exporter/host/nearest_name.h"
#include "exporter/lower/nearest_operator.h"
#include "tests/exporter/pool_and_diag.h"

static void rows_are_sorted_and_their_defaults_fit(void** state) {
  (void)state;
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    const etx_aten_schema* const schema = etx_aten_schema_at(i);
    assert_true(i == 0 ||
                strcmp(etx_aten_schema_at(i - 1)->name, schema->name) < 0);
    assert_ptr_equal(etx_aten_schema_find(etx_text_of(schema->name)), schema);
    assert_true(etx_aten_schema_argument_count(schema) <= ETX_MAX_ARGUMENTS);
    for (size_t j = 0; j < etx_aten_schema_argument_count(schema); ++j) {
      const etx_argument argument = etx_aten_schema_argument(schema, j);
      etx_ir_arg value = {ETX_IR_ARG_NONE, {0}};
      assert_true(argument.name.size > 0);
      if (argument.default_text.size == 0) continue;
      assert_int_equal(etx_aten_default(&pool, &argument, &value, &diag),
                       ETX_OK);
      if (!etx_aten_accepts(&argument, &value)) {
        fail_msg("%s: default of argument %zu", schema->name, j);
      }
    }
  }
}

static void left_out_arguments_take_their_defaults(void** state) {
  (void)state;
  const etx_aten_schema* const schema =
      etx_aten_schema_find(etx_text_of("aten.conv2d.default"));
  const etx_ir_arg args[3] = {etx_ir_value_arg(0), etx_ir_value_arg(1),
                              etx_ir_int(3)};
  const etx_text names[3] = {{NULL, 0}, {NULL, 0}, etx_text_of("stride")};
  etx_ir_node node = {0};
  const etx_aten_arguments given = {args, names, 3};
  assert_int_equal(etx_aten_complete(&pool, schema, &given, &node, &diag),
                   ETX_OK);
  assert_int_equal(node.arg_count, 7);
  assert_int_equal(node.args[2].kind, ETX_IR_ARG_NONE);  // bias
  assert_int_equal(node.args[3].as.list.count, 2);       // stride, repeated
  assert_int_equal(node.args[3].as.list.items[1].as.integer, 3);
  assert_int_equal(node.args[4].as.list.count, 2);  // padding
  assert_int_equal(node.args[4].as.list.items[0].as.integer, 0);
  assert_int_equal(node.args[6].as.integer, 1);  // groups
}

static void assert_refused(const char* op, const etx_ir_arg* args,
                           const etx_text* names, size_t count,
                           const char* part) {
  etx_ir_node node = {0};
  const etx_aten_schema* const schema = etx_aten_schema_find(etx_text_of(op));
  etx_diag_init(&diag);
  const etx_aten_arguments given = {args, names, count};
  assert_int_equal(etx_aten_complete(&pool, schema, &given, &node, &diag),
                   ETX_BAD_FILE);
  if (strstr(diag.text, part) == NULL) fail_msg("%s", diag.text);
}

static void arguments_that_do_not_fit_are_refused(void** state) {
  (void)state;
  const etx_text none = {NULL, 0};
  const etx_text alpha = etx_text_of("alpha"), wrong = etx_text_of("alfa");
  etx_ir_arg args[4] = {etx_ir_value_arg(0), etx_ir_value_arg(1), etx_ir_int(2),
                        etx_ir_int(2)};
  const etx_text positional[4] = {none, none, none, none};
  const etx_text twice[4] = {none, none, alpha, alpha};
  const etx_text unknown[4] = {none, none, wrong, none};
  assert_refused("aten.add.Tensor", args, positional, 3,
                 "too many positional arguments");
  assert_refused("aten.add.Tensor", args, positional, 1,
                 "argument 'other' is missing");
  assert_refused("aten.add.Tensor", args, twice, 4, "given twice");
  assert_refused("aten.add.Tensor", args, unknown, 3, "did you mean 'alpha'");
  args[1].kind = ETX_IR_ARG_STRING;
  args[1].as.string = etx_text_of("x");
  assert_refused("aten.add.Tensor", args, positional, 2, "has the wrong type");
}

static void hints_are_near(void** state) {
  (void)state;
  static const char* const near[][2] = {
      {"aten.addd.Tensor", "aten.add.Tensor"},
      {"aten.add_.Tensor", "aten.add.Tensor"},
      {"aten.add_.Scalar", "aten.add.Scalar"},
      {"aten.relu", "aten.relu.default"},
      {"aten.relu.out", "aten.relu.default"},
      {"aten.div.out_mode", "aten.div.Tensor_mode"},
      {"aten.reshape_copy.default", "aten.reshape.default"},
      {"aten._reshape_alias.default", NULL},
      {"aten.betainc.default", NULL},
      {"aten.rnd.default", NULL},
      {"mylib.add.Tensor", NULL},
      {"completely.else", NULL},
      {"", NULL},
  };
  for (size_t i = 0; i < sizeof near / sizeof near[0]; ++i) {
    const char* const found = etx_nearest_operator(etx_text_of(near[i][0]));
    if (near[i][1] == NULL) {
      assert_null(found);
    } else {
      assert_string_equal(found, near[i][1]);
    }
  }
  assert_int_equal(etx_name_distance(etx_text_of("abcd"), etx_text_of("abdc")),
                   1);
  assert_int_equal(etx_name_distance(etx_text_of(""), etx_text_of("abc")), 3);
  assert_int_equal(
      etx_name_distance(etx_text_of("kitten"), etx_text_of("sitting")), 3);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(rows_are_sorted_and_their_defaults_fit),
      TEST(left_out_arguments_take_their_defaults),
      TEST(arguments_that_do_not_fit_are_refused),
      TEST(hints_are_near),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
