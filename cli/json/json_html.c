// The HTML starts with a table of the root's plain values; each list or object
// of the root is a section after it. The recursion is as deep as the report,
// which no input changes.

#include "cli/json/json_html.h"

#include <stdbool.h>

static void put_text(const char* text, FILE* out) {
  for (const char* at = text; *at != '\0'; ++at) {
    switch (*at) {
      case '&':
        fputs("&amp;", out);
        break;
      case '<':
        fputs("&lt;", out);
        break;
      case '>':
        fputs("&gt;", out);
        break;
      case '"':
        fputs("&quot;", out);
        break;
      default:
        putc(*at, out);
    }
  }
}

// "state_bytes" -> "state bytes".
static void put_key(const char* key, FILE* out) {
  for (; *key != '\0'; ++key) putc(*key == '_' ? ' ' : *key, out);
}

// Writes 1234567 as 1 234 567, with narrow spaces that no line ends at.
static void put_integer(json_int_t value, FILE* out) {
  char digits[32];
  const int size =
      snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, value);
  for (int i = 0; i < size; ++i) {
    const bool starts_group = i > 0 && (size - i) % 3 == 0;
    if (starts_group && digits[i - 1] != '-') fputs("&#8239;", out);
    putc(digits[i], out);
  }
}

static void put_value(const json_t* value, FILE* out);

static bool holds_objects(const json_t* list) {
  return json_is_object(json_array_get(list, 0));
}

// The keys of all objects of a list, in the order of their first use.
static json_t* columns_of(const json_t* list) {
  json_t* const columns = json_array();
  json_t* const seen = json_object();
  size_t i;
  json_t* item;
  json_array_foreach(list, i, item) {
    const char* key;
    json_t* value;
    json_object_foreach(item, key, value) {
      if (json_object_get(seen, key) != NULL) continue;
      json_object_set_new(seen, key, json_true());
      json_array_append_new(columns, json_string(key));
    }
  }
  json_decref(seen);
  return columns;
}

static void put_cell(const json_t* value, FILE* out) {
  fputs(json_is_number(value) ? "<td class=number>" : "<td>", out);
  if (value != NULL) put_value(value, out);
  fputs("</td>", out);
}

static void put_rows(const json_t* list, FILE* out) {
  json_t* const columns = columns_of(list);
  size_t c;
  json_t* column;
  fputs("<table><tr>", out);
  json_array_foreach(columns, c, column) {
    fputs("<th>", out);
    put_key(json_string_value(column), out);
    fputs("</th>", out);
  }
  fputs("</tr>\n", out);
  size_t i;
  json_t* item;
  json_array_foreach(list, i, item) {
    fputs("<tr>", out);
    json_array_foreach(columns, c, column) {
      put_cell(json_object_get(item, json_string_value(column)), out);
    }
    fputs("</tr>\n", out);
  }
  fputs("</table>\n", out);
  json_decref(columns);
}

static void put_list(const json_t* list, FILE* out) {
  if (json_array_size(list) == 0) {
    fputs("none", out);
  } else if (holds_objects(list)) {
    put_rows(list, out);
  } else {
    size_t i;
    json_t* item;
    json_array_foreach(list, i, item) {
      if (i != 0) fputs(", ", out);
      put_value(item, out);
    }
  }
}

static void put_row(const char* key, const json_t* value, FILE* out) {
  fputs("<tr><th>", out);
  put_key(key, out);
  fputs("</th>", out);
  put_cell(value, out);
  fputs("</tr>\n", out);
}

static void put_object(const json_t* object, FILE* out) {
  const char* key;
  json_t* value;
  fputs("<table>\n", out);
  json_object_foreach((json_t*)object, key, value) { put_row(key, value, out); }
  fputs("</table>\n", out);
}

static void put_value(const json_t* value, FILE* out) {
  switch (json_typeof(value)) {
    case JSON_OBJECT:
      put_object(value, out);
      break;
    case JSON_ARRAY:
      put_list(value, out);
      break;
    case JSON_STRING:
      put_text(json_string_value(value), out);
      break;
    case JSON_INTEGER:
      put_integer(json_integer_value(value), out);
      break;
    case JSON_REAL:
      fprintf(out, "%.9g", json_real_value(value));
      break;
    case JSON_TRUE:
      fputs("yes", out);
      break;
    case JSON_FALSE:
      fputs("no", out);
      break;
    default:
      fputs("&ndash;", out);
  }
}

static bool is_section(const json_t* value) {
  return json_is_object(value) ||
         (json_is_array(value) && json_array_size(value) != 0);
}

void etx_json_html_print(const json_t* root, FILE* out) {
  const char* key;
  json_t* value;
  fputs("<div class=scroll><table>\n", out);
  json_object_foreach((json_t*)root, key, value) {
    if (is_section(value)) continue;
    put_row(key, value, out);
  }
  fputs("</table></div>\n", out);
  json_object_foreach((json_t*)root, key, value) {
    if (!is_section(value)) continue;
    fputs("<h2>", out);
    put_key(key, out);
    fputs("</h2>\n<div class=scroll>", out);
    put_value(value, out);
    fputs("</div>\n", out);
  }
}
