#include "cli/json/json_string.h"

#include "cli/json/utf8.h"

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

void etx_json_string_write(FILE* out, etx_text text) {
  fputc('"', out);
  for (size_t at = 0; at < text.size;) put_code(out, etx_utf8_next(text, &at));
  fputc('"', out);
}
