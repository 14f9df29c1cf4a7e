// The FlatBuffer part is built first, since its size decides where segments
// start; then everything is streamed front to back. Offsets of segments are
// relative to the segment base, so they are known before the FlatBuffer is.

#include "format/pte_writer/pte_writer.h"

#include "format/base/assertion.h"
#include "format/base/checked_math.h"
#include "format/flatbuffers/fb_builder.h"
#include "format/pte/pte_header.h"
#include "format/pte/pte_schema.h"
#include "format/pte_writer/pte_writer_internal.h"

// Alignment of segments, as in the stock writer, so that each can be mapped
// alone.
enum { SEGMENT_ALIGNMENT = 128 };

// Bytes of a cache line. Constants of at least one line are aligned to it, so
// that vector loads of weights do not cross lines.
enum { CACHE_LINE = 64 };

// Offsets of segments from the segment base.
typedef struct segment_layout {
  uint64_t constant_bytes;
  uint64_t initial_start;
  uint64_t initial_bytes;
  uint64_t alignment;  // of the base: the largest of any segment
  uint64_t end;        // of the last segment
} segment_layout;

static uint64_t segment_alignment(const etx_pte_named_data* named) {
  return named->alignment > SEGMENT_ALIGNMENT ? named->alignment
                                              : SEGMENT_ALIGNMENT;
}

// The blobs of one segment, one after another.
typedef struct blob_list {
  const etx_bytes* items;  // entry 0 is reserved
  const uint32_t* bases;   // NULL, or by entry: the one whose bytes hold its
                           // bytes, 0 if it has its own
  size_t count;
  uint64_t alignment;       // of each
  uint64_t line_alignment;  // of those of CACHE_LINE bytes and more
} blob_list;

static blob_list constants_of(const etx_pte_content* content) {
  const uint64_t each = content->constant_alignment;
  return (blob_list){content->constants,      content->constant_bases,
                     content->constant_count, each,
                     each < CACHE_LINE ? CACHE_LINE : each};
}

static blob_list initial_data_of(const etx_pte_content* content) {
  return (blob_list){content->initial_data, NULL, content->initial_data_count,
                     1, 1};
}

static bool has_base(const blob_list* blobs, size_t index) {
  return blobs->bases != NULL && blobs->bases[index] != 0;
}

// Moves `position` past blob `index` and returns the blob's start. Entry 0 and
// blobs within another blob take no space.
static bool next_blob(const blob_list* blobs, size_t index, uint64_t* position,
                      uint64_t* out_start) {
  *out_start = 0;
  if (index == 0 || has_base(blobs, index)) return true;
  const uint64_t size = blobs->items[index].size;
  const uint64_t alignment =
      size < CACHE_LINE ? blobs->alignment : blobs->line_alignment;
  if (!etx_align_up_u64(*position, alignment, position)) return false;
  *out_start = *position;
  return etx_add_u64(*position, size, position);
}

static bool blobs_bytes(const blob_list* blobs, uint64_t* out_bytes) {
  uint64_t position = 0;
  uint64_t start = 0;
  for (size_t i = 0; i < blobs->count; ++i) {
    if (!next_blob(blobs, i, &position, &start)) return false;
  }
  // Loaders treat an empty segment as a missing one, so it gets a byte.
  *out_bytes = position == 0 && blobs->count > 1 ? 1 : position;
  return true;
}

static bool next_named(const etx_pte_named_data* named, uint64_t* position,
                       uint64_t* out_start) {
  if (!etx_align_up_u64(*position, segment_alignment(named), position)) {
    return false;
  }
  *out_start = *position;
  return etx_add_u64(*position, named->data.size, position);
}

static bool lay_out(const etx_pte_content* content, segment_layout* out) {
  uint64_t start = 0;
  memset(out, 0, sizeof *out);
  out->alignment = content->constant_alignment > SEGMENT_ALIGNMENT
                       ? content->constant_alignment
                       : SEGMENT_ALIGNMENT;
  const blob_list constants = constants_of(content);
  const blob_list initial = initial_data_of(content);
  if (!blobs_bytes(&constants, &out->constant_bytes)) return false;
  out->end = out->constant_bytes;
  if (content->initial_data_count > 0) {
    if (!blobs_bytes(&initial, &out->initial_bytes) ||
        !etx_align_up_u64(out->end, SEGMENT_ALIGNMENT, &out->initial_start) ||
        !etx_add_u64(out->initial_start, out->initial_bytes, &out->end)) {
      return false;
    }
  }
  for (size_t i = 0; i < content->named_data_count; ++i) {
    const etx_pte_named_data* named = &content->named_data[i];
    if (segment_alignment(named) > out->alignment) {
      out->alignment = segment_alignment(named);
    }
    if (!next_named(named, &out->end, &start)) return false;
  }
  return true;
}

