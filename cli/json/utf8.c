#include "cli/json/utf8.h"

uint32_t etx_utf8_next(etx_text text, size_t* at) {
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
  if (size == 0 || size > left) return ETX_UTF8_REPLACEMENT;
  uint32_t code = bytes[0] & (0x7fU >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((bytes[i] & 0xc0) != 0x80) return ETX_UTF8_REPLACEMENT;
    code = code << 6 | (bytes[i] & 0x3fU);
  }
  if (code < smallest[size] || code > 0x10ffff ||
      (code >= 0xd800 && code < 0xe000)) {
    return ETX_UTF8_REPLACEMENT;
  }
  *at += size - 1;
  return code;
}
