// Fast access to several fields of one table of a verified buffer, for loops
// over many tables. A row is a pointer to a table: after inlining, the compiler
// finds the vtable once and not once a field, as with fb_reader.h. The
// requirements of fb_reader.h hold here, too. An absent number is 0.
//
// A pair is the same for the first two fields of a table: one load from the
// vtable gives both offsets.
//
// Ownership  a row or a pair borrows the buffer's bytes.

#ifndef ETX_FORMAT_FLATBUFFERS_FB_ROW_H
#define ETX_FORMAT_FLATBUFFERS_FB_ROW_H

#include "format/flatbuffers/fb_reader.h"

// The number at a verified address.
static inline uint16_t etx_fb_u16_at(const uint8_t* at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
static inline uint32_t etx_fb_u32_at(const uint8_t* at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

// The object that the reference at `at` refers to.
static inline const uint8_t* etx_fb_follow(const uint8_t* at) {
  return at + etx_fb_u32_at(at);
}

// The table that element `index` of a vector of tables refers to.
static inline const uint8_t* etx_fb_item(const etx_fb_buffer* buffer,
                                         etx_fb_vector vector, size_t index) {
  return etx_fb_follow(buffer->data + vector.position + 4 * index);
}

// A table.
typedef struct etx_fb_row {
  const uint8_t* table;
} etx_fb_row;

static inline const uint8_t* etx_fb_vtable(const uint8_t* table) {
  return table - (int32_t)etx_fb_u32_at(table);
}

static inline etx_fb_row etx_fb_row_of(const uint8_t* table) {
  const etx_fb_row row = {table};
  return row;
}

// Bytes from the start of a table to field `id`, or 0 if it is absent. A vtable
// starts with two sizes, of two bytes each; offsets of fields follow.
static inline uint32_t etx_fb_offset_in(const uint8_t* vtable, uint32_t id) {
  const uint32_t slot = 4 + 2 * id;
  return slot < etx_fb_u16_at(vtable) ? etx_fb_u16_at(vtable + slot) : 0;
}

// Address of field `id`, or NULL if it is absent.
static inline const uint8_t* etx_fb_row_field(etx_fb_row row, uint32_t id) {
  const uint32_t offset = etx_fb_offset_in(etx_fb_vtable(row.table), id);
  return offset == 0 ? NULL : row.table + offset;
}

// The number in field `id`.
static inline uint8_t etx_fb_row_u8(etx_fb_row row, uint32_t id) {
  const uint8_t* at = etx_fb_row_field(row, id);
  return at == NULL ? 0 : *at;
}
static inline uint32_t etx_fb_row_u32(etx_fb_row row, uint32_t id) {
  const uint8_t* at = etx_fb_row_field(row, id);
  return at == NULL ? 0 : etx_fb_u32_at(at);
}
static inline uint64_t etx_fb_row_u64(etx_fb_row row, uint32_t id) {
  const uint8_t* at = etx_fb_row_field(row, id);
  uint64_t value = 0;
  if (at != NULL) memcpy(&value, at, sizeof value);
  return value;
}

// The table, vector or string that field `id` refers to, or NULL.
static inline const uint8_t* etx_fb_row_indirect(etx_fb_row row, uint32_t id) {
  const uint8_t* at = etx_fb_row_field(row, id);
  return at == NULL ? NULL : etx_fb_follow(at);
}

// Elements of a vector or bytes of a string, and their number. `list` NULL is
// an empty one.
static inline const void* etx_fb_list_elements(const uint8_t* list) {
  return list == NULL ? NULL : list + 4;
}
static inline uint32_t etx_fb_list_count(const uint8_t* list) {
  return list == NULL ? 0 : etx_fb_u32_at(list);
}

// A table and the offsets of its first two fields.
typedef struct etx_fb_pair {
  const uint8_t* table;
  uint32_t offsets;  // of 16 bits each, the first in the low half; 0: absent
} etx_fb_pair;

static inline etx_fb_pair etx_fb_pair_of(const uint8_t* table) {
  const uint8_t* vtable = etx_fb_vtable(table);
  const uint16_t bytes = etx_fb_u16_at(vtable);
  const etx_fb_pair pair = {table, bytes >= 8   ? etx_fb_u32_at(vtable + 4)
                                   : bytes >= 6 ? etx_fb_u16_at(vtable + 4)
                                                : 0};
  return pair;
}

// Address of field `id`, which is 0 or 1; NULL if it is absent.
static inline const uint8_t* etx_fb_pair_field(etx_fb_pair pair, uint32_t id) {
  const uint32_t offset = pair.offsets >> 16 * id & UINT16_MAX;
  return offset == 0 ? NULL : pair.table + offset;
}

// The number in field `id`, 0 if it is absent.
static inline uint8_t etx_fb_pair_u8(etx_fb_pair pair, uint32_t id) {
  const uint8_t* at = etx_fb_pair_field(pair, id);
  return at == NULL ? 0 : *at;
}
static inline uint32_t etx_fb_pair_u32(etx_fb_pair pair, uint32_t id) {
  const uint8_t* at = etx_fb_pair_field(pair, id);
  return at == NULL ? 0 : etx_fb_u32_at(at);
}

#endif
