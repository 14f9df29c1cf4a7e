#include "format/pte/pte_segments.h"

#include "format/base/assertion.h"
#include "format/base/checked_math.h"
#include "format/flatbuffers/fb_row.h"
#include "format/pte/pte_schema.h"

static etx_fb_vector segments_of(const etx_pte* pte) {
  const etx_fb_buffer* fb = &pte->fb;
  return etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_segments);
}

size_t etx_pte_segment_count(const etx_pte* pte) {
  return segments_of(pte).count;
}

void etx_pte_segment_at(const etx_pte* pte, size_t index, uint64_t* out_offset,
                        uint64_t* out_size) {
  const etx_fb_row segment =
      etx_fb_row_of(etx_fb_item(&pte->fb, segments_of(pte), index));
  *out_offset = etx_fb_row_u64(segment, ETX_PTE_DataSegment_offset);
  *out_size = etx_fb_row_u64(segment, ETX_PTE_DataSegment_size);
}

etx_status etx_pte_segments_check(const etx_pte* pte, etx_diag* diag) {
  const size_t count = etx_pte_segment_count(pte);
  for (size_t i = 0; i < count; ++i) {
    uint64_t offset = 0;
    uint64_t size = 0;
    etx_pte_segment_at(pte, i, &offset, &size);
    if (size == 0) continue;
    if (pte->segment_base == 0) {
      return etx_diag_fail(diag, ETX_BAD_FILE,
                           "segment '%z' has %u bytes, but the file has no "
                           "extended header that says where segments start",
                           i, size);
    }
    if (!etx_fits_within(offset, size, pte->segment_bytes)) {
      return etx_diag_fail_at(diag, ETX_BAD_FILE, pte->segment_base,
                              "segment '%z' takes %u bytes from byte %u on, "
                              "the segments have %u bytes together",
                              i, size, offset, pte->segment_bytes);
    }
  }
  return ETX_OK;
}

// The bytes of segment `index`, which exists.
static etx_bytes segment_data(const etx_pte* pte, size_t index) {
  uint64_t offset = 0;
  uint64_t size = 0;
  etx_bytes data = {NULL, 0};
  etx_pte_segment_at(pte, index, &offset, &size);
  if (size == 0) return data;
  data.data = pte->file.data + (size_t)(pte->segment_base + offset);
  data.size = (size_t)size;
  return data;
}

// Reads the subsegments that the table at `table` lists. False if its segment
// does not exist.
static bool open_subsegments(const etx_pte* pte, uint32_t table,
                             etx_pte_subsegments* out) {
  const etx_fb_buffer* fb = &pte->fb;
  const uint32_t segment =
      etx_fb_u32(fb, table, ETX_PTE_SubsegmentOffsets_segment_index, 0);
  out->offsets = etx_fb_vector_in(fb, table, ETX_PTE_SubsegmentOffsets_offsets);
  if (segment >= segments_of(pte).count) return false;
  out->segment = segment_data(pte, segment);
  return true;
}

bool etx_pte_subsegments_open(etx_pte* pte) {
  const etx_fb_buffer* fb = &pte->fb;
  const uint32_t constants =
      etx_fb_table(fb, pte->root, ETX_PTE_Program_constant_segment);
  const etx_fb_vector lists =
      etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_mutable_data_segments);
  const bool is_valid =
      constants == 0 || open_subsegments(pte, constants, &pte->constants);
  // No runtime reads any list but the first.
  if (lists.count > 0 &&
      !open_subsegments(pte, etx_fb_table_at(fb, lists, 0), &pte->initial)) {
    pte->initial.offsets.count = 0;
  }
  return is_valid;
}

// False if the index is invalid or the offset is outside of the segment.
static bool find_subsegment(const etx_pte* pte,
                            const etx_pte_subsegments* subsegments,
                            uint32_t index, etx_bytes* out) {
  const uint64_t* offsets = etx_fb_elements(&pte->fb, subsegments->offsets);
  if (index == 0 || index >= subsegments->offsets.count ||
      offsets[index] > subsegments->segment.size) {
    return false;
  }
  const size_t start = (size_t)offsets[index];
  const uint8_t* data = subsegments->segment.data;
  out->data = data == NULL ? NULL : data + start;
  out->size = subsegments->segment.size - start;
  return true;
}

static etx_fb_vector constant_buffers_of(const etx_pte* pte) {
  return etx_fb_vector_in(&pte->fb, pte->root, ETX_PTE_Program_constant_buffer);
}

// If the segment has no entries, constants are in the FlatBuffer, as in files
// before 2024-09.
size_t etx_pte_constant_count(const etx_pte* pte) {
  const uint32_t count = pte->constants.offsets.count;
  return count > 0 ? count : constant_buffers_of(pte).count;
}

bool etx_pte_constant_find(const etx_pte* pte, uint32_t data_buffer_index,
                           etx_bytes* out_data) {
  const etx_fb_buffer* fb = &pte->fb;
  if (pte->constants.offsets.count > 0) {
    return find_subsegment(pte, &pte->constants, data_buffer_index, out_data);
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
  return find_subsegment(pte, &pte->initial, data_buffer_index, out_data);
}

etx_bytes etx_pte_initial_data(const etx_pte* pte, uint32_t data_buffer_index) {
  etx_bytes data = {NULL, 0};
  const bool found = etx_pte_initial_data_find(pte, data_buffer_index, &data);
  ETX_ASSERT(found);
  (void)found;
  return data;
}

etx_bytes etx_pte_delegate_data(const etx_pte_plan* plan, size_t index) {
  const etx_fb_buffer* fb = &plan->pte->fb;
  const etx_pte_delegate delegate = etx_pte_delegate_at(plan, index);
  if (!delegate.inline_data) {
    return segment_data(plan->pte, delegate.data_index);
  }
  const etx_fb_vector rows = etx_fb_vector_in(
      fb, plan->pte->root, ETX_PTE_Program_backend_delegate_data);
  const uint32_t row = etx_fb_table_at(fb, rows, delegate.data_index);
  return etx_fb_bytes(
      fb, etx_fb_vector_in(fb, row, ETX_PTE_BackendDelegateInlineData_data));
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
  return segment_data(pte, etx_fb_u32(fb, named_at(pte, index),
                                      ETX_PTE_NamedData_segment_index, 0));
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
