// Tests of JSON trees: kinds, order, lookup, errors with line and column.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "exporter/host/read_json.h"
#include "tests/exporter/pool_and_diag.h"

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

// ------------------------------------------------------- jansson as the oracle

static uint32_t random_state = 20;

static uint32_t draw(uint32_t bound) {
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)random_state * bound >> 32);
}

static void assert_same(const etx_json* found, json_t* expected);

static void assert_same_members(const etx_json* found, json_t* expected) {
  assert_int_equal(found->kind, ETX_JSON_OBJECT);
  assert_int_equal(found->count, json_object_size(expected));
  for (size_t i = 0; i < found->count; ++i) {
    json_t* const value = json_object_getn(expected, found->keys[i].data,
                                           found->keys[i].size);
    assert_non_null(value);
    assert_same(&found->items[i], value);
    assert_ptr_equal(etx_json_find(found, found->keys[i]), &found->items[i]);
  }
}

static void assert_same_items(const etx_json* found, json_t* expected) {
  assert_int_equal(found->kind, ETX_JSON_ARRAY);
  assert_int_equal(found->count, json_array_size(expected));
  for (size_t i = 0; i < found->count; ++i) {
    assert_same(&found->items[i], json_array_get(expected, i));
  }
}

static void assert_same_string(const etx_json* found, json_t* expected) {
  assert_int_equal(found->kind, ETX_JSON_STRING);
  assert_int_equal(found->string.size, json_string_length(expected));
  assert_memory_equal(found->string.data, json_string_value(expected),
                      found->string.size + 1);
}

static void assert_same(const etx_json* found, json_t* expected) {
  if (json_is_object(expected)) {
    assert_same_members(found, expected);
  } else if (json_is_array(expected)) {
    assert_same_items(found, expected);
  } else if (json_is_string(expected)) {
    assert_same_string(found, expected);
  } else if (json_is_integer(expected)) {
    assert_int_equal(found->kind, ETX_JSON_INT);
    assert_true(found->integer == json_integer_value(expected));
  } else if (json_is_real(expected)) {
    assert_int_equal(found->kind, ETX_JSON_DOUBLE);
    assert_true(found->real == json_real_value(expected));
  } else if (json_is_boolean(expected)) {
    assert_int_equal(found->kind, ETX_JSON_BOOL);
    assert_true(found->boolean == json_is_true(expected));
  } else {
    assert_int_equal(found->kind, ETX_JSON_NULL);
  }
}

// The text in a block of exactly its size, so that a sanitizer sees each read
// beyond it.
static bool agrees_with_jansson(const char* bytes, size_t size) {
  char* const exact = malloc(size == 0 ? 1 : size);
  etx_pool own;
  etx_json found;
  assert_non_null(exact);
  memcpy(exact, bytes, size);
  etx_pool_init(&own);
  json_t* const expected = json_loadb(
      exact, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
  const etx_text text = {exact, size};
  const etx_status status = etx_json_read(&own, text, &found, NULL);
  if ((status == ETX_OK) != (expected != NULL)) {
    fail_msg("%s of %.*s", etx_status_name(status), (int)size, exact);
  }
  if (expected != NULL) assert_same(&found, expected);
  const bool is_valid = expected != NULL;
  json_decref(expected);
  etx_pool_close(&own);
  free(exact);
  return is_valid;
}

static const char* const documents[] = {
    "{\"a\": [1, -2.5e3, true, null, false], \"b\": {\"c\": \"\\u00e9\"}}",
    "[\"\\ud83d\\ude00\", \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\", \"\\n\\/\"]",
    "[9223372036854775807, -9223372036854775808, 0, -0, -0.0, 1E+2, 1e-400]",
    " {\"x\":{},\"y\":[],\"z\":[[[]]],\"\":\"\"} \r\n",
    "[0.1, 123456789.123456789, 1e308, 5e-324]",
    "\"alone\"",
    "-12",
};

static void texts_mean_what_they_mean_to_jansson(void** state) {
  static const char pieces[] = "{}[]\",:\\u0123456789eE+-. dDfFtn\n\x80\xc3\xed\xf4";
  size_t valid = 0;
  (void)state;
  for (size_t round = 0; round < 100000; ++round) {
    char text[128];
    const char* const from =
        documents[draw(sizeof documents / sizeof *documents)];
    size_t size = strlen(from);
    memcpy(text, from, size + 1);
    for (uint32_t i = draw(4); i > 0 && size > 0; --i) {
      const size_t at = draw((uint32_t)size);
      const uint32_t kind = draw(3);
      if (kind == 0) {
        text[at] = pieces[draw(sizeof pieces - 1)];
      } else if (kind == 1) {
        memmove(text + at, text + at + 1, --size - at);
      } else {
        memmove(text + at + 1, text + at, size++ - at);
      }
    }
    valid += agrees_with_jansson(text, size);
  }
  assert_in_range(valid, 25000, 99000);
}

static void messages_name_the_place(void** state) {
  static const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"{\"k\": 1,\n\"k\": 2}",
       "line 2, column 7: the key 'k' occurs twice in the object"},
      {"[\"\xc3\xa9\", x]", "line 1, column 7: expected a value"},
      {"[1", "line 1, column 3: the text ends within a value"},
      {"[\"\\ud800x\"]", "line 1, column 5: half of a surrogate pair"},
      {"[1] 2", "line 1, column 5: text after the value"},
      {"1e999", "line 1, column 1: a number beyond the range of double"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    etx_json value;
    etx_diag_init(&diag);
    assert_int_equal(
        etx_json_read(&pool, etx_text_of(cases[i].text), &value, &diag),
        ETX_BAD_FILE);
    if (strstr(diag.text, cases[i].message) == NULL) fail_msg("%s", diag.text);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(values_keep_kind_and_order),
      TEST(many_keys_are_found),
      TEST(malformed_texts_are_refused),
      TEST(depth_is_limited),
      TEST(texts_mean_what_they_mean_to_jansson),
      TEST(messages_name_the_place),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
