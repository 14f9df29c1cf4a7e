// A recursive descent over the text, after RFC 8259. Values that wait for their
// array or object to end are on a stack, from which they are copied to the pool
// at once. All strings of a document share one block: a string is never longer
// than its quoted form in the text, so the size of the text bounds the block,
// and no string needs an allocation of its own.

#include "exporter/host/read_json.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

typedef struct json_reader {
  etx_pool* pool;
  etx_pool scratch;   // of the stack
  etx_text text;      // what is read
  size_t at;          // the next byte of it
  char* strings;      // where the next string goes
  etx_json* stack;    // values of the arrays and objects that have not ended
  etx_text* keys;     // beside each value on the stack, its key
  size_t count;       // of both
  size_t capacity;    // of `stack`
  size_t key_capacity;
  etx_diag* diag;
} json_reader;

typedef struct sort_key {
  etx_text key;
  uint32_t position;
} sort_key;

static int by_key(const void* a, const void* b) {
  const sort_key* const x = a;
  const sort_key* const y = b;
  return etx_text_compare(x->key, y->key);
}

etx_status etx_json_sort_keys(etx_pool* pool, etx_json* object) {
  etx_pool scratch;
  etx_pool_init(&scratch);
  sort_key* const order =
      etx_pool_take(&scratch, object->count * sizeof *order);
  uint32_t* const sorted = etx_pool_take(pool, object->count * sizeof *sorted);
  if (order != NULL && sorted != NULL) {
    for (size_t i = 0; i < object->count; ++i) {
      order[i].key = object->keys[i];
      order[i].position = (uint32_t)i;
    }
    if (object->count > 1) {
      qsort(order, object->count, sizeof *order, by_key);
    }
    for (size_t i = 0; i < object->count; ++i) sorted[i] = order[i].position;
    object->sorted = sorted;
  }
  etx_pool_close(&scratch);
  return object->sorted == NULL ? ETX_OUT_OF_MEMORY : ETX_OK;
}

// ---------------------------------------------------------------- errors

static etx_status no_memory(etx_diag* diag) {
  return etx_diag_fail(diag, ETX_OUT_OF_MEMORY, "not enough memory for JSON");
}

// Columns count characters from 1.
static etx_status malformed_at(const json_reader* r, size_t offset,
                               const char* problem) {
  uint32_t line = 1, column = 1;
  for (size_t i = 0; i < offset && i < r->text.size; ++i) {
    const uint8_t byte = (uint8_t)r->text.data[i];
    if (byte == '\n') {
      ++line;
      column = 1;
    } else if ((byte & 0xc0) != 0x80) {
      ++column;
    }
  }
  return etx_diag_fail_line(r->diag, ETX_BAD_FILE, line, column,
                            "not valid JSON at line %i, column %i: %s",
                            (int64_t)line, (int64_t)column, problem);
}

static etx_status malformed(const json_reader* r, const char* problem) {
  if (r->at >= r->text.size) problem = "the text ends within a value";
  return malformed_at(r, r->at, problem);
}

// ---------------------------------------------------------------- bytes

// The next byte, or -1 at the end.
static int peek(const json_reader* r) {
  return r->at < r->text.size ? (uint8_t)r->text.data[r->at] : -1;
}

static bool take(json_reader* r, char wanted) {
  if (peek(r) != wanted) return false;
  ++r->at;
  return true;
}

static void skip_space(json_reader* r) {
  int c = peek(r);
  while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
    ++r->at;
    c = peek(r);
  }
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

// ---------------------------------------------------------------- strings

// Bytes of the UTF-8 character that starts at `at`; 0 if it is not valid.
static size_t character_size(etx_text text, size_t at) {
  const uint8_t* const bytes = (const uint8_t*)text.data + at;
  const size_t left = text.size - at;
  const uint8_t first = bytes[0];
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || size > left) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((bytes[i] & 0xc0) != 0x80) return 0;
  }
  const uint8_t second = bytes[1];
  if (first == 0xe0 && second < 0xa0) return 0;   // overlong
  if (first == 0xed && second >= 0xa0) return 0;  // a surrogate
  if (first == 0xf0 && second < 0x90) return 0;   // overlong
  if (first == 0xf4 && second >= 0x90) return 0;  // beyond U+10FFFF
  return size;
}

