// Tests of JSON trees: kinds, order, lookup, errors with line and column.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "exporter/host/read_json.h"

static etx_pool pool;
static etx_diag diag;

static int set_up(void** state) {
  (void)state;
  etx_pool_init(&pool);
  etx_diag_init(&diag);
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  etx_pool_close(&pool);
  return 0;
}

static etx_json read(const char* text) {
  etx_json value;
  if (etx_json_read(&pool, etx_text_of(text), &value, &diag) != ETX_OK) {
    fail_msg("%s: %s", text, diag.text);
  }
  return value;
}

static void values_keep_kind_and_order(void** state) {
  (void)state;
  const etx_json value = read(
      "{\"z\": [1, -2.5, true, null], \"a\": \"x\\u00e9\", \"big\": "
      "9223372036854775807}");
  assert_int_equal(value.kind, ETX_JSON_OBJECT);
  assert_int_equal(value.count, 3);
  assert_true(etx_text_is(value.keys[0], "z"));
  const etx_json* const list = etx_json_member(&value, "z");
  assert_non_null(list);
  assert_int_equal(list->items[0].integer, 1);
  assert_true(list->items[1].real == -2.5);
  assert_true(list->items[2].boolean);
  assert_int_equal(list->items[3].kind, ETX_JSON_NULL);
  assert_true(etx_text_is(etx_json_member(&value, "a")->string, "x\xc3\xa9"));
  assert_true(etx_json_member(&value, "big")->integer == INT64_MAX);
  assert_null(etx_json_member(&value, "b"));
  assert_null(etx_json_member(list, "a"));
}

static void many_keys_are_found(void** state) {
  (void)state;
  static char text[40000];
  size_t size = 0;
  text[size++] = '{';
  for (size_t i = 0; i < 1000; ++i) {
    size += etx_format_text(text + size, sizeof text - size, "%s\"k%z\": %z",
                            i == 0 ? "" : ",", i * 7919 % 1000, i);
  }
  text[size++] = '}';
  text[size] = '\0';
  const etx_json value = read(text);
  for (size_t i = 0; i < 1000; ++i) {
    char key[16];
    etx_format_text(key, sizeof key, "k%z", i * 7919 % 1000);
    assert_int_equal(etx_json_member(&value, key)->integer, i);
  }
}

static void malformed_texts_are_refused(void** state) {
  (void)state;
  static const char* const texts[] = {
      "",
      "{\"a\": 1, \"a\": 2}",
      "[1, 2",
      "[1] x",
      "\xef\xbb\xbf[1]",
      "[NaN]",
      "[18446744073709551616]",
      "[1e999]",
      "[\"\\ud83d\"]",
      "{\"a\\u0000b\": 1}",
      "[\"a\nb\"]",
      "{1: 2}",
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    etx_json value;
    etx_diag_init(&diag);
    assert_int_equal(etx_json_read(&pool, etx_text_of(texts[i]), &value, &diag),
                     ETX_BAD_FILE);
    assert_non_null(strstr(diag.text, "not valid JSON"));
  }
  etx_json value;
  etx_diag_init(&diag);
  assert_int_equal(
      etx_json_read(&pool, etx_text_of("[1,\n  2,\n  }"), &value, &diag),
      ETX_BAD_FILE);
  assert_int_equal(diag.line, 3);
}

static void depth_is_limited(void** state) {
  char text[2 * ETX_JSON_MAX_DEPTH + 20];
  etx_json value;
  (void)state;
  const size_t depth = ETX_JSON_MAX_DEPTH + 5;
  memset(text, '[', depth);
  memset(text + depth, ']', depth);
  const etx_text all = {text, 2 * depth};
  assert_int_equal(etx_json_read(&pool, all, &value, &diag), ETX_BAD_FILE);
  assert_non_null(strstr(diag.text, "nested deeper"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(values_keep_kind_and_order),
      TEST(many_keys_are_found),
      TEST(malformed_texts_are_refused),
      TEST(depth_is_limited),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
