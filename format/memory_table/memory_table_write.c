#include "format/flatbuffers/fb_builder.h"
#include "format/memory_table/memory_table.h"
#include "format/memory_table/memory_table_schema_internal.h"

static etx_fb_ref build_memory(etx_fb_builder* b, const etx_memory_row* row) {
  const etx_fb_ref name = etx_fb_builder_string(b, row->name);
  etx_fb_builder_start(b);
  etx_fb_builder_add_u64(b, ETX_MEMORIES_Memory_capacity, row->capacity, 0);
  etx_fb_builder_add_u32(b, ETX_MEMORIES_Memory_cost, row->cost, 1);
  etx_fb_builder_add_ref(b, ETX_MEMORIES_Memory_name, name);
  etx_fb_builder_add_u8(b, ETX_MEMORIES_Memory_holds_state, row->holds_state,
                        0);
  return etx_fb_builder_end(b);
}

static etx_status build_table(etx_fb_builder* b, const etx_memory_row* memories,
                              size_t count, etx_bytes_mut* out_data) {
  const size_t refs = etx_fb_builder_reserve_refs(b, count);
  for (size_t i = 0; i < count; ++i) {
    etx_fb_builder_set_ref(b, refs, i, build_memory(b, &memories[i]));
  }
  const etx_fb_ref rows = etx_fb_builder_table_vector(b, refs, count);
  etx_fb_builder_start(b);
  etx_fb_builder_add_ref(b, ETX_MEMORIES_Memories_memories, rows);
  const etx_fb_ref root = etx_fb_builder_end(b);
  return etx_fb_builder_finish(b, root, etx_memory_table_schema.identifier,
                               out_data);
}

etx_status etx_memory_table_write_needed(const etx_memory_row* memories,
                                         size_t count, size_t* out_bytes) {
  etx_fb_builder b;
  etx_bytes_mut none = {NULL, 0};
  etx_fb_builder_init_counting(&b);
  if (build_table(&b, memories, count, &none) != ETX_OK) {
    return ETX_OUT_OF_RANGE;
  }
  *out_bytes = etx_fb_builder_peak(&b);
  return ETX_OK;
}

etx_status etx_memory_table_write(const etx_memory_row* memories, size_t count,
                                  etx_bytes_mut work, etx_bytes* out_data,
                                  etx_diag* diag) {
  etx_fb_builder b;
  etx_bytes_mut data = {NULL, 0};
  etx_fb_builder_init(&b, work);
  if (build_table(&b, memories, count, &data) != ETX_OK) {
    return etx_diag_fail(diag, ETX_OUT_OF_MEMORY,
                         "writing '%s' needs more than %z bytes of working "
                         "memory",
                         ETX_MEMORY_TABLE_KEY, work.size);
  }
  *out_data = (etx_bytes){data.data, data.size};
  return ETX_OK;
}
