#include "cli/json/json_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json/utf8.h"

// The hooks of jansson have no context.
static void (*on_failure)(void);

static void* allocate(size_t bytes) {
  void* const memory = malloc(bytes);
  if (memory == NULL && on_failure != NULL) on_failure();
  return memory;
}

void etx_json_watch_allocations(void (*failed)(void)) {
  on_failure = failed;
  json_set_alloc_funcs(allocate, free);
}

// A string of `text` with U+FFFD for every byte that is not UTF-8.
static json_t* make_valid_utf8(etx_text text) {
  static const char replacement[] = "\xef\xbf\xbd";
  enum { SIZE = sizeof replacement - 1 };
  if (text.size > SIZE_MAX / SIZE) return NULL;
  char* const bytes = allocate(text.size * SIZE);
  if (bytes == NULL) return NULL;
  size_t size = 0;
  for (size_t at = 0; at < text.size;) {
    const size_t start = at;
    const bool is_valid = etx_utf8_next(text, &at) != ETX_UTF8_REPLACEMENT;
    const size_t count = is_valid ? at - start : SIZE;
    memcpy(bytes + size, is_valid ? text.data + start : replacement, count);
    size += count;
  }
  json_t* const string = json_stringn(bytes, size);
  free(bytes);
  return string;
}

json_t* etx_json_text(etx_text text) {
  json_t* string = json_stringn(text.size == 0 ? "" : text.data, text.size);
  if (string == NULL) string = make_valid_utf8(text);
  return string == NULL ? json_null() : string;
}

json_t* etx_json_unsigned(uint64_t value) {
  return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t* etx_json_real(double value) {
  if (isfinite(value)) return json_real(value);
  char text[16];
  snprintf(text, sizeof text, "%g", value);
  return json_string(text);
}

json_t* etx_json_sizes(const int32_t* sizes, size_t rank) {
  json_t* const list = json_array();
  for (size_t i = 0; i < rank; ++i) {
    json_array_append_new(list, json_integer(sizes[i]));
  }
  return list;
}

bool etx_json_print(json_t* root) {
  const int failed =
      root == NULL ? -1 : json_dumpf(root, stdout, JSON_INDENT(1));
  json_decref(root);
  return failed == 0 && fputc('\n', stdout) != EOF;
}
