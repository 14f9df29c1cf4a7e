#include "tokenizer/unicode/unicode.h"

#include "tokenizer/unicode/unicode_tables.h"

enum {
  HANGUL_FIRST = 0xAC00,
  HANGUL_COUNT = 11172,
  HANGUL_L = 0x1100,
  HANGUL_V = 0x1161,
  HANGUL_T = 0x11A7,
  HANGUL_L_COUNT = 19,
  HANGUL_V_COUNT = 21,
  HANGUL_T_COUNT = 28,
  FIRST_MARK = 0x300  // no smaller code point composes with one before it
};

uint32_t etx_unicode_kind_of(uint32_t code) {
  const uint32_t page = etx_unicode_kind_pages[code >> 7];
  return etx_unicode_kinds[etx_unicode_kind[page * 128 + (code & 127)]];
}

uint8_t etx_unicode_combining_class(uint32_t code) {
  const uint32_t page = etx_unicode_combining_pages[code >> 7];
  return etx_unicode_combining[page * 128 + (code & 127)];
}

size_t etx_utf8_read_long(const uint8_t* bytes, size_t size,
                          uint32_t* out_code) {
  const uint8_t first = bytes[0];
  *out_code = ETX_UNICODE_REPLACEMENT;
  if (first < 0xC2 || first > 0xF4) return 1;
  const size_t length = etx_utf8_length(first);
  // The second byte has a smaller range behind some first bytes.
  uint8_t least = 0x80, most = 0xBF;
  if (first == 0xE0) least = 0xA0;
  if (first == 0xED) most = 0x9F;
  if (first == 0xF0) least = 0x90;
  if (first == 0xF4) most = 0x8F;
  uint32_t code = first & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (i >= size || bytes[i] < least || bytes[i] > most) return i;
    code = code << 6 | (bytes[i] & 0x3Fu);
    least = 0x80;
    most = 0xBF;
  }
  *out_code = code;
  return length;
}

size_t etx_utf8_write_long(uint32_t code, uint8_t out[4]) {
  if (code < 0x800) {
    out[0] = (uint8_t)(0xC0 | code >> 6);
    out[1] = (uint8_t)(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = (uint8_t)(0xE0 | code >> 12);
    out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = (uint8_t)(0xF0 | code >> 18);
  out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
  out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
  out[3] = (uint8_t)(0x80 | (code & 0x3F));
  return 4;
}

// Copies the text at `index`, or the code point itself.
static size_t mapped(uint32_t index, uint32_t code,
                     uint32_t out[ETX_UNICODE_TEXT_MAX]) {
  if (index == 0) {
    out[0] = code;
    return 1;
  }
  const size_t count = etx_unicode_texts[index];
  for (size_t i = 0; i < count; ++i) out[i] = etx_unicode_texts[index + 1 + i];
  return count;
}

size_t etx_unicode_decompose(uint32_t code, bool compatible,
                             uint32_t out[ETX_UNICODE_TEXT_MAX]) {
  if (code >= HANGUL_FIRST && code < HANGUL_FIRST + HANGUL_COUNT) {
    const uint32_t index = code - HANGUL_FIRST;
    out[0] = HANGUL_L + index / (HANGUL_V_COUNT * HANGUL_T_COUNT);
    out[1] = HANGUL_V + index / HANGUL_T_COUNT % HANGUL_V_COUNT;
    out[2] = HANGUL_T + index % HANGUL_T_COUNT;
    return out[2] == HANGUL_T ? 2 : 3;
  }
  const uint32_t page = compatible ? etx_unicode_compatible_pages[code >> 7]
                                   : etx_unicode_canonical_pages[code >> 7];
  const uint32_t at = page * 128 + (code & 127);
  return mapped(
      compatible ? etx_unicode_compatible[at] : etx_unicode_canonical[at], code,
      out);
}

size_t etx_unicode_to_lower(uint32_t code, uint32_t out[ETX_UNICODE_TEXT_MAX]) {
  const uint32_t page = etx_unicode_lower_pages[code >> 7];
  return mapped(etx_unicode_lower[page * 128 + (code & 127)], code, out);
}

uint32_t etx_unicode_compose(uint32_t first, uint32_t second) {
  if (first >= HANGUL_L && first < HANGUL_L + HANGUL_L_COUNT &&
      second >= HANGUL_V && second < HANGUL_V + HANGUL_V_COUNT) {
    return HANGUL_FIRST +
           ((first - HANGUL_L) * HANGUL_V_COUNT + second - HANGUL_V) *
               HANGUL_T_COUNT;
  }
  if (first >= HANGUL_FIRST && first < HANGUL_FIRST + HANGUL_COUNT &&
      (first - HANGUL_FIRST) % HANGUL_T_COUNT == 0 && second > HANGUL_T &&
      second < HANGUL_T + HANGUL_T_COUNT) {
    return first + second - HANGUL_T;
  }
  if (second < FIRST_MARK) return 0;
  size_t low = 0, high = etx_unicode_pair_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const uint32_t* const row = &etx_unicode_pairs[3 * middle];
    if (row[0] == first && row[1] == second) return row[2];
    if (row[0] < first || (row[0] == first && row[1] < second)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return 0;
}
