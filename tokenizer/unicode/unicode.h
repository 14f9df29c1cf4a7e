// What the tokenizer knows about code points: UTF-8, categories, lower case,
// decomposition and composition.
//
// The tables agree with the package `tokenizers`; see
// scripts/unicode_tables.py.

#ifndef ETX_TOKENIZER_UNICODE_UNICODE_H
#define ETX_TOKENIZER_UNICODE_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// General categories, in the order of the tables.
typedef enum etx_category {
  ETX_CATEGORY_LU,
  ETX_CATEGORY_LL,
  ETX_CATEGORY_LT,
  ETX_CATEGORY_LM,
  ETX_CATEGORY_LO,
  ETX_CATEGORY_MN,
  ETX_CATEGORY_MC,
  ETX_CATEGORY_ME,
  ETX_CATEGORY_ND,
  ETX_CATEGORY_NL,
  ETX_CATEGORY_NO,
  ETX_CATEGORY_PC,
  ETX_CATEGORY_PD,
  ETX_CATEGORY_PS,
  ETX_CATEGORY_PE,
  ETX_CATEGORY_PI,
  ETX_CATEGORY_PF,
  ETX_CATEGORY_PO,
  ETX_CATEGORY_SM,
  ETX_CATEGORY_SC,
  ETX_CATEGORY_SK,
  ETX_CATEGORY_SO,
  ETX_CATEGORY_ZS,
  ETX_CATEGORY_ZL,
  ETX_CATEGORY_ZP,
  ETX_CATEGORY_CC,
  ETX_CATEGORY_CF,
  ETX_CATEGORY_CO,
  ETX_CATEGORY_CN,
  ETX_CATEGORY_COUNT
} etx_category;

enum {
  ETX_UNICODE_CATEGORY_MASK = 31,
  ETX_UNICODE_WORD = 1 << 5,         // \w of a Split
  ETX_UNICODE_SPACE = 1 << 6,        // \s of a Split
  ETX_UNICODE_PLAIN_WORD = 1 << 7,   // \w of Whitespace and of added tokens
  ETX_UNICODE_PLAIN_SPACE = 1 << 8,  // the property White_Space
  ETX_UNICODE_PUNCTUATION = 1 << 9,  // of Bert and Punctuation
  ETX_UNICODE_CONTROL = 1 << 10,     // what BertNormalizer deletes
  ETX_UNICODE_ACCENT = 1 << 11,      // what strip_accents deletes
  ETX_UNICODE_MARK = 1 << 12,        // what StripAccents deletes
  ETX_UNICODE_NUMERIC = 1 << 13,     // of Digits
  // Boundaries of grapheme clusters.
  ETX_UNICODE_BREAK = 1 << 14,      // a control character
  ETX_UNICODE_EXTEND = 1 << 15,     // belongs to the cluster before it
  ETX_UNICODE_PREPEND = 1 << 16,    // belongs to the cluster behind it
  ETX_UNICODE_PICTOGRAPH = 1 << 17  // joined by a zero width joiner
};

enum { ETX_UNICODE_REPLACEMENT = 0xFFFD };

// Category and flags of a code point below 0x110000.
uint32_t etx_unicode_kind_of(uint32_t code);

// Canonical combining class.
uint8_t etx_unicode_combining_class(uint32_t code);

// The two functions below for what is no ASCII.
size_t etx_utf8_read_long(const uint8_t* bytes, size_t size,
                          uint32_t* out_code);
size_t etx_utf8_write_long(uint32_t code, uint8_t out[4]);

// Reads the code point at `bytes` (size > 0) and returns its bytes. Bytes that
// are no UTF-8 give U+FFFD and the length of their maximal subpart, as Python's
// errors="replace" does.
static inline size_t etx_utf8_read(const uint8_t* bytes, size_t size,
                                   uint32_t* out_code) {
  *out_code = bytes[0];
  return bytes[0] < 0x80 ? 1 : etx_utf8_read_long(bytes, size, out_code);
}

// Writes a code point and returns its bytes, 1 to 4.
static inline size_t etx_utf8_write(uint32_t code, uint8_t out[4]) {
  out[0] = (uint8_t)code;
  return code < 0x80 ? 1 : etx_utf8_write_long(code, out);
}

// Bytes of the code point whose first byte is `byte`, in valid UTF-8.
static inline size_t etx_utf8_length(uint8_t byte) {
  if (byte < 0x80) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

enum { ETX_UNICODE_TEXT_MAX = 18 };  // code points of the longest mapping

// Full canonical decomposition, or compatible if `compatible` is set; lower
// case. Returns the number of code points, at least 1.
size_t etx_unicode_decompose(uint32_t code, bool compatible,
                             uint32_t out[ETX_UNICODE_TEXT_MAX]);
size_t etx_unicode_to_lower(uint32_t code, uint32_t out[ETX_UNICODE_TEXT_MAX]);

// The composition of two code points, or 0.
uint32_t etx_unicode_compose(uint32_t first, uint32_t second);

#endif
