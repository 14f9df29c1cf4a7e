// Pointer and length, passed by value: a view of bytes or text, which it does
// not own.
//
// Text is UTF-8, not NUL-terminated, and may contain any byte. Functions that
// return a span state its owner and lifetime.

#ifndef ETX_FORMAT_BASE_SPAN_H
#define ETX_FORMAT_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Bytes that may only be read.
typedef struct etx_bytes {
  const uint8_t* data;  // may be NULL if size is 0
  size_t size;          // bytes
} etx_bytes;

// Bytes that the receiver of the span may write.
typedef struct etx_bytes_mut {
  uint8_t* data;  // may be NULL if size is 0
  size_t size;    // bytes
} etx_bytes_mut;

// UTF-8 without a terminator.
typedef struct etx_text {
  const char* data;  // may be NULL if size is 0
  size_t size;       // bytes, no terminator counted
} etx_text;

// The text of a NUL-terminated string; the span borrows `string`.
static inline etx_text etx_text_of(const char* string) {
  const etx_text text = {string, string == NULL ? 0 : strlen(string)};
  return text;
}

// True if both have the same bytes.
static inline bool etx_text_equal(etx_text a, etx_text b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

// True if `a` has the bytes of a NUL-terminated string.
static inline bool etx_text_is(etx_text a, const char* string) {
  return etx_text_equal(a, etx_text_of(string));
}

// True if `a` starts with `prefix`; true for an empty prefix.
static inline bool etx_text_starts_with(etx_text a, etx_text prefix) {
  return a.size >= prefix.size &&
         (prefix.size == 0 || memcmp(a.data, prefix.data, prefix.size) == 0);
}

// Compares bytes, and sorts a prefix before the longer text: negative, 0 or
// positive.
static inline int etx_text_compare(etx_text a, etx_text b) {
  const size_t shorter = a.size < b.size ? a.size : b.size;
  const int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
  if (order != 0) return order;
  return a.size < b.size ? -1 : a.size > b.size;
}

#endif
