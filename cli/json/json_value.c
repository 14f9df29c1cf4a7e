#include "cli/json/json_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json/utf8.h"

// jansson's hooks have no context, and what it builds without memory merely
// lacks a part, so the one place that all of it passes has to remember.
static bool is_short;

static void* take(size_t bytes) {
  void* const memory = malloc(bytes);
  if (memory == NULL) is_short = true;
  return memory;
}

void etx_json_watch_allocations(void) { json_set_alloc_funcs(take, free); }

bool etx_json_allocation_failed(void) { return is_short; }

// `text` with a replacement for every byte that is no UTF-8.
static json_t* replaced(etx_text text) {
  static const char replacement[] = "\xef\xbf\xbd";
  enum { SIZE = sizeof replacement - 1 };
  if (text.size > SIZE_MAX / SIZE) return NULL;
  char* const bytes = malloc(text.size * SIZE);
  if (bytes == NULL) return NULL;
  size_t size = 0;
  for (size_t at = 0; at < text.size;) {
    const size_t start = at;
    const bool is_sound = etx_utf8_next(text, &at) != ETX_UTF8_REPLACEMENT;
    const size_t count = is_sound ? at - start : SIZE;
    memcpy(bytes + size, is_sound ? text.data + start : replacement, count);
    size += count;
  }
  json_t* const string = json_stringn(bytes, size);
  free(bytes);
  return string;
}

json_t* etx_json_text(etx_text text) {
  json_t* string = json_stringn(text.size == 0 ? "" : text.data, text.size);
  if (string == NULL) string = replaced(text);
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
  const bool is_whole = root != NULL && !is_short;
  const int failed = is_whole ? json_dumpf(root, stdout, JSON_INDENT(1)) : -1;
  json_decref(root);
  return failed == 0 && fputc('\n', stdout) != EOF;
}
