// Reading a FlatBuffer in place.
//
//   position   what lies there (all numbers little-endian)
//   0          u32 offset of the root table
//   4          4 bytes of identifier
//   table      i32 distance back to its vtable, then the fields' bytes
//   vtable     u16 its own size, u16 size of the table, then one u16 a field:
//              where the field lies in the table, 0 if it is absent
//   vector     u32 count, then the elements
//   string     u32 count, then the bytes and a NUL
//   reference  u32 distance forward to a table, vector or string
//
// There are two ways to read. The `load` functions check bounds and may be
// called on any bytes. All others check nothing and may be called only on a
// buffer that etx_fb_verify accepted, with tables and fields of the schema it
// was verified against.
//
// A position is a byte offset from the start of the buffer. 0 stands for
// "absent", since no table, vector or field can lie there.
//
// Ownership  results borrow the buffer's bytes.
// Threads    a buffer is const and may be read by many.

#ifndef ETX_FORMAT_FLATBUFFERS_FB_READER_H
#define ETX_FORMAT_FLATBUFFERS_FB_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/base/span.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are used in place, which needs a little-endian machine"
#endif

// The bytes of a FlatBuffer, borrowed.
typedef struct etx_fb_buffer {
  const uint8_t* data;  // aligned to 8 if vectors of 8 bytes are handed out
  uint32_t size;        // bytes, less than 2 GiB
} etx_fb_buffer;

// Where a vector's elements are.
typedef struct etx_fb_vector {
  uint32_t position;  // of the first element; 0 if the vector is absent
  uint32_t count;     // elements
} etx_fb_vector;

// Copies `bytes` at `position`; false if they pass the end. The position may be
// unaligned, so this uses memcpy, which compilers turn into one load.
static inline bool etx_fb_load(const etx_fb_buffer* buffer, uint64_t position,
                               void* out, uint32_t bytes) {
  if (position > buffer->size || bytes > buffer->size - position) return false;
  memcpy(out, buffer->data + position, bytes);
  return true;
}

// Reads a byte at `position`; false if it would pass the end.
static inline bool etx_fb_load_u8(const etx_fb_buffer* buffer,
                                  uint64_t position, uint8_t* out) {
  return etx_fb_load(buffer, position, out, sizeof *out);
}
// Reads a number of two bytes at `position`; false if it would pass the end.
static inline bool etx_fb_load_u16(const etx_fb_buffer* buffer,
                                   uint64_t position, uint16_t* out) {
  return etx_fb_load(buffer, position, out, sizeof *out);
}
// Reads a number of four bytes at `position`; false if it would pass the end.
static inline bool etx_fb_load_u32(const etx_fb_buffer* buffer,
                                   uint64_t position, uint32_t* out) {
  return etx_fb_load(buffer, position, out, sizeof *out);
}

// True if a root and the four characters of a schema's identifier are there.
static inline bool etx_fb_has_identifier(const etx_fb_buffer* buffer,
                                         const char identifier[4]) {
  return buffer->size >= 8 && memcmp(buffer->data + 4, identifier, 4) == 0;
}

// Position of the root table.
uint32_t etx_fb_root(const etx_fb_buffer* buffer);

// Position of field `id` of the table at `table`, or 0 if it is absent.
uint32_t etx_fb_field(const etx_fb_buffer* buffer, uint32_t table, uint32_t id);

// The uint8 in field `id`, or `absent` if the table does not have it.
uint8_t etx_fb_u8(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                  uint8_t absent);
// The same for an int8.
int8_t etx_fb_i8(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                 int8_t absent);
// The same for a uint32.
uint32_t etx_fb_u32(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                    uint32_t absent);
// The same for an int32.
int32_t etx_fb_i32(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                   int32_t absent);
// The same for a uint64.
uint64_t etx_fb_u64(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                    uint64_t absent);
// The same for an int64.
int64_t etx_fb_i64(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                   int64_t absent);
// The same for a double.
double etx_fb_f64(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                  double absent);

// Position of the table in field `id` (also of a union's), or 0.
uint32_t etx_fb_table(const etx_fb_buffer* buffer, uint32_t table, uint32_t id);

// The string in field `id`; size 0 if it is absent.
etx_text etx_fb_string(const etx_fb_buffer* buffer, uint32_t table,
                       uint32_t id);

// The vector in field `id`; count 0 and position 0 if it is absent.
etx_fb_vector etx_fb_vector_in(const etx_fb_buffer* buffer, uint32_t table,
                               uint32_t id);

// Position of the table that element `index` of a vector of tables refers to.
uint32_t etx_fb_table_at(const etx_fb_buffer* buffer, etx_fb_vector vector,
                         uint32_t index);

// Elements of a vector of scalars, aligned to their size if the buffer is.
// NULL if the vector is absent.
const void* etx_fb_elements(const etx_fb_buffer* buffer, etx_fb_vector vector);

// The bytes of a vector of bytes.
etx_bytes etx_fb_bytes(const etx_fb_buffer* buffer, etx_fb_vector vector);

#endif
