#include "cli/graph/protobuf_wire.h"

#include <string.h>

#include "cli/json/utf8.h"

// Types of fields on the wire.
enum { WIRE_VARINT = 0, WIRE_LENGTH = 2, WIRE_FOUR_BYTES = 5 };

static void put_raw(etx_protobuf_wire* wire, const void* bytes, size_t size) {
  wire->size += size;
  if (wire->out != NULL) fwrite(bytes, 1, size, wire->out);
}

static void put_varint(etx_protobuf_wire* wire, uint64_t value) {
  uint8_t bytes[10];
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) bytes[size++] = (uint8_t)(value | 0x80);
  bytes[size++] = (uint8_t)value;
  put_raw(wire, bytes, size);
}

static void put_key(etx_protobuf_wire* wire, uint32_t field, uint32_t type) {
  put_varint(wire, (uint64_t)field << 3 | type);
}

void etx_protobuf_put_integer(etx_protobuf_wire* wire, uint32_t field,
                              int64_t value) {
  put_key(wire, field, WIRE_VARINT);
  put_varint(wire, (uint64_t)value);
}

void etx_protobuf_put_float(etx_protobuf_wire* wire, uint32_t field,
                            float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint8_t bytes[4] = {(uint8_t)bits, (uint8_t)(bits >> 8),
                            (uint8_t)(bits >> 16), (uint8_t)(bits >> 24)};
  put_key(wire, field, WIRE_FOUR_BYTES);
  put_raw(wire, bytes, sizeof bytes);
}

void etx_protobuf_put_bytes(etx_protobuf_wire* wire, uint32_t field,
                            etx_text bytes) {
  put_key(wire, field, WIRE_LENGTH);
  put_varint(wire, bytes.size);
  if (bytes.size > 0) put_raw(wire, bytes.data, bytes.size);
}

static void put_utf8(etx_protobuf_wire* wire, void* context) {
  const etx_text text = *(const etx_text*)context;
  size_t at = 0;
  while (at < text.size) {
    const size_t start = at;
    const uint32_t character = etx_utf8_next(text, &at);
    if (character == ETX_UTF8_REPLACEMENT) {
      put_raw(wire, "\xef\xbf\xbd", 3);
    } else {
      put_raw(wire, text.data + start, at - start);
    }
  }
}

void etx_protobuf_put_text(etx_protobuf_wire* wire, uint32_t field,
                           etx_text text) {
  etx_protobuf_put_message(wire, field, put_utf8, &text);
}

void etx_protobuf_put_message(etx_protobuf_wire* wire, uint32_t field,
                              etx_protobuf_message print, void* context) {
  etx_protobuf_wire counted = {NULL, 0};
  print(&counted, context);
  put_key(wire, field, WIRE_LENGTH);
  put_varint(wire, counted.size);
  print(wire, context);
}
