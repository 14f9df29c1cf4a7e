#include "tokenizer/json_cursor.h"

#include "tokenizer/unicode/unicode.h"

static const uint8_t* skip_space(const uint8_t* at, const uint8_t* end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
    ++at;
  return at;
}

static int hex_digit(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hexadecimal digits, or 0x110000.
static uint32_t hex_four(const uint8_t* at, const uint8_t* end) {
  uint32_t code = 0;
  if (end - at < 4) return 0x110000;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_digit(at[i]);
    if (digit < 0) return 0x110000;
    code = code * 16 + (uint32_t)digit;
  }
  return code;
}

// Reads what follows a backslash. Returns its bytes, 0 if it is no escape.
static size_t read_escape(const uint8_t* at, const uint8_t* end,
                          uint32_t* out) {
  static const char letters[] = "\"\\/bfnrt";
  static const uint8_t codes[] = {'"', '\\', '/', 8, 12, 10, 13, 9};
  if (at == end) return 0;
  for (size_t i = 0; i < sizeof codes; ++i) {
    if (*at == (uint8_t)letters[i]) {
      *out = codes[i];
      return 1;
    }
  }
  if (*at != 'u') return 0;
  const uint32_t code = hex_four(at + 1, end);
  if (code >= 0x110000 || (code >= 0xDC00 && code < 0xE000)) return 0;
  *out = code;
  if (code < 0xD800 || code >= 0xDC00) return 5;
  if (end - at < 11 || at[5] != '\\' || at[6] != 'u') return 0;
  const uint32_t low = hex_four(at + 7, end);
  if (low < 0xDC00 || low >= 0xE000) return 0;
  *out = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  return 11;
}

// The end of the string that begins at the quote `at`, or NULL.
static const uint8_t* check_string(const uint8_t* at, const uint8_t* end) {
  for (++at; at < end && *at != '"';) {
    uint32_t code = 0;
    if (*at < 0x20) return NULL;
    if (*at == '\\') {
      const size_t size = read_escape(at + 1, end, &code);
      if (size == 0) return NULL;
      at += 1 + size;
    } else {
      const size_t size = etx_utf8_read(at, (size_t)(end - at), &code);
      if (code == ETX_UNICODE_REPLACEMENT && (size != 3 || at[0] != 0xEF))
        return NULL;
      at += size;
    }
  }
  return at < end ? at + 1 : NULL;
}

static const uint8_t* skip_digits(const uint8_t* at, const uint8_t* end) {
  while (at < end && *at >= '0' && *at <= '9') ++at;
  return at;
}

static const uint8_t* check_number(const uint8_t* at, const uint8_t* end) {
  if (*at == '-') ++at;
  const uint8_t* digits = skip_digits(at, end);
  if (digits == at || (*at == '0' && digits > at + 1)) return NULL;
  at = digits;
  if (at < end && *at == '.') {
    digits = skip_digits(at + 1, end);
    if (digits == at + 1) return NULL;
    at = digits;
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at < end && (*at == '+' || *at == '-')) ++at;
    digits = skip_digits(at, end);
    if (digits == at) return NULL;
    at = digits;
  }
  return at;
}

// The end of a string, number or word, or NULL.
static const uint8_t* check_scalar(const uint8_t* at, const uint8_t* end) {
  static const char* const words[] = {"true", "false", "null"};
  if (at == end) return NULL;
  if (*at == '"') return check_string(at, end);
  if (*at == '-' || (*at >= '0' && *at <= '9')) return check_number(at, end);
  for (size_t i = 0; i < 3; ++i) {
    const size_t size = strlen(words[i]);
    if ((size_t)(end - at) >= size && memcmp(at, words[i], size) == 0)
      return at + size;
  }
  return NULL;
}

static etx_status bad_json(const uint8_t* start, const uint8_t* at,
                           const char* expected, etx_diag* diag) {
  return etx_diag_fail_at(diag, ETX_BAD_FILE, (uint64_t)(at - start),
                          "the JSON is damaged at byte %u: expected %s",
                          (uint64_t)(at - start), expected);
}

