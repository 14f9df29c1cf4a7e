// YAML trees: positions, scalars, refusals.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "exporter/host/yaml_tree.h"
#include "tests/exporter/pool_and_diag.h"

static etx_yaml read(const char* text) {
  etx_yaml root;
  if (etx_yaml_read(&pool, etx_text_of(text), &root, &diag) != ETX_OK) {
    fail_msg("%s: %s", text, diag.text);
  }
  return root;
}

static void nodes_have_line_and_column(void** state) {
  (void)state;
  const etx_yaml root = read("a: 1\nlist:\n  - {x: y}\n  - \"q\"\n");
  const etx_yaml* const list = etx_yaml_find(&root, "list");
  assert_int_equal(list->kind, ETX_YAML_LIST);
  assert_int_equal(list->count, 2);
  assert_int_equal(list->items[0].line, 3);
  assert_int_equal(list->items[0].column, 5);
  const etx_yaml* const y = etx_yaml_find(&list->items[0], "x");
  assert_int_equal(y->line, 3);
  assert_int_equal(y->column, 9);
  assert_true(list->items[1].is_quoted);
  assert_null(etx_yaml_find(&root, "b"));
}

static void a_copy_outlives_the_nodes_that_it_was_made_of(void** state) {
  (void)state;
  static const char text[] = "a: [1, {b: c}]\nd: []\n";
  etx_pool nodes;
  etx_yaml root;
  etx_yaml copy;
  etx_pool_init(&nodes);
  assert_int_equal(
      etx_yaml_read_apart(&nodes, &pool, etx_text_of(text), &root, &diag),
      ETX_OK);
  assert_int_equal(etx_yaml_copy(&pool, &root, &copy), ETX_OK);
  etx_pool_close(&nodes);
  const etx_yaml* const list = etx_yaml_find(&copy, "a");
  assert_int_equal(list->count, 2);
  assert_true(etx_text_is(list->items[0].text, "1"));
  const etx_yaml* const b = etx_yaml_find(&list->items[1], "b");
  assert_true(etx_text_is(b->text, "c"));
  assert_int_equal(b->column, 12);
  assert_int_equal(etx_yaml_find(&copy, "d")->count, 0);
}

static void an_empty_text_is_an_empty_map(void** state) {
  (void)state;
  const etx_yaml root = read("# nothing\n");
  assert_int_equal(root.kind, ETX_YAML_MAP);
  assert_int_equal(root.count, 0);
}

static etx_yaml_value scalar(const char* text) {
  etx_yaml_value value;
  const etx_yaml root = read(text);
  assert_int_equal(etx_yaml_scalar(&root, &value, &diag), ETX_OK);
  return value;
}

static void scalars_have_the_type_of_their_text(void** state) {
  (void)state;
  assert_int_equal(scalar("12").integer, 12);
  assert_true(scalar("-9223372036854775808").integer == INT64_MIN);
  assert_int_equal(scalar("12").type, ETX_YAML_INT);
  assert_int_equal(scalar("1.5e3").type, ETX_YAML_DOUBLE);
  assert_true(scalar("1.5e3").real == 1500.0);
  assert_true(scalar("-0.0").real == 0.0 && signbit(scalar("-0.0").real));
  assert_true(isinf(scalar("-.inf").real) && scalar("-.inf").real < 0);
  assert_true(isnan(scalar(".nan").real));
  assert_int_equal(scalar("true").type, ETX_YAML_BOOL);
  assert_int_equal(scalar("~").type, ETX_YAML_NULL);
  assert_int_equal(scalar("null").type, ETX_YAML_NULL);
  static const char* const words[] = {"yes",    "e5",     "1x",  "--", "0x10",
                                      "\"12\"", "'true'", "x.y", "1-2"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
    assert_int_equal(scalar(words[i]).type, ETX_YAML_TEXT);
  }
}

static void assert_refused(const char* text, uint32_t line, uint32_t column,
                           const char* part) {
  etx_yaml root;
  etx_diag_init(&diag);
  assert_int_equal(etx_yaml_read(&pool, etx_text_of(text), &root, &diag),
                   ETX_BAD_FILE);
  if (strstr(diag.text, part) == NULL) fail_msg("%s: %s", text, diag.text);
  assert_int_equal(diag.line, line);
  assert_int_equal(diag.column, column);
}

static void unsupported_yaml_is_an_error_with_its_location(void** state) {
  (void)state;
  assert_refused("a: 1\nb: 2\na: 3\n", 3, 1,
                 "duplicate key 'a', first given in line 1");
  assert_refused("a: &x 1\n", 1, 4, "YAML anchors are not supported");
  assert_refused("a: *x\n", 1, 4, "YAML aliases are not supported");
  assert_refused("a: !!int 1\n", 1, 4, "YAML tags are not supported");
  assert_refused("[a]: 1\n", 1, 1, "a key should be");
  assert_refused("a: 1\n---\nb: 2\n", 2, 1, "more than one YAML document");
  assert_refused("a: [1, 2\nb: 3\n", 2, 2, "not valid YAML");
  assert_refused("a: b: c\n", 1, 5, "not valid YAML");
  char deep[160] = {0};
  memset(deep, '[', 70);
  memset(deep + 70, ']', 70);
  assert_refused(deep, 1, 66, "nested deeper than 64");
  assert_refused("a: \"\x01\"\n", 0, 0, "not valid YAML");
  assert_refused("a: \"\xff\"\n", 0, 0, "not valid YAML");
}

static void unknown_keys_suggest_the_nearest_name(void** state) {
  (void)state;
  const etx_yaml root = read("name: x\ntyp: y\n");
  assert_int_equal(etx_yaml_check_keys(&root, "name type init", &diag),
                   ETX_BAD_FILE);
  assert_string_equal(diag.text,
                      "unknown key 'typ', did you mean 'type' (allowed: name "
                      "type init)");
  assert_int_equal(diag.line, 2);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(nodes_have_line_and_column),
      TEST(a_copy_outlives_the_nodes_that_it_was_made_of),
      TEST(an_empty_text_is_an_empty_map),
      TEST(scalars_have_the_type_of_their_text),
      TEST(unsupported_yaml_is_an_error_with_its_location),
      TEST(unknown_keys_suggest_the_nearest_name),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
