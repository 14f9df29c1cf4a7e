// Accessors of a verified buffer, without bounds checks.

#include "format/flatbuffers/fb_reader.h"

#include "format/base/assertion.h"

// Copies `bytes` from a verified position.
static void read(const etx_fb_buffer* buffer, uint32_t position, void* out,
                 uint32_t bytes) {
  ETX_ASSERT((uint64_t)position + bytes <= buffer->size);
  memcpy(out, buffer->data + position, bytes);
}

static uint32_t read_u32(const etx_fb_buffer* buffer, uint32_t position) {
  uint32_t value = 0;
  read(buffer, position, &value, sizeof value);
  return value;
}

static uint16_t read_u16(const etx_fb_buffer* buffer, uint32_t position) {
  uint16_t value = 0;
  read(buffer, position, &value, sizeof value);
  return value;
}

// Position of the object that the reference at `position` refers to.
static uint32_t follow(const etx_fb_buffer* buffer, uint32_t position) {
  return position + read_u32(buffer, position);
}

uint32_t etx_fb_root(const etx_fb_buffer* buffer) { return follow(buffer, 0); }

uint32_t etx_fb_field(const etx_fb_buffer* buffer, uint32_t table,
                      uint32_t id) {
  // The distance is signed; unsigned arithmetic wraps to the same position.
  const uint32_t vtable = table - read_u32(buffer, table);
  const uint32_t slot = 4 + 2 * id;
  if (slot + 2 > read_u16(buffer, vtable)) return 0;
  const uint16_t offset = read_u16(buffer, vtable + slot);
  return offset == 0 ? 0 : table + offset;
}

// Copies the scalar in field `id` to `value`, which is left as it is if the
// field is absent.
static void read_scalar(const etx_fb_buffer* buffer, uint32_t table,
                        uint32_t id, void* value, uint32_t bytes) {
  const uint32_t position = etx_fb_field(buffer, table, id);
  if (position != 0) read(buffer, position, value, bytes);
}

uint8_t etx_fb_u8(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                  uint8_t absent) {
  read_scalar(buffer, table, id, &absent, sizeof absent);
  return absent;
}

int8_t etx_fb_i8(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                 int8_t absent) {
  read_scalar(buffer, table, id, &absent, sizeof absent);
  return absent;
}

uint32_t etx_fb_u32(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                    uint32_t absent) {
  read_scalar(buffer, table, id, &absent, sizeof absent);
  return absent;
}

int32_t etx_fb_i32(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                   int32_t absent) {
  read_scalar(buffer, table, id, &absent, sizeof absent);
  return absent;
}

uint64_t etx_fb_u64(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                    uint64_t absent) {
  read_scalar(buffer, table, id, &absent, sizeof absent);
  return absent;
}

int64_t etx_fb_i64(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                   int64_t absent) {
  read_scalar(buffer, table, id, &absent, sizeof absent);
  return absent;
}

double etx_fb_f64(const etx_fb_buffer* buffer, uint32_t table, uint32_t id,
                  double absent) {
  read_scalar(buffer, table, id, &absent, sizeof absent);
  return absent;
}

uint32_t etx_fb_table(const etx_fb_buffer* buffer, uint32_t table,
                      uint32_t id) {
  const uint32_t position = etx_fb_field(buffer, table, id);
  return position == 0 ? 0 : follow(buffer, position);
}

etx_fb_vector etx_fb_vector_in(const etx_fb_buffer* buffer, uint32_t table,
                               uint32_t id) {
  etx_fb_vector vector = {0, 0};
  const uint32_t position = etx_fb_table(buffer, table, id);
  if (position == 0) return vector;
  vector.count = read_u32(buffer, position);
  vector.position = position + 4;
  return vector;
}

etx_text etx_fb_string(const etx_fb_buffer* buffer, uint32_t table,
                       uint32_t id) {
  const etx_fb_vector bytes = etx_fb_vector_in(buffer, table, id);
  const etx_text text = {etx_fb_elements(buffer, bytes), bytes.count};
  return text;
}

uint32_t etx_fb_table_at(const etx_fb_buffer* buffer, etx_fb_vector vector,
                         uint32_t index) {
  ETX_ASSERT(index < vector.count);
  return follow(buffer, vector.position + 4 * index);
}

const void* etx_fb_elements(const etx_fb_buffer* buffer, etx_fb_vector vector) {
  return vector.position == 0 ? NULL : buffer->data + vector.position;
}

etx_bytes etx_fb_bytes(const etx_fb_buffer* buffer, etx_fb_vector vector) {
  const etx_bytes bytes = {etx_fb_elements(buffer, vector), vector.count};
  return bytes;
}