// ---- segments as tables ----

static etx_fb_ref build_segment(etx_fb_builder* b, uint64_t start,
                                uint64_t bytes) {
  etx_fb_builder_start(b);
  // An empty segment has offset 0.
  etx_fb_builder_add_u64(b, ETX_PTE_DataSegment_offset, bytes == 0 ? 0 : start,
                         0);
  etx_fb_builder_add_u64(b, ETX_PTE_DataSegment_size, bytes, 0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_segments(etx_fb_builder* b,
                                 const etx_pte_content* content,
                                 const segment_layout* where) {
  const bool has_initial = content->initial_data_count > 0;
  const size_t count = 1 + has_initial + content->named_data_count;
  const size_t refs = etx_fb_builder_reserve_refs(b, count);
  uint64_t position = where->constant_bytes;
  etx_fb_builder_set_ref(b, refs, 0, build_segment(b, 0, where->constant_bytes));
  if (has_initial) {
    position = where->initial_start + where->initial_bytes;
    etx_fb_builder_set_ref(
        b, refs, 1,
        build_segment(b, where->initial_start, where->initial_bytes));
  }
  for (size_t i = 0; i < content->named_data_count; ++i) {
    const etx_pte_named_data* named = &content->named_data[i];
    uint64_t start = 0;
    (void)next_named(named, &position, &start);
    etx_fb_builder_set_ref(b, refs, 1 + has_initial + i,
                        build_segment(b, start, named->data.size));
  }
  return etx_fb_builder_table_vector(b, refs, count);
}

// Sets the offsets of blobs within other blobs, whose offsets are set already.
static void put_based_offsets(const blob_list* blobs, uint8_t* elements) {
  for (size_t i = 0; i < blobs->count; ++i) {
    uint64_t start = 0;
    if (!has_base(blobs, i)) continue;
    const size_t base = blobs->bases[i];
    memcpy(&start, elements + base * sizeof start, sizeof start);
    start += (uint64_t)(blobs->items[i].data - blobs->items[base].data);
    memcpy(elements + i * sizeof start, &start, sizeof start);
  }
}

// The vector of the offsets of blobs in their segment.
static etx_fb_ref build_offsets(etx_fb_builder* b, uint32_t segment,
                                const blob_list* blobs) {
  uint8_t* elements = NULL;
  uint64_t position = 0;
  const etx_fb_ref offsets =
      etx_fb_builder_empty_vector(b, blobs->count, sizeof(uint64_t), 8, &elements);
  for (size_t i = 0; i < blobs->count && elements != NULL; ++i) {
    uint64_t start = 0;
    (void)next_blob(blobs, i, &position, &start);
    memcpy(elements + i * sizeof start, &start, sizeof start);
  }
  if (elements != NULL) put_based_offsets(blobs, elements);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_SubsegmentOffsets_offsets, offsets);
  etx_fb_builder_add_u32(b, ETX_PTE_SubsegmentOffsets_segment_index, segment,
                         0);
  return etx_fb_builder_end(b);
}

static etx_fb_ref build_initial(etx_fb_builder* b,
                                const etx_pte_content* content) {
  if (content->initial_data_count == 0) return 0;
  const blob_list initial = initial_data_of(content);
  const size_t refs = etx_fb_builder_reserve_refs(b, 1);
  etx_fb_builder_set_ref(b, refs, 0, build_offsets(b, 1, &initial));
  return etx_fb_builder_table_vector(b, refs, 1);
}

static etx_fb_ref build_named(etx_fb_builder* b,
                              const etx_pte_content* content) {
  const size_t count = content->named_data_count;
  const uint32_t first = content->initial_data_count > 0 ? 2 : 1;
  if (count == 0) return 0;
  const size_t refs = etx_fb_builder_reserve_refs(b, count);
  for (size_t i = 0; i < count; ++i) {
    const etx_fb_ref key = etx_fb_builder_string(b, content->named_data[i].key);
    etx_fb_builder_start(b);
    etx_fb_builder_add_ref(b, ETX_PTE_NamedData_key, key);
    etx_fb_builder_add_u32(b, ETX_PTE_NamedData_segment_index,
                           first + (uint32_t)i, 0);
    etx_fb_builder_set_ref(b, refs, i, etx_fb_builder_end(b));
  }
  return etx_fb_builder_table_vector(b, refs, count);
}

static etx_fb_ref build_delegate_data(etx_fb_builder* b,
                                      const etx_pte_content* content) {
  const size_t count = content->delegate_data_count;
  const size_t refs = etx_fb_builder_reserve_refs(b, count);
  for (size_t i = 0; i < count; ++i) {
    const etx_bytes data = content->delegate_data[i];
    const etx_fb_ref bytes =
        etx_fb_builder_vector(b, data.data, data.size, 1, 16);
    etx_fb_builder_start(b);
    etx_fb_builder_add_ref(b, ETX_PTE_BackendDelegateInlineData_data, bytes);
    etx_fb_builder_set_ref(b, refs, i, etx_fb_builder_end(b));
  }
  return etx_fb_builder_table_vector(b, refs, count);
}

static etx_fb_ref build_program(etx_fb_builder* b,
                                const etx_pte_content* content,
                                const segment_layout* where) {
  const size_t refs = etx_fb_builder_reserve_refs(b, content->plan_count);
  for (size_t i = 0; i < content->plan_count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, etx_pte_build_plan(b, &content->plans[i]));
  }
  const etx_fb_ref plans = etx_fb_builder_table_vector(b, refs, content->plan_count);
  const etx_fb_ref named = build_named(b, content);
  const etx_fb_ref initial = build_initial(b, content);
  const blob_list blobs = constants_of(content);
  const etx_fb_ref constants = build_offsets(b, 0, &blobs);
  const etx_fb_ref segments = build_segments(b, content, where);
  const etx_fb_ref delegate_data = build_delegate_data(b, content);
  const etx_fb_ref no_buffers =
      etx_fb_builder_table_vector(b, etx_fb_builder_reserve_refs(b, 0), 0);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_named_data, named);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_mutable_data_segments, initial);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_constant_segment, constants);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_segments, segments);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_backend_delegate_data,
                         delegate_data);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_constant_buffer, no_buffers);
  etx_fb_builder_add_ref(b, ETX_PTE_Program_execution_plan, plans);
  return etx_fb_builder_end(b);
}

