// Accessors of an opened blob. etx_blob_open.c opens it.

#include "format/pte/etx_blob.h"

#include "format/flatbuffers/fb_members.h"
#include "format/pte/etx_blob_schema.h"

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
  return etx_fb_vector_in(&blob->fb, blob->root, ETX_BLOB_Blob_concurrent);
}

size_t etx_blob_concurrent_count(const etx_blob* blob) {
  return concurrent_of(blob).count / 2;
}

etx_blob_pair etx_blob_concurrent_at(const etx_blob* blob, size_t index) {
  const int32_t* const methods =
      etx_fb_elements(&blob->fb, concurrent_of(blob));
  const etx_blob_pair pair = {(uint32_t)methods[2 * index],
                              (uint32_t)methods[2 * index + 1]};
  return pair;
}

// The members of each struct, in the order of its table's fields.

static const etx_fb_member input_members[] = {
    ETX_FB_MEMBER(etx_blob_input, name, LIST),
    ETX_FB_MEMBER(etx_blob_input, is_mutable, FLAG), ETX_FB_MEMBERS_END};
static const etx_fb_member output_members[] = {
    ETX_FB_MEMBER(etx_blob_output, name, LIST),
    ETX_FB_MEMBER(etx_blob_output, lifetime, UNSIGNED),
    ETX_FB_MEMBER(etx_blob_output, mutated_input, NUMBER4), ETX_FB_MEMBERS_END};
static const etx_fb_member symbol_members[] = {
    ETX_FB_MEMBER(etx_blob_symbol, name, LIST),
    ETX_FB_MEMBER(etx_blob_symbol, minimum, NUMBER8),
    ETX_FB_MEMBER(etx_blob_symbol, maximum, NUMBER8), ETX_FB_MEMBERS_END};
static const etx_fb_member input_dim_members[] = {
    ETX_FB_MEMBER(etx_blob_input_dim, input, NUMBER4),
    ETX_FB_MEMBER(etx_blob_input_dim, dim, NUMBER4),
    ETX_FB_MEMBER(etx_blob_input_dim, symbol, NUMBER4),
    ETX_FB_MEMBER(etx_blob_input_dim, factor, NUMBER8),
    ETX_FB_MEMBER(etx_blob_input_dim, offset, NUMBER8),
    ETX_FB_MEMBERS_END};
static const etx_fb_member view_members[] = {
    ETX_FB_MEMBER(etx_blob_view, value, NUMBER4),
    ETX_FB_MEMBER(etx_blob_view, base, NUMBER4),
    ETX_FB_MEMBER(etx_blob_view, offset, NUMBER8), ETX_FB_MEMBERS_END};
static const etx_fb_member place_members[] = {
    ETX_FB_MEMBER(etx_blob_place, value, NUMBER4),
    ETX_FB_MEMBER(etx_blob_place, layout, NUMBER4),
    ETX_FB_MEMBER(etx_blob_place, offset, NUMBER8),
    ETX_FB_MEMBER(etx_blob_place, bytes, NUMBER8), ETX_FB_MEMBERS_END};
static const etx_fb_member state_members[] = {
    ETX_FB_MEMBER(etx_blob_state, name, LIST),
    ETX_FB_MEMBER(etx_blob_state, dtype, CODE),
    ETX_FB_MEMBER(etx_blob_state, sizes, LIST),  // and rank
    ETX_FB_MEMBER(etx_blob_state, offset, NUMBER8),
    ETX_FB_MEMBER(etx_blob_state, data_buffer_index, NUMBER4),
    ETX_FB_MEMBER(etx_blob_state, is_uniform, FLAG),
    ETX_FB_MEMBERS_END};

static etx_fb_vector states_of(const etx_blob* blob) {
  return etx_fb_vector_in(&blob->fb, blob->root, ETX_BLOB_Blob_states);
}

size_t etx_blob_state_count(const etx_blob* blob) {
  return states_of(blob).count;
}

etx_blob_state etx_blob_state_at(const etx_blob* blob, size_t index) {
  etx_blob_state state;
  memset(&state, 0, sizeof state);
  etx_fb_members_read(etx_fb_item(&blob->fb, states_of(blob), index),
                      state_members, &state);
  return state;
}

static etx_fb_vector methods_of(const etx_blob* blob) {
  return etx_fb_vector_in(&blob->fb, blob->root, ETX_BLOB_Blob_methods);
}

