#include "cli/json_stream.h"

enum { REPLACEMENT = 0xfffd };

// Reads one character of UTF-8 at `at`, which is moved behind it: the shortest
// form of a code point that is no surrogate. Otherwise one byte is passed.
static uint32_t next_code(etx_text text, size_t* at) {
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const uint8_t* const bytes = (const uint8_t*)text.data + *at;
  const size_t left = text.size - *at;
  const size_t size = bytes[0] < 0x80             ? 1
                      : (bytes[0] & 0xe0) == 0xc0 ? 2
                      : (bytes[0] & 0xf0) == 0xe0 ? 3
                      : (bytes[0] & 0xf8) == 0xf0 ? 4
                                                  : 0;
  *at += 1;
  if (size == 1) return bytes[0];
  if (size == 0 || size > left) return REPLACEMENT;
  uint32_t code = bytes[0] & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((bytes[i] & 0xc0) != 0x80) return REPLACEMENT;
    code = code << 6 | (bytes[i] & 0x3fU);
  }
  if (code < smallest[size] || code > 0x10ffff ||
      (code >= 0xd800 && code < 0xe000)) {
    return REPLACEMENT;
  }
  *at += size - 1;
  return code;
}

static void put_code(FILE* out, uint32_t code) {
  const bool is_plain = code >= 0x20 && code < 0x7f && code != '"' &&
                        code != '\\' && code != '<' && code != '>' &&
                        code != '&';
  if (is_plain) {
    fputc((int)code, out);
  } else if (code < 0x10000) {
    fprintf(out, "\\u%04x", (unsigned)code);
  } else {
    fprintf(out, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (code >> 10)),
            (unsigned)(0xdc00 + (code & 0x3ff)));
  }
}

void etx_json_put_text(FILE* out, etx_text text) {
  fputc('"', out);
  for (size_t at = 0; at < text.size;) put_code(out, next_code(text, &at));
  fputc('"', out);
}
