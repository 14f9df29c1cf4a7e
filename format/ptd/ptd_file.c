// Opening verifies the header, the structure of the FlatBuffer, then segments
// and entries. After that the accessors need no checks.

#include "format/ptd/ptd_file.h"

#include "format/base/arena.h"
#include "format/base/checked_math.h"
#include "format/base/size_limits.h"
#include "format/flatbuffers/fb_verifier.h"
#include "format/tensor/layout.h"

#define TABLE(table) enum {
#define FIELD(table, field, type, need, target) table##_##field,
#define END(table)    \
  table##_FIELD_COUNT \
  }                   \
  ;
#include "format/ptd/ptd_schema.def"

#define FB_SCHEMA "format/ptd/ptd_schema.def"
#define FB_FIELD_COUNT(table) table##_FIELD_COUNT
#include "format/flatbuffers/fb_schema_tables.inc"

static const etx_fb_schema schema = {FB_SCHEMA_DATA, {'F', 'T', '0', '1'}};

// Offsets of the header's fields from the start of the file, and its length.
enum {
  MAGIC = 8,
  LENGTH = 12,
  SPLICE_BYTES = 16,
  FLAT_BYTES = 24,
  SEGMENT_BASE = 32,
  SEGMENT_BYTES = 40,
  HEAD_END = 48,
  LEAST_LENGTH = HEAD_END - MAGIC
};

bool etx_ptd_looks_like(etx_bytes file) {
  return file.size >= 8 && memcmp(file.data + 4, schema.identifier, 4) == 0;
}

static etx_fb_buffer buffer_of(const etx_ptd* ptd) {
  const etx_fb_buffer buffer = {ptd->file.data, ptd->flat_bytes};
  return buffer;
}

static uint64_t read_u64(etx_bytes file, size_t position) {
  uint64_t value = 0;
  memcpy(&value, file.data + position, sizeof value);
  return value;
}

// Finds the FlatBuffer and the segments. `out_segment_bytes` is checked
// against the file's size.
static etx_status read_head(etx_ptd* ptd, uint64_t* out_segment_bytes,
                            etx_diag* diag) {
  const etx_bytes file = ptd->file;
  uint32_t length = 0;
  uint64_t flat = 0;
  uint64_t end = 0;
  if (file.size < HEAD_END) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, 0,
                            "the file has %z bytes, a data file at least %u",
                            file.size, (uint64_t)HEAD_END);
  }
  if (!etx_ptd_looks_like(file) || memcmp(file.data + MAGIC, "FH01", 4) != 0) {
    return etx_diag_fail_at(
        diag, ETX_BAD_FILE, 4,
        "this is not a data file: expected 'FT01' at byte 4 "
        "and 'FH01' at byte 8");
  }
  memcpy(&length, file.data + LENGTH, sizeof length);
  if (length < LEAST_LENGTH) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, LENGTH,
                            "the header has %u bytes, at least %u are needed",
                            (uint64_t)length, (uint64_t)LEAST_LENGTH);
  }
  if (!etx_add_u64(read_u64(file, SPLICE_BYTES), read_u64(file, FLAT_BYTES),
                   &flat) ||
      flat > file.size || flat > INT32_MAX) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, FLAT_BYTES,
                            "the header states %u bytes before the segments, "
                            "the file has %z",
                            flat, file.size);
  }
  ptd->flat_bytes = (uint32_t)flat;
  ptd->segment_base = read_u64(file, SEGMENT_BASE);
  *out_segment_bytes = read_u64(file, SEGMENT_BYTES);
  if (!etx_add_u64(ptd->segment_base, *out_segment_bytes, &end) ||
      end > file.size || (ptd->segment_base == 0 && *out_segment_bytes != 0)) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, SEGMENT_BASE,
                            "segments take %u bytes from byte %u on, the file "
                            "has %z bytes",
                            *out_segment_bytes, ptd->segment_base, file.size);
  }
  return ETX_OK;
}