// ---- bytes ----

// A sink with its position.
typedef struct stream {
  const etx_sink* sink;
  uint64_t position;
} stream;

static etx_status put(stream* s, const void* data, size_t bytes) {
  ETX_TRY(etx_sink_write(s->sink, data, bytes));
  s->position += bytes;
  return ETX_OK;
}

// Writes zeros up to `position`.
static etx_status pad(stream* s, uint64_t position) {
  static const uint8_t zeros[256] = {0};
  ETX_ASSERT(position >= s->position);
  while (s->position < position) {
    const uint64_t left = position - s->position;
    ETX_TRY(put(s, zeros, left < sizeof zeros ? (size_t)left : sizeof zeros));
  }
  return ETX_OK;
}

// Writes a segment of blobs that starts at `base` and ends at `end`.
static etx_status put_blobs(stream* s, const blob_list* blobs, uint64_t base,
                            uint64_t end) {
  uint64_t position = 0;
  ETX_TRY(pad(s, base));
  for (size_t i = 1; i < blobs->count; ++i) {
    uint64_t start = 0;
    if (has_base(blobs, i)) continue;
    (void)next_blob(blobs, i, &position, &start);
    ETX_TRY(pad(s, base + start));
    ETX_TRY(put(s, blobs->items[i].data, blobs->items[i].size));
  }
  return pad(s, end);
}

