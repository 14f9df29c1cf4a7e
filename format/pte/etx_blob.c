// Views of the blob, and the door: where it lies, its structure, then its
// meaning (etx_blob_check.c).

#include "format/pte/etx_blob.h"

#include "format/base/assertion.h"
#include "format/pte/etx_named.h"
#include "format/pte/etx_blob_schema_internal.h"

#define FB_SCHEMA "format/pte/etx_blob_schema.def"
#define FB_FIELD_COUNT(table) ETX_BLOB_##table##_FIELD_COUNT
#include "format/flatbuffers/fb_schema_tables.inc"

const etx_fb_schema etx_blob_schema = {FB_SCHEMA_DATA, {'E', 'T', 'X', 'P'}};

etx_status etx_blob_open(etx_blob* blob, const etx_pte* pte, etx_diag* diag) {
  etx_blob opened;
  memset(&opened, 0, sizeof opened);
  const etx_fb_schema* const schema = ETX_VERIFIER ? &etx_blob_schema : NULL;
  ETX_TRY(etx_named_open(pte, ETX_BLOB_KEY, schema, &opened.fb, &opened.root,
                         diag));
  if (ETX_VERIFIER) ETX_TRY(etx_blob_check(&opened, pte, diag));
  *blob = opened;
  return ETX_OK;
}

void etx_blob_fingerprint(const etx_blob* blob,
                          uint8_t out_fingerprint[ETX_FINGERPRINT_BYTES]) {
  const etx_fb_buffer* fb = &blob->fb;
  memcpy(out_fingerprint,
         etx_fb_elements(
             fb, etx_fb_vector_in(fb, blob->root, ETX_BLOB_Blob_fingerprint)),
         ETX_FINGERPRINT_BYTES);
}

etx_text etx_blob_target(const etx_blob* blob) {
  const etx_fb_buffer* fb = &blob->fb;
  return etx_fb_string(fb, blob->root, ETX_BLOB_Blob_target);
}

etx_text etx_blob_options(const etx_blob* blob) {
  const etx_fb_buffer* fb = &blob->fb;
  return etx_fb_string(fb, blob->root, ETX_BLOB_Blob_options);
}

uint64_t etx_blob_state_bytes(const etx_blob* blob) {
  const etx_fb_buffer* fb = &blob->fb;
  return etx_fb_u64(fb, blob->root, ETX_BLOB_Blob_state_bytes, 0);
}

static etx_fb_vector concurrent_of(const etx_blob* blob) {
  const etx_fb_buffer* fb = &blob->fb;
  return etx_fb_vector_in(fb, blob->root, ETX_BLOB_Blob_concurrent);
}

size_t etx_blob_concurrent_count(const etx_blob* blob) {
  return concurrent_of(blob).count / 2;
}

etx_blob_pair etx_blob_concurrent_at(const etx_blob* blob, size_t index) {
  const etx_fb_buffer* fb = &blob->fb;
  const int32_t* const methods = etx_fb_elements(fb, concurrent_of(blob));
  const etx_blob_pair pair = {(uint32_t)methods[2 * index],
                              (uint32_t)methods[2 * index + 1]};
  return pair;
}

size_t etx_blob_state_count(const etx_blob* blob) {
  const etx_fb_buffer* fb = &blob->fb;
  return etx_fb_vector_in(fb, blob->root, ETX_BLOB_Blob_states).count;
}

etx_blob_state etx_blob_state_at(const etx_blob* blob, size_t index) {
  const etx_fb_buffer* fb = &blob->fb;
  const uint32_t row = etx_fb_table_at(
      fb, etx_fb_vector_in(fb, blob->root, ETX_BLOB_Blob_states),
      (uint32_t)index);
  const etx_fb_vector sizes = etx_fb_vector_in(fb, row, ETX_BLOB_State_sizes);
  const etx_blob_state state = {
      etx_fb_string(fb, row, ETX_BLOB_State_name),
      (etx_dtype)etx_fb_i8(fb, row, ETX_BLOB_State_dtype, 0),
      etx_fb_elements(fb, sizes),
      sizes.count,
      etx_fb_u64(fb, row, ETX_BLOB_State_offset, 0),
      etx_fb_u32(fb, row, ETX_BLOB_State_data_buffer_index, 0),
      etx_fb_u8(fb, row, ETX_BLOB_State_is_uniform, 0) != 0};
  return state;
}

static etx_fb_vector methods_of(const etx_blob* blob) {
  const etx_fb_buffer* fb = &blob->fb;
  return etx_fb_vector_in(fb, blob->root, ETX_BLOB_Blob_methods);
}

size_t etx_blob_method_count(const etx_blob* blob) {
  return methods_of(blob).count;
}

static uint32_t method_at(const etx_blob* blob, size_t index) {
  const etx_fb_buffer* fb = &blob->fb;
  return etx_fb_table_at(fb, methods_of(blob), (uint32_t)index);
}