// The number of four hexadecimal digits, or -1.
static int32_t read_hex(json_reader* r) {
  int32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const int c = peek(r);
    const int digit = is_digit(c)              ? c - '0'
                      : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                      : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                               : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
    ++r->at;
  }
  return value;
}

static void put(json_reader* r, uint32_t byte) { *r->strings++ = (char)byte; }

// Writes a character as UTF-8, which is shorter than its \u form.
static void put_character(json_reader* r, uint32_t c) {
  if (c < 0x80) {
    put(r, c);
  } else if (c < 0x800) {
    put(r, 0xc0 | c >> 6);
    put(r, 0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(r, 0xe0 | c >> 12);
    put(r, 0x80 | (c >> 6 & 0x3f));
    put(r, 0x80 | (c & 0x3f));
  } else {
    put(r, 0xf0 | c >> 18);
    put(r, 0x80 | (c >> 12 & 0x3f));
    put(r, 0x80 | (c >> 6 & 0x3f));
    put(r, 0x80 | (c & 0x3f));
  }
}

static etx_status read_unicode_escape(json_reader* r) {
  const size_t start = r->at;
  int32_t c = read_hex(r);
  if (c < 0) return malformed(r, "expected four hexadecimal digits");
  if (c >= 0xd800 && c <= 0xdbff && take(r, '\\') && take(r, 'u')) {
    const int32_t low = read_hex(r);
    if (low >= 0xdc00 && low <= 0xdfff) {
      c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
  }
  if (c >= 0xd800 && c <= 0xdfff) {
    return malformed_at(r, start, "half of a surrogate pair");
  }
  if (c == 0) return malformed_at(r, start, "\\u0000 is not allowed");
  put_character(r, (uint32_t)c);
  return ETX_OK;
}

static etx_status read_escape(json_reader* r) {
  static const char names[] = "\"\\/bfnrt";
  static const char characters[] = "\"\\/\b\f\n\r\t";
  const int c = peek(r);
  if (c == 'u') {
    ++r->at;
    return read_unicode_escape(r);
  }
  const char* const found = c > 0 ? strchr(names, c) : NULL;
  if (found == NULL) return malformed(r, "unknown escape");
  ++r->at;
  put(r, (uint8_t)characters[found - names]);
  return ETX_OK;
}

// A string, whose first quote is the next byte.
static etx_status read_string(json_reader* r, etx_text* out) {
  const char* const start = r->strings;
  ++r->at;
  while (!take(r, '"')) {
    const int c = peek(r);
    if (c < 0) return malformed(r, "");
    if (c < 0x20) return malformed(r, "a control character in a string");
    if (c == '\\') {
      ++r->at;
      ETX_TRY(read_escape(r));
      continue;
    }
    const size_t size = character_size(r->text, r->at);
    if (size == 0) return malformed(r, "a string that is not UTF-8");
    memcpy(r->strings, r->text.data + r->at, size);
    r->strings += size;
    r->at += size;
  }
  *out = (etx_text){start, (size_t)(r->strings - start)};
  put(r, 0);
  return ETX_OK;
}

// ---------------------------------------------------------------- numbers

static bool skip_digits(json_reader* r) {
  const size_t start = r->at;
  while (is_digit(peek(r))) ++r->at;
  return r->at > start;
}

// Moves behind a number; false where the grammar is not met.
static bool skip_number(json_reader* r, bool* out_is_real) {
  *out_is_real = false;
  (void)take(r, '-');
  if (!take(r, '0') && !skip_digits(r)) return false;
  if (is_digit(peek(r))) return false;  // behind a leading zero
  if (take(r, '.')) {
    *out_is_real = true;
    if (!skip_digits(r)) return false;
  }
  if (take(r, 'e') || take(r, 'E')) {
    *out_is_real = true;
    if (!take(r, '+')) (void)take(r, '-');
    if (!skip_digits(r)) return false;
  }
  return true;
}

// strtod expects the decimal point of the locale, which an application may have
// set.
static bool read_real(char* digits, size_t size, double* out) {
  char* const point = memchr(digits, '.', size);
  if (point != NULL) *point = localeconv()->decimal_point[0];
  char* end = NULL;
  *out = strtod(digits, &end);
  return end == digits + size && isfinite(*out);
}

// strtoll and strtod need a terminator, which the text may lack. The number is
// copied to where the next string goes. There is room for it: what was written
// so far is no longer than what was read, and the block has one byte more.
static etx_status read_number(json_reader* r, etx_json* out) {
  bool is_real = false;
  const size_t start = r->at;
  if (!skip_number(r, &is_real)) return malformed(r, "expected a digit");
  const size_t size = r->at - start;
  memcpy(r->strings, r->text.data + start, size);
  r->strings[size] = '\0';
  errno = 0;
  if (is_real) {
    out->kind = ETX_JSON_DOUBLE;
    if (read_real(r->strings, size, &out->real)) return ETX_OK;
    return malformed_at(r, start, "a number beyond the range of double");
  }
  out->kind = ETX_JSON_INT;
  out->integer = strtoll(r->strings, NULL, 10);
  if (errno == 0) return ETX_OK;
  return malformed_at(r, start, "an integer beyond 64 bits");
}

// ---------------------------------------------------------------- values

static etx_status read_value(json_reader* r, size_t depth, etx_json* out);

static etx_status push(json_reader* r, etx_text key, const etx_json* value) {
  ETX_TRY(etx_pool_grow(&r->scratch, &r->stack, r->count, &r->capacity,
                        sizeof *r->stack));
  ETX_TRY(etx_pool_grow(&r->scratch, &r->keys, r->count, &r->key_capacity,
                        sizeof *r->keys));
  r->stack[r->count] = *value;
  r->keys[r->count++] = key;
  return ETX_OK;
}

// Moves the values from `first` on from the stack to the pool.
static etx_status take_items(json_reader* r, size_t first, etx_json* out) {
  const size_t count = r->count - first;
  etx_json* const items = etx_pool_take(r->pool, count * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  if (count > 0) memcpy(items, r->stack + first, count * sizeof *items);
  r->count = first;
  out->items = items;
  out->count = count;
  return ETX_OK;
}

static etx_status read_array(json_reader* r, size_t depth, etx_json* out) {
  const size_t first = r->count;
  const etx_text no_key = {NULL, 0};
  out->kind = ETX_JSON_ARRAY;
  ++r->at;
  skip_space(r);
  if (take(r, ']')) return take_items(r, first, out);
  for (;;) {
    etx_json item;
    ETX_TRY(read_value(r, depth + 1, &item));
    ETX_TRY(push(r, no_key, &item));
    skip_space(r);
    if (take(r, ']')) return take_items(r, first, out);
    if (!take(r, ',')) return malformed(r, "expected ',' or ']'");
  }
}

static etx_status read_member(json_reader* r, size_t depth) {
  etx_text key;
  etx_json value;
  skip_space(r);
  if (peek(r) != '"') return malformed(r, "expected a key in quotes");
  ETX_TRY(read_string(r, &key));
  skip_space(r);
  if (!take(r, ':')) return malformed(r, "expected ':'");
  ETX_TRY(read_value(r, depth + 1, &value));
  return push(r, key, &value);
}

static etx_status end_object(json_reader* r, size_t first, etx_json* out) {
  const size_t count = r->count - first;
  etx_text* const keys = etx_pool_take(r->pool, count * sizeof *keys);
  if (keys == NULL) return ETX_OUT_OF_MEMORY;
  if (count > 0) memcpy(keys, r->keys + first, count * sizeof *keys);
  out->keys = keys;
  ETX_TRY(take_items(r, first, out));
  ETX_TRY(etx_json_sort_keys(r->pool, out));
  for (size_t i = 1; i < count; ++i) {
    if (!etx_text_equal(keys[out->sorted[i - 1]], keys[out->sorted[i]])) {
      continue;
    }
    const etx_text problem = etx_pool_format(
        &r->scratch, "the key '%t' occurs twice in the object that ends here",
        keys[out->sorted[i]]);
    if (problem.data == NULL) return ETX_OUT_OF_MEMORY;
    return malformed_at(r, r->at - 1, problem.data);
  }
  return ETX_OK;
}

static etx_status read_object(json_reader* r, size_t depth, etx_json* out) {
  const size_t first = r->count;
  out->kind = ETX_JSON_OBJECT;
  ++r->at;
  skip_space(r);
  if (take(r, '}')) return end_object(r, first, out);
  for (;;) {
    ETX_TRY(read_member(r, depth));
    skip_space(r);
    if (take(r, '}')) return end_object(r, first, out);
    if (!take(r, ',')) return malformed(r, "expected ',' or '}'");
  }
}

static etx_status read_word(json_reader* r, etx_json* out) {
  static const char* const words[] = {"null", "true", "false"};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    const etx_text rest = {r->text.data + r->at, r->text.size - r->at};
    if (!etx_text_starts_with(rest, etx_text_of(words[i]))) continue;
    r->at += strlen(words[i]);
    out->kind = i == 0 ? ETX_JSON_NULL : ETX_JSON_BOOL;
    out->boolean = i == 1;
    return ETX_OK;
  }
  return malformed(r, "expected a value");
}

static etx_status read_value(json_reader* r, size_t depth, etx_json* out) {
  memset(out, 0, sizeof *out);
  if (depth > ETX_JSON_MAX_DEPTH) {
    return etx_diag_fail(r->diag, ETX_BAD_FILE,
                         "values are nested deeper than %i",
                         (int64_t)ETX_JSON_MAX_DEPTH);
  }
  skip_space(r);
  const int c = peek(r);
  if (c == '[') return read_array(r, depth, out);
  if (c == '{') return read_object(r, depth, out);
  if (c == '"') {
    out->kind = ETX_JSON_STRING;
    return read_string(r, &out->string);
  }
  return c == '-' || is_digit(c) ? read_number(r, out) : read_word(r, out);
}

static etx_status read_document(json_reader* r, etx_json* out) {
  ETX_TRY(read_value(r, 0, out));
  skip_space(r);
  if (r->at == r->text.size) return ETX_OK;
  return malformed(r, "text after the value");
}

etx_status etx_json_read(etx_pool* pool, etx_text text, etx_json* out_value,
                         etx_diag* diag) {
  json_reader r = {.pool = pool, .text = text, .diag = diag};
  // One more byte than the text for the terminator of a number at its end.
  r.strings = text.size == SIZE_MAX ? NULL : etx_pool_take(pool, text.size + 1);
  if (r.strings == NULL) return no_memory(diag);
  etx_pool_init(&r.scratch);
  const etx_status status = read_document(&r, out_value);
  etx_pool_close(&r.scratch);
  return status == ETX_OUT_OF_MEMORY ? no_memory(diag) : status;
}

const etx_json* etx_json_find(const etx_json* object, etx_text key) {
  if (object == NULL || object->kind != ETX_JSON_OBJECT) return NULL;
  size_t low = 0, high = object->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const uint32_t at = object->sorted[middle];
    const int order = etx_text_compare(object->keys[at], key);
    if (order == 0) return &object->items[at];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

const etx_json* etx_json_member(const etx_json* object, const char* key) {
  return etx_json_find(object, etx_text_of(key));
}

const char* etx_json_kind_name(etx_json_kind kind) {
  switch (kind) {
    case ETX_JSON_NULL:
      return "null";
    case ETX_JSON_BOOL:
      return "true or false";
    case ETX_JSON_INT:
      return "an integer";
    case ETX_JSON_DOUBLE:
      return "a number with a fraction";
    case ETX_JSON_STRING:
      return "a string";
    case ETX_JSON_ARRAY:
      return "an array";
    case ETX_JSON_OBJECT:
      return "an object";
  }
  return "?";
}
