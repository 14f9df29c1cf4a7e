// Positions are distances to the end of the buffer, so objects are aligned
// relative to the end. The finished size is rounded up to the largest
// alignment, which makes them aligned relative to the start, too.

#include "format/flatbuffers/fb_builder.h"

#include "format/base/assertion.h"
#include "format/base/checked_math.h"

// References are 31 bits wide in the format.
static const size_t largest_buffer = INT32_MAX;

void etx_fb_builder_init(etx_fb_builder* builder, etx_bytes_mut block) {
  memset(builder, 0, sizeof *builder);
  builder->block = block.data;
  builder->capacity = block.size;
  builder->is_full = block.data == NULL;
}

void etx_fb_builder_init_counting(etx_fb_builder* builder) {
  memset(builder, 0, sizeof *builder);
  builder->capacity = SIZE_MAX;
}

size_t etx_fb_builder_peak(const etx_fb_builder* builder) {
  return builder->peak;
}

static bool is_counting(const etx_fb_builder* builder) {
  return builder->block == NULL;
}

// Accounts for `bytes` more; false if they do not fit.
static bool reserve(etx_fb_builder* b, size_t bytes) {
  size_t total = 0;
  if (b->is_full) return false;
  if (!etx_add_size(b->used + b->refs, bytes, &total) || total > b->capacity ||
      bytes > largest_buffer - b->used) {
    b->is_full = true;
    return false;
  }
  if (total > b->peak) b->peak = total;
  return true;
}

// First byte of the buffer so far.
static uint8_t* front(etx_fb_builder* b) {
  return b->block + (b->capacity - b->used);
}

// Puts `bytes` in front of the buffer.
static void push(etx_fb_builder* b, const void* data, size_t bytes) {
  if (!reserve(b, bytes)) return;
  b->used += bytes;
  if (!is_counting(b) && bytes > 0) memcpy(front(b), data, bytes);
}

static void push_zeros(etx_fb_builder* b, size_t bytes) {
  if (!reserve(b, bytes)) return;
  b->used += bytes;
  if (!is_counting(b)) memset(front(b), 0, bytes);
}

// Pads so that the front is aligned after `bytes` more have been written.
static void align(etx_fb_builder* b, size_t alignment, size_t bytes) {
  if (alignment > b->alignment) b->alignment = (uint32_t)alignment;
  push_zeros(b, (0 - (b->used + bytes)) & (alignment - 1));
}

static void push_u32(etx_fb_builder* b, uint32_t value) {
  push(b, &value, sizeof value);
}

static etx_fb_ref here(const etx_fb_builder* b) {
  return b->is_full ? 0 : (etx_fb_ref)b->used;
}

// Writes a reference to `ref`, measured from its own position.
static void push_ref(etx_fb_builder* b, etx_fb_ref ref) {
  align(b, 4, 4);
  ETX_ASSERT(b->is_full || ref <= b->used);
  push_u32(b, (uint32_t)(b->used + 4) - ref);
}

etx_fb_ref etx_fb_builder_string(etx_fb_builder* builder, etx_text text) {
  align(builder, 4, text.size + 1);
  push_zeros(builder, 1);
  push(builder, text.data, text.size);
  push_u32(builder, (uint32_t)text.size);
  return here(builder);
}

etx_fb_ref etx_fb_builder_empty_vector(etx_fb_builder* builder, size_t count,
                                       size_t element_bytes, size_t alignment,
                                       uint8_t** out_elements) {
  size_t bytes = 0;
  *out_elements = NULL;
  if (!etx_multiply_size(count, element_bytes, &bytes)) {
    builder->is_full = true;
    return 0;
  }
  // The elements follow the length, which needs an alignment of its own.
  align(builder, alignment < 4 ? 4 : alignment, bytes);
  push_zeros(builder, bytes);
  push_u32(builder, (uint32_t)count);
  if (!builder->is_full && !is_counting(builder)) {
    *out_elements = front(builder) + 4;
  }
  return here(builder);
}

etx_fb_ref etx_fb_builder_vector(etx_fb_builder* builder, const void* elements,
                                 size_t count, size_t element_bytes,
                                 size_t alignment) {
  uint8_t* space = NULL;
  const etx_fb_ref ref = etx_fb_builder_empty_vector(
      builder, count, element_bytes, alignment, &space);
  if (space != NULL && count > 0) {
    memcpy(space, elements, count * element_bytes);
  }
  return ref;
}

size_t etx_fb_builder_reserve_refs(etx_fb_builder* builder, size_t count) {
  const size_t refs = builder->refs;
  size_t bytes = 0;
  if (!etx_multiply_size(count, sizeof(etx_fb_ref), &bytes)) {
    builder->is_full = true;
  }
  if (reserve(builder, bytes)) builder->refs += bytes;
  return refs;
}

void etx_fb_builder_set_ref(etx_fb_builder* builder, size_t refs, size_t index,
                            etx_fb_ref ref) {
  if (builder->is_full || is_counting(builder)) return;
  memcpy(builder->block + refs + index * sizeof ref, &ref, sizeof ref);
}

etx_fb_ref etx_fb_builder_table_vector(etx_fb_builder* builder, size_t refs,
                                       size_t count) {
  align(builder, 4, 0);
  for (size_t i = count; i-- > 0 && !builder->is_full;) {
    etx_fb_ref ref = 0;
    if (!is_counting(builder)) {
      memcpy(&ref, builder->block + refs + i * sizeof ref, sizeof ref);
    }
    push_ref(builder, ref);
  }
  push_u32(builder, (uint32_t)count);
  if (!builder->is_full) builder->refs = refs;
  return here(builder);
}