static etx_fb_vector rows_of(const etx_ptd* ptd, uint32_t field) {
  const etx_fb_buffer fb = buffer_of(ptd);
  return etx_fb_vector_in(&fb, ptd->root, field);
}

static etx_status check_segments(const etx_ptd* ptd, uint64_t segment_bytes,
                                 etx_diag* diag) {
  const etx_fb_buffer fb = buffer_of(ptd);
  const etx_fb_vector rows = rows_of(ptd, FlatTensor_segments);
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = etx_fb_table_at(&fb, rows, i);
    const uint64_t offset = etx_fb_u64(&fb, row, DataSegment_offset, 0);
    const uint64_t size = etx_fb_u64(&fb, row, DataSegment_size, 0);
    uint64_t end = 0;
    if (etx_add_u64(offset, size, &end) && end <= segment_bytes) continue;
    return etx_diag_fail_at(diag, ETX_BAD_FILE, row,
                            "segment '%u' takes %u bytes from byte %u on, the "
                            "segments have %u bytes together",
                            (uint64_t)i, size, offset, segment_bytes);
  }
  return ETX_OK;
}

// Position of the layout in the table at `row`, or 0.
static uint32_t layout_at(const etx_fb_buffer* fb, uint32_t row) {
  return etx_fb_table(fb, row, NamedData_tensor_layout);
}

etx_ptd_entry etx_ptd_at(const etx_ptd* ptd, size_t index) {
  const etx_fb_buffer fb = buffer_of(ptd);
  const uint32_t row = etx_fb_table_at(&fb, rows_of(ptd, FlatTensor_named_data),
                                       (uint32_t)index);
  const uint32_t segment =
      etx_fb_table_at(&fb, rows_of(ptd, FlatTensor_segments),
                      etx_fb_u32(&fb, row, NamedData_segment_index, 0));
  const uint32_t layout = layout_at(&fb, row);
  etx_ptd_entry entry;
  memset(&entry, 0, sizeof entry);
  entry.key = etx_fb_string(&fb, row, NamedData_key);
  entry.data.size = (size_t)etx_fb_u64(&fb, segment, DataSegment_size, 0);
  entry.data.data = ptd->file.data +
                    (size_t)(ptd->segment_base +
                             etx_fb_u64(&fb, segment, DataSegment_offset, 0));
  if (layout == 0) return entry;
  const etx_fb_vector sizes = etx_fb_vector_in(&fb, layout, TensorLayout_sizes);
  entry.has_layout = true;
  entry.dtype = (etx_dtype)etx_fb_i8(&fb, layout, TensorLayout_scalar_type, 0);
  entry.rank = (uint8_t)sizes.count;
  entry.sizes = etx_fb_elements(&fb, sizes);
  entry.dim_order = etx_fb_elements(
      &fb, etx_fb_vector_in(&fb, layout, TensorLayout_dim_order));
  return entry;
}

// Verifies what must hold before the layout at `layout` can be read.
static etx_status check_layout_fields(const etx_ptd* ptd, uint32_t layout,
                                      etx_text key, etx_diag* diag) {
  const etx_fb_buffer fb = buffer_of(ptd);
  const uint32_t rank = etx_fb_vector_in(&fb, layout, TensorLayout_sizes).count;
  const uint32_t order =
      etx_fb_vector_in(&fb, layout, TensorLayout_dim_order).count;
  const int8_t dtype = etx_fb_i8(&fb, layout, TensorLayout_scalar_type, 0);
  if (rank > ETX_MAX_RANK || order != rank) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, layout,
                            "'%t' has rank %u and a dim order of %u entries, "
                            "expected the same, and at most %u",
                            key, (uint64_t)rank, (uint64_t)order,
                            (uint64_t)ETX_MAX_RANK);
  }
  if (etx_dtype_is_valid(dtype)) return ETX_OK;
  return etx_diag_fail_at(diag, ETX_BAD_FILE, layout,
                          "'%t' has the unknown scalar type %i", key,
                          (int64_t)dtype);
}