etx_text etx_blob_method_name(const etx_blob* blob, size_t method) {
  const etx_fb_buffer* fb = &blob->fb;
  return etx_fb_string(fb, method_at(blob, method), ETX_BLOB_Method_name);
}

bool etx_blob_method_find(const etx_blob* blob, etx_text name,
                          size_t* out_index) {
  const size_t count = etx_blob_method_count(blob);
  for (size_t i = 0; i < count; ++i) {
    if (!etx_text_equal(etx_blob_method_name(blob, i), name)) continue;
    *out_index = i;
    return true;
  }
  return false;
}

// Rows of the vector of tables in field `id` of a method.
static size_t count_of(const etx_blob* blob, size_t method, uint32_t id) {
  const etx_fb_buffer* fb = &blob->fb;
  return etx_fb_vector_in(fb, method_at(blob, method), id).count;
}

static uint32_t row_of(const etx_blob* blob, size_t method, uint32_t id,
                       size_t index) {
  const etx_fb_buffer* fb = &blob->fb;
  return etx_fb_table_at(fb, etx_fb_vector_in(fb, method_at(blob, method), id),
                         (uint32_t)index);
}

size_t etx_blob_input_count(const etx_blob* blob, size_t method) {
  return count_of(blob, method, ETX_BLOB_Method_inputs);
}

etx_blob_input etx_blob_input_at(const etx_blob* blob, size_t method,
                                 size_t index) {
  const etx_fb_buffer* fb = &blob->fb;
  const uint32_t row = row_of(blob, method, ETX_BLOB_Method_inputs, index);
  const etx_blob_input input = {
      etx_fb_string(fb, row, ETX_BLOB_Input_name),
      etx_fb_u8(fb, row, ETX_BLOB_Input_is_mutable, 0) != 0};
  return input;
}

size_t etx_blob_output_count(const etx_blob* blob, size_t method) {
  return count_of(blob, method, ETX_BLOB_Method_outputs);
}

etx_blob_output etx_blob_output_at(const etx_blob* blob, size_t method,
                                   size_t index) {
  const etx_fb_buffer* fb = &blob->fb;
  const uint32_t row = row_of(blob, method, ETX_BLOB_Method_outputs, index);
  const etx_blob_output output = {
      etx_fb_string(fb, row, ETX_BLOB_Output_name),
      (etx_blob_lifetime)etx_fb_u8(fb, row, ETX_BLOB_Output_lifetime, 0),
      etx_fb_i32(fb, row, ETX_BLOB_Output_mutated_input, -1)};
  return output;
}

size_t etx_blob_symbol_count(const etx_blob* blob, size_t method) {
  return count_of(blob, method, ETX_BLOB_Method_symbols);
}

etx_blob_symbol etx_blob_symbol_at(const etx_blob* blob, size_t method,
                                   size_t index) {
  const etx_fb_buffer* fb = &blob->fb;
  const uint32_t row = row_of(blob, method, ETX_BLOB_Method_symbols, index);
  const etx_blob_symbol symbol = {
      etx_fb_string(fb, row, ETX_BLOB_Symbol_name),
      etx_fb_i64(fb, row, ETX_BLOB_Symbol_minimum, 0),
      etx_fb_i64(fb, row, ETX_BLOB_Symbol_maximum, 0)};
  return symbol;
}

size_t etx_blob_input_dim_count(const etx_blob* blob, size_t method) {
  return count_of(blob, method, ETX_BLOB_Method_input_dims);
}

etx_blob_input_dim etx_blob_input_dim_at(const etx_blob* blob, size_t method,
                                         size_t index) {
  const etx_fb_buffer* fb = &blob->fb;
  const uint32_t row = row_of(blob, method, ETX_BLOB_Method_input_dims, index);
  const etx_blob_input_dim dim = {
      etx_fb_u32(fb, row, ETX_BLOB_InputDim_input, 0),
      etx_fb_i32(fb, row, ETX_BLOB_InputDim_dim, 0),
      etx_fb_u32(fb, row, ETX_BLOB_InputDim_symbol, 0),
      etx_fb_i64(fb, row, ETX_BLOB_InputDim_factor, 0),
      etx_fb_i64(fb, row, ETX_BLOB_InputDim_offset, 0)};
  return dim;
}

size_t etx_blob_view_count(const etx_blob* blob, size_t method) {
  return count_of(blob, method, ETX_BLOB_Method_views);
}

etx_blob_view etx_blob_view_at(const etx_blob* blob, size_t method,
                               size_t index) {
  const etx_fb_buffer* fb = &blob->fb;
  const uint32_t row = row_of(blob, method, ETX_BLOB_Method_views, index);
  const etx_blob_view view = {etx_fb_u32(fb, row, ETX_BLOB_View_value, 0),
                              etx_fb_u32(fb, row, ETX_BLOB_View_base, 0),
                              etx_fb_u64(fb, row, ETX_BLOB_View_offset, 0)};
  return view;
}
