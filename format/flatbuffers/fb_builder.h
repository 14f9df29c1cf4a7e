// Builds a FlatBuffer back to front in a block that the caller gives.
//
//   block                                                       block + size
//   |--- references --->|          free        |<--- the buffer so far ----|
//
// Children are built before the tables and vectors that refer to them. A
// reference is the distance of an object to the end of the buffer, which does
// not change while the buffer grows. The start of the block is a stack of
// references: the elements of vectors of tables that are not written yet. Equal
// vtables are shared.
//
//   etx_fb_ref name = etx_fb_builder_string(b, text);
//   etx_fb_builder_start(b);
//   etx_fb_builder_add_ref(b, ETX_PTE_Operator_name, name);
//   etx_fb_ref operator = etx_fb_builder_end(b);
//
// Errors are sticky: once the block is full, every call does nothing and
// returns 0, and etx_fb_builder_finish fails. A counting builder has no block;
// its peak is a number of bytes that is enough for the same calls.
//
// The same calls write the same bytes.

#ifndef ETX_FORMAT_FLATBUFFERS_FB_BUILDER_H
#define ETX_FORMAT_FLATBUFFERS_FB_BUILDER_H

#include "format/base/diag.h"
#include "format/base/span.h"
#include "format/base/status.h"

// Fields of the largest table, with room to grow.
enum { ETX_FB_MAX_FIELDS = 16 };
// Distinct vtables that are kept for sharing. A program has about 40.
enum { ETX_FB_SHARED_VTABLES = 96 };

// Bytes from the start of an object to the end of the buffer; 0: none.
typedef uint32_t etx_fb_ref;

// Fields are private.
typedef struct etx_fb_builder {
  uint8_t* block;        // NULL when counting
  size_t capacity;       // bytes of the block
  size_t used;           // bytes of the buffer so far
  size_t refs;           // bytes of the stack of references
  size_t peak;           // largest used + refs
  uint32_t alignment;    // largest alignment asked for, 0 until then
  bool is_full;          // the block was too small
  size_t table_end;      // `used` when the open table was started
  uint32_t field_count;  // one past the largest id of the open table
  etx_fb_ref fields[ETX_FB_MAX_FIELDS];  // of the open table, by id
  uint32_t table_count;                  // that were ended
  uint32_t vtable_count;
  etx_fb_ref vtables[ETX_FB_SHARED_VTABLES];
} etx_fb_builder;

// Starts an empty buffer at the end of `block`.
void etx_fb_builder_init(etx_fb_builder* builder, etx_bytes_mut block);
// Starts a builder that writes nothing and counts.
void etx_fb_builder_init_counting(etx_fb_builder* builder);

// The largest number of bytes that were in use, with padding.
size_t etx_fb_builder_peak(const etx_fb_builder* builder);

// The number of tables so far.
uint32_t etx_fb_builder_tables(const etx_fb_builder* builder);

// Writes a string with its NUL.
etx_fb_ref etx_fb_builder_string(etx_fb_builder* builder, etx_text text);

// Writes a vector of `count` numbers of `element_bytes` (1, 4 or 8) each,
// aligned to `alignment`, a power of two of at least element_bytes. `elements`
// may be NULL if `count` is 0.
etx_fb_ref etx_fb_builder_vector(etx_fb_builder* builder, const void* elements,
                                 size_t count, size_t element_bytes,
                                 size_t alignment);

// Writes a vector of zeros that the caller fills at `*out_elements` before the
// next call; NULL when counting or full. The elements need not be aligned in
// memory.
etx_fb_ref etx_fb_builder_empty_vector(etx_fb_builder* builder, size_t count,
                                       size_t element_bytes, size_t alignment,
                                       uint8_t** out_elements);

// Vectors of tables: reserve `count` references on the stack, set each to its
// table in any order, then write the vector, which pops them. Reservations are
// nested: the last one is written first.
size_t etx_fb_builder_reserve_refs(etx_fb_builder* builder, size_t count);
void etx_fb_builder_set_ref(etx_fb_builder* builder, size_t refs, size_t index,
                            etx_fb_ref ref);
etx_fb_ref etx_fb_builder_table_vector(etx_fb_builder* builder, size_t refs,
                                       size_t count);

// A table: start, add fields in any order, each at most once, end. Only one
// table can be open, and nothing else may be written meanwhile. A scalar that
// equals `absent`, its default, is omitted.
void etx_fb_builder_start(etx_fb_builder* builder);
void etx_fb_builder_add_u8(etx_fb_builder* builder, uint32_t id, uint8_t value,
                           uint8_t absent);
void etx_fb_builder_add_i8(etx_fb_builder* builder, uint32_t id, int8_t value,
                           int8_t absent);
void etx_fb_builder_add_u32(etx_fb_builder* builder, uint32_t id,
                            uint32_t value, uint32_t absent);
void etx_fb_builder_add_i32(etx_fb_builder* builder, uint32_t id, int32_t value,
                            int32_t absent);
void etx_fb_builder_add_u64(etx_fb_builder* builder, uint32_t id,
                            uint64_t value, uint64_t absent);
void etx_fb_builder_add_i64(etx_fb_builder* builder, uint32_t id, int64_t value,
                            int64_t absent);
// Omitted only if all bits are zero (+0.0).
void etx_fb_builder_add_f64(etx_fb_builder* builder, uint32_t id, double value);
// With `ref` 0 the field is omitted.
void etx_fb_builder_add_ref(etx_fb_builder* builder, uint32_t id,
                            etx_fb_ref ref);
etx_fb_ref etx_fb_builder_end(etx_fb_builder* builder);

// Writes the root reference and the identifier and returns the buffer, which
// is at the end of the block. Its size is a multiple of the largest alignment
// asked for, so everything is aligned if its first byte is. ETX_OUT_OF_MEMORY
// if the block was too small. When counting, `out_buffer` is empty.
ETX_MUST_USE etx_status etx_fb_builder_finish(etx_fb_builder* builder,
                                              etx_fb_ref root,
                                              const char identifier[4],
                                              etx_bytes_mut* out_buffer);

#endif
