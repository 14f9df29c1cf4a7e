#include "format/pte/pte_segments.h"

#include "format/base/assertion.h"
#include "format/base/checked_math.h"
#include "format/pte/pte_schema_internal.h"

static etx_fb_vector segments_of(const etx_pte* pte) {
  const etx_fb_buffer* fb = &pte->fb;
  return etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_segments);
}

size_t etx_pte_segment_count(const etx_pte* pte) {
  return segments_of(pte).count;
}

void etx_pte_segment_at(const etx_pte* pte, size_t index, uint64_t* out_offset,
                        uint64_t* out_size) {
  const etx_fb_buffer* fb = &pte->fb;
  const uint32_t segment =
      etx_fb_table_at(fb, segments_of(pte), (uint32_t)index);
  *out_offset = etx_fb_u64(fb, segment, ETX_PTE_DataSegment_offset, 0);
  *out_size = etx_fb_u64(fb, segment, ETX_PTE_DataSegment_size, 0);
}

etx_status etx_pte_segments_check(const etx_pte* pte, etx_diag* diag) {
  const size_t count = etx_pte_segment_count(pte);
  for (size_t i = 0; i < count; ++i) {
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t end = 0;
    etx_pte_segment_at(pte, i, &offset, &size);
    if (size == 0) continue;
    if (pte->segment_base == 0) {
      return etx_diag_fail(diag, ETX_BAD_FILE,
                           "segment '%z' has %u bytes, but the file has no "
                           "extended header that says where segments start",
                           i, size);
    }
    if (!etx_add_u64(offset, size, &end) || end > pte->segment_bytes) {
      return etx_diag_fail_at(diag, ETX_BAD_FILE, pte->segment_base,
                              "segment '%z' takes %u bytes from byte %u on, "
                              "the segments have %u bytes together",
                              i, size, offset, pte->segment_bytes);
    }
  }
  return ETX_OK;
}

etx_bytes etx_pte_segment_data(const etx_pte* pte, size_t index) {
  uint64_t offset = 0;
  uint64_t size = 0;
  etx_bytes data = {NULL, 0};
  etx_pte_segment_at(pte, index, &offset, &size);
  if (size == 0) return data;
  data.data = pte->file.data + (size_t)(pte->segment_base + offset);
  data.size = (size_t)size;
  return data;
}

// The bytes of a segment from `start` on.
static bool find_from(etx_bytes segment, uint64_t start, etx_bytes* out) {
  if (start > segment.size) return false;
  out->data = segment.data == NULL ? NULL : segment.data + (size_t)start;
  out->size = segment.size - (size_t)start;
  return true;
}

// Bytes from entry `entry` of the offsets table at `table` to the end of the
// segment that it names.
static bool find_in_segment(const etx_pte* pte, uint32_t table, uint32_t entry,
                            etx_bytes* out) {
  const etx_fb_buffer* fb = &pte->fb;
  const etx_fb_vector offsets =
      etx_fb_vector_in(fb, table, ETX_PTE_SubsegmentOffsets_offsets);
  const uint32_t segment =
      etx_fb_u32(fb, table, ETX_PTE_SubsegmentOffsets_segment_index, 0);
  if (entry == 0 || entry >= offsets.count) return false;
  if (segment >= segments_of(pte).count) return false;
  const uint64_t* starts = etx_fb_elements(fb, offsets);
  return find_from(etx_pte_segment_data(pte, segment), starts[entry], out);
}

void etx_pte_constants_open(etx_pte* pte) {
  const etx_fb_buffer* fb = &pte->fb;
  const uint32_t table =
      etx_fb_table(fb, pte->root, ETX_PTE_Program_constant_segment);
  if (table == 0) return;
  const uint32_t segment =
      etx_fb_u32(fb, table, ETX_PTE_SubsegmentOffsets_segment_index, 0);
  pte->constant_starts =
      etx_fb_vector_in(fb, table, ETX_PTE_SubsegmentOffsets_offsets);
  if (segment >= segments_of(pte).count) return;
  pte->constants = etx_pte_segment_data(pte, segment);
}

