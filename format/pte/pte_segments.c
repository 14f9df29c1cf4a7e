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

// Finds the pieces that the table at `table` lists. False if the segment that
// it names does not exist.
static bool open_pieces(const etx_pte* pte, uint32_t table,
                        etx_pte_subsegments* out) {
  const etx_fb_buffer* fb = &pte->fb;
  const uint32_t segment =
      etx_fb_u32(fb, table, ETX_PTE_SubsegmentOffsets_segment_index, 0);
  out->starts = etx_fb_vector_in(fb, table, ETX_PTE_SubsegmentOffsets_offsets);
  if (segment >= segments_of(pte).count) return false;
  out->segment = etx_pte_segment_data(pte, segment);
  return true;
}

bool etx_pte_subsegments_open(etx_pte* pte) {
  const etx_fb_buffer* fb = &pte->fb;
  const uint32_t constants =
      etx_fb_table(fb, pte->root, ETX_PTE_Program_constant_segment);
  const etx_fb_vector lists =
      etx_fb_vector_in(fb, pte->root, ETX_PTE_Program_mutable_data_segments);
  const bool is_good =
      constants == 0 || open_pieces(pte, constants, &pte->constants);
  // Readers of this format have only ever used the first list.
  if (lists.count > 0 &&
      !open_pieces(pte, etx_fb_table_at(fb, lists, 0), &pte->initial)) {
    pte->initial.starts.count = 0;
  }
  return is_good;
}

// False if there is no piece of that index or it starts outside.
static bool find_piece(const etx_pte* pte, const etx_pte_subsegments* pieces,
                       uint32_t index, etx_bytes* out) {
  const uint64_t* starts = etx_fb_elements(&pte->fb, pieces->starts);
  if (index == 0 || index >= pieces->starts.count ||
      starts[index] > pieces->segment.size) {
    return false;
  }
  const size_t start = (size_t)starts[index];
  const uint8_t* data = pieces->segment.data;
  out->data = data == NULL ? NULL : data + start;
  out->size = pieces->segment.size - start;
  return true;
}

static etx_fb_vector constant_buffers_of(const etx_pte* pte) {
  return etx_fb_vector_in(&pte->fb, pte->root, ETX_PTE_Program_constant_buffer);
}

// Constants, if any, are in the FlatBuffer where the segment has no entries, as
// in files before 2024-09.
size_t etx_pte_constant_count(const etx_pte* pte) {
  const uint32_t count = pte->constants.starts.count;
  return count > 0 ? count : constant_buffers_of(pte).count;
}

bool etx_pte_constant_find(const etx_pte* pte, uint32_t data_buffer_index,
                           etx_bytes* out_data) {
  const etx_fb_buffer* fb = &pte->fb;
  if (pte->constants.starts.count > 0) {
    return find_piece(pte, &pte->constants, data_buffer_index, out_data);
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
  return find_piece(pte, &pte->initial, data_buffer_index, out_data);
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
    return etx_pte_segment_data(plan->pte, delegate.data_index);
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
