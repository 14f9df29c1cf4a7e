// Writes small GGUF files in memory, field by field, so that tests can make
// each of them wrong.

#ifndef ETX_TESTS_EXPORTER_READ_GGUF_GGUF_BYTES_H
#define ETX_TESTS_EXPORTER_READ_GGUF_GGUF_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct gguf_bytes {
  uint8_t data[1024];
  size_t size;
} gguf_bytes;

// A little-endian number, and zeros behind its 8 bytes.
static inline void gguf_put(gguf_bytes* out, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    out->data[out->size++] = i < 8 ? (uint8_t)(number >> 8 * i) : 0;
  }
}

static inline void gguf_put_text(gguf_bytes* out, const char* text) {
  gguf_put(out, strlen(text), 8);
  memcpy(out->data + out->size, text, strlen(text));
  out->size += strlen(text);
}

static inline gguf_bytes gguf_header(uint64_t tensors, uint64_t pairs) {
  gguf_bytes out = {.size = 4};
  memcpy(out.data, "GGUF", 4);
  gguf_put(&out, 3, 4);
  gguf_put(&out, tensors, 8);
  gguf_put(&out, pairs, 8);
  return out;
}

// A matrix of f32 unless stated otherwise; sizes innermost first.
static inline void gguf_put_tensor(gguf_bytes* out, const char* name,
                                   uint64_t inner, uint64_t rows, uint32_t type,
                                   uint64_t offset) {
  gguf_put_text(out, name);
  gguf_put(out, 2, 4);
  gguf_put(out, inner, 8);
  gguf_put(out, rows, 8);
  gguf_put(out, type, 4);
  gguf_put(out, offset, 8);
}

// Pads to the alignment and adds `size` bytes.
static inline void gguf_put_data(gguf_bytes* out, size_t size) {
  while (out->size % 32 != 0) gguf_put(out, 0, 1);
  for (size_t i = 0; i < size; ++i) gguf_put(out, i + 1, 1);
}

#endif