// Reads a key and its colon.
static etx_status check_key(const uint8_t* start, const uint8_t** place,
                            const uint8_t* end, etx_diag* diag) {
  const uint8_t* at = *place;
  const uint8_t* next = at < end && *at == '"' ? check_string(at, end) : NULL;
  if (next == NULL) return bad_json(start, at, "a key in quotes", diag);
  next = skip_space(next, end);
  if (next == end || *next != ':') return bad_json(start, next, "':'", diag);
  *place = skip_space(next + 1, end);
  return ETX_OK;
}

etx_status etx_cursor_check(etx_bytes text, etx_cursor_value* out,
                            etx_diag* diag) {
  const uint8_t* const end = text.data + text.size;
  uint8_t closing[ETX_CURSOR_DEPTH_MAX];
  size_t depth = 0;
  if (text.size == 0) {
    return etx_diag_fail(diag, ETX_BAD_FILE,
                         "the tokenizer is empty, expected JSON");
  }
  const uint8_t* at = skip_space(text.data, end);
  out->at = at;
  out->end = end;
  for (;;) {
    bool opened = false;
    if (at < end && (*at == '{' || *at == '[')) {
      if (depth == ETX_CURSOR_DEPTH_MAX) {
        return bad_json(text.data, at, "at most 64 values within each other",
                        diag);
      }
      closing[depth++] = *at == '{' ? '}' : ']';
      at = skip_space(at + 1, end);
      opened = at == end || *at != closing[depth - 1];
    } else {
      const uint8_t* const next = check_scalar(at, end);
      if (next == NULL) return bad_json(text.data, at, "a value", diag);
      at = skip_space(next, end);
    }
    while (!opened && depth > 0 && at < end && *at == closing[depth - 1]) {
      --depth;
      at = skip_space(at + 1, end);
    }
    if (depth == 0) break;
    if (!opened) {
      if (at == end || *at != ',')
        return bad_json(text.data, at, "',' or an end", diag);
      at = skip_space(at + 1, end);
    }
    if (closing[depth - 1] == '}') {
      const etx_status status = check_key(text.data, &at, end, diag);
      if (status != ETX_OK) return status;
    }
  }
  return at == end ? ETX_OK
                   : bad_json(text.data, at, "the end of the file", diag);
}

// The end of a string of a checked text.
static const uint8_t* string_end(const uint8_t* at) {
  for (++at; *at != '"'; ++at) {
    if (*at == '\\') ++at;
  }
  return at + 1;
}

static const uint8_t* value_end(etx_cursor_value value) {
  const uint8_t* at = value.at;
  size_t depth = 0;
  do {
    if (*at == '"') {
      at = string_end(at);
      continue;
    }
    if (*at == '{' || *at == '[') ++depth;
    if (*at == '}' || *at == ']') --depth;
    ++at;
    if (depth == 0 && at[-1] != '}' && at[-1] != ']') {
      while (at < value.end && *at != ',' && *at != '}' && *at != ']' &&
             *at != ' ' && *at != '\t' && *at != '\n' && *at != '\r') {
        ++at;
      }
    }
  } while (depth > 0);
  return at;
}

etx_cursor_walk etx_cursor_items(etx_cursor_value value) {
  etx_cursor_walk walk = {{NULL, value.end}, false};
  const char kind = etx_cursor_kind(value);
  if (kind != '{' && kind != '[') return walk;
  walk.object = kind == '{';
  walk.next.at = skip_space(value.at + 1, value.end);
  return walk;
}

bool etx_cursor_next(etx_cursor_walk* walk, etx_cursor_value* out_key,
                     etx_cursor_value* out_value) {
  const uint8_t* const end = walk->next.end;
  if (walk->next.at == NULL || *walk->next.at == '}' || *walk->next.at == ']') {
    return false;
  }
  etx_cursor_value value = walk->next;
  if (walk->object) {
    if (out_key != NULL) *out_key = value;
    value.at = skip_space(skip_space(string_end(value.at), end) + 1, end);
  }
  *out_value = value;
  const uint8_t* at = skip_space(value_end(value), end);
  if (*at == ',') at = skip_space(at + 1, end);
  walk->next.at = at;
  return true;
}