static etx_status check_tensor(const etx_ptd_entry* entry, uint32_t layout,
                               etx_diag* diag) {
  size_t numel = 0;
  size_t bytes = 0;
  if (!etx_layout_is_order(entry->dim_order, entry->rank)) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, layout,
                            "the dim order of '%t' is not a permutation",
                            entry->key);
  }
  if (!etx_layout_numel(entry->sizes, entry->rank, &numel) ||
      !etx_multiply_size(numel, etx_dtype_bytes(entry->dtype), &bytes)) {
    return etx_diag_fail_at(diag, ETX_BAD_FILE, layout,
                            "'%t' has a negative size, or more elements than "
                            "this machine can address",
                            entry->key);
  }
  if (bytes <= entry->data.size) return ETX_OK;
  return etx_diag_fail_at(diag, ETX_BAD_FILE, layout,
                          "'%t' needs %z bytes, its segment has %z", entry->key,
                          bytes, entry->data.size);
}

static etx_status check_entries(const etx_ptd* ptd, etx_diag* diag) {
  const etx_fb_buffer fb = buffer_of(ptd);
  const etx_fb_vector rows = rows_of(ptd, FlatTensor_named_data);
  const uint32_t segments = rows_of(ptd, FlatTensor_segments).count;
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = etx_fb_table_at(&fb, rows, i);
    const uint32_t segment = etx_fb_u32(&fb, row, NamedData_segment_index, 0);
    const uint32_t layout = layout_at(&fb, row);
    const etx_text key = etx_fb_string(&fb, row, NamedData_key);
    if (segment >= segments) {
      return etx_diag_fail_at(diag, ETX_BAD_FILE, row,
                              "'%t' is in segment '%u' of %u", key,
                              (uint64_t)segment, (uint64_t)segments);
    }
    if (layout == 0) continue;
    ETX_TRY(check_layout_fields(ptd, layout, key, diag));
    const etx_ptd_entry entry = etx_ptd_at(ptd, i);
    ETX_TRY(check_tensor(&entry, layout, diag));
  }
  return ETX_OK;
}

static etx_status open_file(etx_ptd* ptd, etx_bytes file, etx_diag* diag) {
  etx_ptd opened = {file, 0, 0, 0};
  uint64_t segment_bytes = 0;
  if ((uintptr_t)file.data % ETX_ARENA_ALIGNMENT != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "the file's bytes are not aligned to %u",
                         (uint64_t)ETX_ARENA_ALIGNMENT);
  }
  ETX_TRY(read_head(&opened, &segment_bytes, diag));
  const etx_fb_buffer fb = buffer_of(&opened);
  ETX_TRY(etx_fb_verify(&fb, &schema, 0, diag));
  opened.root = etx_fb_root(&fb);
  const uint32_t version = etx_fb_u32(&fb, opened.root, FlatTensor_version, 0);
  if (version != 0) {
    return etx_diag_fail(diag, ETX_UNSUPPORTED,
                         "the data file has version %u, expected 0",
                         (uint64_t)version);
  }
  ETX_TRY(check_segments(&opened, segment_bytes, diag));
  ETX_TRY(check_entries(&opened, diag));
  *ptd = opened;
  return ETX_OK;
}

etx_status etx_ptd_open(etx_ptd* ptd, etx_bytes file, etx_diag* diag) {
  return etx_diag_seal(diag, open_file(ptd, file, diag));
}

size_t etx_ptd_count(const etx_ptd* ptd) {
  return rows_of(ptd, FlatTensor_named_data).count;
}

bool etx_ptd_find(const etx_ptd* ptd, etx_text key, etx_ptd_entry* out_entry) {
  const etx_fb_buffer fb = buffer_of(ptd);
  const etx_fb_vector rows = rows_of(ptd, FlatTensor_named_data);
  for (uint32_t i = 0; i < rows.count; ++i) {
    const uint32_t row = etx_fb_table_at(&fb, rows, i);
    if (!etx_text_equal(etx_fb_string(&fb, row, NamedData_key), key)) continue;
    *out_entry = etx_ptd_at(ptd, i);
    return true;
  }
  return false;
}