void etx_fb_builder_start(etx_fb_builder* builder) {
  memset(builder->fields, 0, sizeof builder->fields);
  builder->field_count = 0;
  align(builder, 4, 0);
  builder->table_end = builder->used;
}

static void note_field(etx_fb_builder* b, uint32_t id) {
  ETX_ASSERT(id < ETX_FB_MAX_FIELDS);
  b->fields[id] = here(b);
  if (id >= b->field_count) b->field_count = id + 1;
}

static void add_scalar(etx_fb_builder* b, uint32_t id, const void* value,
                       const void* absent, size_t bytes) {
  if (memcmp(value, absent, bytes) == 0) return;
  align(b, bytes, bytes);
  push(b, value, bytes);
  note_field(b, id);
}

void etx_fb_builder_add_u8(etx_fb_builder* builder, uint32_t id, uint8_t value,
                           uint8_t absent) {
  add_scalar(builder, id, &value, &absent, sizeof value);
}

void etx_fb_builder_add_i8(etx_fb_builder* builder, uint32_t id, int8_t value,
                           int8_t absent) {
  add_scalar(builder, id, &value, &absent, sizeof value);
}

void etx_fb_builder_add_u32(etx_fb_builder* builder, uint32_t id,
                            uint32_t value, uint32_t absent) {
  add_scalar(builder, id, &value, &absent, sizeof value);
}

void etx_fb_builder_add_i32(etx_fb_builder* builder, uint32_t id, int32_t value,
                            int32_t absent) {
  add_scalar(builder, id, &value, &absent, sizeof value);
}

void etx_fb_builder_add_u64(etx_fb_builder* builder, uint32_t id,
                            uint64_t value, uint64_t absent) {
  add_scalar(builder, id, &value, &absent, sizeof value);
}

void etx_fb_builder_add_i64(etx_fb_builder* builder, uint32_t id, int64_t value,
                            int64_t absent) {
  add_scalar(builder, id, &value, &absent, sizeof value);
}

void etx_fb_builder_add_f64(etx_fb_builder* builder, uint32_t id,
                            double value) {
  const double absent = 0;
  add_scalar(builder, id, &value, &absent, sizeof value);
}

void etx_fb_builder_add_ref(etx_fb_builder* builder, uint32_t id,
                            etx_fb_ref ref) {
  if (ref == 0) return;
  push_ref(builder, ref);
  note_field(builder, id);
}

uint32_t etx_fb_builder_tables(const etx_fb_builder* builder) {
  return builder->table_count;
}

// An earlier vtable equal to the `bytes` at `vtable`, or 0.
static etx_fb_ref find_vtable(const etx_fb_builder* b, const void* vtable,
                              size_t bytes) {
  for (uint32_t i = 0; i < b->vtable_count; ++i) {
    const etx_fb_ref ref = b->vtables[i];
    const uint8_t* other = b->block + (b->capacity - ref);
    if (bytes <= ref && memcmp(other, vtable, bytes) == 0) return ref;
  }
  return 0;
}

etx_fb_ref etx_fb_builder_end(etx_fb_builder* builder) {
  uint16_t vtable[2 + ETX_FB_MAX_FIELDS];
  align(builder, 4, 4);
  push_u32(builder, 0);  // the distance to the vtable, known below
  const etx_fb_ref table = here(builder);
  if (builder->is_full) return 0;
  ++builder->table_count;
  const size_t bytes = 4 + 2 * (size_t)builder->field_count;
  ETX_ASSERT(builder->used - builder->table_end <= UINT16_MAX);
  vtable[0] = (uint16_t)bytes;
  vtable[1] = (uint16_t)(builder->used - builder->table_end);
  for (uint32_t i = 0; i < builder->field_count; ++i) {
    const etx_fb_ref field = builder->fields[i];
    vtable[2 + i] = field == 0 ? 0 : (uint16_t)(table - field);
  }
  etx_fb_ref shared =
      is_counting(builder) ? 0 : find_vtable(builder, vtable, bytes);
  if (shared == 0) {
    push(builder, vtable, bytes);  // at an even distance, as its table
    shared = here(builder);
    if (shared == 0) return 0;
    if (builder->vtable_count < ETX_FB_SHARED_VTABLES) {
      builder->vtables[builder->vtable_count++] = shared;
    }
  }
  if (!is_counting(builder)) {
    // From the table back to its vtable; negative if the vtable comes after it.
    const uint32_t distance = shared - table;
    memcpy(builder->block + (builder->capacity - table), &distance,
           sizeof distance);
  }
  return table;
}

etx_status etx_fb_builder_finish(etx_fb_builder* builder, etx_fb_ref root,
                                 const char identifier[4],
                                 etx_bytes_mut* out_buffer) {
  align(builder, builder->alignment, 8);
  push(builder, identifier, 4);
  push_ref(builder, root);
  if (builder->is_full) return ETX_OUT_OF_MEMORY;
  out_buffer->data = is_counting(builder) ? NULL : front(builder);
  out_buffer->size = is_counting(builder) ? 0 : builder->used;
  return ETX_OK;
}