size_t etx_blob_method_count(const etx_blob* blob) {
  return methods_of(blob).count;
}

static uint32_t method_at(const etx_blob* blob, size_t index) {
  return etx_fb_table_at(&blob->fb, methods_of(blob), (uint32_t)index);
}

etx_text etx_blob_method_name(const etx_blob* blob, size_t method) {
  return etx_fb_string(&blob->fb, method_at(blob, method),
                       ETX_BLOB_Method_name);
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

// The vector of tables in field `id` of a method.
static etx_fb_vector rows_of(const etx_blob* blob, size_t method, uint32_t id) {
  return etx_fb_vector_in(&blob->fb, method_at(blob, method), id);
}

// A build holds the members of those tables only that it reads, since each
// reader names its own.
static void read_row(const etx_blob* blob, size_t method, uint32_t id,
                     size_t index, const etx_fb_member* members, void* out) {
  etx_fb_members_read(etx_fb_item(&blob->fb, rows_of(blob, method, id), index),
                      members, out);
}

size_t etx_blob_input_count(const etx_blob* blob, size_t method) {
  return rows_of(blob, method, ETX_BLOB_Method_inputs).count;
}

etx_blob_input etx_blob_input_at(const etx_blob* blob, size_t method,
                                 size_t index) {
  etx_blob_input input = {{NULL, 0}, false};
  read_row(blob, method, ETX_BLOB_Method_inputs, index, input_members, &input);
  return input;
}

size_t etx_blob_output_count(const etx_blob* blob, size_t method) {
  return rows_of(blob, method, ETX_BLOB_Method_outputs).count;
}

etx_blob_output etx_blob_output_at(const etx_blob* blob, size_t method,
                                   size_t index) {
  etx_blob_output output = {{NULL, 0}, ETX_LIFETIME_SCRATCH, -1, {NULL, 0}};
  read_row(blob, method, ETX_BLOB_Method_outputs, index, output_members,
           &output);
  return output;
}

#if ETX_DYNAMIC

etx_text etx_blob_output_sizes(const etx_blob* blob, size_t method,
                               size_t index) {
  const etx_fb_vector outputs = rows_of(blob, method, ETX_BLOB_Method_outputs);
  return etx_fb_string(&blob->fb,
                       etx_fb_table_at(&blob->fb, outputs, (uint32_t)index),
                       ETX_BLOB_Output_sizes);
}

#else

etx_text etx_blob_output_sizes(const etx_blob* blob, size_t method,
                               size_t index) {
  (void)blob;
  (void)method;
  (void)index;
  return (etx_text){NULL, 0};
}

#endif

size_t etx_blob_symbol_count(const etx_blob* blob, size_t method) {
  return rows_of(blob, method, ETX_BLOB_Method_symbols).count;
}

etx_blob_symbol etx_blob_symbol_at(const etx_blob* blob, size_t method,
                                   size_t index) {
  etx_blob_symbol symbol = {{NULL, 0}, 0, 0};
  read_row(blob, method, ETX_BLOB_Method_symbols, index, symbol_members,
           &symbol);
  return symbol;
}

size_t etx_blob_input_dim_count(const etx_blob* blob, size_t method) {
  return rows_of(blob, method, ETX_BLOB_Method_input_dims).count;
}

etx_blob_input_dim etx_blob_input_dim_at(const etx_blob* blob, size_t method,
                                         size_t index) {
  etx_blob_input_dim dim = {0, 0, 0, 0, 0};
  read_row(blob, method, ETX_BLOB_Method_input_dims, index, input_dim_members,
           &dim);
  return dim;
}

size_t etx_blob_view_count(const etx_blob* blob, size_t method) {
  return rows_of(blob, method, ETX_BLOB_Method_views).count;
}

etx_blob_view etx_blob_view_at(const etx_blob* blob, size_t method,
                               size_t index) {
  etx_blob_view view = {0, 0, 0};
  read_row(blob, method, ETX_BLOB_Method_views, index, view_members, &view);
  return view;
}

size_t etx_blob_place_count(const etx_blob* blob, size_t method) {
  return rows_of(blob, method, ETX_BLOB_Method_places).count;
}

etx_blob_place etx_blob_place_at(const etx_blob* blob, size_t method,
                                 size_t index) {
  etx_blob_place place = {0, 0, 0, 0};
  read_row(blob, method, ETX_BLOB_Method_places, index, place_members, &place);
  return place;
}