void etx_cursor_get_all(etx_cursor_value object, const char* const* keys,
                        size_t count, etx_cursor_value* out_values) {
  etx_cursor_walk walk = etx_cursor_items(object);
  etx_cursor_value name, value;
  for (size_t i = 0; i < count; ++i) {
    out_values[i] = (etx_cursor_value){NULL, object.end};
  }
  while (walk.object && etx_cursor_next(&walk, &name, &value)) {
    for (size_t i = 0; i < count; ++i) {
      if (etx_cursor_string_is(name, keys[i])) out_values[i] = value;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    if (etx_cursor_kind(out_values[i]) == 'n') out_values[i].at = NULL;
  }
}

etx_cursor_value etx_cursor_get(etx_cursor_value object, const char* key) {
  etx_cursor_value found;
  etx_cursor_get_all(object, &key, 1, &found);
  return found;
}

char etx_cursor_kind(etx_cursor_value value) {
  return value.at == NULL ? '\0' : (char)*value.at;
}

size_t etx_cursor_string_copy(etx_cursor_value value, uint8_t* out) {
  size_t size = 0;
  uint8_t bytes[4];
  if (etx_cursor_kind(value) != '"') return 0;
  for (const uint8_t* at = value.at + 1; *at != '"';) {
    if (*at != '\\') {
      if (out != NULL) out[size] = *at;
      ++size;
      ++at;
      continue;
    }
    uint32_t code = 0;
    at += 1 + read_escape(at + 1, value.end, &code);
    const size_t count = etx_utf8_write(code, bytes);
    if (out != NULL) memcpy(out + size, bytes, count);
    size += count;
  }
  return size;
}

size_t etx_cursor_string_size(etx_cursor_value value) {
  return etx_cursor_string_copy(value, NULL);
}

bool etx_cursor_string_is(etx_cursor_value value, const char* text) {
  uint8_t bytes[64];
  const size_t size = strlen(text);
  if (etx_cursor_kind(value) != '"' || size > sizeof bytes ||
      etx_cursor_string_size(value) != size) {
    return false;
  }
  etx_cursor_string_copy(value, bytes);
  return memcmp(bytes, text, size) == 0;
}

bool etx_cursor_bool(etx_cursor_value value, bool otherwise) {
  const char kind = etx_cursor_kind(value);
  return kind == 't' || (kind != 'f' && otherwise);
}

// Multiplies by a power of ten, as exactly as one rounding for each 10^22.
static double scaled(double value, int exponent) {
  static const double powers[] = {
      1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  for (; exponent > 22; exponent -= 22) value *= 1e22;
  for (; exponent < -22; exponent += 22) value /= 1e22;
  return exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
}

double etx_cursor_real(etx_cursor_value value) {
  const char kind = etx_cursor_kind(value);
  if (kind != '-' && (kind < '0' || kind > '9')) return 0;
  const uint8_t* at = value.at + (kind == '-');
  uint64_t digits = 0;
  int exponent = 0, written = 0;
  bool fraction = false;
  for (; at < value.end && (*at == '.' || (*at >= '0' && *at <= '9')); ++at) {
    if (*at == '.') {
      fraction = true;
    } else if (digits < UINT64_MAX / 10 - 1) {
      digits = digits * 10 + (uint64_t)(*at - '0');
      if (fraction) --exponent;
    } else if (!fraction && exponent < 1000) {
      ++exponent;
    }
  }
  if (at < value.end && (*at == 'e' || *at == 'E')) {
    const bool negative = *++at == '-';
    if (*at == '-' || *at == '+') ++at;
    for (; at < value.end && *at >= '0' && *at <= '9'; ++at) {
      if (written < 1000) written = written * 10 + (*at - '0');
    }
    exponent += negative ? -written : written;
  }
  const double real = scaled((double)digits, exponent);
  return kind == '-' ? -real : real;
}

bool etx_cursor_unsigned_at(etx_cursor_value value, uint32_t most,
                            uint32_t* out) {
  const char kind = etx_cursor_kind(value);
  uint64_t number = 0;
  if (kind < '0' || kind > '9') return false;
  const uint8_t* at = value.at;
  for (; at < value.end && *at >= '0' && *at <= '9'; ++at) {
    number = number * 10 + (uint64_t)(*at - '0');
    if (number > most) return false;
  }
  if (at < value.end && (*at == '.' || *at == 'e' || *at == 'E')) return false;
  *out = (uint32_t)number;
  return true;
}
