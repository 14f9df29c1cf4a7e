// Reading several fields of one table of a verified buffer: its vtable is found
// once. For walks over many tables; everything else reads with fb_reader.h,
// whose promises hold here too.
//
// Of tables with two fields, or whose first two are wanted, both places are
// found with one look at the vtable: a pair.
//
// Ownership  a row or a pair borrows the buffer's bytes.

#ifndef ETX_FORMAT_FLATBUFFERS_FB_ROW_H
#define ETX_FORMAT_FLATBUFFERS_FB_ROW_H

#include "format/flatbuffers/fb_reader.h"

// A table that is there.
typedef struct etx_fb_row {
  const uint8_t* data;    // of the buffer
  uint32_t position;      // of the table
  uint32_t vtable;        // position of its vtable
  uint32_t vtable_bytes;  // of which the first four are no fields
} etx_fb_row;

// The plain number at a position that is known to be good.
static inline uint16_t etx_fb_row_u16_at(const uint8_t* at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
static inline uint32_t etx_fb_row_u32_at(const uint8_t* at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static inline etx_fb_row etx_fb_row_of(const etx_fb_buffer* buffer,
                                       uint32_t table) {
  const uint32_t vtable = table - etx_fb_row_u32_at(buffer->data + table);
  const etx_fb_row row = {buffer->data, table, vtable,
                          etx_fb_row_u16_at(buffer->data + vtable)};
  return row;
}

// Bytes of field `id`, or NULL if it is absent.
static inline const uint8_t* etx_fb_row_field(const etx_fb_row* row,
                                              uint32_t id) {
  const uint32_t slot = 4 + 2 * id;
  if (slot + 2 > row->vtable_bytes) return NULL;
  const uint16_t offset = etx_fb_row_u16_at(row->data + row->vtable + slot);
  return offset == 0 ? NULL : row->data + row->position + offset;
}

// The number in field `id`, or `absent`.
static inline uint8_t etx_fb_row_u8(const etx_fb_row* row, uint32_t id,
                                    uint8_t absent) {
  const uint8_t* at = etx_fb_row_field(row, id);
  return at == NULL ? absent : *at;
}
static inline uint32_t etx_fb_row_u32(const etx_fb_row* row, uint32_t id,
                                      uint32_t absent) {
  const uint8_t* at = etx_fb_row_field(row, id);
  return at == NULL ? absent : etx_fb_row_u32_at(at);
}
static inline uint64_t etx_fb_row_u64(const etx_fb_row* row, uint32_t id,
                                      uint64_t absent) {
  const uint8_t* at = etx_fb_row_field(row, id);
  if (at != NULL) memcpy(&absent, at, sizeof absent);
  return absent;
}

// Position of what field `id` refers to, or 0.
static inline uint32_t etx_fb_row_table(const etx_fb_row* row, uint32_t id) {
  const uint8_t* at = etx_fb_row_field(row, id);
  return at == NULL ? 0 : (uint32_t)(at - row->data) + etx_fb_row_u32_at(at);
}

// The vector in field `id`; count 0 and position 0 if it is absent.
static inline etx_fb_vector etx_fb_row_vector(const etx_fb_row* row,
                                              uint32_t id) {
  const uint32_t position = etx_fb_row_table(row, id);
  const etx_fb_vector none = {0, 0};
  if (position == 0) return none;
  const etx_fb_vector vector = {position + 4,
                                etx_fb_row_u32_at(row->data + position)};
  return vector;
}

// The table that element `index` of a vector of tables refers to.
static inline etx_fb_row etx_fb_row_at(const etx_fb_buffer* buffer,
                                       etx_fb_vector vector, uint32_t index) {
  const uint32_t position = vector.position + 4 * index;
  return etx_fb_row_of(buffer,
                       position + etx_fb_row_u32_at(buffer->data + position));
}

// A table that is there, and where its first two fields lie.
typedef struct etx_fb_pair {
  const uint8_t* table;
  uint32_t offsets;  // from its start, 16 bits each, the first one low; 0: none
} etx_fb_pair;

// What the reference at `at` refers to.
static inline const uint8_t* etx_fb_goal(const uint8_t* at) {
  return at + etx_fb_row_u32_at(at);
}

static inline etx_fb_pair etx_fb_pair_of(const uint8_t* table) {
  const uint8_t* vtable = table - (int32_t)etx_fb_row_u32_at(table);
  const uint16_t bytes = etx_fb_row_u16_at(vtable);
  const etx_fb_pair pair = {table, bytes >= 8   ? etx_fb_row_u32_at(vtable + 4)
                                   : bytes >= 6 ? etx_fb_row_u16_at(vtable + 4)
                                                : 0};
  return pair;
}

// Bytes of field `id`, 0 or 1; NULL if it is absent.
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
  return at == NULL ? 0 : etx_fb_row_u32_at(at);
}

// The first two fields of the table that element `index` of a vector of tables
// refers to.
static inline etx_fb_pair etx_fb_pair_at(const uint8_t* data,
                                         etx_fb_vector vector, size_t index) {
  return etx_fb_pair_of(etx_fb_goal(data + vector.position + 4 * index));
}

// Elements of a vector of scalars; NULL if it is absent.
static inline const void* etx_fb_row_elements(const etx_fb_row* row,
                                              uint32_t id) {
  const uint32_t position = etx_fb_row_table(row, id);
  return position == 0 ? NULL : row->data + position + 4;
}

#endif