static etx_fb_vector constant_buffers_of(const etx_pte* pte) {
  const etx_fb_buffer* fb = &pte->fb;
  return etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_constant_buffer);
}

// Constants, if any, are in the FlatBuffer where the segment has no entries, as
// in files before 2024-09.
size_t etx_pte_constant_count(const etx_pte* pte) {
  const uint32_t count = pte->constant_starts.count;
  return count > 0 ? count : constant_buffers_of(pte).count;
}

bool etx_pte_constant_find(const etx_pte* pte, uint32_t data_buffer_index,
                           etx_bytes* out_data) {
  const etx_fb_buffer* fb = &pte->fb;
  const etx_fb_vector starts = pte->constant_starts;
  if (starts.count > 0) {
    if (data_buffer_index == 0 || data_buffer_index >= starts.count) {
      return false;
    }
    const uint64_t* items = etx_fb_elements(fb, starts);
    return find_from(pte->constants, items[data_buffer_index], out_data);
  }
  const etx_fb_vector buffers = constant_buffers_of(pte);
  if (data_buffer_index == 0 || data_buffer_index >= buffers.count) {
    return false;
  }
  const uint32_t buffer = etx_fb_table_at(fb, buffers, data_buffer_index);
  *out_data =
      etx_fb_bytes(fb, etx_fb_vector_in(fb, buffer, ETX_PTE_Buffer_storage));
  return true;
}

etx_bytes etx_pte_constant(const etx_pte* pte, uint32_t data_buffer_index) {
  etx_bytes data = {NULL, 0};
  const bool found = etx_pte_constant_find(pte, data_buffer_index, &data);
  ETX_ASSERT(found);
  (void)found;
  return data;
}

bool etx_pte_initial_data_find(const etx_pte* pte, uint32_t data_buffer_index,
                               etx_bytes* out_data) {
  const etx_fb_buffer* fb = &pte->fb;
  const etx_fb_vector lists =
      etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_mutable_data_segments);
  // Readers of this format have only ever used the first list.
  if (lists.count == 0) return false;
  return find_in_segment(pte, etx_fb_table_at(fb, lists, 0), data_buffer_index,
                         out_data);
}

etx_bytes etx_pte_initial_data(const etx_pte* pte, uint32_t data_buffer_index) {
  etx_bytes data = {NULL, 0};
  const bool found = etx_pte_initial_data_find(pte, data_buffer_index, &data);
  ETX_ASSERT(found);
  (void)found;
  return data;
}

static uint32_t named_at(const etx_pte* pte, size_t index) {
  const etx_fb_buffer* fb = &pte->fb;
  const etx_fb_vector named =
      etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_named_data);
  return etx_fb_table_at(fb, named, (uint32_t)index);
}

size_t etx_pte_named_data_count(const etx_pte* pte) {
  const etx_fb_buffer* fb = &pte->fb;
  return etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_named_data).count;
}

etx_text etx_pte_named_data_key(const etx_pte* pte, size_t index) {
  const etx_fb_buffer* fb = &pte->fb;
  return etx_fb_string(fb, named_at(pte, index), ETX_PTE_NamedData_key);
}

etx_bytes etx_pte_named_data_at(const etx_pte* pte, size_t index) {
  const etx_fb_buffer* fb = &pte->fb;
  return etx_pte_segment_data(
      pte,
      etx_fb_u32(fb, named_at(pte, index), ETX_PTE_NamedData_segment_index, 0));
}

bool etx_pte_named_data_find(const etx_pte* pte, const char* key,
                             etx_bytes* out_data) {
  const size_t count = etx_pte_named_data_count(pte);
  for (size_t i = 0; i < count; ++i) {
    if (!etx_text_is(etx_pte_named_data_key(pte, i), key)) continue;
    *out_data = etx_pte_named_data_at(pte, i);
    return true;
  }
  return false;
}