static etx_status put_segments(stream* s, const etx_pte_content* content,
                               const segment_layout* where, uint64_t base) {
  uint64_t position = where->constant_bytes;
  const blob_list constants = constants_of(content);
  const blob_list initial = initial_data_of(content);
  ETX_TRY(put_blobs(s, &constants, base, base + position));
  if (where->initial_bytes > 0) {
    position = where->initial_start + where->initial_bytes;
    ETX_TRY(
        put_blobs(s, &initial, base + where->initial_start, base + position));
  }
  for (size_t i = 0; i < content->named_data_count; ++i) {
    const etx_pte_named_data* named = &content->named_data[i];
    uint64_t start = 0;
    (void)next_named(named, &position, &start);
    if (named->data.size == 0) continue;
    ETX_TRY(pad(s, base + start));
    ETX_TRY(put(s, named->data.data, named->data.size));
  }
  return ETX_OK;
}

// Writes the program with the extended header spliced in after its identifier.
// References are relative, so only the reference to the root changes.
static etx_status put_with_header(stream* s, etx_bytes_mut program,
                                  const etx_pte_header* header) {
  uint8_t bytes[ETX_PTE_HEADER_BYTES];
  uint32_t root = 0;
  memcpy(&root, program.data, sizeof root);
  root += ETX_PTE_HEADER_BYTES;
  memcpy(program.data, &root, sizeof root);
  etx_pte_header_write(header, bytes);
  ETX_TRY(put(s, program.data, 8));
  ETX_TRY(put(s, bytes, sizeof bytes));
  return put(s, program.data + 8, program.size - 8);
}

static etx_status put_file(const etx_pte_content* content, const segment_layout* where,
                           etx_bytes_mut program, const etx_sink* sink) {
  stream s = {sink, 0};
  if (where->end == 0) return put(&s, program.data, program.size);
  etx_pte_header header = {true, ETX_PTE_HEADER_BYTES,
                           program.size + ETX_PTE_HEADER_BYTES, 0, where->end};
  if (!etx_align_up_u64(header.program_bytes, where->alignment,
                        &header.segment_base)) {
    return ETX_OUT_OF_RANGE;
  }
  ETX_TRY(put_with_header(&s, program, &header));
  return put_segments(&s, content, where, header.segment_base);
}

static etx_status build(etx_fb_builder* b, const etx_pte_content* content,
                        const segment_layout* where, etx_bytes_mut* out_program) {
  // The header is inserted into the finished buffer. With a size that is a
  // multiple of 16, everything after it stays aligned.
  b->alignment = 16;
  const etx_fb_ref root = build_program(b, content, where);
  return etx_fb_builder_finish(b, root, etx_pte_schema.identifier, out_program);
}

static void assert_content(const etx_pte_content* content) {
  ETX_ASSERT(content->constant_count >= 1);
  ETX_ASSERT(etx_is_power_of_two(content->constant_alignment));
  (void)content;
}

etx_status etx_pte_write_needed(const etx_pte_content* content,
                                size_t* out_bytes) {
  etx_fb_builder b;
  etx_bytes_mut none = {NULL, 0};
  segment_layout where;
  assert_content(content);
  if (!lay_out(content, &where)) return ETX_OUT_OF_RANGE;
  etx_fb_builder_init_counting(&b);
  if (build(&b, content, &where, &none) != ETX_OK) return ETX_OUT_OF_RANGE;
  *out_bytes = etx_fb_builder_peak(&b);
  return ETX_OK;
}

etx_status etx_pte_write(const etx_pte_content* content, etx_bytes_mut work,
                         const etx_sink* sink, etx_diag* diag) {
  etx_fb_builder b;
  etx_bytes_mut program = {NULL, 0};
  segment_layout where;
  assert_content(content);
  if (!lay_out(content, &where)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "the program's data is larger than a file can be");
  }
  etx_fb_builder_init(&b, work);
  if (build(&b, content, &where, &program) != ETX_OK) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "writing the program needs more than %z bytes of "
                         "working memory",
                         work.size);
  }
  const uint32_t tables = etx_fb_builder_tables(&b);
  if (content->max_tables != 0 && tables > content->max_tables) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "the program has %u FlatBuffers tables, and the stock "
                         "verifier accepts at most %u",
                         (uint64_t)tables, (uint64_t)content->max_tables);
  }
  const etx_status status = put_file(content, &where, program, sink);
  if (status == ETX_OK) return status;
  return etx_diag_fail(diag, status, "the program could not be written: %s",
                       etx_status_text(status));
}
