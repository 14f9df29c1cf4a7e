// Writes messages of Protocol Buffers to a stream, without memory: a message
// inside another one is written twice, first to count its bytes.
// https://protobuf.dev/programming-guides/encoding/

#ifndef ETX_CLI_GRAPH_PROTOBUF_WIRE_H
#define ETX_CLI_GRAPH_PROTOBUF_WIRE_H

#include <stdint.h>
#include <stdio.h>

#include "format/base/span.h"

typedef struct etx_protobuf_wire {
  FILE* out;      // NULL: only count
  uint64_t size;  // bytes so far
} etx_protobuf_wire;

// Writes the fields of a message. It is called more than once and has to write
// the same each time.
typedef void (*etx_protobuf_message)(etx_protobuf_wire* wire, void* context);

// A field of an integer type, two's complement if negative.
void etx_protobuf_put_integer(etx_protobuf_wire* wire, uint32_t field,
                              int64_t value);
// A field of type float.
void etx_protobuf_put_float(etx_protobuf_wire* wire, uint32_t field,
                            float value);
// A field of type bytes.
void etx_protobuf_put_bytes(etx_protobuf_wire* wire, uint32_t field,
                            etx_text bytes);
// A field of type string: bytes that are not UTF-8 become U+FFFD.
void etx_protobuf_put_text(etx_protobuf_wire* wire, uint32_t field,
                           etx_text text);
// A field that is a message. Its depth is that of the caller's messages.
void etx_protobuf_put_message(etx_protobuf_wire* wire, uint32_t field,
                              etx_protobuf_message print, void* context);

#endif
